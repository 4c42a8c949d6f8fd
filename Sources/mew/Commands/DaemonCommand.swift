import MewBase
import MewClient
import MewDaemon
import MewIdentity
import MewWire

extension Command {
    private static let bind = Option<SocketAddress>(
        "bind", "IP:PORT", "listen here (default: all addresses, a port chosen once)",
        read: Readers.socketAddress("--bind"))
    private static let homeRelay = Option<RelayURL>(
        "relay", "URL", "be reachable through this relay too; the nearest is home", read: Readers.relayURL("--relay"))
    private static let name = Option<String>(
        "name", "N", "what devices call this machine (default: its host name)", read: Readers.text("--name"))
    private static let agent = Option<String>(
        "agent", "NAME=COMMAND", "an agent to offer, or just 'shell' for the built-in one",
        read: Readers.text("--agent"))
    private static let backIn = Option<Int>(
        "back-in", "S", "on SIGTERM, tell devices that this daemon will be back in S seconds",
        read: Readers.integer("--back-in", in: 1...ConnectionEnd.longestAbsence))
    private static let noPortMap = Flag(
        "no-port-map", "do not ask the router to open the port (NAT-PMP, UPnP)")
    private static let logJSON = Flag("log-json", "log JSON objects on standard error")
    private static let logLevel = Option<String>(
        "log-level", "LEVEL", "debug, info (default), warning or error",
        read: Readers.choice("--log-level", Diagnostic.Level.allCases.map { "\($0)" }))

    static let daemon = Command(
        "daemon", "serve the agents of this machine until a signal",
        options: [
            bind.repeated, homeRelay.repeated, Common.relayToken.spec, Common.relayTrust.spec, name.spec,
            agent.repeated, noPortMap.spec, backIn.spec, logJSON.spec, logLevel.spec,
        ],
        details: [
            "Admits only devices that were let in with 'mew pair'. Prints 'mew-node-id:ID' when it is ready. SIGTERM ends it in "
                + "order: turns are interrupted and written down, devices are told. A second signal ends it at once.",
            "Devices are told that it is stopping. Say --back-in where a service manager starts it again: they dial then, without "
                + "waiting longer each time.",
            "The nearest of the relays becomes home, another one stands by, and each keeps a signed record of where this node is. "
                + "Relays can stand in config.json in the state directory instead, with a token and a file of authorities for "
                + "them: {\"relays\": [\"URL\"], \"relay_token\": \"TEXT\", \"relay_trust\": \"FILE\"}.",
            "A daemon with relays asks the router in front of it to open its UDP port, so that devices reach it directly; "
                + "--no-port-map, or {\"port_map\": false} in config.json, keeps it from that.",
            "Without --agent it offers the built-in shell agent: a prompt is a shell command, which it asks permission for.",
        ]
    ) { invocation async throws(CommandFailure) in
        let context = invocation.context
        return try await DaemonRun(context, options(invocation)).run { readiness async throws(CommandFailure) in
            announce(readiness, context.output)
            return .ok
        }
    }

    private static func options(_ invocation: Invocation) -> DaemonOptions {
        var options = DaemonOptions()
        options.bind = invocation.arguments.all(bind)
        options.relays = invocation.arguments.all(homeRelay)
        options.relayToken = invocation[Common.relayToken]
        options.relayTrust = invocation[Common.relayTrust]
        options.name = invocation[name]
        options.agents = invocation.arguments.all(agent)
        options.mapsPort = invocation[noPortMap] ? false : nil
        options.backIn = invocation[backIn].map { .seconds($0) }
        options.logsJSON = invocation[logJSON]
        let level = invocation[logLevel] ?? "info"
        options.level = Diagnostic.Level.allCases.first { "\($0)" == level } ?? .info
        return options
    }

    /// The line that scripts wait for comes last: what stands before it is for people.
    private static func announce(_ readiness: DaemonReadiness, _ output: Output) {
        for line in DaemonWords(readiness).lines { output.note(line) }
        let event: JSONObject = [
            "event": "ready", "node_id": .string(readiness.node.z32), "hex": .string(readiness.node.hex),
            "addrs": .array(readiness.addresses.map { .string($0.description) }),
            "relays": .array(readiness.relays.map { .string($0.url.description) }),
            "relays_connected": .array(readiness.relays.filter(\.isConnected).map { .string($0.url.description) }),
            "warnings": .array(DaemonWords.warnings(readiness).map(JSON.string)),
        ]
        output.json(readiness.damage.fields.reduce(into: event) { $0[$1.0] = $1.1 })
        output.line("mew-node-id:\(readiness.node.z32)")
    }
}

/// What a daemon says about itself when it starts.
struct DaemonWords {
    let lines: [String]

    init(_ readiness: DaemonReadiness) {
        let addresses = readiness.addresses.map(\.description).joined(separator: ", ")
        var lines = ["\(readiness.name) listens on UDP \(addresses)."]
        lines += Self.relays(readiness.relays)
        lines += Self.warnings(readiness).map { "Warning: \($0)" }
        if readiness.agents.contains("shell") {
            // DESIGN §9: whoever starts it must know.
            lines.append(
                "The shell agent is on: paired devices of scope collaborate and above can run commands as this user.")
        }
        self.lines = lines
    }

    static func warnings(_ readiness: DaemonReadiness) -> [String] {
        readiness.warnings + DamageWords(readiness.damage).lines.map { $0 + "." }
    }

    /// Of one that `mew pair` starts: it takes its relays from one place only, and people expect those that they gave another
    /// daemon.
    static func forPairing(_ readiness: DaemonReadiness) -> String {
        let start = "No daemon was running here, so this command starts one, "
        guard readiness.relays.isEmpty else { return start + "with the relays of config.json." }
        return start + "without a relay. For one, run 'mew daemon --relay URL' first, or name it in config.json."
    }

    /// What is so, and what is only tried.
    private static func relays(_ relays: [DaemonReadiness.Relay]) -> [String] {
        let connected = relays.filter(\.isConnected).map(\.url.description)
        let lines =
            connected.isEmpty ? [] : ["It can be reached through \(connected.joined(separator: ", ")) as well."]
        return lines
            + relays.filter { !$0.isConnected }.map { relay in
                let advice = relay.advice.map { "; \($0)" } ?? ""
                return "It tries the relay \(relay.url): \(relay.problem ?? "no answer yet")\(advice)."
            }
    }
}
