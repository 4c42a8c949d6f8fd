package import MewBase
internal import MewWire

/// Chooses which way carries one dialled connection: an address of the peer, or a relay (DESIGN §6).
///
/// A pure value: no sockets, no clock, no randomness. Its owner calls `take` with what has happened and with what is seen of
/// the connection at that moment, performs the steps in order, and calls `look` at `nextLook`, or earlier when something is
/// sent after nothing was under way.
///
///                    an address answers a full-size probe
///           ┌──────────────────────────────────────────────────────┐
///        relayed                                                  direct ⟲ large packets lost: the same address as a new path
///        ⟲ next relay: this one is away,    silent, not heard,     ⟲ network changed: every address is asked
///          or the peer does not answer       large packets lost again
///           └──────────────────────────────────────────────────────┘
///
/// What it promises: no probe to an address more often than `CandidateList.spacing`; a silent address is left within
/// `silenceLimit`, and left alone for a while that doubles; a relay is used only while it forwards; per silence at most one
/// change to another relay and one back.
package struct PathSelector: Sendable {
    package enum Input: Hashable, Sendable {
        /// A probe is over: which address answered, if any.
        case probed(ProbeNumber, answeredBy: SocketAddress?)
        /// A probe is about to end without an answer; these have answered small packets.
        case passSmall(ProbeNumber, [SocketAddress])
        /// A probe could not be sent now.
        case probeRefused(ProbeNumber)
        /// A relay forwards for us since then, or does not.
        case relayChanged(RelayNumber, connectedSince: Instant?)
        /// The addresses of this machine have changed, or it was asleep.
        case networkChanged
        case called(PathCall)
        /// The peer has told where it can be reached.
        case learnt([SocketAddress])
        /// The peer has told at which relays it is, home first.
        case advertised([RelayNumber])
        /// A handshake with the peer went through there.
        case proven(SocketAddress)
        /// The peer has answered a path message through this relay.
        case found(RelayNumber)
        /// What we have found out about our own network.
        case surveyed(NATReport)
    }

    package enum Step: Hashable, Sendable {
        /// Asks all of these at once, small and then in full size (`AddressCheck`); the connection moves to the first that
        /// answers a packet of full size. `probed` tells the outcome.
        case probe(ProbeNumber, [SocketAddress])
        /// The addresses became known while the probe is under way: they are asked as well, as part of it.
        case widen(ProbeNumber, [SocketAddress])
        /// Tells the peer where we are, so that it tells where it is: no address of it is known.
        case invite
        /// Moves the connection at once. Also to the way it uses already: then that is a new path, with nothing remembered.
        case use(PathWay)
        /// Asks a relay whether it is there; one that is not is given up and connected anew.
        case ask(RelayNumber)
        /// Nobody waits for the end of a back-off.
        case retryRelays
        /// Asks the peer itself through every relay whether it is there; `found` tells where it answers.
        case seek
    }

    package struct ProbeNumber: Hashable, Sendable {
        let number: UInt64
    }

    struct Probe {
        let number: ProbeNumber
        var addresses: [SocketAddress]
        let began: Instant
    }

    /// What was done about one silence, so that it is done once.
    struct Silence {
        let began: Instant
        var hasAsked = false
        var hasProbed = false
        var hasTurned = false
        /// When the peer was asked for through every relay.
        var sought: Instant?
        /// It was sought, here or at a relay before.
        var hasSought = false
        /// Where it has answered since then, and when for the first time.
        var found: Set<RelayNumber> = []
        var firstFound: Instant?
        /// The way was made anew because the peer is there.
        var hasRenewed = false
    }

    var candidates: CandidateList
    private(set) var relays: RelayList
    /// Addresses that this machine has no socket for.
    private(set) var unroutable: Int
    var probe: Probe?
    private var lastProbe: UInt64 = 0
    var silence: Silence?
    /// The peer does not hear us, and nothing was done about it yet.
    var unheard: PathCall?
    /// Relays are to be asked whether they are there.
    private var asksRelays = false
    /// All addresses are to be asked, although one may carry the connection.
    private var asksAll = false
    var renewed: (address: SocketAddress, at: Instant)?
    /// The peer has just told where it is.
    var wasCalled = false
    private var moves = RecentMoves()
    /// A relay through which the peer has called and was not followed.
    var passedOver: (relay: RelayNumber, at: Instant)?
    /// No probe before: the last move has to take effect.
    private var settlesAt = Instant.zero
    /// The loss of the last relay has been dealt with.
    var knowsOfLoss = false
    /// When the peer is invited next, and how long to wait after that.
    var invitation = (next: Instant.zero, pause: CandidateList.firstQuarantine)
    /// What both sides have found out about their networks.
    private(set) var reports: (ours: NATReport?, theirs: NATReport?) = (nil, nil)
    /// When to look again, if nothing happens before.
    package private(set) var nextLook = Instant.zero
    /// The latest inputs, for reports of what went wrong.
    package private(set) var trace = PathTrace()

    /// - Parameters:
    ///   - addresses: of the peer, best first.
    ///   - unroutable: how many more there are that this machine has no socket for.
    ///   - relays: the URLs of those that may be used, home first.
    package init(addresses: [SocketAddress], unroutable: Int = 0, relays: [String], now: Instant) {
        candidates = CandidateList(addresses, now: now)
        self.relays = RelayList(relays)
        self.unroutable = unroutable
    }

    /// Whether the peer has said that it is there, or we have been told.
    package func knows(_ address: SocketAddress) -> Bool { candidates[address] != nil }

    package func isConnected(_ relay: RelayNumber) -> Bool { relays.isConnected(relay) }

    var isProbing: Bool { probe != nil }

    func isProbing(_ address: SocketAddress) -> Bool { probe?.addresses.contains(address) ?? false }

    // MARK: - Numbers

    /// How long a direct path may be silent while something is under way: with a look at the right moment and a round trip
    /// over the relay, data flows again within 3 s. A healthy path loses five packets in a row in that time to be misjudged.
    static let shortestSilence: Duration = .seconds(1)
    /// Longer on slow paths: the first probe of RFC 9002 §6.2 and its answer fit in.
    static let silentTimeouts = 2
    /// Small packets arrive and large ones do not.
    static let stalledTimeouts = 3
    /// A path that stalls again so soon after it was made anew is given up.
    static let renewalTrial: Duration = .seconds(60)
    /// Carrying the connection for so long makes earlier failures count no more.
    static let acquittal: Duration = .seconds(30)
    /// When a relay is asked whether it is there: this long, or 2 PTO.
    static let shortestDoubt: Duration = .milliseconds(500)
    /// When a relay that answers, behind which the peer does not, gives way to another one: this long, or 4 PTO. Once in a
    /// silence: a peer that is frozen answers nowhere.
    static let shortestTurn: Duration = .milliseconds(2_500)
    /// The same for a relay through which the peer has not answered yet since we came to it from a silent address: there it
    /// is more probably the peer itself that is silent.
    static let lateTurn: Duration = .seconds(8)
    /// What the peer and a relay may take to answer before another relay has its turn. From when they were asked: a machine that
    /// slept hears of the silence of hours before it has heard anybody.
    static let answerTime: Duration = .seconds(1)
    /// Between the answers of a peer through two relays there may be so much. Without one through the relay in use until then,
    /// the peer is not there.
    static let foundGrace: Duration = .milliseconds(500)
    /// How long a relay in use is left as it is, whatever the peer calls: a new path there has to be heard first.
    static let renewalSpacing: Duration = .seconds(1)
    /// How often a way is made anew without an answer. A peer of ours gives seven connection IDs ahead.
    static let renewals = 3
    /// To see what became of a step; the connection stays so long on each way at least.
    static let afterStep: Duration = .milliseconds(250)
    /// Before the way back to an address at which the peer did not hear us: what waits flows over the relay, and the peer's
    /// library has made up its mind about the move; one that is undone before that leaves it as it was.
    static let shortStay: Duration = .seconds(1)

    static func silenceLimit(_ sample: PathSample) -> Duration {
        max(shortestSilence, sample.probeTimeout * silentTimeouts)
    }

    static func stallLimit(_ sample: PathSample) -> Duration {
        max(shortestSilence, sample.probeTimeout * stalledTimeouts)
    }

    // MARK: - Events

    /// Something has happened.
    package mutating func take(_ input: Input, seeing sample: PathSample, now: Instant) -> [Step] {
        learn(input, sample, now)
        let steps = decide(sample, now)
        trace.note(PathTrace.Entry(at: now, input: input, sample: sample, steps: steps))
        return steps
    }

    /// It is time to look.
    package mutating func look(_ sample: PathSample, now: Instant) -> [Step] {
        let steps = decide(sample, now)
        trace.note(PathTrace.Entry(at: now, input: nil, sample: sample, steps: steps))
        return steps
    }

    /// Another relay by which the peer can be reached; nil when there is no room for it.
    package mutating func addRelay(_ url: String) -> RelayNumber? { relays.add(url) }

    /// To which relays legs are kept; its owner opens and closes them after each event.
    package var legs: [RelayNumber] { relays.held }

    private mutating func learn(_ input: Input, _ sample: PathSample, _ now: Instant) {
        switch input {
        case .probed(let number, let address): probed(number, address, sample, now)
        case .passSmall(let number, let addresses):
            guard probe?.number == number else { break }
            for address in addresses where sample.way != .direct(address) {
                candidates.failed(address, .largePacketsLost, now: now)
            }
        case .probeRefused(let number): if probe?.number == number { probe = nil }
        case .relayChanged(let number, let since):
            relays.changed(number, connectedSince: since, now: now)
            if since != nil { knowsOfLoss = false }
        case .networkChanged:
            candidates.forgive(now: now)
            relays.forgive()
            (asksRelays, asksAll) = (true, true)
            (silence, knowsOfLoss, renewed) = (nil, false, nil)
            invitation = (now, CandidateList.firstQuarantine)
        case .called(let call):
            candidates.learn(call.candidates, keeping: sample.way?.address, now: now)
            // An offer at each try, an answer to each offer: that must not be the end of every wait.
            if !call.isReply || call.isUnheard { candidates.hurry(now: now) }
            if call.isUnheard { unheard = call }
            wasCalled = true
            reports.theirs = call.nat ?? reports.theirs
            unroutable = max(unroutable, call.unroutable)
            if case .relay(let number)? = call.cameBy { found(number, now) }
        case .learnt(let addresses):
            candidates.learn(addresses, keeping: sample.way?.address, now: now)
        case .advertised(let numbers): relays.advertise(numbers)
        case .proven(let address):
            candidates.learn([address], keeping: sample.way?.address, now: now)
            candidates.prove(address, now: now)
        case .found(let number): found(number, now)
        case .surveyed(let report): reports.ours = report
        }
    }

    /// Says something only when the peer is silent where we are: it has other relays than we have.
    private mutating func found(_ number: RelayNumber, _ now: Instant) {
        guard var silence, silence.sought != nil else { return }
        silence.found.insert(number)
        silence.firstFound = silence.firstFound ?? now
        self.silence = silence
    }

    private mutating func probed(
        _ number: ProbeNumber, _ answeredBy: SocketAddress?, _ sample: PathSample, _ now: Instant
    ) {
        guard let probe, probe.number == number else { return }
        self.probe = nil
        if let answeredBy { return candidates.answered(answeredBy) }
        // Of the address in use only its silence says something: the probe may have met a full queue.
        for address in probe.addresses where sample.way != .direct(address) {
            candidates.unanswered(address, now: now)
        }
    }

    // MARK: - Decisions

    private mutating func decide(_ sample: PathSample, _ now: Instant) -> [Step] {
        nextLook = .distantFuture
        let steps = sample.canMove ? decided(sample, now) : []
        wasCalled = false
        keepLegs(sample, steps, now)
        return steps
    }

    private mutating func keepLegs(_ sample: PathSample, _ steps: [Step], _ now: Instant) {
        let used = steps.lazy.compactMap(\.relay).first ?? sample.way?.relay
        let isLost = sample.way?.address == nil && used.map { relays.isConnected($0) } != true
        relays.hold(used, everywhere: isLost || silence?.hasSought == true, now: now)
        if let next = relays.nextReplacement(now: now) { lookBy(next) }
    }

    private mutating func decided(_ sample: PathSample, _ now: Instant) -> [Step] {
        noteSilence(sample)
        var steps: [Step] = []
        if asksRelays {
            asksRelays = false
            steps = [.retryRelays] + relays.ranked(now: now).map { .ask($0) }
        }
        switch sample.way {
        case let way? where unheard == nil && isMisled(sample, now): steps.append(.use(way))
        case .direct(let address): steps += direct(address, sample, now)
        case .relay(let number): steps += relayed(number, sample, now)
        case nil: steps += relayAway(nil, now)
        }
        if steps.contains(where: \.movesNow) {
            moves.note(now)
            breakOff(now)
            settlesAt = now.advanced(by: Self.afterStep)
            lookBy(settlesAt)
        } else {
            if asksAll {
                asksAll = false
                steps += probeDue(now)
            }
            steps += lateComers(sample, now) + inviteDue(sample, now)
        }
        return steps
    }

    /// A try that a move ends may have sent packets just now, also one that began long ago: an address that answers late is probed
    /// in full size then. The next try keeps its distance from them.
    private mutating func breakOff(_ now: Instant) {
        guard let probe else { return }
        candidates.tried(probe.addresses, now: now)
        self.probe = nil
    }

    /// A path that answers, and whose round trips are counted wrongly: it is taken anew.
    private mutating func isMisled(_ sample: PathSample, _ now: Instant) -> Bool {
        guard sample.isMisled, sample.lastAcknowledged > sample.since, mayRenew(sample) else { return false }
        if let since = sample.unansweredSince, since.duration(to: now) >= Self.shortestDoubt { return false }
        let due = sample.since.advanced(by: Self.renewalSpacing)
        if due > now { lookBy(due) }
        return due <= now
    }

    /// Each move costs one of the connection IDs that the peer has given, and it gives new ones only when it is heard: some are
    /// kept for moves to other ways.
    func mayRenew(_ sample: PathSample) -> Bool {
        moves.count(since: sample.lastAcknowledged) < Self.renewals
    }

    mutating func lookBy(_ time: Instant) {
        nextLook = min(nextLook, time)
    }

    private mutating func noteSilence(_ sample: PathSample) {
        guard let since = sample.unansweredSince else {
            silence = nil
            return
        }
        if let silence, sample.lastAcknowledged <= silence.began { return }
        silence = Silence(began: since)
    }

    mutating func probeDue(_ now: Instant) -> [Step] {
        guard probe == nil else { return [] }
        guard settlesAt <= now else {
            lookBy(settlesAt)
            return []
        }
        let due = candidates.due(now: now)
        guard !due.isEmpty else {
            if let next = candidates.nextDue { lookBy(next) }
            return []
        }
        lastProbe += 1
        let number = ProbeNumber(number: lastProbe)
        probe = Probe(number: number, addresses: due, began: now)
        candidates.tried(due, now: now)
        return [.probe(number, due)]
    }
}

extension PathWay {
    /// Nil for a relay.
    package var address: SocketAddress? {
        if case .direct(let address) = self { address } else { nil }
    }

    /// Nil for an address.
    var relay: RelayNumber? {
        if case .relay(let number) = self { number } else { nil }
    }
}

extension PathSelector.Step {
    fileprivate var movesNow: Bool {
        if case .use = self { true } else { false }
    }

    /// Which relay carries the connection from then on.
    fileprivate var relay: RelayNumber? {
        if case .use(let way) = self { way.relay } else { nil }
    }
}
