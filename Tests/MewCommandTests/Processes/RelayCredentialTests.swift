import Glibc
import MewIdentity
import MewLoop
import MewTestSupport
import MewWire
import Testing

@testable import mew

// Topology: a relay that not everybody may use, or that not everybody believes, a daemon at it, and a device that knows both names;
// real processes on loopback. Law: the option that names the credential is what decides, and what fails says so in words.

@Suite("Relays with tokens and certificates of their own, with real processes", .timeLimit(.minutes(3)))
struct RelayCredentialTests {
    private struct Place {
        let daemon: RealDaemon
        let device: RealMachine

        /// The device's key and nothing else: it knows of the daemon only what a command says.
        func blank() throws -> RealMachine {
            let file = open("\(device.home)/node.key", O_RDONLY)
            try #require(file >= 0)
            defer { close(file) }
            var bytes = [UInt8](repeating: 0, count: 4_096)
            let count = read(file, &bytes, bytes.count)
            let blank = RealMachine()
            try blank.write(Array(bytes.prefix(max(0, count))), to: "node.key")
            return blank
        }

        func ping(_ options: [String], configuration: String? = nil) async throws -> RealMachine.Result {
            let machine = try blank()
            if let configuration { try machine.write(Array(configuration.utf8), to: "config.json") }
            return try await machine.run(["ping", daemon.node, "-c", "1", "--json"] + options)
        }
    }

    private func place(_ options: [String]) async throws -> Place {
        let daemon = try await RealDaemon(RealMachine(), options)
        let device = RealMachine()
        try await daemon.introduce(device)
        return Place(daemon: daemon, device: device)
    }

    /// It knew nothing but the relay; by the first answer it may be direct.
    private func expectReached(_ result: RealMachine.Result) {
        #expect(result.exit == 0, "\(result.err)")
        #expect(result.objects.first?["rtt_ms"] != nil, "\(result.out)")
    }

    @Test("--relay-token and relay_token let in; a wrong one is told from none")
    func token() async throws {
        let relay = try await RealRelay(RealMachine(), ["--token", "right"])
        let place = try await place(["--relay", relay.url, "--relay-token", "right"])
        let named = ["--relay", relay.url]
        expectReached(try await place.ping(named + ["--relay-token", "right"]))
        expectReached(
            try await place.ping([], configuration: "{\"relays\":[\"\(relay.url)\"],\"relay_token\":\"right\"}"))
        let wrong = try await place.ping(named + ["--relay-token", "wrong"])
        #expect(wrong.exit == 4)
        #expect(wrong.err.contains("the relay does not admit us: not authorized"), "\(wrong.err)")
        await place.daemon.stop()
        await relay.stop()
    }

    @Test("a node that the relay denies by now cannot dial through it, though it dials under a throw-away key")
    func denied() async throws {
        let scratch = ScratchDirectory()
        let rules = scratch("rules")
        try Self.write("", to: rules)
        let relay = try await RealRelay(RealMachine(), logLevel: "info", ["--access", rules])
        let place = try await place(["--relay", relay.url])
        expectReached(try await place.ping(["--relay", relay.url]))
        let id = try await place.device.run(["id", "--json"])
        let device = try #require(id.objects.first?["node_id"]?.asString, "\(id.out)")
        try Self.write("deny \(device)\n", to: rules)
        relay.process.signal(SIGHUP)
        #expect(await relay.process.err.line(containing: "were read again") != nil, "\(relay.process.err.text)")
        let denied = try await place.ping(["--relay", relay.url])
        #expect(denied.exit != 0)
        #expect(denied.err.contains("the relay does not admit us: not authorized"), "\(denied.err)")
        #expect(denied.err.contains("'mew relay --allow \(device)'"), "\(denied.err)")
        await place.daemon.stop()
        await relay.stop()
    }

    @Test("--relay-trust and relay_trust make a relay believed that the system does not know")
    func trust() async throws {
        let certificate = try TestCertificate(for: "127.0.0.1")
        let relay = try await RealRelay(
            RealMachine(), ["--tls-cert", certificate.certificateFile, "--tls-key", certificate.keyFile])
        #expect(relay.url.hasPrefix("https://"))
        let named = ["--relay", relay.url]
        let trust = ["--relay-trust", certificate.certificateFile]
        let place = try await place(named + trust)
        expectReached(try await place.ping(named + trust))
        expectReached(
            try await place.ping(named, configuration: "{\"relay_trust\":\"\(certificate.certificateFile)\"}"))
        let untrusted = try await place.ping(named)
        #expect(untrusted.exit == 5)
        #expect(untrusted.err.contains("certificate"), "\(untrusted.err)")
        let other = try TestCertificate(for: "127.0.0.1")
        let strange = try await place.ping(named + ["--relay-trust", other.certificateFile])
        #expect(strange.exit == 5 && strange.err.contains("certificate"), "\(strange.err)")
        let none = try await place.ping(named + ["--relay-trust", certificate.keyFile])
        #expect(none.exit == 2 && none.err.contains("holds a private key, and no certificate"), "\(none.err)")
        await place.daemon.stop()
        await relay.stop()
    }

