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
}
