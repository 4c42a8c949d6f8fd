package import MewBase

/// When the dialler offers its addresses to the listener, so that both look for each other at the same time. A value.
///
///     idle ──begin──▶ gathering ──gathered, or `patience` is over──▶ offering ⟲ twice more without an answer
///      ▲                                                               │
///      └────────────────────── answered, or said three times ──────────┘
///
/// Its owner calls `begin` at each try of the addresses while a relay carries the connection, `isDue` at `deadline` and after
/// each event, and sends the offer when that is true.
package struct OfferSchedule: Sendable {
    private enum State {
        case idle
        case gathering(until: Instant)
        case offering(attempt: Int, next: Instant)
    }

    private var state = State.idle
    private var lastSent: Instant?
    /// Series in a row without an answer.
    private var unanswered = 0

    /// How long an offer waits for what the outside says of our addresses. Several round trips to a relay that is near, and
    /// less than a person notices.
    static let patience: Duration = .milliseconds(300)
    /// After the first one, and after the second: it is sent at 0, 300 and 900 ms.
    static let pauses: [Duration] = [.milliseconds(300), .milliseconds(600)]
    /// A peer that does not know offers is told once at each try from then on, in case it has just not let us in yet.
    static let maxUnanswered = 3

    /// A call that comes so soon is an answer to the offer. The listener calls again until it has heard that its call came.
    static let replyTime: Duration = .seconds(5)

    package init() {}

    /// Whether a call that comes now is due to an offer.
    package func isAnswered(now: Instant) -> Bool {
        lastSent.map { $0.duration(to: now) < Self.replyTime } ?? false
    }

    package var deadline: Instant {
        switch state {
        case .idle: .distantFuture
        case .gathering(let until): until
        case .offering(_, let next): next
        }
    }

    /// - Returns: whether our addresses are to be gathered; `gathered` tells when that is done.
    package mutating func begin(now: Instant) -> Bool {
        if case .gathering = state { return false }
        state = .gathering(until: now.advanced(by: Self.patience))
        return true
    }

    /// - Parameter isNews: they are others than were known.
    package mutating func gathered(isNews: Bool, now: Instant) {
        switch state {
        case .gathering: state = .offering(attempt: 0, next: now)
        // It was late, and what the peer was told is not all.
        case .idle, .offering: if isNews { state = .offering(attempt: 0, next: now) }
        }
    }

    /// True when the offer is to be sent now.
    package mutating func isDue(now: Instant) -> Bool {
        guard deadline <= now else { return false }
        switch state {
        case .idle: return false
        case .gathering: sent(attempt: 0, now)
        case .offering(let attempt, _): sent(attempt: attempt, now)
        }
        return true
    }

    private mutating func sent(attempt: Int, _ now: Instant) {
        lastSent = now
        let isLast = attempt == Self.pauses.count || unanswered >= Self.maxUnanswered
        if isLast {
            unanswered = min(unanswered + 1, Self.maxUnanswered)
            state = .idle
        } else {
            state = .offering(attempt: attempt + 1, next: now.advanced(by: Self.pauses[attempt]))
        }
    }

    /// The peer has our offer.
    package mutating func answered() {
        unanswered = 0
        if case .offering = state { state = .idle }
    }

    /// The connection goes another way, or nobody can be told.
    package mutating func stop() { state = .idle }
}
