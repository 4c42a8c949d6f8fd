import MewBase
import MewIdentity
import MewLookup
import MewLoop
import MewPath
import MewQUIC
import MewQUICCore
import MewRelay
import MewWire

/// One dial by all ways at once (DESIGN §6): a handshake with all addresses, and one through each relay, the second relay a
/// moment later. Ways that turn up meanwhile are tried as well. The first handshake that is complete has the link. A direct one
/// that is complete later than one through a relay shows a better way: it goes on after the race.
struct NodeRace: Sendable {
    let endpoint: Endpoint
    let relays: NodeRelays
    let target: DialTarget
    let urls: [RelayURL]
    let protocols: [String]
    /// More ways to the node, as they are found.
    let found: AsyncStream<FoundRoutes>

    /// The whole dial.
    static let limit: Duration = .seconds(10)
    /// What a relay may take before the next one is tried as well: a leg that has to be opened takes four round trips.
    static let headStart: Duration = .seconds(1)
    /// How long a relay that refuses is asked again: one that restarts is back within two seconds (spec/iroh-wire.md §4.4).
    static let relayPatience: Duration = .seconds(2)
    /// More ways through relays than this are no more likely to work.
    static let maxRelays = 3
    /// A record names what its node likes; more of them in one dial serve nobody but who wants others to be called on.
    static let maxFoundRelays = 12
    /// The same for addresses, each of which gets the whole first flight (DESIGN §6).
    static let maxAddresses = 16

    /// What the race has brought.
    struct Won: Sendable {
        let connection: Connection
        /// All that was tried.
        let routes: FoundRoutes
        /// Handshakes with addresses that go on, or are being given up. Whoever has the connection closes what comes of them.
        let late: [Task<Connection?, Never>]
    }

    private enum Lane: Sendable {
        /// By addresses; its handshake is one of `Tried.handshakes`.
        case direct(Connection)
        /// The race is over before it is.
        case left
        case connected(Connection)
        case failed(DialError)
        case found(FoundRoutes)
        /// Nothing more will be found.
        case searched
        case timeIsUp
    }

    /// What has been tried, and how many of these lanes still run.
    private struct Tried {
        var routes = FoundRoutes()
        var handshakes: [Task<Connection?, Never>] = []
        var running = 0
        var mayFindMore = true
    }

    func winner() async throws(DialError) -> Won {
        let outcome = await withTaskGroup(of: Lane.self) { group in
            var tried = Tried()
            add(FoundRoutes(relays: urls, addresses: target.addresses), to: &group, &tried, apart: Self.headStart)
            group.addTask { await nextFound() }
            group.addTask {
                switch await LoopClock(endpoint.loop).pause(for: Self.limit) {
                case .over: .timeIsUp
                case .cancelled: .left
                }
            }
            return await finish(&group, &tried)
        }
        return try outcome.get()
    }

    /// Starts a lane for each route that has none yet.
    ///
    /// - Parameter apart: how long each relay waits for the one before it.
    private func add(
        _ routes: FoundRoutes, to group: inout TaskGroup<Lane>, _ tried: inout Tried, apart: Duration
    ) {
        let addresses = routes.addresses.filter { !tried.routes.addresses.contains($0) }
            .prefix(max(0, Self.maxAddresses - tried.routes.addresses.count))
        let urls = routes.relays.filter { !tried.routes.relays.contains($0) }
            .prefix(max(0, Self.maxFoundRelays - tried.routes.relays.count))
        tried.routes.addresses += addresses
        tried.routes.relays += urls
        if !addresses.isEmpty {
            tried.running += 1
            let (handshake, lane) = start(Array(addresses))
            tried.handshakes.append(handshake)
            group.addTask {
                for await outcome in lane { return outcome }
                return .left
            }
        }
        for (index, url) in urls.enumerated() {
            tried.running += 1
            group.addTask { await relayed(url, after: apart * index) }
        }
    }

    /// No task of the race: it may outlive it.
    private func start(_ addresses: [SocketAddress]) -> (Task<Connection?, Never>, AsyncStream<Lane>) {
        let (lane, outcome) = AsyncStream.makeStream(of: Lane.self)
        let handshake = endpoint.loop.spawn { () -> Connection? in
            let end = await direct(addresses)
            outcome.yield(end)
            outcome.finish()
            if case .direct(let connection) = end { return connection }
            return nil
        }
        return (handshake, lane)
    }

    private func nextFound() async -> Lane {
        for await routes in found { return .found(routes) }
        return .searched
    }

