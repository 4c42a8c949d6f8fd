import MewBase
import MewWire
import Testing

@testable import MewLookup

private let start = Instant(nanoseconds: 1_000_000_000_000)

@Suite("Which relays a node keeps connections to, and which is home")
struct HomeChoiceTests {
    private let a: RelayURL
    private let b: RelayURL
    private let c: RelayURL
    /// On the host of `a`.
    private let a2: RelayURL

    init() throws {
        a = try RelayURL("http://a.test/")
        b = try RelayURL("http://b.test/")
        c = try RelayURL("http://c.test/")
        a2 = try RelayURL("http://a.test:81/")
    }

    /// Two relays, both connected at `start` and compared a second later.
    private func settled(_ first: Duration, _ second: Duration) -> HomeChoice {
        var choice = HomeChoice([a, b])
        choice.decide(now: start)
        for (url, roundTrip) in [(a, first), (b, second)] {
            choice.measured(url, roundTrip)
            choice.connected(url, now: start)
        }
        choice.decide(now: start)
        choice.decide(now: start.advanced(by: HomeChoice.settling))
        return choice
    }

    private func at(_ seconds: Duration) -> Instant { start.advanced(by: seconds) }

    @Test("before any connection both relays are tried, and told in the user's order")
    func beginning() {
        var choice = HomeChoice([a, b])
        choice.decide(now: start)
        #expect(choice.legs == [a, b])
        #expect(choice.home == nil)
        #expect(choice.advertised == [a, b])
    }

    @Test("the first relay that answers is home at once; a nearer one that answers within a second takes its place")
    func nearestBecomesHome() {
        var choice = HomeChoice([a, b])
        choice.decide(now: start)
        choice.measured(a, .milliseconds(80))
        choice.connected(a, now: start)
        choice.decide(now: start)
        #expect(choice.home == a)
        choice.measured(b, .milliseconds(10))
        choice.connected(b, now: at(.milliseconds(500)))
        choice.decide(now: at(.milliseconds(999)))
        #expect(choice.home == a)
        choice.decide(now: at(.seconds(1)))
        #expect(choice.home == b)
        #expect(choice.advertised == [b, a])
    }

    @Test("of more relays than are needed the nearest are used, the standby on another host")
    func standbyOnAnotherHost() {
        var choice = HomeChoice([a, a2, b, c])
        for (url, ms) in [(a, 10), (a2, 11), (b, 50), (c, 40)] { choice.measured(url, .milliseconds(ms)) }
        choice.decide(now: start)
        #expect(choice.legs == [a, c])
    }

    @Test("when there is no other host, the same host serves twice")
    func sameHost() {
        var choice = HomeChoice([a, a2])
        choice.decide(now: start)
        #expect(choice.legs == [a, a2])
    }

    @Test("a home that is away for less than three seconds stays home; then the standby is, and is told first")
    func rehomes() {
        var choice = settled(.milliseconds(10), .milliseconds(50))
        #expect(choice.home == a)
        choice.lost(a, now: at(.seconds(10)))
        choice.decide(now: at(.milliseconds(12_999)))
        #expect(choice.home == a)
        #expect(choice.advertised == [a, b])
        choice.decide(now: at(.seconds(13)))
        #expect(choice.home == b)
        #expect(choice.advertised == [b])
    }

    @Test("a relay that returns is told again at once, and is not home again before it has stayed for a minute")
    func returningRelay() {
        var choice = settled(.milliseconds(10), .milliseconds(50))
        choice.lost(a, now: at(.seconds(10)))
        choice.decide(now: at(.seconds(13)))
        choice.connected(a, now: at(.seconds(20)))
        choice.decide(now: at(.seconds(20)))
        #expect(choice.home == b)
        #expect(choice.advertised == [b, a])
        choice.decide(now: at(.milliseconds(79_999)))
        #expect(choice.home == b)
        #expect(choice.nextDeadline(now: at(.milliseconds(79_999))) == at(.seconds(80)))
        choice.decide(now: at(.seconds(80)))
        #expect(choice.home == a)
    }

    @Test("a relay that is only a little nearer does not become home")
    func margin() {
        var choice = settled(.milliseconds(50), .milliseconds(60))
        #expect(choice.home == a)
        for _ in 1...4 { choice.measured(b, .milliseconds(31)) }
        choice.decide(now: at(.seconds(100)))
        #expect(choice.home == a, "19 ms nearer")
        for _ in 1...4 { choice.measured(b, .milliseconds(30)) }
        choice.decide(now: at(.seconds(100)))
        #expect(choice.home == b, "20 ms and more than a third nearer")
    }

    @Test("while no relay is connected, what was told last stays told")
    func nothingConnected() {
        var choice = settled(.milliseconds(10), .milliseconds(50))
        choice.lost(a, now: at(.seconds(10)))
        choice.lost(b, now: at(.seconds(10)))
        choice.decide(now: at(.seconds(100)))
        #expect(choice.advertised == [a, b])
        #expect(choice.home == a)
        choice.connected(b, now: at(.seconds(101)))
        choice.decide(now: at(.seconds(101)))
        #expect(choice.home == b)
        #expect(choice.advertised == [b])
    }

