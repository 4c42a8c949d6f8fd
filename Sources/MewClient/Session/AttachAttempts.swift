internal import MewWire

/// A session that is being opened: what was asked, and who waits for it to be live.
struct Opening {
    enum Ask {
        case attach(SessionID)
        case new(OperationID?)

        var changesSomething: Bool {
            switch self {
            case .attach: false
            case .new: true
            }
        }
    }

    let ask: Ask
    /// Of the channel that it opens.
    let generation: UInt64
    /// Gets one element: the session, live; or why not.
    let feed = OpeningFeed(capacity: 1)

    init(_ ask: Ask, _ generation: UInt64) { (self.ask, self.generation) = (ask, generation) }
}

typealias OpeningFeed = Feed<Result<SessionID, OpeningFailure>>

/// Why a session was not shown.
struct OpeningFailure: Error {
    let error: ClientError
    /// False when it was left, and when its channel had shown it and ended: then what follows is decided by that.
    var mayBeTriedAgain = true
}

/// The one attempt to attach to each session that is under way, and who waits for it. Whoever leaves a session withdraws it, and so
/// does the last one who stops waiting: an answer that comes afterwards would attach again.
struct AttachAttempts {
    private struct Attempt {
        let generation: UInt64
        var waiting: [OpeningFeed]
        /// Ended when nobody waits any more, or it would stay open while the daemon says nothing.
        var channel: (any MessageChannel)?
    }

    private var underWay: [SessionID: Attempt] = [:]

    func isUnderWay(_ id: SessionID) -> Bool { underWay[id] != nil }

    /// For tests.
    func waiting(for id: SessionID) -> Int { underWay[id]?.waiting.count ?? 0 }
    /// For tests: the daemon was asked.
    func isAsked(_ id: SessionID) -> Bool { underWay[id]?.channel != nil }

    /// Nil when there is none to wait for.
    mutating func joins(_ id: SessionID) -> OpeningFeed? {
        guard underWay[id] != nil else { return nil }
        let feed = OpeningFeed(capacity: 1)
        underWay[id]?.waiting.append(feed)
        return feed
    }

    mutating func begins(_ id: SessionID, _ opening: Opening) {
        underWay[id] = Attempt(generation: opening.generation, waiting: [opening.feed])
    }

    mutating func opened(_ channel: any MessageChannel, for opening: Opening) {
        guard case .attach(let id) = opening.ask, isWanted(opening) else { return }
        underWay[id]?.channel = channel
    }

    /// Whether the session is to be attached when the daemon shows it.
    func isWanted(_ opening: Opening) -> Bool {
        guard case .attach(let id) = opening.ask else { return true }
        return underWay[id]?.generation == opening.generation
    }

    /// Tells everybody who waits for it.
    mutating func ends(_ opening: Opening, with result: Result<SessionID, OpeningFailure>) {
        opening.feed.offerLast(result)
        guard case .attach(let id) = opening.ask, isWanted(opening) else { return }
        for feed in underWay.removeValue(forKey: id)?.waiting ?? [] { feed.offerLast(result) }
    }

    /// - Returns: the channel to end.
    mutating func left(_ id: SessionID) -> (any MessageChannel)? {
        let error = ClientError(.unreachable, "the session was left", isLocal: true)
        let failure = OpeningFailure(error: error, mayBeTriedAgain: false)
        let attempt = underWay.removeValue(forKey: id)
        for feed in attempt?.waiting ?? [] { feed.offerLast(.failure(failure)) }
        return attempt?.channel
    }

    /// - Returns: the attempt, when nobody else waited for it: it is withdrawn.
    mutating func stopsWaiting(
        _ id: SessionID, _ feed: OpeningFeed
    ) -> (generation: UInt64, channel: (any MessageChannel)?)? {
        guard var attempt = underWay[id], let index = attempt.waiting.firstIndex(where: { $0 === feed }) else {
            return nil
        }
        attempt.waiting.remove(at: index)
        underWay[id] = attempt.waiting.isEmpty ? nil : attempt
        return attempt.waiting.isEmpty ? (attempt.generation, attempt.channel) : nil
    }

    mutating func endAll() {
        for attempt in underWay.values { for feed in attempt.waiting { feed.finish() } }
        underWay = [:]
    }
}
