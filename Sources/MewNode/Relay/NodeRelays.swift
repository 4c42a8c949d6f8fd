import MewBase
import MewIdentity
import MewLookup
import MewLoop
import MewQUIC
import MewRelay
import MewWire

/// The relay legs of one node: those at which it can be reached, under its own key, and those through which it dials, under a
/// key that is thrown away with the process (DESIGN §7).
///
/// Pinned to the endpoint's loop, like the legs.
actor NodeRelays {
    /// A leg, and how the endpoint calls it.
    struct Joined: Sendable {
        let leg: RelayLeg
        let carrier: CarrierID

        /// The way to `node` through this relay.
        func route(to node: NodeID) async -> Route {
            .carried(carrier, peer: await leg.number(of: node))
        }

        /// The same, on the loop of the leg.
        func presentRoute(to node: NodeID) -> Route {
            .carried(carrier, peer: leg.assumeIsolated { $0.number(of: node) })
        }
    }

    private struct Visit {
        let joined: Joined
        var users: Int
        /// Set while nobody uses it.
        var timer: LoopTimer?
    }

    nonisolated let unownedExecutor: UnownedSerialExecutor
    nonisolated let names = CarrierNames()
    nonisolated let loop: any Loop
    let endpoint: Endpoint
    let connector: any RelayConnector
    private let entropy: any Entropy
    let secret: SecretKey
    /// What relays know us by when we dial: it links nothing to this node, and two processes of one directory do not take
    /// each other's place.
    private let visitor: SecretKey
    private let token: RelayCredential?
    /// By whoever runs this node.
    private let named: [RelayURL]
    let diagnostics: any DiagnosticSink
    /// Nil for a node that publishes nothing.
    let publisher: RecordPublisher?
    /// Something about where we can be reached has changed.
    let changes: AsyncStream<Void>.Continuation

    // Of `NodeRelays+Home`.
    var choice = HomeChoice([])
    var homes: [RelayURL: HomeLeg] = [:]
    var lastHomeLeg: UInt64 = 0
    var measurer: Task<Void, Never>?
    var homeTimer: LoopTimer?
    var whenSettled: AsyncStream<Void>.Continuation?
    /// What others were told last.
    var told: [RelayURL] = []
    /// What was published last.
    var published: [RelayURL] = []

    private var visits: [RelayURL: Visit] = [:]
    /// Those that serve no strangers, so that the next leg does not begin with a refusal.
    private var strict: Set<RelayURL> = []
    /// One that is not remembered costs one more connection each time.
    private static let maxStrict = 64
    private(set) var isStopped = false

    /// How long a leg stays that nobody uses (spec/iroh-wire.md §4.5): the next dial often goes the same way.
    static let linger: Duration = .seconds(60)

    init(
        _ configuration: Node.Configuration, endpoint: Endpoint, connector: any RelayConnector, entropy: any Entropy,
        changes: AsyncStream<Void>.Continuation
    ) {
        loop = endpoint.loop
        unownedExecutor = endpoint.unownedExecutor
        self.endpoint = endpoint
        self.connector = connector
        self.entropy = entropy
        secret = configuration.secret
        visitor = SecretKey.generate(entropy: entropy)
        token = configuration.relayToken
        named = configuration.relays + configuration.namedRelays
        diagnostics = configuration.diagnostics
        self.changes = changes
        let places = Array(configuration.relays.prefix(HomeChoice.maxCandidates))
        publisher = configuration.nextRecordTimestamp.map { [token = configuration.relayToken] in
            RecordPublisher(
                secret: configuration.secret, places: places, token: { token?.text(for: $0) }, connector: connector,
                loop: endpoint.loop, diagnostics: configuration.diagnostics, nextTimestamp: $0)
        }
    }

    /// What calls say from now on; whoever is called next hears of it.
    func tellCallers() {
        loop.spawn { [endpoint, told] in await endpoint.setRelays(told) }
    }

    // MARK: - Dialling

    /// The leg to `url`, on its way or connected. Whoever calls this calls `release` once.
    func visit(_ url: RelayURL) async -> Joined {
        if let joined = use(url) { return joined }
        let joined = await join(url, as: visitor, account: secret)
        // Somebody else may have been faster.
        if let other = use(url) {
            await leave(joined)
            return other
        }
        // Who dials while the node stops gets a leg that is closed.
        guard !isStopped else {
            await leave(joined)
            return joined
        }
        visits[url] = Visit(joined: joined, users: 1)
        return joined
    }

    private func use(_ url: RelayURL) -> Joined? {
        guard var visit = visits[url] else { return nil }
        if let timer = visit.timer { loop.cancel(timer) }
        visit.timer = nil
        visit.users += 1
        visits[url] = visit
        return visit.joined
    }

    func release(_ url: RelayURL) {
        guard var visit = visits[url] else { return }
        visit.users -= 1
        if visit.users == 0 {
            visit.timer = loop.schedule(at: loop.now.advanced(by: Self.linger)) {
                self.assumeIsolated { $0.lingered(url) }
            }
        }
        visits[url] = visit
    }

    private func lingered(_ url: RelayURL) {
        guard let visit = visits[url], visit.users == 0 else { return }
        visits[url] = nil
        loop.spawn {
            await self.remember(visit.joined)
            await self.leave(visit.joined)
        }
    }

    private func remember(_ joined: Joined) async {
        guard await joined.leg.needsAccount, strict.count < Self.maxStrict else { return }
        strict.insert(joined.leg.url)
    }

    // MARK: - Legs

    /// - Parameter account: of whom dials under a key that is thrown away: shown when the relay wants to know.
    func join(_ url: RelayURL, as key: SecretKey, account: SecretKey? = nil) async -> Joined {
        var settings = RelayLeg.Settings(url: url, secret: key, token: token?.text(for: url), diagnostics: diagnostics)
        settings.account = account
        settings.showsAccount = strict.contains(url)
        settings.isNamedByOwner = named.contains { $0.isSamePlace(as: url) }
        let leg = RelayLeg(
            settings, connector: connector, endpoint: endpoint, loop: loop, entropy: entropy)
        let carrier = await endpoint.attach(RelayCarrier(leg))
        names[carrier] = url
        if !isStopped { await leg.start() }
        return Joined(leg: leg, carrier: carrier)
    }

    func leave(_ joined: Joined) async {
        await endpoint.detach(joined.carrier)
        await joined.leg.close()
        names[joined.carrier] = nil
    }

    /// The network has changed, or the machine was asleep.
    func networkChanged() async {
        reconsiderHome()
        for joined in choice.relays.compactMap({ homes[$0]?.joined }) + visited {
            await joined.leg.networkChanged()
        }
    }

    /// Relays are asked whether they are there; those whose HTTP/3 is dead are by WebSocket soon.
    func ask() async {
        for joined in choice.relays.compactMap({ homes[$0]?.joined }) + visited { await joined.leg.ask() }
    }

    var visitCount: Int { visits.count }

    /// Where TCP reaches relays that answer STUN.
    var stunAddresses: Set<SocketAddress> {
        let legs = homes.values.compactMap { $0.joined?.leg } + visits.values.map(\.joined.leg)
        return Set(legs.compactMap { $0.assumeIsolated { $0.stunAddress } })
    }

    /// Always in the same order, so that a simulation repeats itself.
    private var visited: [Joined] {
        visits.sorted { $0.key.description < $1.key.description }.map(\.value.joined)
    }

    func stop() async {
        isStopped = true
        let (keepers, visited) = (choice.relays.compactMap { homes[$0]?.keeper }, visited)
        let timers = visits.values.map(\.timer) + homes.values.map(\.leaving) + [homeTimer]
        for timer in timers { if let timer { loop.cancel(timer) } }
        (homes, visits, homeTimer) = ([:], [:], nil)
        measurer?.cancel()
        whenSettled?.finish()
        for keeper in keepers { keeper.cancel() }
        await publisher?.stop()
        for joined in visited { await leave(joined) }
        for keeper in keepers { await keeper.value }
        changes.finish()
    }
}
