import MewBase
import MewClient
import MewIdentity
import MewLoop
import MewWire

extension Command {
    private static let payload = Positional<String>(
        "PAYLOAD", "what 'mew pair' printed there, or the daemon's node ID", read: { $0 })
    private static let name = Option<String>("name", "N", "what to call it here", read: Readers.text("--name"))

    static let add = Command(
        "add", "pair with a daemon and remember it", positionals: [payload.oneOrMore],
        options: [name.spec] + Common.routes,
        details: [
            "Run 'mew pair' on the daemon's machine first; it waits two minutes. With its payload this pairs at once. With a bare "
                + "node ID both screens show the same six digits, and somebody there has to confirm them.",
            "What --relay-token and --relay-trust say is remembered for the relays named here, until 'mew forget'; authorities "
                + "also for relays of the payload. When one of them changes, add the daemon once more, which needs no window: "
                + "mew add NODEID --relay URL --relay-token TEXT.",
            "Exit: 0 paired, 2 bad payload, 3 no window is open there, 4 refused, 5 out of reach.",
        ],
        examples: ["mew add 'mew001:{…}' --name desk", "mew add NODEID --addr 192.0.2.7:4433"]
    ) { invocation async throws(CommandFailure) in
        let payload = try parse(invocation.arguments.all(payload).joined(separator: " "))
        let command = try await ClientCommand.open(invocation, payload: payload.relays)
        let record = DaemonRecord(
            node: payload.node, name: invocation[name] ?? payload.name ?? "", addresses: payload.addresses,
            relays: payload.relays, token: payload.token?.revealed, addedAt: .now)
        let target = ClientCommand.Target(record: record, routes: invocation.routes(to: payload.node))
        try command.refuseOwnNode(payload.node)
        let authorities = command.relayUse.givenAuthorities(command.relayTrust, invocation.context.output)
        let memory = command.relayUse.memory(trust: authorities)
        try await command.rehearse()
        let added = try await Pairing(command, target, memory, renames: invocation[name] != nil).run()
        invocation.context.output.json([
            "daemon": .string(added.name), "node_id": .string(added.node.z32), "name": .string(added.name),
            "scope": added.scope.map { .string($0.rawValue) } ?? .null,
        ])
        invocation.context.output.line(
            "Paired with \(added.name)\(added.scope.map { " (scope \($0.rawValue))" } ?? "").")
        if let remembered = remembered(added.relayAccess) { invocation.context.output.sentence(remembered) }
        invocation.context.output.line("Try: \(suggestion(added.name, added.scope))")
        return .ok
    }

    /// Something that the scope allows: a new session needs control.
    private static func suggestion(_ daemon: String, _ scope: Scope?) -> String {
        let name = shellQuoted(daemon)
        return scope == nil || scope == .control ? "mew prompt \(name) 'uname -a'" : "mew sessions \(name)"
    }

    private static func remembered(_ access: [RelayAccess]) -> String? {
        guard !access.isEmpty else { return nil }
        let words = access.map { relay in
            let what = [relay.token.map { _ in "its token" }, relay.trust.map { _ in "whom it is believed by" }]
            return "\(relay.relay.printable(limit: 100)) (\(what.compactMap { $0 }.joined(separator: " and ")))"
        }
        return "Remembered for the relay: \(words.joined(separator: ", "))."
    }

    private static func parse(_ text: String) throws(CommandFailure) -> PairingPayload {
        do throws(PairingPayloadError) {
            return try PairingPayload(parsing: text)
        } catch {
            var code = ErrorCode.badInput
            if case .unknownVersion = error { code = .unknownVersion }
            throw CommandFailure(code, "could not read the payload: \(error)", hint: hint(error))
        }
    }

    /// The other sentences say what to do themselves.
    private static func hint(_ error: PairingPayloadError) -> String? {
        switch error {
        case .tooLong, .node, .notJSON, .missingNodeID, .part: "Copy the whole line that 'mew pair' prints."
        case .empty, .unknownVersion, .expandedByShell, .surroundings: nil
        }
    }
}

extension ClientCommand {
    fileprivate func refuseOwnNode(_ node: NodeID) throws(CommandFailure) {
        guard environment.dialer.node != node else {
            throw CommandFailure(
                .badInput, "that is the ID of this very node",
                hint: "A daemon and its clients have state directories of their own; see --home.")
        }
    }

    /// A code is spent by the first device that brings it, and would be lost with a device that cannot remember.
    fileprivate func rehearse() async throws(CommandFailure) {
        do throws(ClientStoreError) {
            try await store.rehearse()
        } catch {
            throw CommandFailure(error, doing: "remember a daemon, so it was not asked")
        }
    }
}

