import Glibc
import MewIdentity
import MewLoop
import MewTestSupport
import MewWire
import Testing

@testable import mew

// Topology: a desk with a daemon and laptops with nothing but commands, all real processes of one machine on loopback.
// Law (issue 2): whatever goes wrong, one sentence on standard error says what and what to do next, the exit code is that of the
// list, and --json says the same. The page of errors is this table.

@Suite("Errors, as the real program tells them", .timeLimit(.minutes(5)))
struct ErrorTableTests {
    private let hex = "197f6b23e16c8532c6abc838facd5ea789be0c76b2920334039bfa8b3d368d61"
    private let z32 = "df9sse9bp1nuftim3yhxiuk6w6r5hddsskjygpydux7esxjstioo"

    private func stranger() -> String { SecretKey.generate(entropy: SystemEntropy()).node.z32 }

    @Test("payloads: each kind of bad one is refused by name")
    func payloads() async throws {
        let (play, laptop) = (ErrorPlay(ErrorTable.payloads), RealMachine())
        let texts = [
            ("empty payload", ""), ("payload too long", String(repeating: "x", count: 8_193)),
            ("payload of another version", "mew002:\(hex)"),
            ("payload that the shell took apart", "mew001:node_id:\(hex) mew001:name:desk"),
            ("whole command as payload", "mew add '\(hex)'"), ("quotes inside the quotes", "'\(hex)'"),
            ("label before the node ID", "mew-node-id:\(z32)"), ("several words as payload", "\(z32) \(z32)"),
            ("damaged payload", "mew001:{\"node_id\":\"\(hex)\""),
            ("payload without node ID", "mew001:{\"name\":\"desk\"}"),
            ("payload with a wrong part", "mew001:{\"node_id\":\"\(hex)\",\"token\":\"mew_ABC\"}"),
        ]
        for (name, text) in texts { try await play.expect(name, laptop, "add", text) }
        play.end()
    }

    @Test("node IDs and names: unreadable, nobody's, somebody else's, mistyped")
    func nodeIDs() async throws {
        let (play, laptop) = (ErrorPlay(ErrorTable.nodeIDs), RealMachine())
        try await play.expect("no node ID at all", laptop, "add", "nonsense")
        try await play.expect("look-alike character in a node ID", laptop, "add", "0" + z32.dropFirst())
        try await play.expect("node ID that is no key", laptop, "add", String(repeating: "y", count: 52))
        try await play.expect("node ID of nobody, without an address", laptop, "add", stranger())
        try await play.expect(
            "node ID of nobody, at an address where nobody listens", laptop, "add", stranger(), "--addr", "127.0.0.1:1")
        try await play.expect("name of a daemon when none is known", laptop, "ping", "desk")
        let daemon = try await RealDaemon()
        try await play.expect(
            "node ID of somebody else than who is at the address", laptop, "add", stranger(), "--addr", daemon.address,
            values: ["address": daemon.address])
        try await play.expect("node ID of this very node", daemon.machine, "add", daemon.node)
        try await daemon.introduce(laptop)
        try await play.expect("mistyped name of a daemon", laptop, "ping", "dekk")
        let typed = daemon.node.dropLast() + "x"  // no node ID ends like that
        try await play.expect(
            "mistyped node ID of a daemon", laptop, "ping", String(typed), values: ["typed": String(typed)])
        try await play.expect("unlike any name of a daemon", laptop, "ping", "phone")
        let other = stranger()
        try await play.expect(
            "node ID of a daemon that was never added", laptop, "ping", other, values: ["other": other])
        let short = String(other.dropLast())
        try await play.expect(
            "node ID with a character missing", laptop, "ping", short, values: ["typed": short])
        await daemon.stop()
        play.end()
    }

    @Test("pairing: no window, expired, used up, not meant for this device")
    func pairing() async throws {
        let (play, laptop, phone) = (ErrorPlay(ErrorTable.pairing), RealMachine(), RealMachine())
        let daemon = try await RealDaemon()
        try await play.expect("no window is open", laptop, "add", daemon.node, "--addr", daemon.address)
        let short = try await PairingWindowProcess(daemon.machine, seconds: 1)
        await play.expect("window expired, at the daemon", short.process)
        #expect(short.process.out.text.contains("{\"event\":\"expired\"}"))
        try await play.expect("window expired, at the device", laptop, "add", short.payload)
        let spent = try await daemon.introduce(laptop)
        try await play.expect("code used up", phone, "add", spent)
        let open = try await PairingWindowProcess(daemon.machine)
        try await play.expect("code of an earlier window", phone, "add", spent)
        try await play.expect(
            "no code, and nobody there to compare digits", phone, "add", daemon.node, "--addr", daemon.address)
        try await play.expect("a second window", daemon.machine, "pair")
        open.process.signal(SIGINT)
        await play.expect("window closed with Ctrl-C", open.process)
        let meant = try daemon.machine.start(["pair", "--json", "--expect", stranger()])
        _ = await meant.out.line(containing: "\"window\"")
        try await play.expect(
            "not the device that --expect names", phone, "add", daemon.node, "--addr", daemon.address)
        meant.signal(SIGINT)
        #expect(await meant.exit == ExitCode.timedOut.rawValue)
        try await knocks(play, daemon, phone)
        await daemon.stop()
        play.end()
    }