    @Test("mew pair says that the relay's token has to be added to the command, and does not say the token")
    func pairing() async throws {
        let relay = try await RealRelay(RealMachine(), ["--token", "s3cret"])
        let daemon = try await RealDaemon(RealMachine(), ["--relay", relay.url, "--relay-token", "s3cret"])
        let window = try daemon.machine.start(["pair", "--timeout", "60"])
        #expect(
            await window.out.line(containing: "--relay \(relay.url) --relay-token TOKEN") != nil, "\(window.err.text)")
        window.signal(SIGINT)
        _ = await window.exit
        #expect(!window.out.text.contains("s3cret") && !window.err.text.contains("s3cret"))
        await daemon.stop()
        await relay.stop()
    }

    @Test("what opened the relay at mew add is remembered with the daemon, for that relay, and forgotten with it")
    func remembered() async throws {
        let certificate = try TestCertificate(for: "127.0.0.1")
        let relay = try await RealRelay(
            RealMachine(),
            ["--token", "right", "--tls-cert", certificate.certificateFile, "--tls-key", certificate.keyFile])
        let options = ["--relay", relay.url, "--relay-token", "right", "--relay-trust", certificate.certificateFile]
        let daemon = try await RealDaemon(RealMachine(), options)
        let (device, window) = (RealMachine(), try await PairingWindowProcess(daemon.machine))
        let added = try await device.run(["add", window.payload, "--name", "desk"] + options)
        try #require(added.exit == 0, "\(added.err)")
        #expect(added.out.contains("\(relay.url) (its token and whom it is believed by)"), "\(added.out)")
        #expect(unlink(certificate.certificateFile) == 0)  // a copy is kept
        // Only the relay is known of the stranger, so that the answer is the relay's.
        let stranger = SecretKey.generate(entropy: SystemEntropy()).node.z32
        let asked = try await device.run("ping", stranger, "--relay", relay.url)
        #expect(asked.exit == 5 && asked.err.contains(relay.url), "\(asked.err)")
        #expect(!asked.err.contains("certificate") && !asked.err.contains("admit"), "\(asked.err)")
        let wrong = try await device.run("ping", stranger, "--relay", relay.url, "--relay-token", "wrong")
        #expect(wrong.exit == 4, "the command line wins: \(wrong.err)")
        #expect(try await device.run("forget", "desk").exit == 0)
        let after = try await device.run("ping", stranger, "--relay", relay.url)
        #expect(after.exit == 5 && after.err.contains("certificate"), "\(after.err)")
        await daemon.stop()
        await relay.stop()
    }

    @Test(
        "a file of rules or a certificate that is emptied or broken changes nothing at SIGHUP; whole again, it counts")
    func reload() async throws {
        let certificate = try TestCertificate(for: "127.0.0.1")
        let rules = certificate.directory("rules")
        try Self.write("token right\n", to: rules)
        let whole = ["--tls-cert", certificate.certificateFile, "--tls-key", certificate.keyFile, "--access", rules]
        let relay = try await RealRelay(RealMachine(), logLevel: "info", whole)
        for (text, reason) in [
            ("", "no token rule would be left"), ("tok", "line 1: a rule is"),
            ("deny df9sse9bp1nuftim3yhxiuk6w6r5hddsskjygpydux7esxjstioo", "no token rule would be left"),
        ] {
            try Self.write(text, to: rules)
            relay.process.signal(SIGHUP)
            let line = await relay.process.err.line(containing: reason)
            #expect(line?.contains("nothing was changed, because") == true, "\(relay.process.err.text)")
        }
        try Self.write("token left\n", to: rules)
        try Self.write("no certificate", to: certificate.certificateFile)
        relay.process.signal(SIGHUP)
        #expect(
            await relay.process.err.line(containing: "holds no certificate in PEM form") != nil,
            "\(relay.process.err.text)")
        let other = try TestCertificate(for: "127.0.0.1")
        #expect(rename(other.certificateFile, certificate.certificateFile) == 0)
        #expect(rename(other.keyFile, certificate.keyFile) == 0)
        relay.process.signal(SIGHUP)
        #expect(await relay.process.err.line(containing: "were read again") != nil, "\(relay.process.err.text)")
        await relay.stop()
    }

    private static func write(_ text: String, to path: String) throws {
        let file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        try #require(file >= 0)
        defer { close(file) }
        let bytes = Array(text.utf8)
        try #require(Glibc.write(file, bytes, bytes.count) == bytes.count)
    }
}
