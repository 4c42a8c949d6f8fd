import MewBase
import MewClient
import MewIdentity
import MewWire

extension Command {
    private static let operation = Positional<String>(
        "OP", "an operation: its number in the list, or the last characters of its ID", read: Readers.text("OP"))
    private static let check = Flag(
        "check", "ask the daemon what became of it, and kill it there if it never arrived (without OP: all of D)")
    private static let resend = Flag(
        "resend", "send an unknown one again, as it was: a daemon that has it does nothing twice")
    private static let drop = Flag(
        "drop", "forget it here: one the daemon never stored is killed there first, one that it has goes on")

    static let ops = Command(
        "ops", "show what was asked of daemons and is not over, or whose end is unknown",
        positionals: [Common.daemon.optional, operation.optional],
        options: [check.spec, resend.spec, drop.spec] + Common.routes,
        details: [
            "An operation is unknown when the connection was lost before the daemon said that it has it. It is never sent again "
                + "by itself: ask first.",
            "--json: \"state\" is sending, stored, delivered, settled (\"result\" says how, where that is known), refused "
                + "(\"code\" and \"message\" say why), unknown or absent.",
        ],
        examples: ["mew ops", "mew ops desk 1 --check"]
    ) { invocation async throws(CommandFailure) in
        let command = try await ClientCommand.open(invocation)
        let records = try await command.records()
        let operations = records.operations.map(command.store.asKnown)
        guard let text = invocation[Common.daemon] else {
            guard !invocation[check], !invocation[drop], !invocation[resend] else {
                throw CommandFailure(
                    .badInput, "--check needs a daemon, --resend and --drop a daemon and an operation",
                    hint: "Name the daemon, as in 'mew ops desk --check'.")
            }
            show(operations, records.registry, invocation.context)
            return .ok
        }
        let target = try await command.daemon(of: invocation)
        let mine = operations.filter { $0.daemon == target.record.node }
        guard invocation[check] || invocation[drop] || invocation[resend] else {
            show(mine, records.registry, invocation.context)
            return .ok
        }
        if invocation[operation] == nil, invocation[check], !invocation[drop], !invocation[resend] {
            try await check(mine, command, target)
            return .ok
        }
        let chosen = try choose(invocation[operation], mine, text)
        if invocation[resend] { return try await resend(chosen, command, target) }
        if invocation[check] { try await check([chosen], command, target) }
        if invocation[drop] { try await drop(chosen, command, target) }
        return .ok
    }

    private static func choose(
        _ text: String?, _ operations: [MewClient.Operation], _ daemon: String
    ) throws(CommandFailure) -> MewClient.Operation {
        guard let text else {
            throw CommandFailure(.badInput, "which operation?", hint: "See 'mew ops \(shellQuoted(daemon))'.")
        }
        let selection = Selection(elements: operations, noun: "operation") { $0.id.description }
        if case .found(let operation) = selection.find(text) { return operation }
        throw CommandFailure(
            .badInput, "no operation there is called '\(Readers.shown(text))'",
            hint: "See 'mew ops \(shellQuoted(daemon))'.")
    }

    private static func check(
        _ operations: [MewClient.Operation], _ command: ClientCommand, _ target: ClientCommand.Target
    ) async throws(CommandFailure) {
        guard !operations.isEmpty else { return command.context.output.line("Nothing is pending.") }
        for operation in try await ask(operations, settle: true, command, target) {
            tell(operation, command, target)
        }
    }

    private static func tell(
        _ operation: MewClient.Operation, _ command: ClientCommand, _ target: ClientCommand.Target
    ) {
        command.context.output.json(row(operation, target.name))
        command.context.output.line(
            "…\(operation.id.description.suffix(6))  \(operation.kind.rawValue): \(words(operation.state))")
    }

    /// Under its own ID, so that it can only be done once, whatever else is still on its way.
    private static func resend(
        _ operation: MewClient.Operation, _ command: ClientCommand, _ target: ClientCommand.Target
    ) async throws(CommandFailure) -> ExitCode {
        guard operation.state == .unknown else {
            throw CommandFailure(
                .busy, "only an unknown operation can be sent again; this one is \(operation.state.name)",
                hint: "Ask about it with --check.")
        }
        let result = try await command.connected(to: target) { daemon async throws(CommandFailure) in
            try await daemon.attempt("send the operation again") { () async throws(ClientError) in
                if let session = operation.session { try await daemon.supervisor.attach(session) }
                return try await daemon.supervisor.resend(operation)
            }
        }
        return try told(result, command, target)
    }

    private static func told(
        _ operation: MewClient.Operation, _ command: ClientCommand, _ target: ClientCommand.Target
    ) throws(CommandFailure) -> ExitCode {
        switch operation.state {
        case .stored, .delivered, .settled, .absent: break
        case .refused(let code, let message):
            throw CommandFailure(ClientError(code, message), doing: "send the operation again", daemon: target.name)
        case .sending, .unknown:
            throw CommandFailure(
                ClientError(.deliveryUnknown, "the daemon has not said that it has it"),
                doing: "learn whether the operation was delivered", daemon: target.name)
        }
        tell(operation, command, target)
        return .ok
    }

