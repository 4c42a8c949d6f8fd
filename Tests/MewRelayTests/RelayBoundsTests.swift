import MewBase
import MewIdentity
import MewWire
import Testing

@testable import MewRelay

private let start = Instant(nanoseconds: 1_000_000_000_000)

private func at(_ duration: Duration) -> Instant { start.advanced(by: duration) }

@Suite("How fast, how many, how long")
struct RelayBoundsTests {
    @Test("a client may send its burst at once, and then as fast as its rate")
    func bucket() {
        var bucket = TokenBucket(rate: 1_000, burst: 5_000, now: start)
        #expect(bucket.available(now: start) == 5_000)
        bucket.take(5_000)
        #expect(bucket.available(now: start) == 0)
        #expect(bucket.wait == .milliseconds(20) + .nanoseconds(1))
        #expect(bucket.available(now: at(.milliseconds(19))) == 0, "a read of a few bytes is not worth its cost")
        #expect(bucket.available(now: at(.milliseconds(20))) == 20)
        bucket.take(20)
        #expect(bucket.available(now: at(.milliseconds(500))) == 480)
        #expect(bucket.available(now: at(.seconds(100))) == 5_000, "the burst comes back, and no more than that")
    }

    @Test("what a rate gains in fractions of a byte is not lost")
    func fractions() {
        var bucket = TokenBucket(rate: 100, burst: 1_000, now: start)
        bucket.take(1_000)
        for moment in 1...1_000 { _ = bucket.available(now: at(.milliseconds(moment))) }
        #expect(bucket.available(now: at(.milliseconds(1_001))) == 100)
    }

    @Test("each bound of a source and of all sources holds, and one less does not")
    func budget() {
        var limits = RelayLimits()
        (limits.connections, limits.strangers, limits.connectionsPerSource, limits.strangersPerSource) = (6, 4, 3, 2)
        let one = SourceBudget.Source(SocketAddress(ipv4: 0xc000_0201, port: 1))
        let neighbour = SourceBudget.Source(SocketAddress(ipv4: 0xc000_02ff, port: 2))
        let two = SourceBudget.Source(SocketAddress(ipv4: 0xc000_0301, port: 1))
        let three = SourceBudget.Source(SocketAddress(ipv6High: 0x2001_0db8_0000_0100, low: 1, port: 1))
        let sameAsThree = SourceBudget.Source(SocketAddress(ipv6High: 0x2001_0db8_0000_01ff, low: 9, port: 1))
        #expect(one == neighbour && one != two && three == sameAsThree)

        var budget = SourceBudget()
        #expect(budget.enter(one, limits) == nil)
        #expect(budget.enter(neighbour, limits) == nil)
        #expect(budget.enter(one, limits) == .sourceStrangers)
        budget.admit(one)
        #expect(budget.enter(one, limits) == nil)
        #expect(budget.enter(one, limits) == .sourceConnections)
        #expect(budget.enter(two, limits) == nil)
        #expect(budget.enter(three, limits) == nil)
        #expect(budget.enter(three, limits) == .strangers)
        budget.admit(three)
        #expect(budget.enter(two, limits) == nil)
        #expect(budget.enter(three, limits) == .connections)

        for source in [one, one, two, two] { budget.leave(source, wasStranger: true) }
        for source in [one, three] { budget.leave(source, wasStranger: false) }
        #expect(budget.connections == 0 && budget.strangers == 0 && budget.sourceCount == 0)
    }

