public import MewBase

/// When those who hear a session are woken: at once after a rest, and while it tells much, with all that was told in a few
/// milliseconds. A thousand events a second to a hundred clients would be a hundred thousand packets a second.
///
///            told                      woken
///     rested ────► due (at once) ──────────────► resting ── told ──► due (when the rest is over)
///
/// Pure value.
public struct WakePace: Sendable {
    /// What an event can be late by that follows another. No eye sees it, and beside a network it is nothing.
    public static let rest: Duration = .milliseconds(4)

    private var lastWake: Instant?
    private var isTold = false

    public init() {}

    /// Something waits for those who hear the session.
    public mutating func told() {
        isTold = true
    }

    /// When they have to be woken; nil while nothing waits.
    public func due(now: Instant) -> Instant? {
        guard isTold else { return nil }
        return lastWake.map { max(now, $0.advanced(by: Self.rest)) } ?? now
    }

    public mutating func woke(now: Instant) {
        (lastWake, isTold) = (now, false)
    }
}
