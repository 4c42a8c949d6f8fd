import MewBase
import MewIdentity
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
    private let endpoint: Endpoint
    private let connector: any RelayConnector
    private let entropy: any Entropy
    private let secret: SecretKey
    /// What relays know us by when we dial: it links nothing to this node, and two processes of one directory do not take
    /// each other's place.
    private let visitor: SecretKey
    private let token: String?
    private let diagnostics: any DiagnosticSink

    private var homes: [Joined] = []
    private var visits: [RelayURL: Visit] = [:]
    private var isStopped = false

    /// Home and a standby (DESIGN §7).
    static let maxHomes = 2
    /// How long a leg stays that nobody uses (spec/iroh-wire.md §4.5): the next dial often goes the same way.
    static let linger: Duration = .seconds(60)

    init(
        _ configuration: Node.Configuration, endpoint: Endpoint, connector: any RelayConnector, entropy: any Entropy
    ) {
        loop = endpoint.loop
        unownedExecutor = endpoint.unownedExecutor
        self.endpoint = endpoint
        self.connector = connector
        self.entropy = entropy
        secret = configuration.secret
        visitor = SecretKey.generate(entropy: entropy)
        token = configuration.relayToken
        diagnostics = configuration.diagnostics
    }

    // MARK: - Being reached

    /// Keeps legs to the first of `urls` from now on, the first one is home.
    func listen(at urls: [RelayURL]) async {
        for url in urls.prefix(Self.maxHomes) {
            let joined = await join(url, as: secret)
            guard !isStopped else { return await leave(joined) }
            homes.append(joined)
        }
    }

    /// Where peers find us: connected relays first, otherwise in the order they were given.
    func reachable() async -> [RelayURL] {
        var (connected, others): ([RelayURL], [RelayURL]) = ([], [])
        for home in homes {
            if await home.leg.status.isConnected { connected.append(home.leg.url) } else { others.append(home.leg.url) }
        }
        return connected + others
    }

    /// Of the home relays, in the order they were given.
    func homeStatus() async -> [(url: RelayURL, status: RelayLegStatus)] {
        var statuses: [(url: RelayURL, status: RelayLegStatus)] = []
        for home in homes { statuses.append((home.leg.url, await home.leg.status)) }
        return statuses
    }

    // MARK: - Dialling

    /// The leg to `url`, on its way or connected. Whoever calls this calls `release` once.
    func visit(_ url: RelayURL) async -> Joined {
        if let joined = use(url) { return joined }
        let joined = await join(url, as: visitor)
        // Somebody else may have been faster.
        if let other = use(url) {
            await leave(joined)
            return other
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
        loop.spawn { await self.leave(visit.joined) }
    }

    // MARK: - Legs

    private func join(_ url: RelayURL, as key: SecretKey) async -> Joined {
        let leg = RelayLeg(
            .init(url: url, secret: key, token: token, diagnostics: diagnostics), connector: connector, loop: loop,
            entropy: entropy)
        let carrier = await endpoint.attach(RelayCarrier(leg))
        names[carrier] = url
        await leg.start()
        return Joined(leg: leg, carrier: carrier)
    }

    private func leave(_ joined: Joined) async {
        await endpoint.detach(joined.carrier)
        await joined.leg.close()
        names[joined.carrier] = nil
    }

    /// The network has changed, or the machine was asleep.
    func networkChanged() async {
        for joined in homes + visits.values.map(\.joined) { await joined.leg.networkChanged() }
    }

    func stop() async {
        isStopped = true
        let all = homes + visits.values.map(\.joined)
        for visit in visits.values { if let timer = visit.timer { loop.cancel(timer) } }
        (homes, visits) = ([], [:])
        for joined in all { await leave(joined) }
    }
}
