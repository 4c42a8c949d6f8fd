import MewBase
import MewIdentity
import MewLookup
import MewLoop
import MewRelay
import MewTestSupport
import MewWire
import Testing

@Suite("Records at relays", .timeLimit(.minutes(1)))
struct RecordServiceTests {
    private let url: RelayURL
    private let secret: SecretKey

    init() throws {
        url = try RelayURL("http://a.test/")
        secret = try #require(SecretKey(seed: [UInt8](repeating: 7, count: 32)))
    }

    private func with(_ body: (RecordService, TestRelay) async throws -> Void) async throws {
        let loop = try EventLoop(name: "test")
        defer { loop.stop() }
        let relays = TestRelays([url])
        try await body(RecordService(connector: relays, loop: loop), relays[url])
    }

    private func record(_ timestamp: UInt64 = 1) -> SignedRecord {
        SignedRecord(AddressRecord(relays: [url]), timestamp: timestamp, secret: secret)
    }

    @Test("what was published is read back; nothing is read before")
    func roundTrip() async throws {
        try await with { service, _ in
            #expect(try await service.record(of: secret.node, at: url) == nil)
            try await service.publish(record(), at: url)
            #expect(try await service.record(of: secret.node, at: url) == record())
        }
    }

    @Test("a record of another node is none, whoever hands it out")
    func otherNodesRecord() async throws {
        try await with { service, relay in
            let other = try #require(SecretKey(seed: [UInt8](repeating: 8, count: 32)))
            relay[record: other.node] = record()
            await #expect(throws: LookupFailure.badRecord) { try await service.record(of: other.node, at: url) }
        }
    }

    @Test("a relay tells how far it is")
    func distance() async throws {
        try await with { service, _ in
            let roundTrip = try await service.roundTrip(to: url)
            #expect(roundTrip >= .zero)
        }
    }

    @Test("a relay that does not answer is given up in time")
    func hangs() async throws {
        try await with { service, relay in
            relay.set(mute: true)
            await #expect(throws: LookupFailure.timedOut) { try await service.record(of: secret.node, at: url) }
        }
    }

    @Test("a relay that is not there says so at once")
    func down() async throws {
        try await with { service, relay in
            relay.set(down: true)
            await #expect(throws: LookupFailure.self) { try await service.publish(record(), at: url) }
        }
    }

    @Test(
        "answers that are none, too large, cut off or in chunks are refused",
        arguments: [
            "HTTP/1.1 200 OK\r\ncontent-length: 99999\r\n\r\n", "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nabc",
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n", "SSH-2.0-x\r\n\r\n", "",
            "HTTP/1.1 200 OK\r\n\r\nno record", "HTTP/1.1 500 no\r\n\r\n",
            "HTTP/1.1 200 OK\r\ncontent-length: -5\r\n\r\n", "HTTP/1.1 200 OK\r\ncontent-length: +3\r\n\r\nabc",
            "HTTP/1.1 200 OK\r\ncontent-length: 3\r\ncontent-length: 3\r\n\r\nabc",
            "HTTP/1.1 200 OK\r\ncontent-length: 9223372036854775808\r\n\r\nabc",
            "HTTP/1.1 200 OK\r\n\r\n" + String(repeating: "x", count: 10_000),
        ])
    func badAnswers(_ answer: String) async throws {
        let loop = try EventLoop(name: "test")
        defer { loop.stop() }
        let service = RecordService(connector: CannedRelay(answer: Array(answer.utf8)), loop: loop)
        await #expect(throws: LookupFailure.self) { try await service.record(of: secret.node, at: url) }
    }
}
