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
            (["--http", "localhost"], "--http must be IP:PORT"), (["--rate", "999"], "--rate must be"),
            (["--tls-cert", "/missing.pem", "--tls-key", "/missing.key"], "cannot read /missing.pem"),
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
}
