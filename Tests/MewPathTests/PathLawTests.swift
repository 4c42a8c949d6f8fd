import MewBase
import MewWire
import Testing

@testable import MewPath

/// A connection reduced to what a selector sees of it: which ways work at a time, and when something was last acknowledged.
private struct PathWorld {
    static let relayRoundTrip: Duration = .milliseconds(60)
    static let directRoundTrip: Duration = .milliseconds(20)

    var random: SplitMix
    var now = Instant(nanoseconds: 1_000_000_000)
    let addresses = [SocketAddress(ipv4: 0x0a00_0001, port: 1), SocketAddress(ipv4: 0x0a00_0002, port: 2)]
    var selector: PathSelector
    var way = PathWay.relay(RelayNumber(0))
    var since: Instant
    var worksDirect = [true, false]
    var relayIsUp = [true, true]
    var relayAnswers = [true, true]
    var probe: (number: PathSelector.ProbeNumber, addresses: [SocketAddress], ends: Instant)?
    var asked: [RelayNumber: Instant] = [:]
    /// When the peer was last asked for through every relay.
    var sought: Instant?
    var returns: [RelayNumber: Instant] = [:]
    var lastAcknowledged: Instant
    var unansweredSince: Instant?
    var changes = 0
    var probes: [SocketAddress: [Instant]] = [:]

    init(seed: UInt64) {
        random = SplitMix(state: seed)
        selector = PathSelector(addresses: addresses, relays: ["http://a/", "http://b/"], now: now)
        since = now
        lastAcknowledged = now
        for number in 0..<2 { perform(take(.relayChanged(RelayNumber(number), connectedSince: now))) }
    }

    var sample: PathSample {
        PathSample(
            way: way, since: since, unansweredSince: unansweredSince, lastAcknowledged: lastAcknowledged,
            probeTimeout: .milliseconds(80))
    }

    mutating func take(_ input: PathSelector.Input) -> [PathSelector.Step] {
        selector.take(input, seeing: sample, now: now)
    }

    private func works(_ way: PathWay) -> Bool {
        switch way {
        case .direct(let address): worksDirect[addresses.firstIndex(of: address) ?? 0]
        case .relay(let number): relayIsUp[number.index] && relayAnswers[number.index]
        }
    }

    var worksNow: Bool { works(way) }
    var isRelayed: Bool { way.address == nil }

    mutating func perform(_ steps: [PathSelector.Step]) {
        for step in steps {
            switch step {
            case .probe(let number, let addresses):
                for address in addresses { probes[address, default: []].append(now) }
                probe = (number, addresses, now.advanced(by: .seconds(3)))
            case .use(let new):
                if case .relay(let number) = new {
                    #expect(selector.relays.isConnected(number), "only a relay that forwards is used")
                }
                if new != way { changes += 1 }
                (way, since, probe) = (new, now, nil)
                if unansweredSince != nil { unansweredSince = now }
            case .ask(let number): asked[number] = now
            case .widen(let number, let addresses):
                for address in addresses { probes[address, default: []].append(now) }
                if let open = probe, open.number == number { probe?.addresses += addresses }
            case .retryRelays, .invite: break
            case .seek: sought = now
            }
        }
    }

    /// Five minutes in which nobody sends: longer than any quarantine.
    mutating func rest() {
        let end = now.advanced(by: .seconds(320))
        while now < end {
            let isQuiet = unansweredSince == nil && probe == nil && asked.isEmpty && returns.isEmpty
            if isQuiet { now = max(now, min(end, selector.nextLook).advanced(by: .milliseconds(-20))) }
            tick(sending: false)
        }
    }

    /// Twenty milliseconds: acknowledgements, outcomes, looks.
    mutating func tick(sending: Bool) {
        now = now.advanced(by: .milliseconds(20))
        if sending, unansweredSince == nil { unansweredSince = now }
        if works(way), let sent = unansweredSince {
            let roundTrip = isRelayed ? Self.relayRoundTrip : Self.directRoundTrip
            if sent.duration(to: now) >= roundTrip { (lastAcknowledged, unansweredSince) = (now, nil) }
        }
        finishProbe()
        relays()
        if selector.nextLook <= now || unansweredSince == now { perform(selector.look(sample, now: now)) }
    }

    private mutating func finishProbe() {
        guard let probe else { return }
        if let good = probe.addresses.first(where: { works(.direct($0)) }) {
            self.probe = nil
            if way != .direct(good) { changes += 1 }
            (way, since, lastAcknowledged, unansweredSince) = (.direct(good), now, now, nil)
            perform(take(.probed(probe.number, answeredBy: good)))
        } else if probe.ends <= now {
            self.probe = nil
            perform(take(.probed(probe.number, answeredBy: nil)))
        }
    }

    private mutating func relays() {
        for (number, time) in asked where time.duration(to: now) >= .seconds(1) {
            asked[number] = nil
            if !relayIsUp[number.index], selector.relays.isConnected(number) { lose(number) }
        }
        for (number, time) in returns where time <= now {
            returns[number] = nil
            perform(take(.relayChanged(number, connectedSince: now)))
        }
        guard let sought, sought.duration(to: now) >= Self.relayRoundTrip else { return }
        self.sought = nil
        for number in [0, 1].map(RelayNumber.init) where works(.relay(number)) && selector.isConnected(number) {
            perform(take(.found(number)))
        }
    }

    mutating func lose(_ number: RelayNumber) {
        returns[number] = nil
        perform(take(.relayChanged(number, connectedSince: nil)))
    }

    mutating func setRelay(_ index: Int, up: Bool, silently: Bool) {
        guard relayIsUp[index] != up else { return }
        relayIsUp[index] = up
        let number = RelayNumber(index)
        if up {
            if !selector.relays.isConnected(number) { returns[number] = now.advanced(by: .milliseconds(200)) }
        } else if !silently, selector.relays.isConnected(number) {
            lose(number)
        }
    }
}

