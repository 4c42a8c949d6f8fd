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

    @Test("the log tells one refusal of each kind, network and minute, and how many it has left out")
    func refusalLog() {
        var log = RefusalLog()
        let one = SourceBudget.Source(SocketAddress(ipv4: 0xc000_0201, port: 1))
        let two = SourceBudget.Source(SocketAddress(ipv6High: 0x2001_0db8_0000_0101, low: 1, port: 1))
        #expect("\(one) \(two)" == "192.0.2.0/24 2001:db8:0:100::/56")
        #expect(log.refused(one, .rules, now: start) == 0)
        #expect(log.refused(one, .rules, now: at(RefusalLog.every - .nanoseconds(1))) == nil)
        #expect(log.refused(one, .bounds, now: start) == 0)
        #expect(log.refused(one, .proof, now: start) == 0)
        #expect(log.refused(two, .rules, now: start) == 0)
        #expect(log.refused(one, .rules, now: at(RefusalLog.every)) == 1)
        #expect(log.refused(one, .rules, now: at(RefusalLog.every * 2)) == 0)
    }

    @Test("refusals from very many networks are told as far as there is room, and again when others are old")
    func refusalLogRoom() {
        var log = RefusalLog()
        func source(_ number: Int) -> SourceBudget.Source {
            SourceBudget.Source(SocketAddress(ipv4: UInt32(number) << 8, port: 1))
        }
        for number in 0..<RefusalLog.capacity { #expect(log.refused(source(number), .rules, now: start) == 0) }
        #expect(log.refused(source(RefusalLog.capacity), .rules, now: at(.seconds(59))) == nil)
        #expect(log.refused(source(RefusalLog.capacity), .rules, now: at(.seconds(60))) == 0)
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
