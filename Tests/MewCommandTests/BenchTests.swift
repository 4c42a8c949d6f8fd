import MewBase
import MewLoop
import MewQUIC
import Testing

@testable import mew

@Suite("mew bench")
struct BenchTests {
    /// Runs `body` against a listener on loopback.
    private func measured<Value: Sendable>(
        _ body: (BenchMeasurements) async throws -> Value
    ) async throws -> Value {
        let loop = try EventLoop(name: "bench")
        defer { loop.stop() }
        let listener = try await BenchPeer.start(on: loop, listening: .loopback(port: 0))
        let serving = listener.loop.spawn { await listener.serve() }
        let address = try #require(await listener.endpoint.localAddresses.first)
        let value = try await body(
            BenchMeasurements(
                peer: try await BenchPeer.start(on: loop), node: listener.endpoint.node, route: .direct(address)))
        await listener.endpoint.close(code: 0, reason: "", linger: .zero)
        await serving.value
        return value
    }

    @Test("an echo is measured as often as asked, and no round trip takes no time")
    func echo() async throws {
        let times = try await measured { try await $0.echo(count: 50) }
        #expect(times.count == 50)
        #expect(times.median > 0 && times.ninetyNine >= times.median)
    }

    @Test("as many bytes arrive as were asked for, whatever the size", arguments: [1, 65_536, 65_537, 3_000_000])
    func receive(byteCount: UInt64) async throws {
        #expect(try await measured { try await $0.receive(byteCount) } > .zero)
    }

    @Test("handshakes are counted, also several at a time")
    func handshakes() async throws {
        let (rate, times) = try await measured { try await $0.handshakes(for: .milliseconds(20), inFlight: 4) }
        #expect(rate > 0 && times.count >= 4)
    }

    @Test("a request is read back as it was written, and nothing else is one")
    func requests() {
        guard case .send(let count)? = BenchRequest(BenchRequest.send(1 << 40 | 3).bytes[...]) else {
            Issue.record("not read back")
            return
        }
        #expect(count == 1 << 40 | 3)
        #expect(BenchRequest([UInt8](repeating: 0x53, count: 8)[...]) == nil)
        #expect(BenchRequest([UInt8](repeating: 0x58, count: 9)[...]) == nil)
    }

    @Test("the median and the 99 % of known round trips")
    func percentiles() {
        let times = RoundTrips((1...100).reversed().map { .microseconds($0) })
        #expect(times.median == 51 && times.ninetyNine == 100)
        #expect(RoundTrips([]).median == 0)
    }

    @Test(
        "a line for 'mew bench client' is a word, a session and a text; only 'new' has no session",
        arguments: [
            ("new", "- "), ("prompt S echo  a b", "S echo  a b"), ("cancel S", "S "), ("prompt", nil), ("", nil),
            ("run S x", nil),
        ])
    func orders(line: String, read: String?) {
        #expect(BenchOrder(line).map { "\($0.session) \($0.text)" } == read)
    }
}
