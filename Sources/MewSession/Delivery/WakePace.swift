public import MewBase

/// When those who hear a session are woken: at once after a rest, and while it tells much, with all that was told in a few
/// milliseconds. A thousand events a second to a hundred clients would be a hundred thousand packets a second.
///
///            told                      woken
///     rested ────► due (at once) ──────────────► resting ── told ──► due (when the rest is over)
///                                                           └ much ► due (at once)
///
/// Pure value.
public struct WakePace: Sendable {
    /// What an event can be late by that follows another. No eye sees it, and beside a network it is nothing.
    public static let rest: Duration = .milliseconds(4)

    /// Much more would fill the queue of a client that reads fast.
    public static let maxBytes = 64 << 10

    private var lastWake: Instant?
    /// Of what was told since; nil for nothing.
    private var toldBytes: Int?

    public init() {}

    /// Something waits for those who hear the session.
    public mutating func told(bytes: Int) {
        toldBytes = (toldBytes ?? 0) + bytes
    }

    /// When they have to be woken; nil while nothing waits.
    public func due(now: Instant) -> Instant? {
        guard let toldBytes else { return nil }
        guard let lastWake, toldBytes < Self.maxBytes else { return now }
        return max(now, lastWake.advanced(by: Self.rest))
    }

    public mutating func woke(now: Instant) {
        (lastWake, toldBytes) = (now, nil)
    }
}
