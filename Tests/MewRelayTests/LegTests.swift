import MewBase
import MewIdentity
import Testing

@testable import MewRelay

@Suite("When a leg tries again")
struct LegBackOffTests {
    @Test("at once after a connection that was good for a second, after 10 ms that double to 16 s otherwise")
    func doubling() {
        var backOff = LegBackOff()
        var delays: [Duration] = []
        // The middle of the quarter more or less.
        for _ in 0..<14 { delays.append(backOff.delay(lived: nil, random: 512)) }
        #expect(delays[0] == .milliseconds(10))
        #expect(delays[1] == .milliseconds(20))
        #expect(delays[10] == .milliseconds(10_240))
        #expect(delays[11] == .seconds(16))
        #expect(delays[13] == .seconds(16))
        #expect(backOff.delay(lived: .milliseconds(999), random: 512) == .seconds(16))
        #expect(backOff.delay(lived: .seconds(1), random: 512) == .zero)
        #expect(backOff.delay(lived: nil, random: 512) == .milliseconds(10))
    }

    @Test("a relay that has no place is left alone for a second at once, then longer as any other")
    func full() {
        var backOff = LegBackOff()
        #expect(backOff.delay(lived: nil, isFull: true, random: 512) == .milliseconds(1_280))
        #expect(backOff.delay(lived: nil, isFull: true, random: 512) == .milliseconds(2_560))
        #expect(backOff.delay(lived: nil, random: 512) == .milliseconds(5_120))
        for _ in 0..<3 { _ = backOff.delay(lived: nil, isFull: true, random: 512) }
        #expect(backOff.delay(lived: nil, isFull: true, random: 512) == .seconds(16))
        backOff.reset()
        #expect(backOff.delay(lived: nil, random: 512) == .milliseconds(10))
    }

    @Test("a quarter more or less")
    func jitter() {
        var (low, high) = (LegBackOff(), LegBackOff())
        #expect(low.delay(lived: nil, random: 0) == .microseconds(7_500))
        #expect(high.delay(lived: nil, random: 1_023) < .microseconds(12_500))
    }
}

@Suite("The names a carrier gives to nodes")
struct LegPeersTests {
    private func node(_ number: Int) throws -> NodeID {
        try #require(NodeID(bytes: (0..<32).map { $0 < 4 ? UInt8(truncatingIfNeeded: number >> (8 * $0)) : 0 }))
    }

    @Test("a node keeps its number; beyond 4,096 those used longest ago are forgotten, and no number is used twice")
    func eviction() throws {
        var peers = LegPeers()
        var seen: Set<UInt64> = []
        for index in 0..<LegPeers.maxCount {
            seen.insert(peers.number(of: try node(index), now: Instant(nanoseconds: UInt64(index))))
        }
        #expect(seen.count == LegPeers.maxCount && peers.count == LegPeers.maxCount)
        let late = Instant(nanoseconds: 1 << 30)
        let first = peers.number(of: try node(0), now: late)
        #expect(seen.contains(first))
        let fresh = peers.number(of: try node(LegPeers.maxCount), now: late)
        #expect(!seen.contains(fresh))
        #expect(peers.count == LegPeers.maxCount * 7 / 8 + 1)
        #expect(peers.node(first, now: late) == (try node(0)))
        let again = peers.number(of: try node(1), now: late)
        #expect(!seen.contains(again))
    }
}
