package import MewBase
package import MewIdentity
import MewLookup
package import MewLoop
package import MewMapping
import MewPath
import MewQUIC
import MewQUICCore
package import MewRelay
package import MewWire
import Synchronization

/// One mew node on the network: a key, some sockets, listening and dialling on them.
///
/// Whoever starts a node stops it.
package final class Node: Dialer, LinkListener, Sendable {
    package struct Configuration: Sendable {
        package var secret: SecretKey
        /// Where to bind: usually one wildcard address per family, with one port. A family that the system lacks is left
        /// out as long as another works.
        package var addresses: [SocketAddress]
        /// What a peer may speak to us, best first; empty for a node that only dials.
        package var accepts: [ApplicationProtocol]
        /// What we offer when we dial, best first.
        package var offers: [ApplicationProtocol]
        /// Where this node can be reached besides its addresses, under its own key, in the order of preference; the nearest
        /// becomes home. Empty for a node that only dials.
        package var relays: [RelayURL] = []
        /// Where nodes are looked for whose own relays are not known, or do not answer.
        package var knownRelays: [RelayURL] = []
        /// Those of `knownRelays`, and others, that whoever runs this node named: on the command line, in a file of its own, or
        /// earlier. No peer's word is enough for a place here: these relays get a proof of the node key that they could pass on.
        package var namedRelays: [RelayURL] = []
        /// Numbers the signed records that tell where this node is, each larger than all before, those of earlier processes
        /// included. Without it nothing is published.
        package var nextRecordTimestamp: (@Sendable () async -> UInt64)?
        /// Shown to the relays it is for.
        package var relayToken: RelayCredential?
        /// Where others reach what is bound at these addresses, the likeliest first; asked at each change of the network and
        /// told to peers. Nil for a node that tells none.
        package var ownAddresses: (@Sendable ([SocketAddress]) -> [SocketAddress])?
        /// Asked to open the port of a node that listens at relays; nil for one that asks no router.
        package var routers: (any Routers)?
        package var diagnostics: any DiagnosticSink

        package init(
            secret: SecretKey, addresses: [SocketAddress] = [.anyIPv6, .anyIPv4],
            accepts: [ApplicationProtocol] = ApplicationProtocol.allCases,
            offers: [ApplicationProtocol] = ApplicationProtocol.allCases,
            diagnostics: any DiagnosticSink = NoDiagnostics()
        ) {
            self.secret = secret
            self.addresses = addresses
            self.accepts = accepts
            self.offers = offers
            self.diagnostics = diagnostics
        }
    }

    package let node: NodeID
    /// Where it is bound, with the ports that were taken.
    package let addresses: [SocketAddress]
    /// An element whenever `reachableRelays` or a warning about it has changed; several changes may be one. For one reader.
    package let reachChanges: AsyncStream<Void>

    let endpoint: Endpoint
    /// Nil for a node that knows no relays.
    let relays: NodeRelays?
    private let names: CarrierNames
    private let search: RecordSearch?
    private let knownRelays: [RelayURL]
    /// Of the connections we dialled.
    let keepers = PathKeepers()
    private let offers: [ApplicationProtocol]
    private let entropy: any Entropy
    let ownAddresses: (@Sendable ([SocketAddress]) -> [SocketAddress])?
    /// What relays say of where this node is; nil for one that uses none, or tells nobody.
    private let found = Mutex<Discovery?>(nil)
    /// Nil for one that asks no router.
    let mapper = Mutex<PortMapper?>(nil)
    let diagnostics: any DiagnosticSink
    /// Nil in simulated worlds, and once stopped.
    let watch = Mutex<NetworkWatch?>(nil)

    private init(
        _ endpoint: Endpoint, addresses: [SocketAddress], relays: NodeRelays?, search: RecordSearch?,
        reachChanges: AsyncStream<Void>, configuration: Configuration, entropy: any Entropy
    ) {
        node = endpoint.node
        self.relays = relays
        self.search = search
        knownRelays = configuration.relays + configuration.knownRelays
        names = relays?.names ?? CarrierNames()
        self.addresses = addresses
        self.reachChanges = reachChanges
        self.endpoint = endpoint
        offers = configuration.offers
        ownAddresses = configuration.ownAddresses
        diagnostics = configuration.diagnostics
        self.entropy = entropy
    }

    /// Binds the sockets on `loop`.
    ///
    /// - Parameter connector: reaches relays; without one, none is used.
    package static func start(
        _ configuration: Configuration, network: any DatagramNetwork, relays connector: (any RelayConnector)? = nil,
        loop: any Loop, entropy: any Entropy
    ) async throws(NodeError) -> Node {
        var endpointConfiguration = EndpointConfiguration(
            secret: configuration.secret, addresses: configuration.addresses,
            acceptedProtocols: configuration.accepts.map(\.rawValue))
        endpointConfiguration.diagnostics = configuration.diagnostics
        endpointConfiguration.pathMessageProtocols = [ApplicationProtocol.native.rawValue]
        do {
            let endpoint = try await Endpoint.bind(
                endpointConfiguration, network: network, loop: loop, entropy: entropy)
            let (reachChanges, changes) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
            let relays = connector.map {
                NodeRelays(
                    configuration, endpoint: endpoint, connector: $0, entropy: entropy, changes: changes)
            }
            await relays?.listen(at: configuration.relays)
            let search = connector.map { RecordSearch(connector: $0, loop: loop) }
            let node = Node(
                endpoint, addresses: await endpoint.localAddresses, relays: relays, search: search,
                reachChanges: reachChanges, configuration: configuration, entropy: entropy)
            await node.watchNetwork()
            await node.discover(at: configuration.relays)
            await node.watchOffers()
            await node.openPort(by: configuration.routers, isReached: !configuration.relays.isEmpty)
            return node
        } catch {
            throw NodeError(error)
        }
    }

    package var discovery: Discovery? { found.withLock { $0 } }

    private func discover(at places: [RelayURL]) async {
        guard let ownAddresses, let relays else { return }
        let discovery = Discovery(
            endpoint, relays, at: places, entropy: entropy, ownAddresses: { [addresses] in ownAddresses(addresses) },
            changed: { [weak self] in
                guard let self else { return }
                endpoint.loop.spawn { await self.discovered() }
            })
        found.withLock { $0 = discovery }
        await discovery.start()
    }

    package func acceptLink() async -> (any IncomingLink)? {
        while let connection = await endpoint.accept() {
            if let link = await QUICLink.over(connection, names: names, entropy: entropy) { return link }
        }
        return nil
    }

    /// Tries everything that is known of the node, and looks for more at the relays that are known: at once when there is
    /// nothing to try, otherwise when the dial is not over soon.
    package func dial(_ target: DialTarget) async throws(DialError) -> any Link {
        let urls = relayURLs(of: target)
        await discovery?.use(urls)
        let won = try await connect(target, urls)
        let connection = won.connection
        let route = await connection.pathState?.route
        let keeper = keeper(of: connection, won.routes.addresses, target.node, by: route)
        for handshake in won.late { endpoint.loop.spawn { await Self.end(handshake, than: connection, keeper) } }
        guard let link = await QUICLink.over(connection, names: names, entropy: entropy, keeper: keeper) else {
            let closure = try? await connection.closed()
            throw .refused(closure.map(LinkClosure.init) ?? .transport("the connection ended at once"))
        }
        let used = usable(won.routes.relays, first: route)
        await discovery?.use(used)
        endpoint.loop.spawn { [keepers] in await keepers.with(keeper) { await keeper.run(by: used) } }
        return link
    }

    /// A direct handshake that was slower than `winner`: where it went through, that may go, before it is closed (DESIGN §6).
    private static func end(_ late: Task<Connection?, Never>, than winner: Connection, _ keeper: PathKeeper) async {
        guard let slower = await late.value, slower !== winner else { return }
        if case .direct(let address)? = await slower.pathState?.route, await keeper.proven(address) {
            // Over or cancelled: it is closed.
            _ = await LoopClock(winner.loop).pause(for: provingTime)
        }
        await slower.close(code: CloseCode.done.rawValue, reason: "another way was faster")
    }

    /// What the probe of a path that works needs, a lost packet included.
    private static let provingTime: Duration = .seconds(1)

    private func keeper(
        of connection: Connection, _ addresses: [SocketAddress], _ node: NodeID, by route: Route?
    ) -> PathKeeper {
        var candidates = addresses
        // One that was found while dialling may not be among those that were known.
        if case .direct(let address)? = route, !candidates.contains(address) { candidates.insert(address, at: 0) }
        return PathKeeper(
            connection, peer: node, addresses: candidates, families: Set(self.addresses.map(\.family)), relays: relays,
            own: { [weak self] in await self?.freshPlaces() }, diagnostics: diagnostics)
    }

    /// The relays of a connection, the one that carries it first: it may have been found while dialling. Half of the places
    /// are left to those that the peer names later.
    private func usable(_ urls: [RelayURL], first route: Route?) -> [RelayURL] {
        guard case .carried(let carrier, _)? = route, let used = names[carrier] else { return Array(urls.prefix(4)) }
        return Array(Self.unique([used] + urls).prefix(4))
    }

    private func connect(_ target: DialTarget, _ urls: [RelayURL]) async throws(DialError) -> NodeRace.Won {
        let protocols = offers.map(\.rawValue)
        let asked = Self.unique(urls + knownRelays)
        if let relays, let search, !asked.isEmpty {
            let isUnknown = target.addresses.isEmpty && urls.isEmpty
            let found = search.routes(
                to: target.node, at: asked, after: isUnknown ? .zero : RecordSearch.patience)
            let race = NodeRace(
                endpoint: endpoint, relays: relays, target: target, urls: urls, protocols: protocols, found: found)
            return try await race.winner()
        }
        guard !target.addresses.isEmpty else { throw .noRoute }
        do throws(DialFailure) {
            let connection = try await endpoint.connect(
                to: target.node, addresses: target.addresses, protocols: protocols)
            return NodeRace.Won(connection: connection, routes: FoundRoutes(addresses: target.addresses), late: [])
        } catch {
            throw DialError(error, names)
        }
    }

    /// What is no URL is passed over: it came from somebody's payload or from an older version of our own registry.
    private func relayURLs(of target: DialTarget) -> [RelayURL] {
        guard relays != nil else { return [] }
        return Array(Self.unique(target.relays.compactMap { try? RelayURL($0) }).prefix(NodeRace.maxRelays))
    }

    private static func unique(_ urls: [RelayURL]) -> [RelayURL] {
        var seen: Set<RelayURL> = []
        return urls.filter { seen.insert($0).inserted }
    }

    // MARK: - Relays

    /// Where peers find us besides our addresses, home first; what they and records are told.
    package func reachableRelays() async -> [RelayURL] {
        await relays?.reachable() ?? []
    }

    /// What is known about the relays at which this node can be reached, in the order they were given.
    package func homeRelays() async -> [HomeRelay] {
        await relays?.homeStatus() ?? []
    }

    /// Suspends until it is known of each relay in use whether it forwards for us, at most for `limit`.
    package func relaysSettled(within limit: Duration) async {
        await relays?.settled(within: limit)
    }

    /// Takes nothing new, tells every peer `code` and `reason`, and closes the sockets. What was sent in this turn of the
    /// loop still leaves.
    package func stop(code: CloseCode = .done, reason: String = "") async {
        watch.withLock { $0.take() }?.stop()
        await discovery?.stop()
        await mapper.withLock { $0.take() }?.stop()
        await endpoint.loop.nextTurn()
        await endpoint.close(code: code.rawValue, reason: reason) { [relays = relays] in await relays?.stop() }
    }
}
