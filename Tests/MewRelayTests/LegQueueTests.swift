import MewBase
import MewIdentity
import Testing

@testable import MewRelay

@Suite("What waits to leave through a leg")
struct LegQueueTests {
    private let start = Instant(nanoseconds: 1_000_000_000)

    private func after(_ milliseconds: Int64) -> Instant { start.advanced(by: .milliseconds(milliseconds)) }

    @Test("frames leave in order, answers before packets")
    func order() {
        var queue = LegQueue()
        queue.append([1], packets: 1, to: 7, now: start)
        queue.append([2], packets: 1, to: 8, now: start)
        queue.answer([9])
        #expect(queue.take(maxBytes: 100, now: start) == [[9], [1], [2]])
        #expect(queue.isEmpty)
    }

    @Test("a packet leaves after 200 ms, and is dropped one millisecond later")
    func age() {
        var queue = LegQueue()
        queue.append([1], packets: 1, to: 7, now: start)
        #expect(queue.take(maxBytes: 100, now: after(200)) == [[1]])
        queue.append([2], packets: 3, to: 7, now: start)
        #expect(queue.take(maxBytes: 100, now: after(201)).isEmpty)
        #expect(queue.dropped == 3)
        #expect(queue.room(for: 7, wanted: 100) == LegQueue.maxPacketsPerPeer)
    }

    @Test("64 packets for one peer are taken, not one more; another peer has its own room")
    func perPeer() {
        var queue = LegQueue()
        #expect(queue.room(for: 7, wanted: 65) == 64)
        queue.append([1], packets: 63, to: 7, now: start)
        #expect(queue.room(for: 7, wanted: 2) == 1)
        queue.append([1], packets: 1, to: 7, now: start)
        #expect(queue.room(for: 7, wanted: 1) == 0)
        #expect(queue.room(for: 8, wanted: 1) == 1)
        _ = queue.take(maxBytes: 1, now: start)
        #expect(queue.room(for: 7, wanted: 100) == 63)
    }

    @Test("2,048 frames are taken, not one more")
    func total() {
        var queue = LegQueue()
        for peer in 0..<UInt64(LegQueue.maxPackets) { queue.append([1], packets: 1, to: peer, now: start) }
        #expect(queue.room(for: 1 << 40, wanted: 1) == 0)
        _ = queue.take(maxBytes: 1, now: start)
        #expect(queue.room(for: 1 << 40, wanted: 1) == 1)
    }

    @Test("whole frames up to the limit leave together; one that is larger leaves alone")
    func batches() {
        var queue = LegQueue()
        for byte in UInt8(1)...3 { queue.append([byte, byte], packets: 1, to: 7, now: start) }
        #expect(queue.take(maxBytes: 4, now: start) == [[1, 1], [2, 2]])
        #expect(queue.take(maxBytes: 1, now: start) == [[3, 3]])
    }

    @Test("of the answers, 64 wait and the rest is not given")
    func answers() {
        var queue = LegQueue()
        for _ in 0...LegQueue.maxAnswers { queue.answer([1]) }
        #expect(queue.take(maxBytes: 1_000, now: start).count == LegQueue.maxAnswers)
    }
}

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
