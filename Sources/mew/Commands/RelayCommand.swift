import MewBase
import MewIdentity
import MewRelay
import MewWire

extension Command {
    private static let http = Option<SocketAddress>(
        "http", "IP:PORT", "listen here, on TCP and UDP (default: all addresses, port 3340, or 443 with a certificate)",
        read: Readers.socketAddress("--http"))
    private static let plain = Option<SocketAddress>(
        "plain-http", "IP:PORT", "with a certificate: listen here without TLS as well",
        read: Readers.socketAddress("--plain-http"))
    private static let udp = Option<SocketAddress>(
        "udp", "IP:PORT",
        "the other UDP port: STUN, and word to iroh endpoints that there is no address discovery (default: all addresses, port 7842)",
        read: Readers.socketAddress("--udp"))
    private static let noUDP = Flag("no-udp", "answer nothing on UDP, so no HTTP/3 either")
    private static let certificate = Option<String>(
        "tls-cert", "FILE", "the certificate chain, PEM", read: Readers.text("--tls-cert"))
    private static let key = Option<String>("tls-key", "FILE", "its private key, PEM", read: Readers.text("--tls-key"))
    private static let allow = Option<NodeID>(
        "allow", "NODEID", "serve only the nodes that are allowed", read: Readers.nodeID("--allow"))
    private static let deny = Option<NodeID>(
        "deny", "NODEID", "do not serve this node, and no mew that dials as it", read: Readers.nodeID("--deny"))
    private static let token = Option<String>(
        "token", "TEXT", "serve only who shows a token (--access keeps it from the list of processes)",
        read: Readers.relayToken("--token"))
    private static let access = Option<String>(
        "access", "FILE", "more of these rules, one a line: allow NODEID, deny NODEID, token TEXT",
        read: Readers.text("--access"))
    private static let rate = Option<Int>(
        "rate", "BYTES", "how many bytes a second one client may send (default: as many as it can)",
        read: Readers.integer(
            "--rate", in: RelayLimits.leastBytesPerSecond...1_000_000_000_000, of: "bytes per second"))
    private static let connections = Option<Int>(
        "max-connections", "N", "connections in all (default 10000)",
        read: Readers.integer("--max-connections", in: 1...1_000_000))
    private static let perSource = Option<Int>(
        "max-per-source", "N",
        "of these, connections of one network, an IPv4 /24 or IPv6 /56 (default 1024); behind a proxy, all come from it",
        read: Readers.integer("--max-per-source", in: 1...1_000_000))
    private static let logJSON = Flag("log-json", "log JSON objects on standard error")
    private static let logLevel = Option<String>(
        "log-level", "LEVEL", "debug, info (default), warning or error",
        read: Readers.choice("--log-level", Diagnostic.Level.allCases.map { "\($0)" }))

    static let relay = Command(
        "relay", "pass packets between nodes that cannot reach one another",
        options: [
            http.repeated, plain.repeated, udp.repeated, noUDP.spec, certificate.spec, key.spec, allow.repeated,
            deny.repeated, token.repeated, access.spec, rate.spec, connections.spec, perSource.spec, logJSON.spec,
            logLevel.spec,
        ],
        details: [
            "For a machine that everybody can reach. It sees who sends to whom and how much, never what. mew nodes and iroh "
                + "endpoints use it with a URL it prints when it is ready: with a certificate those of the hosts it is for, without "
                + "one http://ADDRESS:3340/. Its TCP port has to be open. Open UDP with the same number, and UDP 7842, as well: on the "
                + "first it answers HTTP/3, where a lost packet of one peer delays no other, and on both it tells nodes at which "
                + "address their routers show them (STUN). --no-udp leaves both alone; packets pass without.",
            "By the URL with its key pinned (behind the #) no other relay is taken for this one: over https:// not even one with a "
                + "certificate for the name, over http:// not one at a wrong address. Over TCP it does not replace the "
                + "certificate: one of an authority of your own is believed with --relay-trust only.",
            "Everyone may use it unless --allow or --token says otherwise. --deny keeps out who is honest: mew dials under keys "
                + "that it throws away, and says whose they are when a relay has --allow or --deny. Who makes up a key and says "
                + "nothing is stopped by --allow or --token only.",
            "Besides, it keeps signed address records "
                + "(/pkarr/NODEID) of the nodes it serves, for everyone to read, and answers /ping, /healthz, /metrics and "
                + "/generate_204.",
            "SIGHUP reads the certificate, its key and the --access file again, and changes nothing when one of them cannot be "
                + "used. A reload that would open the relay to everyone is refused, too, because a file that is being written is "
                + "empty for a moment; a restart does it. SIGTERM tells the clients and ends; a second signal ends at once.",
        ],
        examples: [
            "mew relay", "mew relay --tls-cert fullchain.pem --tls-key key.pem --plain-http 0.0.0.0:80",
            "mew relay --http 127.0.0.1:3340 --token secret",
        ]
    ) { invocation async throws(CommandFailure) in
        try await RelayRun(invocation.context, options(invocation)).run()
    }

    private static func options(_ invocation: Invocation) throws(CommandFailure) -> RelayOptions {
        guard (invocation[certificate] == nil) == (invocation[key] == nil) else {
            throw CommandFailure(.badInput, "--tls-cert and --tls-key belong together", hint: "Give both, or neither.")
        }
        var options = RelayOptions()
        if let certificate = invocation[certificate], let key = invocation[key] { options.tls = (certificate, key) }
        guard options.tls != nil || invocation[plain] == nil else {
            throw CommandFailure(
                .badInput, "--plain-http is for a relay with a certificate",
                hint: "Without one, --http is plain already.")
        }
        options.http = invocation.arguments.all(http)
        options.plain = invocation.arguments.all(plain)
        options.udp = invocation[noUDP] ? nil : invocation.arguments.all(udp)
        let allowed = invocation.arguments.all(allow)
        options.rules.allowed = allowed.isEmpty ? nil : Set(allowed)
        options.rules.denied = Set(invocation.arguments.all(deny))
        options.rules.tokens = invocation.arguments.all(token)
        options.accessFile = invocation[access]
        options.limits.bytesPerSecond = invocation[rate]
        options.limits.connections = invocation[connections] ?? options.limits.connections
        if let perSource = invocation[perSource] { options.limits.allowPerSource(perSource) }
        options.logsJSON = invocation[logJSON]
        options.level = Diagnostic.Level.allCases.first { "\($0)" == invocation[logLevel] } ?? .info
        return options
    }
}
