import MewBase
import MewWire
import Testing

@testable import MewPath

/// A selector, and what its owner would see and do around it.
struct SelectorStage {
    static let near = SocketAddress(ipv4: 0x0a00_0001, port: 4_000)
    static let far = SocketAddress(ipv4: 0xc000_0201, port: 4_000)
    static let start = Instant(nanoseconds: 100_000_000_000)
    static let home = RelayNumber(0)
    static let standby = RelayNumber(1)

    var selector: PathSelector
    var sample: PathSample

    init(_ way: PathWay, addresses: [SocketAddress] = [near], relays: Int = 2, connected: Int = 2) {
        selector = PathSelector(
            addresses: addresses, relays: (0..<relays).map { "http://relay\($0)/" }, now: Self.start)
        sample = PathSample(way: way, since: Self.start, probeTimeout: .milliseconds(50))
        for number in 0..<connected {
            _ = selector.take(
                .relayChanged(RelayNumber(number), connectedSince: Self.at(-60_000)),
                seeing: PathSample(way: way, since: Self.start, probeTimeout: .zero, canMove: false), now: Self.start)
        }
    }

    /// Milliseconds after the start.
    static func at(_ milliseconds: Int64) -> Instant { start.advanced(by: .milliseconds(milliseconds)) }

    mutating func look(_ milliseconds: Int64) -> [PathSelector.Step] {
        selector.look(sample, now: Self.at(milliseconds))
    }

    mutating func take(_ input: PathSelector.Input, _ milliseconds: Int64) -> [PathSelector.Step] {
        selector.take(input, seeing: sample, now: Self.at(milliseconds))
    }

    mutating func moved(to way: PathWay, _ milliseconds: Int64) {
        sample.way = way
        sample.since = Self.at(milliseconds)
        if sample.unansweredSince != nil { sample.unansweredSince = sample.since }
        if sample.stalledSince != nil { sample.stalledSince = sample.since }
    }

    /// Nothing was acknowledged since then, and something is under way.
    mutating func silent(since milliseconds: Int64) {
        sample.unansweredSince = Self.at(milliseconds)
    }

    /// Performs a probe at `milliseconds` that is answered from `address`, or by nobody; the number of steps it caused.
    mutating func finish(_ steps: [PathSelector.Step], by address: SocketAddress?, _ milliseconds: Int64)
        -> [PathSelector.Step]
    {
        for case .probe(let number, _) in steps {
            if let address { moved(to: .direct(address), milliseconds) }
            return take(.probed(number, answeredBy: address), milliseconds)
        }
        return []
    }
}

extension [PathSelector.Step] {
    var probed: [SocketAddress]? {
        for case .probe(_, let addresses) in self { return addresses }
        return nil
    }

    var used: PathWay? {
        for case .use(let way) in self { return way }
        return nil
    }
}

@Suite("From a relay to an address")
struct UpgradeTests {
    private typealias Stage = SelectorStage
    private let home = PathWay.relay(Stage.home)

    @Test("all addresses are asked at once, and the one that answers is not asked again")
    func asksAll() {
        var stage = Stage(home, addresses: [Stage.near, Stage.far])
        let steps = stage.look(0)
        #expect(steps.probed == [Stage.near, Stage.far])
        #expect(stage.look(1).isEmpty)
        #expect(stage.finish(steps, by: Stage.far, 20).isEmpty)
        #expect(stage.look(60_000).isEmpty)
        #expect(stage.selector.nextLook == .distantFuture)
    }

    @Test(
        "an address that does not answer is asked again after 5 s, 10 s and so on up to 5 min, not a millisecond earlier"
    )
    func quarantineDoubles() {
        var stage = Stage(home)
        var now: Int64 = 0
        for wait: Int64 in [5, 10, 20, 40, 80, 160, 300, 300] {
            let steps = stage.look(now)
            #expect(steps.probed == [Stage.near])
            now += 3_000
            #expect(stage.finish(steps, by: nil, now).isEmpty)
            #expect(stage.selector.nextLook == Stage.at(now + wait * 1_000))
            #expect(stage.look(now + wait * 1_000 - 1).isEmpty)
            now += wait * 1_000
        }
    }

