import MewBase
import MewClient
import MewDaemon
import MewIdentity
import MewLoop
import MewWire

extension Command {
    static let status = Command(
        "status", "show the links of this machine's daemon, or the link to another one",
        positionals: [Common.daemon.optional], options: Common.routes
    ) { invocation async throws(CommandFailure) in
        guard invocation[Common.daemon] != nil else { return try await own(invocation.context) }
        let command = try await ClientCommand.open(invocation)
        let target = try await command.daemon(of: invocation)
        try await command.connected(to: target) { session async throws(CommandFailure) in
            // One round trip, so that there is a time to show.
            try await session.attempt("ask \(session.name)") { () async throws(ClientError) in
                try await session.supervisor.ping()
            }
            let status = await session.settledStatus()
            let report = LinkReport(
                daemon: session.name, node: target.record.node, status,
                isInTwoPlaces: await session.supervisor.view.isInTwoPlaces,
                now: invocation.context.runtime.loop.now)
            show(report, session.output)
            if let versions = await session.supervisor.view.versions {
                session.output.note("(\(versions.words(session.name)))")
            }
        }
        return .ok
    }

    // MARK: - This machine's daemon

    private static func own(_ context: CommandContext) async throws(CommandFailure) -> ExitCode {
        let connection = try ControlConnection.openRequired(context)
        guard case .status(let status) = try await connection.ask(.status) else {
            throw CommandFailure(.protocol, "the daemon on this machine answered something else")
        }
        await connection.close()
        let output = context.output
        output.line(
            "\(status.name.printableName), mew \(status.version.printable(limit: 40)), up \(Words.duration(milliseconds: status.upMs))"
        )
        output.line("node ID  \(status.node.z32)")
        output.line("listens  \(status.addresses.map { $0.printable(limit: 80) }.joined(separator: ", "))")
        for line in RelayLines(status.relayLegs).lines { output.sentence(line, indent: RelayLines.indent) }
        if let words = status.mapping.flatMap(mappingWords) { output.sentence(words) }
        output.line(
            "\(Words.count(status.sessions, "session")) (\(status.runningSessions) running, "
                + "\(status.sessionsNeedingYou) waiting for an answer), "
                + "\(Words.count(status.pairedDevices, "paired device"))")
        if let seconds = status.windowSecondsLeft { output.line("a pairing window is open for another \(seconds) s") }
        if !status.isSaving {
            let reason = status.notSavingReason?.printable(limit: 200) ?? "unknown reason"
            output.sentence("NOTHING IS BEING SAVED: \(reason)")
        }
        for line in DamageWords(status.damage).lines { output.sentence(line) }
        if output.isJSON { output.json(row(status)) }
        if status.links.isEmpty { output.line("nobody is connected") }
        for link in status.links { show(LinkReport(link, of: status.name.printableName), output) }
        return .ok
    }

    /// Nil for what is usual.
    private static func mappingWords(_ mapping: ControlMapping) -> String? {
        switch mapping {
        case .asking: nil
        case .open(let address, let method):
            "the router keeps \(address.printable(limit: 80)) open for it (\(method.printable(limit: 20)))"
        case .failed(let reason): "no port is open for it at a router: \(reason.printable(limit: 200))"
        }
    }

    private static func row(_ status: ControlStatus) -> JSONObject {
        let row: JSONObject = [
            "daemon": .string(status.name), "node_id": .string(status.node.z32), "version": .string(status.version),
            "up_ms": .integer(status.upMs), "addrs": .array(status.addresses.map(JSON.string)),
            "relays": .array(status.relays.map(JSON.string)),
            "relay_legs": .array(status.relayLegs.map(\.row)),
            "in_two_places": .bool(status.relayLegs.contains(where: \.isElsewhere)),
            "sessions": .integer(Int64(status.sessions)), "running": .integer(Int64(status.runningSessions)),
            "needs_you": .integer(Int64(status.sessionsNeedingYou)),
            "paired": .integer(Int64(status.pairedDevices)), "saving": .bool(status.isSaving),
            "port_mapping": status.mapping?.row ?? .null,
        ]
        return status.damage.fields.reduce(into: row) { $0[$1.0] = $1.1 }
    }

    private static func show(_ report: LinkReport, _ output: Output) {
        output.json(report.json)
        for text in report.lines { output.sentence(text) }
    }
}
