internal import MewBase

/// Whether a client is still there (spec/iroh-wire.md §4.5): after a silence of 15 s and up to 5 s more it is asked, and it has
/// to answer within three round trips, at least half a second and at most five.
struct PingClock {
    enum Step: Equatable {
        /// Nothing to do before the new `deadline`.
        case wait
        /// Send this.
        case ping(UInt64)
        case dead
    }

    private enum State {
        /// The first question, at once.
        case due
        case quiet(since: Instant)
        case asked(payload: UInt64, at: Instant)
    }

    static let silence: Duration = .seconds(15)
    static let firstAnswer: Duration = .seconds(5)
    static let answerRange: ClosedRange<Duration> = .milliseconds(500) ... .seconds(5)

    private var state: State
    /// So that clients which came together are not asked together. Below 5 s.
    private let jitter: Duration
    private(set) var roundTrip: Duration?
    /// When that was measured.
    private(set) var measured: Instant?

    init(now: Instant, random: UInt64) {
        state = .quiet(since: now)
        jitter = .milliseconds(Int64(random % 5_000))
    }

    /// Asks at once: only the first answer shows that the other side is good (a client's side).
    init(asking random: UInt64) {
        state = .due
        jitter = .milliseconds(Int64(random % 5_000))
    }

    var deadline: Instant {
        switch state {
        case .due: .zero
        case .quiet(let since): since.advanced(by: Self.silence + jitter)
        case .asked(_, let at): at.advanced(by: answerTime)
        }
    }

    private var answerTime: Duration {
        guard let roundTrip else { return Self.firstAnswer }
        return min(max(roundTrip * 3, Self.answerRange.lowerBound), Self.answerRange.upperBound)
    }

    /// Any frame: it shows that the client lives, but a question that was asked must still be answered.
    mutating func heard(now: Instant) {
        if case .quiet = state { state = .quiet(since: now) }
    }

    mutating func pong(_ payload: UInt64, now: Instant) {
        guard case .asked(payload, let at) = state else { return }
        measured(at.duration(to: now), now: now)
        state = .quiet(since: now)
    }

    /// A question of somebody else's was answered.
    mutating func measured(_ time: Duration, now: Instant) {
        (roundTrip, measured) = (time, now)
    }

    /// - Parameter random: what the ping holds, if one is due.
    mutating func timeout(now: Instant, random: UInt64) -> Step {
        guard deadline <= now else { return .wait }
        switch state {
        case .due, .quiet:
            state = .asked(payload: random, at: now)
            return .ping(random)
        case .asked:
            return .dead
        }
    }
}