private struct SplitMix {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var z = state
        z = (z ^ (z >> 30)) &* 0xbf58_476d_1ce4_e5b9
        z = (z ^ (z >> 27)) &* 0x94d0_49bb_1331_11eb
        return z ^ (z >> 31)
    }

    mutating func below(_ bound: UInt64) -> UInt64 { next() % bound }
}

@Suite("Laws of path selection, over many worlds")
struct PathLawTests {
    @Test("an address gets at most one probe a second, whatever happens")
    func probesAreRare() {
        for seed in 0..<40 as Range<UInt64> {
            var world = PathWorld(seed: seed)
            for _ in 0..<60 {
                chance(&world)
                for _ in 0..<50 { world.tick(sending: true) }
            }
            for times in world.probes.values {
                for (first, second) in zip(times, times.dropFirst()) {
                    #expect(first.duration(to: second) >= .seconds(1), "seed \(seed)")
                }
            }
        }
    }

    @Test(
        "after one event data flows again within 3 s, by at most one change away and one back, as long as a relay works"
    )
    func recovers() {
        for seed in 0..<40 as Range<UInt64> {
            var world = PathWorld(seed: seed)
            world.worksDirect = [true, seed % 2 == 0]
            for _ in 0..<100 { world.tick(sending: true) }
            #expect(!world.isRelayed, "seed \(seed)")
            world.changes = 0
            let lost = world.addresses.firstIndex { world.way == .direct($0) } ?? 0
            world.worksDirect = [false, false]
            var silent = 0
            var longest = 0
            for _ in 0..<500 {
                world.tick(sending: true)
                silent = world.worksNow ? 0 : silent + 1
                longest = max(longest, silent)
            }
            #expect(longest * 20 <= 3_000, "seed \(seed)")
            #expect(world.changes == 1 && world.isRelayed, "seed \(seed)")
            world.worksDirect[lost] = true
            world.rest()
            #expect(world.changes == 2 && !world.isRelayed, "seed \(seed)")
        }
    }

    @Test("whatever happened, five minutes after the last event the connection is direct if an address works")
    func settles() {
        for seed in 0..<40 as Range<UInt64> {
            var world = PathWorld(seed: seed)
            for _ in 0..<30 {
                chance(&world)
                let pause = world.random.below(200)
                let isSending = world.random.below(4) > 0
                for _ in 0..<pause { world.tick(sending: isSending) }
            }
            world.worksDirect = [true, true]
            world.setRelay(0, up: true, silently: false)
            world.relayAnswers = [true, true]
            world.rest()
            #expect(!world.isRelayed && world.worksNow, "seed \(seed)")
        }
    }

    @Test("a relay that dies without a word is left for the standby within 3 s")
    func relayDiesSilently() {
        for seed in 0..<20 as Range<UInt64> {
            var world = PathWorld(seed: seed)
            world.worksDirect = [false, false]
            for _ in 0..<(50 + seed) { world.tick(sending: true) }
            world.setRelay(0, up: false, silently: true)
            for _ in 0..<150 { world.tick(sending: true) }
            #expect(world.way == .relay(RelayNumber(1)), "seed \(seed)")
            #expect(world.changes == 1, "seed \(seed)")
        }
    }

    @Test("a peer that is at one relay only is followed there within 3 s, whichever relay it is")
    func peerIsElsewhere() {
        for seed in 0..<20 as Range<UInt64> {
            var world = PathWorld(seed: seed)
            world.worksDirect = [false, false]
            for _ in 0..<(50 + seed) { world.tick(sending: true) }
            for place in [1, 0, 1] {
                world.changes = 0
                world.relayAnswers = [place == 0, place == 1]
                for _ in 0..<150 { world.tick(sending: true) }
                #expect(world.way == .relay(RelayNumber(place)), "seed \(seed)")
                #expect(world.changes == 1, "seed \(seed)")
            }
        }
    }

    @Test("a trace played again gives the same steps")
    func replays() {
        var world = PathWorld(seed: 7)
        for _ in 0..<10 {
            chance(&world)
            for _ in 0..<50 { world.tick(sending: true) }
        }
        let entries = world.selector.trace.entries
        #expect(entries.count > 5 && entries.count < PathTrace.limit)
        var other = PathSelector(
            addresses: world.addresses, relays: ["http://a/", "http://b/"], now: Instant(nanoseconds: 1_000_000_000))
        #expect(other.replay(entries) == entries.map(\.steps))
    }

    @Test("the trace keeps the latest 512 inputs")
    func traceIsBounded() {
        var stage = SelectorStage(.direct(SelectorStage.near))
        for time in 0..<1_000 { _ = stage.look(Int64(time)) }
        let entries = stage.selector.trace.entries
        #expect(entries.count == 512)
        #expect(entries.first?.at == SelectorStage.at(488) && entries.last?.at == SelectorStage.at(999))
    }

    private func chance(_ world: inout PathWorld) {
        let index = Int(world.random.below(2))
        let isGood = world.random.below(2) == 0
        switch world.random.below(6) {
        case 0: world.worksDirect[index] = isGood
        case 1: world.setRelay(index, up: isGood, silently: world.random.below(2) == 0)
        case 2: world.relayAnswers[index] = isGood
        case 3: world.perform(world.take(.networkChanged))
        case 4:
            let call = PathCall(
                isUnheard: isGood, candidates: [world.addresses[index]], cameBy: .relay(RelayNumber(index)))
            world.perform(world.take(.called(call)))
        default: world.perform(world.take(.proven(world.addresses[index])))
        }
    }
}
