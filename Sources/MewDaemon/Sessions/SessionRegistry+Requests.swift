import MewBase
import MewSession
import MewWire

// What became of requests that are open no more, for devices that come late (NEEDS N-40).

extension SessionRegistry {
    /// As many characters as a handle has of an ID; below that anything would fit.
    private static let shortestEnding = 4
    /// The sessions used last, of which those that nobody uses now are loaded to look: a person who answers late is some minutes
    /// late. However often somebody asks, it is never more than these.
    private static let maxLookedThrough = 8

    func answer(_ query: ClientMessage.RequestQuery, _ ref: String?, _ client: SessionClient) async {
        guard query.ending.count >= Self.shortestEnding, let settled = await settled(endingIn: query.ending) else {
            return tell(
                client, .error(.init(message: "no such request", code: .unknownRequest)), ref)
        }
        tell(client, .requestResolved(settled.resolution), ref)
    }

    /// First in those that somebody uses, which costs nothing.
    private func settled(endingIn text: String) async -> SettledRequest? {
        if let settled = loadedSettled(endingIn: text) { return settled }
        for id in lastUsed where slots[id] == nil { _ = await runner(for: id) }
        return loadedSettled(endingIn: text)
    }

    /// The newest of all: the identifiers grow.
    private func loadedSettled(endingIn text: String) -> SettledRequest? {
        slots.values.compactMap { slot -> SettledRequest? in
            guard case .loaded(let runner) = slot else { return nil }
            return runner.assumeIsolated { $0.committed.desk.settled(endingIn: text) }
        }.max { $0.id.description < $1.id.description }
    }

    private var lastUsed: [SessionID] {
        listings.values.sorted { ($0.lastMessageAt ?? $0.createdAt) > ($1.lastMessageAt ?? $1.createdAt) }
            .prefix(Self.maxLookedThrough).map(\.sessionID)
    }
}

extension SettledRequest {
    fileprivate var resolution: DaemonMessage.RequestResolved {
        .init(
            requestID: id, outcome: closing.outcome, by: closing.by, decision: closing.decision,
            bound: closing.answer == nil ? nil : closing.isBound)
    }
}
