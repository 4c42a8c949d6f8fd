package import MewBase
package import MewIdentity
package import MewLoop
package import MewRelay
package import MewWire

/// Routes to a node that turned up while it is being dialled.
package struct FoundRoutes: Hashable, Sendable {
    package var relays: [RelayURL] = []
    package var addresses: [SocketAddress] = []

    package init(relays: [RelayURL] = [], addresses: [SocketAddress] = []) {
        self.relays = relays
        self.addresses = addresses
    }
}

/// Finds routes to a node of which only the ID is known, or whose known routes may be stale: asks all relays at once for the
/// node's record, then names the relays themselves (DESIGN §7: a node is likely to be at one of them).
package struct RecordSearch: Sendable {
    private let service: RecordService
    private let loop: any Loop

    /// More relays are not asked by one dial.
    package static let maxRelays = 8
    /// How long known routes may try alone. A good dial over a relay is over by then, and asks nobody.
    package static let patience: Duration = .seconds(1)
    /// How long records may take before the relays are tried without: a record is one round trip behind a new connection.
    package static let headStart: Duration = .milliseconds(500)

    package init(connector: any RelayConnector, loop: any Loop) {
        service = RecordService(connector: connector, loop: loop)
        self.loop = loop
    }

    /// What is found, as it is found; at most one element for each relay and one more. The stream ends when nothing more can
    /// come. Whoever stops reading it ends the search.
    ///
    /// - Parameter delay: how long to wait before anybody is asked.
    package func routes(to node: NodeID, at relays: [RelayURL], after delay: Duration) -> AsyncStream<FoundRoutes> {
        let relays = Array(relays.prefix(Self.maxRelays))
        return AsyncStream(bufferingPolicy: .bufferingOldest(Self.maxRelays + 1)) { found in
            let task = loop.spawn {
                await search(node, relays, after: delay, found)
                found.finish()
            }
            found.onTermination = { _ in task.cancel() }
        }
    }

    private enum Event: Sendable {
        case answered(SignedRecord?)
        case headStartOver
        /// Nobody waits for anything any more.
        case ended
    }

    /// A relay that does not answer costs its own time only; why it does not is of no use to a dial.
    private func ask(_ url: RelayURL, for node: NodeID) async -> Event {
        .answered((try? await service.record(of: node, at: url)) ?? nil)
    }

    private func search(
        _ node: NodeID, _ relays: [RelayURL], after delay: Duration, _ found: AsyncStream<FoundRoutes>.Continuation
    ) async {
        if delay > .zero, await LoopClock(loop).pause(for: delay) == .cancelled { return }
        await withTaskGroup(of: Event.self) { group in
            for url in relays {
                group.addTask { await ask(url, for: node) }
            }
            group.addTask {
                switch await LoopClock(loop).pause(for: Self.headStart) {
                case .over: .headStartOver
                case .cancelled: .ended
                }
            }
            var search = SearchState(relays: relays)
            for await event in group {
                switch event {
                case .answered(let record): if let routes = search.answered(record) { found.yield(routes) }
                case .headStartOver: if let routes = search.tryRelays() { found.yield(routes) }
                case .ended: break
                }
                guard search.isOver else { continue }
                if let routes = search.tryRelays() { found.yield(routes) }
                group.cancelAll()
            }
        }
    }
}

/// What one search has heard. A value.
struct SearchState {
    private let relays: [RelayURL]
    private var newest: SignedRecord?
    private var answers = 0
    private var triesRelays = false

    init(relays: [RelayURL]) {
        self.relays = relays
    }

    /// Everybody has answered, or has been given up.
    var isOver: Bool { answers == relays.count }

    /// The routes of a record, unless a newer one was seen: the node has left what the older one names.
    mutating func answered(_ record: SignedRecord?) -> FoundRoutes? {
        answers += 1
        guard let record else { return nil }
        if let newest, !record.isNewer(than: newest) { return nil }
        newest = record
        let routes = record.record
        return FoundRoutes(relays: routes.relays, addresses: routes.addresses)
    }

    /// The relays themselves, once.
    mutating func tryRelays() -> FoundRoutes? {
        guard !triesRelays else { return nil }
        triesRelays = true
        return FoundRoutes(relays: relays)
    }
}
