import MewBase
import MewIdentity
import MewLookup
import MewLoop
import MewRelay
import MewWire
import Testing

/// Two relays on loopback that keep records only for who shows the token of both.
@Suite("What relays are shown that keep records", .timeLimit(.minutes(1)))
struct RecordTokenTests {
    private func relay(on loop: EventLoop) async throws -> (RelayServer, RelayURL) {
        var settings = RelaySettings(programVersion: "1")
        settings.rules.tokens = ["secret"]
        let server = RelayServer(settings, on: loop, entropy: SystemEntropy())
        let address = try await server.listen(.loopback(port: 0), sealed: false)
        return (server, try RelayURL("http://\(address)/"))
    }

    @Test("a token goes to the relay it is for, and to no other")
    func tokens() async throws {
        let loop = try EventLoop(name: "test")
        defer { loop.stop() }
        let (mine, other) = (try await relay(on: loop), try await relay(on: loop))
        let secret = try #require(SecretKey(seed: [UInt8](repeating: 7, count: 32)))
        let record = SignedRecord(AddressRecord(relays: [mine.1]), timestamp: 1, secret: secret)
        let service = RecordService(connector: NetworkRelayConnector(on: loop), loop: loop) { [url = mine.1] in
            $0 == url ? "secret" : nil
        }
        try await service.publish(record, at: mine.1)
        #expect(try await service.record(of: secret.node, at: mine.1) == record)
        let refusal = await #expect(throws: LookupFailure.self) { try await service.publish(record, at: other.1) }
        guard case .status(401...403)? = refusal else { return #expect(Bool(false), "\(String(describing: refusal))") }
        for server in [mine.0, other.0] { await server.drain() }
    }
}