    @Test("a change of the network ends every wait: addresses and relays are asked at once")
    func networkChangeForgives() {
        var stage = Stage(home)
        for time: Int64 in [0, 8_000, 21_000] { _ = stage.finish(stage.look(time), by: nil, time + 3_000) }
        let steps = stage.take(.networkChanged, 25_000)
        #expect(steps.prefix(3) == [.retryRelays, .ask(Stage.home), .ask(Stage.standby)])
        #expect(steps.probed == [Stage.near])
        #expect(stage.finish(steps, by: nil, 28_000).isEmpty)
        #expect(stage.selector.nextLook == Stage.at(33_000))
    }

    @Test("however often the network changes, an address is not asked more than once a second")
    func probesAreSpaced() {
        var stage = Stage(home)
        var tries = 0
        for time in stride(from: Int64(0), to: 10_000, by: 50) {
            let steps = stage.take(.networkChanged, time)
            if steps.probed != nil { tries += 1 }
            _ = stage.finish(steps, by: nil, time + 10)
        }
        #expect(tries == 10)
    }

    @Test("a try that a move breaks off may have sent its packets just then: the next comes a second later")
    func brokenOffTriesAreSpaced() {
        var stage = Stage(home)
        #expect(stage.look(0).probed == [Stage.near])
        let steps = stage.take(.relayChanged(Stage.home, connectedSince: nil), 900)
        #expect(steps.used == .relay(Stage.standby))
        stage.moved(to: .relay(Stage.standby), 900)
        #expect(stage.take(.networkChanged, 1_899).probed == nil)
        #expect(stage.look(1_900).probed == [Stage.near])
    }

    @Test("also a try that began long ago: an address that answered late may just have been probed in full size")
    func lateTriesAreSpaced() {
        var stage = Stage(home)
        #expect(stage.look(0).probed == [Stage.near])
        #expect(stage.take(.relayChanged(Stage.home, connectedSince: nil), 1_800).used == .relay(Stage.standby))
        stage.moved(to: .relay(Stage.standby), 1_800)
        #expect(stage.take(.networkChanged, 2_799).probed == nil)
        #expect(stage.look(2_800).probed == [Stage.near])
    }

    @Test("nothing is done before the handshake is confirmed")
    func waitsForConfirmation() {
        var stage = Stage(home)
        stage.sample.canMove = false
        #expect(stage.look(0).isEmpty)
        stage.sample.canMove = true
        #expect(stage.look(1).probed == [Stage.near])
    }

    @Test("an address through which a handshake went is asked again at once, also when an older probe has failed")
    func proven() {
        var stage = Stage(home)
        let first = stage.look(0)
        #expect(stage.take(.proven(Stage.near), 2_900).isEmpty)
        let second = stage.finish(first, by: nil, 3_000)
        #expect(second.probed == [Stage.near])
        _ = stage.finish(second, by: nil, 6_000)
        #expect(stage.look(10_999).probed == nil)
        #expect(stage.take(.proven(Stage.near), 10_999).probed == [Stage.near])
    }

    @Test("a probe that could not be sent is no objection against the address")
    func refusedProbe() {
        var stage = Stage(home)
        guard case .probe(let number, _)? = stage.look(0).first else { return #expect(Bool(false)) }
        #expect(stage.take(.probeRefused(number), 0).isEmpty)
        #expect(stage.look(999).isEmpty)
        #expect(stage.look(1_000).probed == [Stage.near])
        #expect(stage.selector.candidates[Stage.near]?.failures == 0)
    }

    @Test("addresses that the peer tells later are asked at once, before the old ones have waited")
    func learns() {
        var stage = Stage(home)
        _ = stage.finish(stage.look(0), by: nil, 3_000)
        #expect(stage.take(.learnt([Stage.far]), 3_500).probed == [Stage.far])
    }

    @Test("of more than 16 addresses the oldest give way, never the one in use")
    func bounded() {
        var stage = Stage(.direct(Stage.near))
        for round in 0..<4 {
            let more = (0..<9).map { SocketAddress(ipv4: UInt32(0x0b00_0000 + round * 9 + $0), port: 1) }
            _ = stage.take(.learnt(more), Int64(round))
        }
        #expect(stage.selector.candidates.all.count == 16)
        #expect(stage.selector.candidates[Stage.near] != nil)
    }
}

@Suite("From an address to a relay")
struct DemotionTests {
    private typealias Stage = SelectorStage
    private let near = PathWay.direct(SelectorStage.near)
    private let home = PathWay.relay(SelectorStage.home)

