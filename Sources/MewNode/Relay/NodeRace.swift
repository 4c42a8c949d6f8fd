import MewBase
import MewIdentity
import MewLookup
import MewLoop
import MewQUIC
import MewQUICCore
import MewRelay
import MewWire

/// One dial by all ways at once (DESIGN §6): a handshake with all addresses, and one through each relay, the second relay a
/// moment later. Ways that turn up meanwhile are tried as well. The first handshake that is complete has the link.
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
    /// More ways through relays than this are no more likely to work.
    static let maxRelays = 3

    private enum Lane: Sendable {
        case connected(Connection)
        case failed(DialError)
        case found(FoundRoutes)
        /// Nothing more will be found.
        case searched
        case timeIsUp
    }

    /// What has been tried, and how many of these lanes still run.
    private struct Tried {
        var relays: Set<RelayURL> = []
        var addresses: Set<SocketAddress> = []
        var running = 0
        var mayFindMore = true
    }

    func connection() async throws(DialError) -> Connection {
        let outcome = await withTaskGroup(of: Lane.self) { group in
            var tried = Tried()
            add(FoundRoutes(relays: urls, addresses: target.addresses), to: &group, &tried, apart: Self.headStart)
            group.addTask { await nextFound() }
            group.addTask {
                try? await LoopClock(endpoint.loop).sleep(for: Self.limit)
                return .timeIsUp
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
        let addresses = routes.addresses.filter { tried.addresses.insert($0).inserted }
        if !addresses.isEmpty {
            tried.running += 1
            group.addTask { await direct(addresses) }
        }
        for (index, url) in routes.relays.filter({ tried.relays.insert($0).inserted }).enumerated() {
            tried.running += 1
            group.addTask { await relayed(url, after: apart * index) }
        }
    }

    private func nextFound() async -> Lane {
        for await routes in found { return .found(routes) }
        return .searched
    }

    /// The first connection; when there is none, all that was tried.
    private func finish(
        _ group: inout TaskGroup<Lane>, _ tried: inout Tried
    ) async -> Result<Connection, DialError> {
        var winner: Connection?
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
            case .failed(let error):
                failures.append(error)
                tried.running -= 1
            case .found(let routes) where !isOver:
                add(routes, to: &group, &tried, apart: .zero)
                group.addTask { await nextFound() }
            case .found: break
            case .searched: tried.mayFindMore = false
            case .timeIsUp: isOver = true
            }
            if tried.running == 0, !tried.mayFindMore { isOver = true }
            if isOver { group.cancelAll() }
        }
        if let winner { return .success(winner) }
        return .failure(Task.isCancelled ? .cancelled : DialError(all: failures))
    }

    // MARK: Lanes

    private func direct(_ addresses: [SocketAddress]) async -> Lane {
        do throws(DialFailure) {
            return .connected(
                try await endpoint.connect(to: target.node, addresses: addresses, protocols: protocols))
        } catch {
            guard case .cancelled = error else { return .failed(DialError(error, relays.names)) }
            return .failed(.unreachable(addresses.map { attempt(.direct($0), "no answer in \(seconds) s") }))
        }
    }

    private func relayed(_ url: RelayURL, after delay: Duration) async -> Lane {
        if delay > .zero { try? await LoopClock(endpoint.loop).sleep(for: delay) }
        let path = LinkPath.relay(url: url.description)
        guard !Task.isCancelled else { return .failed(.unreachable([attempt(path, "not tried")])) }
        let joined = await relays.visit(url)
        let lane = await through(joined, path)
        // The link holds it from here on, when there is one.
        await relays.release(url)
        return lane
    }

    private func through(_ joined: NodeRelays.Joined, _ path: LinkPath) async -> Lane {
        await joined.leg.retryNow()
        guard await joined.leg.connected() else {
            let problem = await joined.leg.status.problem ?? "the relay does not answer"
            return .failed(.unreachable([attempt(path, problem)]))
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

    private func attempt(_ path: LinkPath, _ outcome: String) -> DialError.Attempt {
        DialError.Attempt(route: path, outcome: outcome)
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