    @Test("a leg that is down for five seconds gives way to a third relay, and is not tried again for a minute")
    func replacement() {
        var choice = HomeChoice([a, b, c])
        choice.decide(now: start)
        for url in [a, b] { choice.connected(url, now: start) }
        choice.decide(now: at(.seconds(2)))
        choice.lost(a, now: at(.seconds(10)))
        choice.decide(now: at(.milliseconds(14_999)))
        #expect(choice.legs == [b, a])
        choice.decide(now: at(.seconds(15)))
        #expect(choice.legs == [b, c])
        choice.decide(now: at(.milliseconds(20_000)))
        #expect(choice.legs == [b, c], "the one that was given up is in quarantine, so the new one is waited for")
        choice.decide(now: at(.milliseconds(74_999)))
        #expect(choice.legs == [b, c])
        choice.decide(now: at(.seconds(75)))
        #expect(choice.legs == [b, a], "the third one never answered")
    }

    @Test("with two relays a lost one is tried for ever: there is none to take its place")
    func twoOnly() {
        var choice = settled(.milliseconds(10), .milliseconds(50))
        choice.lost(a, now: at(.seconds(10)))
        choice.decide(now: at(.seconds(1_000)))
        #expect(Set(choice.legs) == [a, b])
    }

    @Test("after a change of the network distances are compared anew")
    func networkChange() {
        var choice = settled(.milliseconds(10), .milliseconds(50))
        choice.networkChanged(now: at(.seconds(10)))
        choice.measured(a, .milliseconds(50))
        choice.measured(b, .milliseconds(40))
        choice.decide(now: at(.milliseconds(10_999)))
        #expect(choice.home == a)
        choice.decide(now: at(.seconds(11)))
        #expect(choice.home == b)
    }

    @Test(
        "after a change of the network the old distances count until there are new ones: home does not move for nothing"
    )
    func nothingMeasuredAnew() {
        var choice = settled(.milliseconds(50), .milliseconds(10))
        #expect(choice.home == b)
        choice.networkChanged(now: at(.seconds(100)))
        for wait: Duration in [.zero, .seconds(1), .seconds(30), .seconds(90)] {
            choice.decide(now: at(.seconds(100) + wait))
            #expect(choice.home == b, "after \(wait)")
        }
        choice.measured(b, .milliseconds(10))
        choice.decide(now: at(.seconds(200)))
        #expect(choice.home == b)
        choice.measured(a, .milliseconds(1))
        for _ in 0..<3 { choice.measured(b, .milliseconds(40)) }
        choice.decide(now: at(.seconds(200)))
        #expect(choice.home == b, "the least of the four is still 10 ms")
        choice.measured(b, .milliseconds(40))
        choice.decide(now: at(.seconds(200)))
        #expect(choice.home == a)
    }

    @Test("a distance of the new network is not compared with one of the old")
    func mixedMeasurements() {
        var choice = settled(.milliseconds(50), .milliseconds(10))
        choice.networkChanged(now: at(.seconds(100)))
        choice.measured(b, .milliseconds(210))
        choice.decide(now: at(.seconds(101)))
        #expect(choice.home == b, "the other is 200 ms further away as well")
        choice.measured(a, .milliseconds(250))
        choice.decide(now: at(.seconds(170)))
        #expect(choice.home == b)
    }

    @Test(
        "whatever happens: at most two legs, home is one of them, told are only legs, and time alone needs no other wake-up"
    )
    func laws() {
        for seed in UInt64(0)..<200 {
            var random = seed &* 0x9e37_79b9_7f4a_7c15 | 1
            func draw(_ count: UInt64) -> UInt64 {
                random ^= random << 13
                random ^= random >> 7
                random ^= random << 17
                return random % count
            }
            let all = [a, b, c, a2]
            var choice = HomeChoice(all)
            var now = start
            choice.decide(now: now)
            for _ in 0..<200 {
                let url = all[Int(draw(4))]
                switch draw(5) {
                case 0: choice.connected(url, now: now)
                case 1: choice.lost(url, now: now)
                case 2: choice.measured(url, .milliseconds(Int64(1 + draw(200))))
                case 3 where draw(10) == 0: choice.networkChanged(now: now)
                default: now = now.advanced(by: .milliseconds(Int64(draw(20_000))))
                }
                choice.decide(now: now)
                #expect(choice.legs.count == 2, "seed \(seed)")
                #expect(Set(choice.legs).count == 2, "seed \(seed)")
                #expect(!choice.advertised.isEmpty, "seed \(seed)")
                var later = choice
                let end = choice.nextDeadline(now: now) ?? now.advanced(by: .seconds(3_600))
                later.decide(now: Instant(nanoseconds: end.nanoseconds - 1))
                #expect(later.home == choice.home && later.legs == choice.legs, "seed \(seed): woke too late")
            }
        }
    }
}