    @Test("an address that is silent for a second with something under way is left, not a millisecond earlier")
    func silence() {
        var stage = Stage(near)
        stage.silent(since: 10_000)
        #expect(stage.look(10_000).isEmpty)
        #expect(stage.selector.nextLook == Stage.at(11_000))
        #expect(stage.look(10_999).isEmpty)
        #expect(stage.look(11_000) == [.use(home)])
        stage.moved(to: home, 11_000)
        stage.sample.unansweredSince = nil
        #expect(stage.look(11_250).isEmpty)
        #expect(stage.selector.nextLook == Stage.at(16_000))
        #expect(stage.look(16_000).probed == [Stage.near])
    }

    @Test("on a slow path two probe time-outs have to pass")
    func slowPath() {
        var stage = Stage(near)
        stage.sample.probeTimeout = .milliseconds(900)
        stage.silent(since: 0)
        #expect(stage.look(1_799).isEmpty)
        #expect(stage.look(1_800) == [.use(home)])
    }

    @Test("silence without anything under way means nothing")
    func idle() {
        var stage = Stage(near)
        #expect(stage.look(3_600_000).isEmpty)
        #expect(stage.selector.nextLook == .distantFuture)
    }

    @Test("a step that could not be taken is taken again, and counts once")
    func repeatsRefusedStep() {
        var stage = Stage(near)
        stage.silent(since: 0)
        #expect(stage.look(1_000) == [.use(home)])
        #expect(stage.selector.nextLook == Stage.at(1_250))
        #expect(stage.look(1_250) == [.use(home)])
        #expect(stage.selector.candidates[Stage.near]?.failures == 1)
    }

    @Test(
        "an address that falls silent again and again is left alone longer each time, unless it served for half a minute"
    )
    func repeatedSilence() {
        var stage = Stage(near)
        var now: Int64 = 0
        for (served, wait): (Int64, Int64) in [(2, 5), (2, 10), (29, 20), (30, 5), (2, 10)] {
            stage.silent(since: now + served * 1_000 - 1_000)
            now += served * 1_000
            #expect(stage.look(now) == [.use(home)])
            stage.moved(to: home, now)
            stage.sample.unansweredSince = nil
            #expect(stage.look(now + wait * 1_000 - 1).isEmpty)
            now += wait * 1_000
            let steps = stage.look(now)
            #expect(steps.probed == [Stage.near])
            _ = stage.finish(steps, by: Stage.near, now)
        }
    }

    @Test("without a relay that forwards, all addresses are asked and relays are tried again at once")
    func noRelay() {
        var stage = Stage(near, addresses: [Stage.near, Stage.far], connected: 0)
        stage.silent(since: 0)
        let steps = stage.look(1_000)
        #expect(steps.first == .retryRelays)
        #expect(steps.probed == [Stage.near, Stage.far])
        #expect(stage.look(2_000).isEmpty)
        #expect(stage.finish(steps, by: nil, 4_000).probed == [Stage.near, Stage.far])
        #expect(
            stage.take(.relayChanged(Stage.standby, connectedSince: Stage.at(4_100)), 4_100).used
                == .relay(Stage.standby))
    }

    @Test(
        "when small packets arrive and data does not, the same address is used as a new path; if that does not help, a relay"
    )
    func sizeBlackHole() {
        var stage = Stage(near)
        stage.sample.stalledSince = Stage.at(0)
        stage.silent(since: 900)
        #expect(stage.look(999).isEmpty)
        #expect(stage.look(1_000) == [.use(near)])
        stage.moved(to: near, 1_000)
        stage.silent(since: 1_900)
        #expect(stage.look(1_999).isEmpty)
        #expect(stage.look(2_000) == [.use(home)])
        stage.moved(to: home, 2_000)
        #expect(stage.selector.whyNotDirect(now: Stage.at(2_000)).code == .largePacketsLost)
    }