/// Dials a daemon for the first time, waits while somebody there decides, and remembers it once it said yes.
private struct Pairing: Sendable {
    private let command: ClientCommand
    private let target: ClientCommand.Target
    /// Of its relays.
    private let memory: [RelayAccess]
    private let renames: Bool

    init(_ command: ClientCommand, _ target: ClientCommand.Target, _ memory: [RelayAccess], renames: Bool) {
        (self.command, self.target, self.memory, self.renames) = (command, target, memory, renames)
    }

    func run() async throws(CommandFailure) -> DaemonRecord {
        let supervisor = DaemonSupervisor(
            record: target.record, environment: command.environment, extraRoutes: target.routes, pairs: true,
            adopts: false)
        let feed = await supervisor.subscribe()
        let result = await withTaskGroup(of: Result<DaemonRecord, CommandFailure>?.self) { group in
            group.addTask {
                await supervisor.run()
                return nil
            }
            group.addTask {
                let result: Result<DaemonRecord, CommandFailure>
                do throws(CommandFailure) {
                    result = .success(try await follow(supervisor, feed))
                } catch {
                    result = .failure(error)
                }
                feed.finish()
                await supervisor.stop()
                return result
            }
            var result: Result<DaemonRecord, CommandFailure>?
            for await next in group { result = result ?? next }
            return result
        }
        guard let result else { throw CommandFailure(.internal, "pairing ended without a result") }
        return try result.get()
    }

    private func follow(
        _ supervisor: DaemonSupervisor, _ feed: Feed<ClientEvent>
    ) async throws(CommandFailure) -> DaemonRecord {
        var next = await command.telling(of: target) { await Self.news(feed) }
        while let phase = next {
            switch phase {
            case .pairing(let digits, let seconds): showDigits(digits, seconds)
            case .ready: return try await remember(await supervisor.view.record)
            case .waiting(_, let trouble):
                throw failure(ClientError(trouble.notDecided(by: command.relaysOfOthers(than: target))))
            case .parked(let refusal): throw failure(refusal)
            case .idle, .dialing, .greeting: break
            }
            next = await Self.news(feed)
        }
        throw CommandFailure(.internal, "pairing ended without a result")
    }

    /// The next phase in which the daemon has answered, or the dial is over; nil at the end.
    private static func news(_ feed: Feed<ClientEvent>) async -> LinkPhase? {
        for await case .phase(let phase) in feed {
            switch phase {
            case .pairing, .ready, .waiting, .parked: return phase
            case .idle, .dialing, .greeting: continue
            }
        }
        return nil
    }

    private func showDigits(_ digits: String, _ seconds: UInt64) {
        let output = command.context.output
        output.json([
            "event": "confirm", "digits": .string(digits), "expires_in_s": .integer(Int64(clamping: seconds)),
        ])
        output.line("Confirm on the daemon's machine that it shows the same six digits:")
        output.line("")
        output.line("    \(digits.prefix(3)) \(digits.suffix(3))")
        output.line("")
        output.line("Waiting up to \(seconds) s.")
    }

    private func remember(_ record: DaemonRecord) async throws(CommandFailure) -> DaemonRecord {
        let renames = renames
        var record = record
        for access in memory.reversed() { record.keep(access) }
        record.keep(named: target.routes.relays)
        let added = record
        do throws(ClientStoreError) {
            return try await command.store.update { records throws(ClientStoreError) in
                do throws(Registry.Refusal) {
                    return try records.registry.add(added, renames: renames)
                } catch {
                    throw .refused(error)
                }
            }
        } catch {
            if case .refused(let refusal) = error { throw CommandFailure(refusal, doing: "remember the daemon") }
            throw CommandFailure(error, doing: "remember the daemon")
        }
    }

    // MARK: - Failures

    private var name: String { target.shownName }

    private func failure(_ error: ClientError) -> CommandFailure {
        CommandFailure(error, doing: "reach \(name)", daemon: name, relays: command.relayUse)
    }

    /// A close with 1 means that nobody waits for a new device there (spec/native-wire.md §4).
    private func failure(_ refusal: ConnectionRefusal) -> CommandFailure {
        if case .unauthorized = refusal {
            return CommandFailure(
                ClientError(.windowClosed, "\(name) is not waiting for a new device"), doing: "pair", daemon: name)
        }
        if case .pairingRefused(let reason, let code) = refusal {
            // Our daemons say what to do after a semicolon, stock ones only that they refuse.
            return CommandFailure(
                code, "could not pair: \(reason.isEmpty ? "the daemon refused" : reason)",
                hint: reason.contains(";") ? nil : "Run 'mew pair' there again and use the new payload.")
        }
        return CommandFailure(ClientError(refusal), doing: "pair with \(name)", daemon: name)
    }
}
