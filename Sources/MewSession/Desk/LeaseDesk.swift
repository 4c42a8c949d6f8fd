public import MewBase
public import MewIdentity
public import MewWire

/// Who may type in a session (spec/native-wire.md §2, `lease`). Answers and cancel are never refused.
///
/// Pure value, in memory: after a restart everybody may. The holder is a device: its channels and processes share it. It ends by
/// release, by take-over, which is always somebody's explicit act, or 30 s after the holder's last channel of the session.
///
///               take                       last channel gone
///     free ─────────────► held (present) ───────────────────► held (away until)
///      ▲                      │  ▲                                │
///      │ release, 30 s away   │  └────────── channel back ────────┤
///      └──────────────────────┴───────────────────────────────────┘
public struct LeaseDesk: Sendable, Equatable {
    /// Enough for a walk from one network to another, short enough to wait for.
    public static let patience = Duration.seconds(30)

    private enum State: Sendable, Equatable {
        case free
        case present(By)
        case away(By, until: Instant)
    }

    public enum Verdict: Sendable, Equatable {
        /// The holder is another one now; everybody is told.
        case changed
        /// All is as it was.
        case unchanged
        /// Somebody else holds it.
        case refused(By)
    }

    private var state = State.free

    public init() {}

    public var holder: By? {
        switch state {
        case .free: nil
        case .present(let by), .away(let by, _): by
        }
    }

    /// When `expire` is due.
    public var nextDeadline: Instant? {
        if case .away(_, let until) = state { until } else { nil }
    }

    /// Why a device may not type; nil when it may.
    public func refuses(_ node: NodeID) -> By? {
        holder.flatMap { $0.node == node ? nil : $0 }
    }

    /// - Parameters:
    ///   - isPresent: the device has a channel of the session.
    ///   - takesOver: also from somebody else.
    mutating func take(_ by: By, isPresent: Bool, takesOver: Bool, now: Instant) -> Verdict {
        if let holder = refuses(by.node), !takesOver { return .refused(holder) }
        if let holder, holder.node == by.node { return .unchanged }
        state = isPresent ? .present(by) : .away(by, until: now.advanced(by: Self.patience))
        return .changed
    }

    mutating func release(_ node: NodeID) -> Verdict {
        guard let holder else { return .unchanged }
        guard holder.node == node else { return .refused(holder) }
        state = .free
        return .changed
    }

    /// A channel of the device is there.
    mutating func arrived(_ node: NodeID) {
        if case .away(let by, _) = state, by.node == node { state = .present(by) }
    }

    /// The last channel of the device is gone.
    mutating func left(_ node: NodeID, now: Instant) {
        if case .present(let by) = state, by.node == node {
            state = .away(by, until: now.advanced(by: Self.patience))
        }
    }

    /// True when the time of a holder that is away is over.
    mutating func expire(now: Instant) -> Bool {
        guard case .away(_, let until) = state, until <= now else { return false }
        state = .free
        return true
    }
}
