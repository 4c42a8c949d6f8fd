internal import MewWire

/// The channel of an attached session; on stock links the one channel of the connection.
struct SessionChannel {
    let channel: any MessageChannel
    /// Tells a channel from the one that replaced it: what still arrives on the old one is not the session's any more.
    let generation: UInt64
}

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
    /// Gets one element: the session, live; or why not.
    let feed: Feed<Result<SessionID, ClientError>>

    init(_ ask: Ask) {
        self.ask = ask
        feed = Feed(capacity: 1)
    }
}

/// Channels that are to attach to a session and have not, by generation. Whoever leaves a session leaves them with it: an answer
/// that comes afterwards would attach again.
struct AttachAttempts {
    private var generations: [SessionID: Set<UInt64>] = [:]

    mutating func begins(_ ask: Opening.Ask, _ generation: UInt64) {
        if case .attach(let id) = ask { generations[id, default: []].insert(generation) }
    }

    mutating func left(_ id: SessionID) { generations[id] = nil }

    /// - Returns: whether it was still wanted.
    @discardableResult
    mutating func ends(_ ask: Opening.Ask, _ generation: UInt64) -> Bool {
        guard case .attach(let id) = ask else { return true }
        guard var others = generations[id], others.remove(generation) != nil else { return false }
        generations[id] = others.isEmpty ? nil : others
        return true
    }
}