    /// The first connection; when there is none, all that was tried.
    private func finish(
        _ group: inout TaskGroup<Lane>, _ tried: inout Tried
    ) async -> Result<Won, DialError> {
        var winner: Connection?
        var isDirect = false
        var failures: [DialError] = []
        var isOver = false
        for await lane in group {
            switch lane {
            case .connected(let connection):
                if winner == nil {
                    winner = connection
                } else {
                    await connection.close(code: CloseCode.done.rawValue, reason: "another way was faster")
                }
                isOver = true
            case .direct(let connection):
                // Otherwise it is a late one.
                if winner == nil { (winner, isDirect) = (connection, true) }
                isOver = true
            case .left: break
            case .failed(let error):
                failures.append(error)
                tried.running -= 1
            case .found(var routes) where !isOver:
                routes.addresses.removeAll { !$0.canBeDialled }
                add(routes, to: &group, &tried, apart: .zero)
                group.addTask { await nextFound() }
            case .found: break
            case .searched: tried.mayFindMore = false
            case .timeIsUp: isOver = true
            }
            if Task.isCancelled || (tried.running == 0 && !tried.mayFindMore) { isOver = true }
            if isOver { group.cancelAll() }
        }
        if isDirect || winner == nil {
            for handshake in tried.handshakes { handshake.cancel() }
        }
        if let winner {
            return .success(Won(connection: winner, routes: tried.routes, late: tried.handshakes))
        }
        for handshake in tried.handshakes { endpoint.loop.spawn { await close(handshake) } }
        return .failure(Task.isCancelled ? .cancelled : DialError(all: failures))
    }

    /// It may have been complete when it was given up.
    private func close(_ handshake: Task<Connection?, Never>) async {
        await handshake.value?.close(code: CloseCode.done.rawValue, reason: "the dial is over")
    }

    // MARK: Lanes

    private func direct(_ addresses: [SocketAddress]) async -> Lane {
        do throws(DialFailure) {
            return .direct(
                try await endpoint.connect(to: target.node, addresses: addresses, protocols: protocols))
        } catch {
            guard case .cancelled = error else { return .failed(DialError(error, relays.names)) }
            return .failed(.unreachable(addresses.map { attempt(.direct($0), "no answer in \(seconds) s") }))
        }
    }

    private func relayed(_ url: RelayURL, after delay: Duration) async -> Lane {
        let path = LinkPath.relay(url: url.description)
        let wait: Pause = if delay > .zero { await LoopClock(endpoint.loop).pause(for: delay) } else { .over }
        guard wait == .over, !Task.isCancelled else { return .failed(.unreachable([attempt(path, "not tried")])) }
        let joined = await relays.visit(url)
        let lane = await through(joined, path)
        // The link holds it from here on, when there is one.
        await relays.release(url)
        return lane
    }

    private func through(_ joined: NodeRelays.Joined, _ path: LinkPath) async -> Lane {
        await joined.leg.retryNow()
        guard await joined.leg.connected(within: Self.relayPatience) else {
            let status = await joined.leg.status
            let problem = status.problem ?? "the relay does not answer"
            return .failed(.unreachable([attempt(path, problem, status.lastFailure ?? .outOfReach)]))
        }
        do throws(DialFailure) {
            let route = await joined.route(to: target.node)
            return .connected(try await endpoint.connect(to: target.node, routes: [route], protocols: protocols))
        } catch {
            switch error {
            case .cancelled, .unreachable:
                return .failed(.unreachable([attempt(path, "the relay answers, the node behind it does not")]))
            case .noRoute, .wrongNode, .refused, .endpointClosed: return .failed(DialError(error, relays.names))
            }
        }
    }

    private func attempt(
        _ path: LinkPath, _ outcome: String, _ failure: DialError.RelayFailure? = nil
    ) -> DialError.Attempt {
        DialError.Attempt(route: path, outcome: outcome, relayFailure: failure)
    }

    private var seconds: Int64 { Self.limit.components.seconds }
}

extension DialError {
    /// What the lanes of one dial failed with, as one: a refusal says most, then another node's answer, then what was tried.
    init(all failures: [DialError]) {
        var attempts: [Attempt] = []
        var best: DialError?
        for failure in failures {
            switch failure {
            case .unreachable(let more): attempts += more
            case .refused: best = failure
            case .wrongNode: if best == nil { best = failure }
            case .noRoute, .cancelled: break
            }
        }
        self = best ?? (attempts.isEmpty ? .noRoute : .unreachable(attempts))
    }
}
