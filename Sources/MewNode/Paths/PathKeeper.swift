import MewBase
import MewIdentity
import MewLoop
import MewPath
import MewQUIC
import MewQUICCore
import MewRelay
import MewWire

/// Keeps one dialled connection on the best way while it lives: supplies its `PathSelector` with what happens and performs its
/// steps. Only the dialler can (DESIGN §6); its relay legs stay open as long as the connection lives.
///
/// Pinned to the connection's loop. `run` returns when the connection is over; whoever made the keeper runs it once.
actor PathKeeper {
    nonisolated let unownedExecutor: UnownedSerialExecutor
    let connection: Connection
    let peer: NodeID
    let relays: NodeRelays?
    /// Of addresses that this machine has a socket for.
    let families: Set<SocketAddress.Family>
    /// The addresses at which the handshake was tried.
    let dialled: Set<SocketAddress>
    private let diagnostics: any DiagnosticSink
    let loop: any Loop

    var selector: PathSelector
    /// In the order of their relay numbers.
    var legs: [Leg] = []
    private var probes: [CorePath: PathSelector.ProbeNumber] = [:]
    /// What is asked before it is probed.
    var check: AddressCheck?
    var checkBudget = AddressCheck.budget
    /// Finds out where this node may be reached; nil when the node is gone.
    let own: @Sendable () async -> OwnPlaces?
    var offers = OfferSchedule()
    /// What the peer is offered.
    var offered = OwnCandidates()
    /// Relays are asked what our routers do.
    var isSurveying = false
    /// Addresses that nobody named, and from which the peer asked us.
    var learning = PathKeeper.learningBudget
    private var timer: LoopTimer?
    var decisions = PathDecisions()
    var isOver = false

    /// - Parameters:
    ///   - addresses: of the peer; those that this machine has no socket for are only counted.
    ///   - relays: nil when none can be used.
    ///   - own: tells where this node may be reached.
    init(
        _ connection: Connection, peer: NodeID, addresses: [SocketAddress], families: Set<SocketAddress.Family>,
        relays: NodeRelays?, own: @escaping @Sendable () async -> OwnPlaces?, diagnostics: any DiagnosticSink
    ) {
        unownedExecutor = connection.unownedExecutor
        loop = connection.loop
        let routable = addresses.filter { families.contains($0.family) }
        selector = PathSelector(
            addresses: routable, unroutable: addresses.count - routable.count, relays: [], now: connection.loop.now)
        self.connection = connection
        self.peer = peer
        self.relays = relays
        self.own = own
        self.families = families
        dialled = Set(routable)
        self.diagnostics = diagnostics
    }

    // MARK: - Life

    /// Uses these relays, home first, until the connection is over.
    func run(by urls: [RelayURL]) async {
        for url in urls { add(url) }
        // The relay that carries the connection is the first; nothing can be decided before it is known.
        if case .carried? = await connection.pathState?.route, !legs.isEmpty {
            legs[0].isWanted = true
            await open(RelayNumber(0))
        }
        await connection.observePaths { [loop] notice in loop.post { self.assumeIsolated { $0.noticed(notice) } } }
        look()
        // Until the connection is over.
        while let call = await connection.nextCall() { called(call) }
        await finish()
    }

    private func finish() async {
        isOver = true
        decisions.made()
        if let timer { loop.cancel(timer) }
        for index in legs.indices { await drop(RelayNumber(index))?.value }
    }

    // MARK: - What happens

    private func noticed(_ notice: PathNotice) {
        switch notice {
        case .confirmed, .sent: look()
        case .answered(let route): if case .relay(let number)? = way(of: route) { take(.found(number)) }
        case .checked(let address): checked(address)
        case .asked(let address): asked(from: address)
        case .offerTaken: offerTaken()
        case .probed(let path, let route):
            guard let number = probes.removeValue(forKey: path) else { return look() }
            var address: SocketAddress?
            if case .direct(let answered)? = route { address = answered }
            probed(number, answeredBy: address)
        }
    }

    /// The addresses of this machine have changed, or it was asleep.
    func networkChanged() {
        take(.networkChanged)
    }

    /// The peer tells where it is, perhaps because it does not hear us.
    private func called(_ call: PeerCall) {
        let routable = call.call.candidates.filter { families.contains($0.family) }
        let heard = PathCall(
            isUnheard: call.isUnheard, candidates: routable, cameBy: way(of: call.route), nat: call.call.nat,
            isReply: offers.isAnswered(now: loop.now), unroutable: call.call.candidates.count - routable.count)
        take(.called(heard))
        advertised(call.call.relays)
    }

    private func advertised(_ urls: [RelayURL]) {
        let numbers = urls.compactMap { add($0) }
        if !numbers.isEmpty { take(.advertised(numbers)) }
    }

    /// A handshake with the peer went through there. False when that is of no use any more.
    func proven(_ address: SocketAddress) -> Bool {
        guard sample()?.way != .direct(address) else { return false }
        take(.proven(address))
        return !isOver
    }

    /// The peer tells where it can be reached, on a path that works.
    func learned(_ addresses: [SocketAddress], relays urls: [RelayURL]) {
        take(.learnt(addresses.filter { families.contains($0.family) && $0.canBeDialled }))
        advertised(urls)
    }

    func take(_ input: PathSelector.Input) {
        guard !isOver, let sample = sample() else { return }
        perform(selector.take(input, seeing: sample, now: loop.now))
    }

    private func look() {
        guard !isOver, let sample = sample() else { return }
        perform(selector.look(sample, now: loop.now))
    }

    // MARK: - What is seen and done

    func sample() -> PathSample? {
        guard let state = connection.assumeIsolated({ $0.pathState }) else { return nil }
        return PathSample(
            way: state.route.flatMap { way(of: $0) }, since: state.since, unansweredSince: state.unansweredSince,
            stalledSince: state.stalledSince, lastAcknowledged: state.lastAcknowledged,
            probeTimeout: state.probeTimeout, isMisled: state.isMisled,
            speaksBeside: connection.assumeIsolated { $0.speaksBeside }, canMove: state.isConfirmed)
    }

    private func way(of route: Route) -> PathWay? {
        switch route {
        case .direct(let address): .direct(address)
        case .carried(let carrier, _):
            legs.firstIndex { $0.joined?.carrier == carrier }.map { .relay(RelayNumber($0)) }
        }
    }

    private func perform(_ steps: [PathSelector.Step]) {
        var refused: [PathSelector.ProbeNumber] = []
        for step in steps {
            switch step {
            case .probe(let number, let addresses):
                if !begin(number, addresses) { refused.append(number) }
            case .use(let way):
                check = nil
                use(way)
                if way.address != nil { offers.stop() }
            case .widen(let number, let addresses): widen(number, addresses)
            case .invite: offer()
            case .ask(let number): legs[number.index].joined?.leg.assumeIsolated { $0.ask() }
            case .retryRelays: for leg in legs { leg.joined?.leg.assumeIsolated { $0.retryNow() } }
            case .seek: seek()
            }
        }
        keepLegs()
        rearm()
        for number in refused { take(.probeRefused(number)) }
        decisions.made()
    }

    /// False when the library cannot now: the peer has given us no further connection ID yet.
    func probe(_ number: PathSelector.ProbeNumber, _ addresses: [SocketAddress]) -> Bool {
        do {
            let path = try connection.assumeIsolated { try $0.probe(addresses.map { .direct($0) }) }
            probes = [path: number]
            report("path_probe", "asking \(addresses.count) addresses of a peer whether they answer")
            return true
        } catch {
            return false
        }
    }

    /// The probe goes to these as well.
    func join(_ number: PathSelector.ProbeNumber, _ addresses: [SocketAddress]) {
        guard let path = probes.first(where: { $0.value == number })?.key else { return }
        connection.assumeIsolated { $0.widen(path, by: addresses.map { .direct($0) }) }
        report("path_probe", "asking \(addresses.count) more addresses of a peer whether they answer")
    }

    private func use(_ way: PathWay) {
        let route: Route
        switch way {
        case .direct(let address): route = .direct(address)
        case .relay(let number):
            guard let present = legs[number.index].joined?.presentRoute(to: peer) else { return }
            route = present
        }
        do {
            try connection.assumeIsolated { try $0.migrateImmediately(to: route) }
            report("path_moved", "a connection moves to \(words(way))")
        } catch {
            // The selector sees that nothing has changed and says it again.
            report("path_refused", "a connection cannot move to \(words(way)): \(error)")
        }
    }

    /// Through a leg that does not forward yet the peer is asked as soon as it does.
    private func seek() {
        for (index, leg) in legs.enumerated() where selector.isConnected(RelayNumber(index)) {
            guard let route = leg.joined?.presentRoute(to: peer) else { continue }
            connection.assumeIsolated { $0.announce(route) }
        }
    }

    private func words(_ way: PathWay) -> String {
        switch way {
        case .direct(let address): "\(address)"
        case .relay(let number): "the relay \(selector.url(of: number))"
        }
    }

    func report(_ name: String, _ message: @autoclosure () -> String) {
        diagnostics.record(ifWanted: .debug) { Diagnostic(.debug, "path", name, message()) }
    }

    /// One timer for the next look; and a word as soon as something is under way.
    func rearm() {
        if let timer { loop.cancel(timer) }
        timer = nil
        let next = min(selector.nextLook, check?.deadline ?? .distantFuture, offers.deadline)
        if next < .distantFuture {
            timer = loop.schedule(at: next) { self.assumeIsolated { $0.timerFired() } }
        }
        connection.assumeIsolated { if $0.pathState?.unansweredSince == nil { $0.tellWhenSent() } }
    }

    private func timerFired() {
        timer = nil
        tendOffers()
        tendCheck()
        look()
    }

    // MARK: - What others are told

    /// Adds what only the keeper knows to the status of the link.
    func describe(_ status: inout LinkStatus) {
        let (now, sample) = (loop.now, sample())
        status.candidates = selector.candidateStates(using: sample?.way, now: now)
        status.relays = selector.rankedRelays(using: sample?.way, now: now).map { number in
            RelayCandidate(url: selector.url(of: number), state(of: legs[number.index]))
        }
        if case .relay = status.path { status.whyNotDirect = selector.whyNotDirect(now: now, isSurveying: isSurveying) }
    }

    private func state(of leg: Leg) -> RelayCandidate.State {
        guard leg.isWanted else { return .notWanted }
        guard let status = leg.joined?.leg.assumeIsolated({ $0.status }) else { return .connecting }
        if status.isConnected { return .connected(complaint: status.problem) }
        return status.problem.map { .failed($0) } ?? .connecting
    }

    /// The latest inputs of the choice and what followed from each, for a report: one line each, with the seconds before now.
    var traceLines: [String] {
        let urls = legs.indices.map { selector.url(of: RelayNumber($0)) }
        return selector.trace.entries.map { $0.line(now: loop.now) { urls[$0.index] } }
    }
}
