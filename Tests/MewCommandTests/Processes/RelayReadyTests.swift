import MewTestSupport
import MewWire
import Testing

@testable import mew

@Suite("What a relay says when it is ready", .timeLimit(.minutes(1)))
struct RelayReadyTests {
    @Test("clients are told where they reach it, and what it is bound to stands beside that")
    func wildcard() async throws {
        let relay = try await RealRelay(host: "0.0.0.0")
        #expect(!relay.url.contains("0.0.0.0"), "\(relay.url)")
        let line = try #require(relay.process.out.lines.first { $0.contains("ready") })
        let ready = try JSON(parsing: line)
        let bound = try #require(ready["listens"]?.asArray?.first?.asString)
        #expect(bound.hasPrefix("0.0.0.0:") && ready["http"]?.asString == bound)
        #expect(relay.process.out.lines.allSatisfy { !$0.contains("http://0.0.0.0") })
        await relay.stop()
    }

    @Test("with a certificate they are told its name, and the whole URL that pins the key")
    func named() async throws {
        let certificate = try TestCertificate(for: "relay.test")
        let relay = try await RealRelay(
            RealMachine(), ["--tls-cert", certificate.certificateFile, "--tls-key", certificate.keyFile])
        let ready = try JSON(parsing: #require(relay.process.out.lines.first { $0.contains("ready") }))
        let port = try #require(ready["http"]?.asString?.split(separator: ":").last)
        #expect(ready["urls"] == [.string("https://relay.test:\(port)/")])
        let node = try #require(ready["node_id"]?.asString)
        #expect(ready["pinned_urls"] == [.string("https://relay.test:\(port)/#\(node)")])
        #expect(relay.process.err.text.contains("its key pinned: \(relay.url)#\(node)"))
        await relay.stop()
    }
}