    @Test("a path that was made anew and then served for a minute may be made anew again")
    func laterBlackHole() {
        var stage = Stage(near)
        stage.sample.stalledSince = Stage.at(0)
        #expect(stage.look(1_000) == [.use(near)])
        stage.moved(to: near, 1_000)
        stage.sample.stalledSince = Stage.at(60_000)
        #expect(stage.look(61_000) == [.use(near)])
    }

    @Test(
        "a peer that does not hear us is answered by a move to the relay it called through, then its addresses are asked"
    )
    func called() {
        var stage = Stage(near)
        let call = PathCall(isUnheard: true, candidates: [Stage.far], cameBy: .relay(Stage.standby))
        #expect(stage.take(.called(call), 5_000) == [.use(.relay(Stage.standby))])
        stage.moved(to: .relay(Stage.standby), 5_000)
        #expect(stage.take(.called(call), 5_249).probed == nil)
        let steps = stage.look(5_499)
        #expect(steps.probed == [Stage.far])
        #expect(stage.finish(steps, by: nil, 8_499).probed == [Stage.near])
    }

    @Test("a peer that only tells its new addresses does not move a connection that works")
    func toldOnly() {
        var stage = Stage(near)
        let call = PathCall(isUnheard: false, candidates: [Stage.far], cameBy: .relay(Stage.standby))
        #expect(stage.take(.called(call), 5_000).isEmpty)
        #expect(stage.selector.candidates[Stage.far] != nil)
    }

    @Test("after a change of the network all addresses are asked while the present one still carries everything")
    func networkChangeChecks() {
        var stage = Stage(near, addresses: [Stage.near, Stage.far])
        let steps = stage.take(.networkChanged, 1_000)
        #expect(steps.used == nil)
        #expect(steps.probed == [Stage.near, Stage.far])
        stage.silent(since: 1_000)
        #expect(stage.look(2_000).used == home)
    }
}

@Suite("From relay to relay")
struct StandbyTests {
    private typealias Stage = SelectorStage
    private let home = PathWay.relay(SelectorStage.home)
    private let standby = PathWay.relay(SelectorStage.standby)

    @Test("a relay that is lost gives way to the standby at once, and is not taken back while that works")
    func homeLost() {
        var stage = Stage(home, addresses: [])
        #expect(stage.take(.relayChanged(Stage.home, connectedSince: nil), 1_000) == [.use(standby)])
        stage.moved(to: standby, 1_000)
        #expect(stage.take(.relayChanged(Stage.home, connectedSince: Stage.at(2_000)), 2_000).isEmpty)
        #expect(stage.look(3_600_000).isEmpty)
    }

    @Test("a relay that came back is second choice for a minute")
    func probation() {
        var stage = Stage(.direct(Stage.near))
        _ = stage.take(.relayChanged(Stage.home, connectedSince: nil), 1_000)
        _ = stage.take(.relayChanged(Stage.home, connectedSince: Stage.at(2_000)), 2_000)
        stage.silent(since: 59_999)
        #expect(stage.look(60_999).used == standby)
        #expect(stage.look(61_000).used == home)
    }

    @Test(
        "when nothing was acknowledged for half a second, the relay is asked whether it is there, and the peer everywhere, once"
    )
    func asksRelay() {
        var stage = Stage(home, addresses: [])
        stage.silent(since: 0)
        #expect(stage.look(499).isEmpty)
        #expect(stage.selector.nextLook == Stage.at(500))
        #expect(stage.look(500) == [.ask(Stage.home), .seek])
        #expect(stage.look(1_000).isEmpty)
    }

