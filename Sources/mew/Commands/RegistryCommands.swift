import MewBase
import MewClient
import MewIdentity
import MewWire

extension Command {
    private static let newName = Positional<String>("NEW", "the new name", read: Readers.text("NEW"))

    static let forget = Command(
        "forget", "drop a daemon from this device's list", positionals: [Common.daemon.required],
        details: [
            "Only this device forgets. To take away its rights, run 'mew peers revoke' on the daemon's machine."
        ]
    ) { invocation async throws(CommandFailure) in
        let store = try ClientCommand.store(invocation.context)
        let daemon = try await find(invocation, store)
        try await update(store, doing: "forget \(daemon.name)") { records throws(Registry.Refusal) in
            try records.forget(daemon.node)
        }
        invocation.context.output.json(row(daemon))
        invocation.context.output.line("Forgot \(daemon.name).")
        return .ok
    }

    static let rename = Command(
        "rename", "give a daemon another name on this device",
        positionals: [Common.daemon.required, newName.required]
    ) { invocation async throws(CommandFailure) in
        let store = try ClientCommand.store(invocation.context)
        let daemon = try await find(invocation, store)
        let name = try invocation.required(newName)
        try await update(store, doing: "rename \(daemon.name)") { records throws(Registry.Refusal) in
            try records.registry.rename(daemon.node, to: name)
        }
        invocation.context.output.json(["daemon": .string(name), "node_id": .string(daemon.node.z32)])
        invocation.context.output.line("\(daemon.name) is now called \(name).")
        return .ok
    }

    private static func row(_ daemon: DaemonRecord) -> JSONObject {
        ["daemon": .string(daemon.name), "node_id": .string(daemon.node.z32)]
    }

    private static func find(
        _ invocation: Invocation, _ store: FileClientStore
    ) async throws(CommandFailure) -> DaemonRecord {
        let text = try invocation.required(Common.daemon)
        let records: ClientRecords
        do throws(ClientStoreError) {
            records = try await store.records()
        } catch {
            throw CommandFailure(error, doing: "read the list of daemons")
        }
        return try DaemonSelection(records.registry).find(text)
    }

    private static func update(
        _ store: FileClientStore, doing: String,
        _ change: @escaping @Sendable (inout ClientRecords) throws(Registry.Refusal) -> Void
    ) async throws(CommandFailure) {
        do throws(ClientStoreError) {
            try await store.update { records throws(ClientStoreError) in
                do throws(Registry.Refusal) {
                    try change(&records)
                } catch {
                    throw .refused(error)
                }
            }
        } catch {
            if case .refused(let refusal) = error { throw CommandFailure(refusal, doing: doing) }
            throw CommandFailure(error, doing: doing)
        }
    }
}

extension CommandFailure {
    init(_ refusal: Registry.Refusal, doing: String) {
        switch refusal {
        case .full:
            self.init(
                .busy, "could not \(doing): the list holds \(Registry.maxDaemons) daemons already",
                hint: "Drop one with 'mew forget'.")
        case .unknown:
            self.init(.unknownDaemon, "could not \(doing): it was dropped meanwhile", hint: "See 'mew ls'.")
        case .nameTaken(let name):
            self.init(
                .badInput, "could not \(doing): another daemon is called \(name.printableName)",
                hint: "Choose another name.")
        case .unusableName(let name):
            self.init(
                .badInput,
                "could not \(doing): '\(name.printableName)' cannot be told from an option, a number or a node ID",
                hint: "Choose another name.")
        }
    }
}