    /// Without the code, while a person sits at the daemon's terminal.
    private func knocks(_ play: ErrorPlay, _ daemon: RealDaemon, _ phone: RealMachine) async throws {
        let keyboard = try Pipe()
        var screen = try daemon.machine.startOnTerminal(["pair", "--no-qr"], keyboard: keyboard.reader)
        let refused = try await knock(phone, daemon, screen)
        #expect(keyboard.writer.write(Array("n\n".utf8)))
        await play.expect("refused by the person at the daemon", refused)
        let left = try await knock(phone, daemon, screen)
        left.signal(SIGINT)
        #expect(await left.exit == 128 + SIGINT && left.err.text.isEmpty)
        #expect(await screen.out.line(containing: "(it left)") != nil, "a goodbye was said")
        screen.signal(SIGTERM)
        _ = await screen.exit
        while try await daemon.machine.run("status").out.contains("window is open") {}
        screen = try daemon.machine.startOnTerminal(["pair", "--no-qr", "--timeout", "3"], keyboard: keyboard.reader)
        await play.expect(
            "window expired while a person was to compare digits", try await knock(phone, daemon, screen))
        #expect(await screen.exit == ExitCode.timedOut.rawValue)
        // A terminal that does not say how wide it is has 80 columns.
        #expect(
            screen.out.lines.suffix(2) == [
                "mew: the time is over and the code is dead; nobody was let in. Run 'mew pair'", "again.",
            ])
    }

    /// Returns when the screen shows the digits of the device.
    private func knock(_ phone: RealMachine, _ daemon: RealDaemon, _ screen: RealProcess) async throws -> RealProcess {
        #expect(await screen.out.line(containing: "Waiting.") != nil, "\(screen.out.text)")
        let add = try phone.start(["add", daemon.node, "--addr", daemon.address, "--json"])
        let line = try #require(await add.out.line(containing: "digits"), "\(add.err.text)")
        let digits = try #require(try JSON(parsing: line)["digits"]?.asString)
        #expect(await screen.out.line(containing: "\(digits.prefix(3)) \(digits.suffix(3))") != nil)
        return add
    }

    @Test("reaching a daemon: unpaired, revoked, scope, down")
    func entering() async throws {
        let (play, laptop, phone) = (ErrorPlay(ErrorTable.entering), RealMachine(), RealMachine())
        let daemon = try await RealDaemon()
        try await daemon.introduce(laptop)
        try await daemon.introduce(phone)
        #expect(unlink(phone.home + "/node.key") == 0)  // it has another key from now on
        try await play.expect("daemon does not know this device", phone, "sessions", "desk")
        #expect(try await phone.run("ls").out.contains("not paired"))
        try await daemon.machine.run("peers", "scope", "1", "observe")
        try await play.expect("scope too small", laptop, "new", "desk")
        let watch = try laptop.start(["watch", "desk", "--json"])
        while try await daemon.machine.run("peers", "--json").objects.first?["connected"] != true {}
        try await daemon.machine.run("peers", "revoke", "1")
        await play.expect("device revoked while it is connected", watch)
        try await play.expect("device revoked", laptop, "sessions", "desk")
        daemon.process.signal(SIGKILL)
        _ = await daemon.process.exit
        try await play.expect("daemon down", laptop, "sessions", "desk", values: ["address": daemon.address])
        try await play.expect("no daemon on this machine", daemon.machine, "peers")
        play.end()
    }

    @Test("starting a daemon: port, address, lock, agent")
    func starting() async throws {
        let (play, other) = (ErrorPlay(ErrorTable.starting), RealMachine())
        let daemon = try await RealDaemon()
        try await play.expect(
            "port taken", other, "daemon", "--bind", daemon.address, values: ["address": daemon.address])
        try await play.expect("address of another machine", other, "daemon", "--bind", "192.0.2.1:4433")
        try await play.expect("no such agent", other, "daemon", "--agent", "fish")
        try await play.expect("relay token that no relay can be shown", other, "daemon", "--relay-token", "abc\n")
        let careless = RealMachine()
        try careless.write(Array("{\"relay_token\": \"abc\\n\"}".utf8), to: "config.json")
        try await play.expect("such a relay token in config.json", careless, "daemon")
        try await play.expect(
            "state directory in use", daemon.machine, "daemon", values: ["process": "\(daemon.process.number)"])
        await daemon.stop()
        play.end()
    }

    /// Of relays; the daemon that is asked for needs not exist.
    private func refusals(_ play: ErrorPlay, _ laptop: RealMachine) async throws {
        let certificate = try TestCertificate(for: "127.0.0.1")
        let (node, token) = (stranger(), PairingToken(entropy: SystemEntropy()))
        let rules = certificate.directory("rules")
        try laptop.write(Array("token right\n".utf8), toPath: rules)
        let relay = try await RealRelay(
            RealMachine(), logLevel: "info",
            ["--access", rules, "--tls-cert", certificate.certificateFile, "--tls-key", certificate.keyFile])
        let values = ["relay": relay.url]
        try await play.expect(
            "a relay whose certificate is not believed here", laptop, "ping", node, "--relay", relay.url,
            values: values)
        try await play.expect(
            "a relay that does not admit this device", laptop, "ping", node, "--relay", relay.url, "--relay-trust",
            certificate.certificateFile, values: values)
        let payload = PairingPayload(
            node: try NodeID(text: node), name: "desk", token: token, relays: [relay.url], addresses: [])
        try await play.expect(
            "a token, and a relay that only the payload names", laptop, "add", payload.text, "--relay-token", "right",
            values: values)
        try await hints(play, laptop, relay, certificate, payload)
        try await changedToken(play, laptop, relay, certificate, node)
        await relay.stop()
        try await play.expect(
            "a relay that does not run", laptop, "ping", node, "--relay", relay.url, values: values)
    }

    /// The likeliest mistake: a relay speaks plain HTTP unless it is given a certificate.
    private func otherScheme(_ play: ErrorPlay, _ laptop: RealMachine) async throws {
        let relay = try await RealRelay()
        let url = try #require(relay.url.firstRange(of: "http://").map { "https://" + relay.url[$0.upperBound...] })
        try await play.expect(
            "a relay without a certificate, by https://", laptop, "ping", stranger(), "--relay", url,
            values: ["relay": url])
        await relay.stop()
    }

    /// What the sentence says is done, and helps.
    private func hints(
        _ play: ErrorPlay, _ laptop: RealMachine, _ relay: RealRelay, _ certificate: TestCertificate,
        _ payload: PairingPayload
    ) async throws {
        let (values, other) = (["relay": relay.url], try TestCertificate(for: "127.0.0.1"))
        try await play.expect(
            "a relay whose certificate is not of the given authorities", laptop, "ping", payload.node.z32, "--relay",
            relay.url, "--relay-trust", other.certificateFile, values: values)
        let add = ["add", payload.text, "--relay-trust", certificate.certificateFile]
        try await play.expect(
            "a relay that only the payload names, and that wants a token", laptop, add[0], add[1], add[2], add[3],
            values: values)
        let admitted = try await laptop.run(add + ["--relay", relay.url, "--relay-token", "right"])
        #expect(admitted.exit == ExitCode.unreachable.rawValue && !admitted.err.contains("admit"), "\(admitted.err)")
    }

    /// Whoever runs the relay gives it another token, after the device has remembered the first one.
    private func changedToken(
        _ play: ErrorPlay, _ laptop: RealMachine, _ relay: RealRelay, _ certificate: TestCertificate, _ stranger: String
    ) async throws {
        let named = ["--relay", relay.url, "--relay-trust", certificate.certificateFile, "--relay-token", "right"]
        let daemon = try await RealDaemon(RealMachine(), named)
        let window = try await PairingWindowProcess(daemon.machine)
        let added = try await laptop.run(["add", window.payload, "--name", "desk"] + named)
        #expect(added.exit == 0, "\(added.err)")
        try laptop.write(Array("token left\n".utf8), toPath: certificate.directory("rules"))
        relay.process.signal(SIGHUP)
        #expect(await relay.process.err.line(containing: "were read again") != nil, "\(relay.process.err.text)")
        // Only the relay is known of the stranger, so that the answer is the relay's.
        try await play.expect(
            "a relay that does not admit the token that was remembered", laptop, "ping", stranger, "--relay", relay.url,
            values: ["relay": relay.url, "node": daemon.node])
        let again = try await laptop.run(
            "add", daemon.node, "--addr", daemon.address, "--relay", relay.url, "--relay-token", "left")
        #expect(again.exit == 0, "no window is needed: \(again.err)")
        let asked = try await laptop.run("ping", stranger, "--relay", relay.url)
        #expect(asked.exit == ExitCode.unreachable.rawValue && !asked.err.contains("admit"), "\(asked.err)")
        await daemon.stop()
    }

    @Test("relays: mistakes in config.json and on the command line")
    func relays() async throws {
        let (play, desk) = (ErrorPlay(ErrorTable.relays), RealMachine())
        let files = [
            ("config.json that is no JSON", "{"), ("config.json that is no object", "[]"),
            ("config.json, relays that are no list", "{\"relays\":\"http://desk.example/\"}"),
            ("config.json, a relay that is no text", "{\"relays\":[7]}"),
            ("config.json, a relay that is no URL", "{\"relays\":[\"desk.example\"]}"),
            ("config.json, a relay with a path", "{\"relays\":[\"https://relay.test/path\"]}"),
            ("config.json, a mistyped key", "{\"relay\":\"https://relay.test/\"}"),
            ("config.json, a key that is like no other", "{\"colour\":7}"),
            ("config.json, a token that is no text", "{\"relay_token\":7}"),
            ("config.json, authorities that are no text", "{\"relay_trust\":\"\"}"),
            ("config.json, a token without relays", "{\"relay_token\":\"x\"}"),
        ]
        for (name, text) in files {
            try desk.write(Array(text.utf8), to: "config.json")
            try await play.expect(name, desk, "ls")
        }
        try desk.write(Array("{\"relay_trust\":\"none.pem\"}".utf8), to: "config.json")
        try await play.expect(
            "authorities that are not there", desk, "ls", values: ["file": desk.home + "/none.pem"])
        #expect(unlink(desk.home + "/config.json") == 0)
        try await play.expect("a token, and no relay that it is for", desk, "ls", "--relay-token", "x")
        try await play.expect("authorities, and no relay that they are for", desk, "ls", "--relay-trust", "/x.pem")
        #expect(mkdir(desk.home + "/config.json", 0o700) == 0)
        try await play.expect("config.json that cannot be read", desk, "daemon", "--bind", "127.0.0.1:0")
        try await refusals(play, RealMachine())
        try await otherScheme(play, RealMachine())
        play.end()
    }

    @Test("sessions: unknown ones, and directories that cannot be worked in")
    func sessions() async throws {
        let (play, laptop, places) = (ErrorPlay(ErrorTable.sessions), RealMachine(), ScratchDirectory())
        // Root may enter every directory unless it gives that right up.
        let unprivileged = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"]
        let daemon = try await RealDaemon(RealMachine().started(by: geteuid() == 0 ? unprivileged : []))
        try await daemon.introduce(laptop)
        try await play.expect("session unknown", laptop, "history", "desk", "zzzz")
        try await play.expect("too little of a session's ID", laptop, "prompt", "desk", "hi", "--session", "zz")
        try await play.expect("question unknown", laptop, "answer", "desk", "AAAA-000000", "once")
        for (name, place) in [
            ("directory missing", places("none")), ("directory is a file", places.file("file")),
            ("directory not absolute", "src"),
        ] {
            try await play.expect(name, laptop, "new", "desk", "--cwd", place, values: ["place": place])
        }
        let closed = places.directory("closed")
        chmod(closed, 0)
        try await play.expect(
            "directory closed to the daemon", laptop, "new", "desk", "--cwd", closed, values: ["place": closed])
        #expect(try await laptop.run("sessions", "desk", "--json").out.isEmpty, "nothing was made")
        try await play.expect("no such operation", laptop, "ops", "desk", "zzzz", "--resend")
        try remember(anOperationOf: daemon.node, in: laptop.home)
        try await play.expect("operation that is not unknown, sent again", laptop, "ops", "desk", "1", "--resend")
        await daemon.stop()
        play.end()
    }

    /// As if a command had been ended after the daemon had said that it has a prompt.
    private func remember(anOperationOf daemon: String, in home: String) throws {
        let node = try NodeID(text: daemon).hex
        let directory = try PrivateDirectory(creating: home)
        let bytes = try #require(try directory.read("client.json", maxBytes: 1 << 20))
        let operation = """
            "operations":[{"op_id":"01ARZ3NDEKTSV4RRFFQ69G5FAV","node_id":"\(node)","kind":"prompt","begun_ms":1,
            "state":"stored"}]
            """
        let text = String(decoding: bytes, as: UTF8.self)
        let parts = text.split(separator: "\"operations\":[]", maxSplits: 1, omittingEmptySubsequences: false)
        try #require(parts.count == 2, "\(text)")
        try directory.write(Array((parts[0] + operation + parts[1]).utf8), to: "client.json", entropy: SystemEntropy())
    }
}
