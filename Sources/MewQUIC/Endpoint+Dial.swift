package import MewBase
package import MewIdentity
internal import MewLoop
package import MewQUICCore

// Dialling: one handshake whose first flight goes all ways at once. The first that answers with the right key has the
// connection; a way to another node is struck off, and the rest is tried again.

extension Endpoint {
    /// Connects to `node` at whichever of `addresses` answers.
    ///
    /// - Parameter protocols: offered in this order.
    /// - Returns: a connection whose peer has proved to be `node`.
    package func connect(
        to node: NodeID, addresses: [SocketAddress], protocols: [String]
    ) async throws(DialFailure) -> Connection {
        try await connect(to: node, routes: addresses.map { .direct($0) }, protocols: protocols)
    }

    /// The same by any kind of way: addresses and carriers in one race.
    package func connect(
        to node: NodeID, routes: [Route], protocols: [String]
    ) async throws(DialFailure) -> Connection {
        var race = Race(routes)
        for route in race.live where driver.outlets.outlet(to: route) == nil {
            race.failed(route, Self.missing(route))
        }
        var lastFailure: DialFailure?
        while true {
            if driver.isClosing { throw .endpointClosed }
            guard !race.live.isEmpty else { throw lastFailure ?? .noRoute(race.outcomes(rest: "not tried")) }
            let dial = try driver.startDial(.node(node), race, protocols: protocols)
            let connection = Connection(LoopBound(dial.connection))
            let outcome = await connection.handshake()
            // Some ways may have been struck off meanwhile.
            race = driver.dials.removeValue(forKey: dial.number)?.race ?? race
            switch outcome {
            case .established: return connection
            case .cancelled:
                dial.connection.close(code: 0, reason: "dial cancelled")
                throw .cancelled
            case .failed(let closure, let answeredBy):
                if driver.isClosing { throw .endpointClosed }
                lastFailure = try judge(closure, answeredBy: answeredBy, race: &race)
            }
        }
    }

    /// Connects to a server that does not ask who we are; what is done with the connection is done in turns of the loop.
    ///
    /// - Parameter transport: of this connection alone.
    package func connect(
        to demand: ServerDemand, addresses: [SocketAddress], protocols: [String], transport: TransportConfiguration
    ) async throws(DialFailure) -> DirectConnection.Handle {
        var race = Race(addresses.map { .direct($0) })
        for route in race.live where driver.outlets.outlet(to: route) == nil {
            race.failed(route, Self.missing(route))
        }
        if driver.isClosing { throw .endpointClosed }
        guard !race.live.isEmpty else { throw .noRoute(race.outcomes(rest: "not tried")) }
        let dial = try driver.startDial(.server(demand, transport), race, protocols: protocols)
        let connection = Connection(LoopBound(dial.connection))
        let outcome = await connection.handshake()
        race = driver.dials.removeValue(forKey: dial.number)?.race ?? race
        switch outcome {
        case .established: return DirectConnection.Handle(LoopBound(dial.connection))
        case .cancelled:
            dial.connection.close(code: 0, reason: "dial cancelled")
            throw .cancelled
        case .failed(let closure, let answeredBy):
            if driver.isClosing { throw .endpointClosed }
            throw try judge(closure, answeredBy: answeredBy, race: &race)
        }
    }

    private static func missing(_ route: Route) -> String {
        switch route {
        case .direct(let address): address.family == .ipv6 ? "no IPv6 here" : "no IPv4 here"
        case .carried: "the carrier is gone"
        }
    }

    /// What a failed handshake means: the whole dial has failed (thrown), or only the address that answered.
    private func judge(
        _ closure: QUICClosure, answeredBy route: Route?, race: inout Race
    ) throws(DialFailure) -> DialFailure {
        let seconds = driver.configuration.transport.handshakeTimeout.components.seconds
        switch (closure, route) {
        case (.wrongPeer(let node), let route?):
            race.failed(route, "another node answered")
            return .wrongNode(at: route, node)
        case (.handshakeTimeout, _), (.idle, _), (.local, _):
            throw .unreachable(race.outcomes(rest: "no answer in \(seconds) s"))
        case (_, let route?):
            race.failed(route, "the handshake failed")
            return .refused(closure)
        case (_, nil):
            throw .refused(closure)
        }
    }
}

/// Whom a dial is for.
enum DialledPeer {
    case node(NodeID)
    /// Somebody who does not ask who we are.
    case server(ServerDemand, TransportConfiguration)
}

extension EndpointDriver {
    /// Makes a connection that sends its first flight all ways that have a chance.
    func startDial(
        _ target: DialledPeer, _ race: Race, protocols: [String]
    ) throws(DialFailure) -> (number: UInt64, connection: ConnectionDriver) {
        let candidates = race.live.compactMap { outlets.outlet(to: $0) }
        let core: ConnectionCore
        do {
            core = try dialled(target, protocols)
        } catch {
            report(.error, "dial_failed", "a dial could not be set up: \(error)")
            throw .unreachable(race.outcomes(rest: "\(error)"))
        }
        let connection = start(core, routes: RouteTable(racing: candidates))
        lastDial += 1
        dials[lastDial] = Dial(connection: connection, race: race)
        connection.takeEvents()
        connection.touched()
        return (lastDial, connection)
    }

    private func dialled(_ target: DialledPeer, _ protocols: [String]) throws -> ConnectionCore {
        switch target {
        case .node(let node):
            try ConnectionCore.dial(
                node, protocols: protocols, path: RouteTable.racingPath, credentials: credentials, resetKey: resetKey,
                configuration: configuration.transport, entropy: entropy, now: loop.now)
        case .server(let demand, let transport):
            try ConnectionCore.dial(
                demand, protocols: protocols, path: RouteTable.racingPath, credentials: credentials, resetKey: resetKey,
                configuration: transport, entropy: entropy, now: loop.now)
        }
    }

    /// An ICMP error for an address. A hint: it ends a dial only when it was the last way with a chance, and a connection when
    /// nothing else came from there for a while.
    func unreachable(_ route: Route) {
        for connection in table.all where connection.role == .client { connection.refused(by: route) }
        strike(route) { race in race.failed(route, "connection refused") }
    }

    /// A carrier says that the peer is not there: as good as an ICMP error, once that has lasted.
    func absent(_ route: Route) {
        strike(route) { race in race.absent(route, now: loop.now) }
    }

    private func strike(_ route: Route, _ change: (inout Race) -> Void) {
        for number in dials.keys.sorted() {
            guard var dial = dials[number], dial.race.live.contains(route) else { continue }
            change(&dial.race)
            dials[number] = dial
            if dial.race.live.isEmpty { dial.connection.abandon() }
        }
    }
}