    @Test("a silent client is asked after its silence, and is dead when it does not answer in time")
    func ping() {
        var clock = PingClock(now: start, random: 2_000)
        #expect(clock.timeout(now: at(.seconds(17) - .nanoseconds(1)), random: 5) == .wait)
        #expect(clock.timeout(now: at(.seconds(17)), random: 5) == .ping(5))
        #expect(clock.timeout(now: at(.seconds(22) - .nanoseconds(1)), random: 6) == .wait)
        #expect(clock.timeout(now: at(.seconds(22)), random: 6) == .dead)

        clock.heard(now: at(.seconds(18)))
        clock.pong(4, now: at(.seconds(18)))
        #expect(
            clock.timeout(now: at(.seconds(22)), random: 6) == .dead, "neither another frame nor another pong answers")
        clock.pong(5, now: at(.milliseconds(17_100)))
        #expect(clock.roundTrip == .milliseconds(100))
        #expect(clock.deadline == at(.milliseconds(17_100 + 17_000)))
        #expect(clock.timeout(now: at(.seconds(40)), random: 7) == .ping(7))
        #expect(clock.timeout(now: at(.milliseconds(40_499)), random: 8) == .wait)
        #expect(
            clock.timeout(now: at(.milliseconds(40_500)), random: 8) == .dead, "three round trips, but half a second")
    }

    @Test("whoever is heard from is not asked")
    func heard() {
        var clock = PingClock(now: start, random: 0)
        clock.heard(now: at(.seconds(14)))
        #expect(clock.timeout(now: at(.seconds(15)), random: 1) == .wait)
        #expect(clock.timeout(now: at(.seconds(29)), random: 1) == .ping(1))
    }
}

@Suite("What waits for a receiver")
struct RelayQueueTests {
    private let one = ConnectionNumber(raw: 1)
    private let two = ConnectionNumber(raw: 2)