    @Test("when the relay is there and the peer is not, the other relay has one turn")
    func turns() {
        var stage = Stage(home, addresses: [])
        stage.sample.lastAcknowledged = Stage.at(1)
        stage.silent(since: 1)
        _ = stage.look(501)
        #expect(stage.look(2_500).isEmpty)
        #expect(stage.look(2_501) == [.use(standby)])
        stage.moved(to: standby, 2_501)
        for time in stride(from: Int64(3_000), to: 60_000, by: 500) { #expect(stage.look(time).used == nil) }
    }

    @Test("a peer that was silent on its address already is given 8 s on the relay before the other one has its turn")
    func lateTurn() {
        var stage = Stage(.direct(Stage.near), addresses: [])
        stage.silent(since: 0)
        #expect(stage.look(1_000) == [.use(home)])
        stage.moved(to: home, 1_000)
        #expect(stage.look(1_500) == [.ask(Stage.home), .seek])
        #expect(stage.look(8_999).isEmpty)
        #expect(stage.look(9_000) == [.use(standby)])
    }

    @Test("a peer that answers through another relay, and not through ours, is followed there")
    func follows() {
        var stage = Stage(home, addresses: [], relays: 3, connected: 3)
        stage.silent(since: 0)
        #expect(stage.look(500).last == .seek)
        #expect(stage.take(.found(RelayNumber(2)), 600).isEmpty)
        #expect(stage.look(1_099).isEmpty)
        #expect(stage.look(1_100) == [.use(.relay(RelayNumber(2)))])
        stage.moved(to: .relay(RelayNumber(2)), 1_100)
        #expect(stage.look(1_600).last == .seek)
        #expect(stage.take(.found(Stage.standby), 1_700).isEmpty)
        #expect(stage.look(2_200) == [.use(standby)])
    }

    @Test("a peer that answers through our relay too stays there, on a path that is made anew once")
    func staysAndRenews() {
        var stage = Stage(home, addresses: [])
        stage.silent(since: 0)
        _ = stage.look(500)
        _ = stage.take(.found(Stage.standby), 600)
        _ = stage.take(.found(Stage.home), 1_000)
        #expect(stage.look(1_100) == [.use(home)])
        stage.moved(to: home, 1_100)
        for time in stride(from: Int64(1_500), to: 9_000, by: 500) { #expect(stage.look(time).used == nil) }
    }

    @Test("answers that are not to our question move nothing")
    func oldAnswers() {
        var stage = Stage(home, addresses: [])
        stage.silent(since: 0)
        #expect(stage.take(.found(Stage.standby), 400).isEmpty)
        #expect(stage.look(500).last == .seek)
        #expect(stage.look(2_000).used == nil)
    }

    @Test("a machine that slept asks first: the time it slept is no silence of its peer")
    func slept() {
        var stage = Stage(home, addresses: [])
        stage.sample.lastAcknowledged = Stage.at(1)
        stage.silent(since: 1)
        #expect(stage.look(60_000) == [.ask(Stage.home), .seek])
        #expect(stage.look(60_999).isEmpty)
        #expect(stage.look(61_000) == [.use(standby)])
    }

    /// Tells of addresses, and that it does not hear us is not said.
    private static let call = PathSelector.Input.called(PathCall(isUnheard: false, candidates: [], cameBy: nil))

    @Test("a peer that calls after half a second of silence was away: the same relay anew, not a millisecond earlier")
    func awake() {
        var stage = Stage(home, addresses: [])
        stage.silent(since: 1_000)
        #expect(stage.take(Self.call, 1_499).used == nil)
        #expect(stage.look(1_500).used == nil, "that was heard before it counted")
        #expect(stage.take(Self.call, 1_501).used == home)
    }

    @Test("a call from before the connection can be moved does not count later")
    func calledTooEarly() {
        var stage = Stage(home, addresses: [])
        stage.silent(since: 1_000)
        stage.sample.canMove = false
        _ = stage.take(Self.call, 1_400)
        stage.sample.canMove = true
        #expect(stage.look(1_600).used == nil)
    }

    @Test("however often it calls, three new paths without an answer are all; an answer gives three more")
    func renewsThrice() {
        var stage = Stage(home, addresses: [], relays: 1, connected: 1)
        var (now, used): (Int64, Int) = (1_000, 0)
        for acknowledged in [false, true] {
            if acknowledged { stage.sample.lastAcknowledged = Stage.at(now) }
            for _ in 0..<10 {
                stage.silent(since: now)
                now += 2_000
                guard stage.take(Self.call, now).used == home else { continue }
                used += 1
                stage.moved(to: home, now)
            }
            #expect(used == PathSelector.renewals * (acknowledged ? 2 : 1))
        }
    }

    @Test("a path that answers while much too long round trips are counted is taken anew, a second after it was taken")
    func misled() {
        var stage = Stage(home, addresses: [])
        stage.sample.isMisled = true
        stage.sample.lastAcknowledged = Stage.at(900)
        #expect(stage.look(999).used == nil)
        #expect(stage.selector.nextLook == Stage.at(1_000))
        #expect(stage.look(1_000).used == home)
        stage.moved(to: home, 1_000)
        #expect(stage.look(3_000).used == nil, "nothing was acknowledged on it yet")
    }

    @Test("a peer with path messages that is nowhere is no reason to change the relay: it would have answered there")
    func noTurn() {
        var stage = Stage(home, addresses: [])
        stage.sample.speaksBeside = true
        stage.silent(since: 1_000)
        for now in stride(from: Int64(1_000), to: 60_000, by: 250) { #expect(stage.look(now).used == nil) }
    }

    @Test("the only relay that came back while something was under way is used anew at once")
    func renewsRelay() {
        var stage = Stage(home, addresses: [], relays: 1, connected: 1)
        stage.silent(since: 0)
        #expect(stage.take(.relayChanged(Stage.home, connectedSince: nil), 100) == [.retryRelays])
        #expect(stage.look(200).isEmpty)
        #expect(stage.take(.relayChanged(Stage.home, connectedSince: Stage.at(900)), 900) == [.use(home)])
        stage.moved(to: home, 900)
        #expect(stage.look(950).isEmpty)
    }

    @Test("with no relay left, the addresses are asked at once")
    func lastRelayLost() {
        var stage = Stage(home, relays: 1, connected: 1)
        _ = stage.finish(stage.look(0), by: nil, 3_000)
        let steps = stage.take(.relayChanged(Stage.home, connectedSince: nil), 3_500)
        #expect(steps == [.retryRelays] + steps.suffix(1))
        #expect(steps.probed == [Stage.near])
    }

    @Test("a call through the other relay while ours is silent moves there")
    func calledThroughOther() {
        var stage = Stage(home, addresses: [])
        let call = PathCall(isUnheard: true, candidates: [], cameBy: standby)
        #expect(stage.take(.called(call), 100) == [.use(standby)])
    }

    @Test("calls that come soon after a move to a relay tell of the way before: they do not move the connection again")
    func calledSoonAfter() {
        var stage = Stage(home, addresses: [])
        stage.moved(to: home, 5_000)
        let call = PathCall(isUnheard: true, candidates: [], cameBy: home)
        #expect(stage.take(.called(call), 5_300).used == nil)
        #expect(stage.take(.called(call), 5_999).used == nil)
        #expect(stage.take(.called(call), 6_000).used == home)
    }

    @Test("two legs are kept: to the relay in use and to the next; all while the peer is sought, and until it answers")
    func legs() {
        var stage = Stage(home, addresses: [], relays: 4, connected: 2)
        _ = stage.look(0)
        #expect(stage.selector.legs == [Stage.home, Stage.standby])
        stage.silent(since: 0)
        _ = stage.look(500)
        #expect(stage.selector.legs.count == 4)
        stage.sample.unansweredSince = nil
        _ = stage.look(600)
        #expect(stage.selector.legs == [Stage.home, Stage.standby])
    }

    @Test("a standby that does not forward for 5 s gives its place to another one, not a millisecond earlier")
    func replacesStandby() {
        var stage = Stage(home, addresses: [], relays: 3, connected: 2)
        _ = stage.take(.relayChanged(Stage.standby, connectedSince: nil), 1_000)
        #expect(stage.selector.nextLook == Stage.at(6_000))
        _ = stage.look(5_999)
        #expect(stage.selector.legs == [Stage.home, Stage.standby])
        _ = stage.look(6_000)
        #expect(stage.selector.legs == [Stage.home, RelayNumber(2)])
        _ = stage.look(12_000)
        #expect(
            stage.selector.legs == [Stage.home, Stage.standby] || stage.selector.legs == [Stage.home, RelayNumber(2)])
    }

    @Test(
        "the relays that the peer names come first, and a relay that is none of them is left when another one forwards")
    func advertised() {
        var stage = Stage(home, addresses: [], relays: 4, connected: 1)
        let named = [RelayNumber(3), Stage.standby]
        #expect(stage.take(.advertised(named), 2_000).used == nil)
        #expect(stage.selector.legs == [RelayNumber(3), Stage.home])
        let steps = stage.take(.relayChanged(RelayNumber(3), connectedSince: Stage.at(2_100)), 2_100)
        #expect(steps == [.use(.relay(RelayNumber(3)))])
        stage.moved(to: .relay(RelayNumber(3)), 2_100)
        _ = stage.look(2_200)
        #expect(stage.selector.legs == named)
        #expect(stage.take(.advertised([RelayNumber(3), RelayNumber(2)]), 2_300).used == nil)
    }

    @Test(
        "a relay that has just come back is not taken because a call came through it first; it is when nothing else helps"
    )
    func returningRelay() {
        var stage = Stage(standby, addresses: [])
        _ = stage.take(.relayChanged(Stage.home, connectedSince: nil), 1_000)
        _ = stage.take(.relayChanged(Stage.home, connectedSince: Stage.at(5_000)), 5_000)
        let call = PathCall(isUnheard: true, candidates: [], cameBy: home)
        #expect(stage.take(.called(call), 6_000) == [.use(standby)])
        stage.moved(to: standby, 6_000)
        #expect(stage.take(.called(call), 6_500).used == nil)
        #expect(stage.take(.called(call), 7_000) == [.use(home)])
    }

    @Test("relays beyond eight are not used")
    func bounded() {
        var stage = Stage(home)
        for number in 2..<8 { #expect(stage.selector.addRelay("http://relay\(number)/") == RelayNumber(number)) }
        #expect(stage.selector.addRelay("http://relay8/") == nil)
        #expect(stage.selector.addRelay("http://relay1/") == Stage.standby)
    }
}

@Suite("Why it is not direct, in words")
struct PathWordsTests {
    private typealias Stage = SelectorStage
    private let home = PathWay.relay(SelectorStage.home)

    private func why(_ stage: SelectorStage, _ milliseconds: Int64) -> WhyNotDirect {
        stage.selector.whyNotDirect(now: Stage.at(milliseconds))
    }

    @Test("without an address, with addresses of another family, and while they are being tried")
    func beginnings() {
        #expect(why(Stage(home, addresses: []), 0).code == .noAddress)
        let foreign = PathSelector(addresses: [], unroutable: 2, relays: [], now: Stage.start)
        #expect(foreign.whyNotDirect(now: Stage.start).code == .noSuchFamily)
        var stage = Stage(home)
        #expect(why(stage, 0).code == .checking)
        _ = stage.look(0)
        #expect(why(stage, 1).code == .checking)
        #expect(stage.selector.candidateStates(using: home, now: Stage.at(1)).map(\.state) == [.checking])
    }

    @Test("no answer names the address, the next try, the port to open and the option for an address that nobody tells")
    func noAnswer() {
        var stage = Stage(home)
        _ = stage.finish(stage.look(0), by: nil, 3_000)
        let why = why(stage, 4_500)
        #expect(why.code == .noAnswer)
        #expect(why.text == "no answer at 10.0.0.1:4000; tried again in 4 s")
        #expect(why.help?.contains("4000") == true)
        for help in [why.help, self.why(Stage(home, addresses: []), 0).help] {
            #expect(help?.contains("--addr PUBLIC-IP:PORT") == true)
        }
        let candidate = PathCandidate(
            address: Stage.near, state: .quarantined(.noAnswer), failures: 1, nextTry: Stage.at(8_000))
        #expect(stage.selector.candidateStates(using: home, now: Stage.at(4_500)) == [candidate])
    }

    @Test("an address that answers small packets and no large ones is told apart from one that does not answer")
    func passesSmall() {
        var stage = Stage(home, addresses: [Stage.near, Stage.far])
        guard case .probe(let number, _)? = stage.look(0).first else { return #expect(Bool(false)) }
        _ = stage.take(.passSmall(number, [Stage.far]), 3_000)
        _ = stage.take(.probed(number, answeredBy: nil), 3_000)
        #expect(why(stage, 3_500).code == .largePacketsLost)
        let states = stage.selector.candidateStates(using: home, now: Stage.at(3_500)).map(\.state)
        #expect(states == [.quarantined(.noAnswer), .quarantined(.largePacketsLost)])
    }

    @Test("relays are listed with the one in use first and the standby behind it")
    func relays() {
        let stage = Stage(.relay(SelectorStage.standby), relays: 3)
        let ranked = stage.selector.rankedRelays(using: .relay(Stage.standby), now: Stage.start)
        #expect(ranked == [Stage.standby, Stage.home, RelayNumber(2)])
    }
}