    /// A drop that only forgot would leave a late original free to run. Tells how it stands at the daemon: it may have been done.
    private static func drop(
        _ operation: MewClient.Operation, _ command: ClientCommand, _ target: ClientCommand.Target
    ) async throws(CommandFailure) {
        var operation = operation
        if operation.state == .unknown || operation.state == .sending {
            do throws(CommandFailure) {
                operation = try await ask([operation], settle: true, command, target).first ?? operation
            } catch {
                // A stock daemon keeps no receipts: there is nothing to settle, and nobody who could tell.
                guard error.code == .unknownType else { throw error }
            }
        }
        guard operation.state != .sending else {
            throw CommandFailure(
                .busy, "another mew process is sending it just now", hint: "Wait until that one has ended.")
        }
        do throws(ClientStoreError) {
            let id = operation.id
            try await command.store.update { records throws(ClientStoreError) in _ = records.drop(id) }
        } catch {
            throw CommandFailure(error, doing: "drop the operation")
        }
        command.context.output.json(row(operation, target.name))
        command.context.output.sentence(dropped(operation, target.name))
    }

    /// The daemon goes on with what it has, whoever has forgotten it here.
    private static func dropped(_ operation: MewClient.Operation, _ daemon: String) -> String {
        switch operation.state {
        case .stored, .delivered: break
        case .sending, .settled, .refused, .unknown, .absent: return "Dropped (\(words(operation.state)))."
        }
        guard operation.kind == .prompt, let session = operation.session else {
            return "Forgotten on this device only: \(daemon) has it, and does it all the same."
        }
        return
            "Forgotten on this device only: \(daemon) has the prompt, and runs it all the same. Once it runs, and not "
            + "while it waits for another turn, 'mew cancel \(shellQuoted(daemon)) \(session.text)' ends it."
    }

    private static func ask(
        _ operations: [MewClient.Operation], settle: Bool, _ command: ClientCommand, _ target: ClientCommand.Target
    ) async throws(CommandFailure) -> [MewClient.Operation] {
        try await command.connected(to: target) { daemon async throws(CommandFailure) in
            try await daemon.attempt("ask about the operation") { () async throws(ClientError) in
                try await daemon.supervisor.check(operations, settle: settle)
            }
        }
    }

    // MARK: - Showing

    private static func show(_ operations: [MewClient.Operation], _ registry: Registry, _ context: CommandContext) {
        let (output, now) = (context.output, WallTime.now.milliseconds)
        var table = TextTable(["#", "OPERATION", "DAEMON", "WHAT", "STATE", "SINCE"], flexible: 4, hasSentences: true)
        for (index, operation) in operations.enumerated() {
            let name = registry[operation.daemon]?.name ?? String(operation.daemon.z32.prefix(8))
            output.json(row(operation, name))
            table.add([
                "\(index + 1)", "…\(operation.id.description.suffix(6))", name, operation.kind.rawValue,
                words(operation.state), Words.ago(operation.begun.milliseconds, now: now),
            ])
        }
        guard !operations.isEmpty else { return output.line("Nothing is pending.") }
        output.table(table)
        output.sentence("'mew ops D --check' asks the daemon D what became of them.")
    }

    private static func row(_ operation: MewClient.Operation, _ daemon: String) -> JSONObject {
        var row: JSONObject = [
            "op_id": .string(operation.id.description), "daemon": .string(daemon),
            "node_id": .string(operation.daemon.z32), "kind": .string(operation.kind.rawValue),
            "session_id": operation.session.map { .string($0.text) } ?? .null,
            "state": .string(operation.state.name), "begun_ms": .integer(operation.begun.milliseconds), "result": .null,
            "code": .null, "message": .null,
        ]
        if case .settled(let result?) = operation.state { row["result"] = .string(result.rawValue) }
        if case .refused(let code, let message) = operation.state {
            (row["code"], row["message"]) = (.string(code.rawValue), .string(message))
        }
        return row
    }

    private static func words(_ state: MewClient.Operation.State) -> String {
        switch state {
        case .sending: "another process is sending it"
        case .stored: "stored, not started"
        case .delivered: "running, or its end was not heard"
        case .settled(let result): result?.rawValue ?? "done"
        case .refused(_, let message): "refused: \(message)"
        case .unknown: "unknown: nobody knows whether it arrived"
        case .absent: "never arrived, and cannot any more; nothing was done"
        }
    }
}

extension MewClient.Operation.State {
    /// As JSON says it.
    var name: String {
        switch self {
        case .sending: "sending"
        case .stored: "stored"
        case .delivered: "delivered"
        case .settled: "settled"
        case .refused: "refused"
        case .unknown: "unknown"
        case .absent: "absent"
        }
    }
}