    private func drain(_ queue: inout RelayQueue, atMost limit: Int = 1 << 16) -> [UInt8] {
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 17, alignment: 8)
        defer { memory.deallocate() }
        let filled = queue.fill(memory, atMost: limit)
        #expect(queue.consume(filled.byteCount) == filled.byteCount)
        return Array(memory[..<filled.byteCount])
    }

    @Test("a pair may have 64 packets waiting and no 65th, and another pair still has room")
    func pair() {
        var queue = RelayQueue(RelayLimits(), RelayBacklog())
        for _ in 0..<64 {
            #expect(queue.hasRoom(from: one, byteCount: 1))
            queue.append([1], from: one, packets: 1, now: start)
        }
        #expect(!queue.hasRoom(from: one, byteCount: 1))
        #expect(queue.hasRoom(from: two, byteCount: 1))
        _ = drain(&queue, atMost: 1)
        #expect(queue.hasRoom(from: one, byteCount: 1))
    }

    @Test("all senders together have a bound in bytes")
    func bytes() {
        var limits = RelayLimits()
        limits.queuedBytes = 10
        var queue = RelayQueue(limits, RelayBacklog())
        queue.append([UInt8](repeating: 0, count: 6), from: one, packets: 1, now: start)
        #expect(queue.hasRoom(from: two, byteCount: 4))
        #expect(!queue.hasRoom(from: two, byteCount: 5))
    }

    @Test("a packet may wait 200 ms and not a moment longer; the oldest goes first")
    func age() {
        var queue = RelayQueue(RelayLimits(), RelayBacklog())
        queue.append([1], from: one, packets: 3, now: start)
        queue.append([2], from: two, packets: 1, now: at(.milliseconds(1)))
        #expect(queue.expire(now: at(.milliseconds(200))) == 0)
        #expect(
            queue.nextExpiry == at(.milliseconds(200) + .nanoseconds(1)), "looking earlier would be looking in vain")
        #expect(queue.expire(now: at(.milliseconds(200) + .nanoseconds(1))) == 3)
        #expect(drain(&queue) == [2])
        #expect(queue.isEmpty && queue.waitingBytes == 0)
    }

    @Test("an answer overtakes packets, and order is kept among each")
    func order() {
        var queue = RelayQueue(RelayLimits(), RelayBacklog())
        queue.append([1], from: one, packets: 1, now: start)
        queue.append([2], from: two, packets: 1, now: start)
        let areTaken = [queue.answer([8]), queue.answer([9])]
        #expect(areTaken == [true, true])
        #expect(drain(&queue) == [8, 9, 1, 2])
    }

    @Test("at least one frame is taken, and no more than the limit")
    func limit() {
        var queue = RelayQueue(RelayLimits(), RelayBacklog())
        for value in UInt8(1)...3 { queue.append([value, value, value], from: one, packets: 1, now: start) }
        #expect(drain(&queue, atMost: 1) == [1, 1, 1])
        #expect(drain(&queue, atMost: 6) == [2, 2, 2, 3, 3, 3])
    }

    @Test("a frame that has begun to leave is gone from here")
    func partial() {
        var queue = RelayQueue(RelayLimits(), RelayBacklog())
        for value in UInt8(1)...3 { queue.append([value, value, value], from: one, packets: 1, now: start) }
        #expect(queue.consume(4) == 6)
        #expect(drain(&queue) == [3, 3, 3])
    }

    @Test("whoever does not read its answers gets 256 and no more")
    func answers() {
        var queue = RelayQueue(RelayLimits(), RelayBacklog())
        let taken = (0...RelayQueue.maxAnswers).map { _ in queue.answer([0]) }
        #expect(taken == [Bool](repeating: true, count: RelayQueue.maxAnswers) + [false])
    }

    @Test("what others make us tell a client has room for 64, and never takes the room of an answer")
    func hints() {
        var queue = RelayQueue(RelayLimits(), RelayBacklog())
        for _ in 0..<10_000 { queue.hint([7]) }
        let isTaken = queue.answer([8])
        #expect(isTaken)
        #expect(drain(&queue) == [UInt8](repeating: 7, count: RelayQueue.maxHints) + [8])
    }

    @Test("a packet of 64 KiB takes the room of 43, so that nobody fills the queue with few")
    func weight() {
        var queue = RelayQueue(RelayLimits(), RelayBacklog())
        let large = [UInt8](repeating: 0, count: 65_000)
        for _ in 0..<2 {
            #expect(queue.hasRoom(from: one, byteCount: large.count))
            queue.append(large, from: one, packets: 1, now: start)
        }
        #expect(!queue.hasRoom(from: one, byteCount: 1))
        #expect(queue.hasRoom(from: two, byteCount: large.count))
        _ = queue.expire(now: at(.seconds(1)))
        #expect(queue.hasRoom(from: one, byteCount: 1))
    }

    @Test("all queues together have a bound in bytes, and give back what they held")
    func backlog() {
        var limits = RelayLimits()
        limits.queuedBytesInAll = 10
        let backlog = RelayBacklog()
        var (first, second) = (RelayQueue(limits, backlog), RelayQueue(limits, backlog))
        first.append([UInt8](repeating: 0, count: 6), from: one, packets: 1, now: start)
        #expect(second.hasRoom(from: one, byteCount: 4))
        #expect(!second.hasRoom(from: one, byteCount: 5))
        second.append([1, 2, 3, 4], from: one, packets: 1, now: start)
        #expect(backlog.bytes == 10)
        first.removeAll()
        #expect(second.hasRoom(from: one, byteCount: 6) && first.isEmpty)
        #expect(drain(&second) == [1, 2, 3, 4])
        #expect(backlog.bytes == 0)
    }

    @Test("long use leaves no memory behind")
    func reuse() {
        var queue = RelayQueue(RelayLimits(), RelayBacklog())
        for round in 0..<10_000 {
            queue.append([UInt8(truncatingIfNeeded: round)], from: one, packets: 1, now: start)
            queue.append([UInt8(truncatingIfNeeded: round)], from: two, packets: 1, now: start)
            #expect(drain(&queue, atMost: 1).count == 1)
            if round % 50 == 49 { #expect(drain(&queue).count == 50) }
        }
        #expect(queue.isEmpty)
    }
}
