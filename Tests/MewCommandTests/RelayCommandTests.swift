import MewBase
import MewWire
import Testing

@testable import mew

@Suite("mew relay")
struct RelayCommandTests {
    @Test(
        "what cannot be meant is refused before anything listens, and named",
        arguments: [
            (["--tls-cert", "/x"], "belong together"), (["--tls-key", "/x"], "belong together"),
            (["--plain-http", "127.0.0.1:0"], "with a certificate"), (["--allow", "x"], "--allow must be a node ID"),
            (["--http", "localhost"], "--http must be IP:PORT"),
            (["--rate", "100k"], "--rate must be a whole number of bytes per second from 16384"),
            (
                ["--tls-cert", "/missing.pem", "--tls-key", "/missing.key"],
                "cannot read /missing.pem: no such file or directory. Check the path"
            ),
            (["--access", "/missing"], "cannot read /missing: no such file"), (["--access", "/"], "cannot read /:"),
        ])
    func refusals(words: [String], reason: String) async throws {
        let result = try await CommandStage().run(["relay"] + words)
        #expect(result.exit.rawValue == 2)
        #expect(result.err.text.contains(reason), "\(result.err.text)")
        #expect(result.out.text.isEmpty)
    }

    @Test("an address that this machine has not ends the start in words")
    func noSuchAddress() async throws {
        let result = try await CommandStage().run("relay", "--json", "--no-udp", "--http", "192.0.2.1:0")
        #expect(result.exit.rawValue == 2)
        #expect(result.err.text.contains("no address 192.0.2.1"), "\(result.err.text)")
        #expect(result.objects.first?["error"]?["code"] == "bad_input")
    }

    @Test("the help says what SIGHUP reads, and that it opens no relay to everyone")
    func help() async throws {
        let words = try await CommandStage().run("relay", "--help").out.text.split(whereSeparator: \.isWhitespace)
            .joined(separator: " ")
        #expect(words.contains("SIGHUP reads the certificate, its key and the --access file again"))
        #expect(words.contains("A reload that would open the relay to everyone is refused"))
    }

    @Test("the help says which ports to open for STUN, and that iroh's address discovery is none of it")
    func ports() async throws {
        let words = try await CommandStage().run("relay", "--help").out.text.split(whereSeparator: \.isWhitespace)
            .joined(separator: " ")
        #expect(words.contains("Open UDP with the same number, and UDP 7842, as well"), "\(words)")
        #expect(words.contains("that there is no address discovery"), "\(words)")
    }

    @Test("a relay on all addresses names those of the machine, public ones first; one on a certain address that one")
    func places() throws {
        let bound = [SocketAddress.anyIPv4.with(port: 3340)]
        let own = try ["192.168.1.7:3340", "[fd00::7]:3340", "203.0.113.9:3340", "[2001:db8::7]:3340"].map {
            try #require(SocketAddress($0))
        }
        #expect(
            RelayPlaces(bound: bound) { _ in own }.urls("http") == [
                "http://203.0.113.9:3340/", "http://[2001:db8::7]:3340/", "http://192.168.1.7:3340/",
                "http://[fd00::7]:3340/",
            ])
        #expect(RelayPlaces(bound: bound) { _ in [] }.addresses == bound)
        #expect(RelayPlaces(bound: [own[0]]).addresses == [own[0]])
        #expect(RelayPlaces(bound: [.loopback(port: 3340)]).areOnlyHere)
        #expect(!RelayPlaces(bound: bound) { _ in own + [.loopback(port: 3340)] }.areOnlyHere)
    }

    @Test("a certificate's names are the relay's, with the port unless it is that of https; a wildcard is no host")
    func named() {
        let bound = [
            SocketAddress.anyIPv4.with(port: 443), SocketAddress.anyIPv6.with(port: 443), .loopback(port: 8443),
        ]
        #expect(
            RelayPlaces.urls(hosts: ["relay.test", "*.relay.test", "[2001:db8::7]"], bound: bound) == [
                "https://relay.test/", "https://relay.test:8443/", "https://[2001:db8::7]/",
                "https://[2001:db8::7]:8443/",
            ])
    }

    @Test(
        "what the whole Internet can reach",
        arguments: [
            ("8.8.8.8", true), ("9.255.255.255", true), ("10.0.0.1", false), ("11.0.0.0", true),
            ("100.63.255.255", true),
            ("100.64.0.1", false), ("100.128.0.0", true), ("172.15.255.255", true), ("172.16.0.1", false),
            ("172.32.0.0", true), ("169.254.1.1", false), ("192.168.0.1", false), ("127.0.0.1", false),
            ("224.0.0.1", false), ("[2a00::1]", true), ("[fd00::1]", false), ("[::1]", false), ("[4000::]", false),
        ])
    func publicAddresses(_ host: String, _ isPublic: Bool) throws {
        #expect(try #require(SocketAddress("\(host):1")).isPublic == isPublic)
    }
}
