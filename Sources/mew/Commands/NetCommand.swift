import MewBase
import MewClient
import MewDaemon
import MewLoop
import MewNode
import MewWire

extension Command {
    private static let trace = Flag("trace", "with D: also what the choice of paths saw and did, oldest first")

    static let net = Command(
        "net", "report on this network: UDP, routers, relays; or on the link to D",
        positionals: [Common.daemon.optional], options: [trace.spec] + Common.routes,
        details: [
            "Asks the STUN servers of relays where they see this machine, anew, which takes up to six seconds. Without D it is the "
                + "daemon of this state directory that asks, from its own port; when none runs, this command does, from a port of its "
                + "own, and the relays are those of --relay, of config.json and of the daemons that were added.",
            "With D the command dials it, says how it is reached and, when that is not direct, which side's router is why (each side "
                + "tells the other what it has found out), and what would help.",
            "With one relay nobody can tell whether a router that keeps the port for both ports of it does so for other addresses.",
            "--json: {\"ipv4\": {\"udp\", \"mapping\", \"filtering\", \"hairpin\", \"addresses\"}, \"ipv6\": …, \"port_mapping\", "
                + "\"relays\": [{\"url\", \"addr\", \"udp_rtt_ms\", \"rtt_ms\", \"transport\", \"problem\"}]}; with D also \"link\" as "
                + "in 'mew status D', and \"trace\".",
        ],
        examples: ["mew net", "mew net --relay https://relay.example", "mew net desk --trace"]
    ) { invocation async throws(CommandFailure) in
        if invocation[Common.daemon] != nil { return try await link(invocation) }
        if invocation[trace] {
            throw CommandFailure(
                .badInput, "--trace is about the link to a daemon",
                hint: "Name it: mew net D --trace.")
        }
        if let net = try await ofDaemon(invocation.context) {
            show(net, invocation.context.output)
        } else {
            show(try await ofThisCommand(invocation), invocation.context.output)
        }
        return .ok
    }

    private static func show(_ net: ControlNet, _ output: Output, _ more: JSONObject = [:]) {
        for line in NetReport(net).lines { output.line(line) }
        guard output.isJSON, var object = net.json.asObject else { return }
        for entry in more.entries { object[entry.key] = entry.value }
        output.json(object)
    }

    /// Nil when no daemon runs.
    private static func ofDaemon(_ context: CommandContext) async throws(CommandFailure) -> ControlNet? {
        guard let connection = try ControlConnection.open(context) else { return nil }
        let reply = try await connection.ask(.net)
        await connection.close()
        guard case .net(let net) = reply else {
            throw CommandFailure(.protocol, "the daemon on this machine answered something else")
        }
        return net
    }

    // MARK: - From here

    /// As many relays as two addresses and one that is down need.
    private static let maxRelays = 3

    private static func ofThisCommand(_ invocation: Invocation) async throws(CommandFailure) -> ControlNet {
        let command = try await ClientCommand.open(invocation)
        var relays: [RelayURL] = []
        for relay in command.knownRelays where !relays.contains(where: { $0.isSamePlace(as: relay) }) {
            relays.append(relay)
        }
        guard !relays.isEmpty else {
            throw CommandFailure(
                .badInput, "no relay is known that could say where it sees this machine",
                hint: "Name one with --relay URL.")
        }
        return await examined(command, Array(relays.prefix(maxRelays)))
    }

    private static func examined(_ command: ClientCommand, _ relays: [RelayURL]) async -> ControlNet {
        // Diallers of tests are no nodes, and have no network.
        let node = command.environment.dialer as? Node
        return ControlNet(await node?.examineNetwork(asking: relays), mapping: nil)
    }

    // MARK: - The link to a daemon

    private static func link(_ invocation: Invocation) async throws(CommandFailure) -> ExitCode {
        let command = try await ClientCommand.open(invocation)
        let target = try await command.daemon(of: invocation)
        let wantsTrace = invocation[trace]
        try await command.connected(to: target) { session async throws(CommandFailure) in
            try await session.attempt("ask \(session.name)") { () async throws(ClientError) in
                try await session.supervisor.ping()
            }
            let status = await session.settledStatus()
            let report = LinkReport(
                daemon: session.name, node: target.record.node, status,
                isInTwoPlaces: await session.supervisor.view.isInTwoPlaces, now: command.context.runtime.loop.now)
            for text in report.lines { session.output.sentence(text) }
            // Those through which it was dialled are asked already.
            let net = await examined(command, [])
            let traces = wantsTrace ? await (command.environment.dialer as? Node)?.pathTraces().first ?? [] : []
            for line in traces { session.output.line(line) }
            show(
                net, session.output,
                ["link": .object(report.json), "trace": wantsTrace ? .array(traces.map(JSON.string)) : .null])
        }
        return .ok
    }
}
