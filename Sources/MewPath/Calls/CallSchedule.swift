package import MewBase

/// When a listener calls a dialler that it hears no more: the side that cannot migrate asks the one that can. A value.
///
///                 something under way, its timer fires         nothing heard until `patience` is over
///        ┌─ quiet ───────────────────────────────────▶ waiting ───────────────────────────────────────┐
///        │    ▲ ▲                 heard                   │                                            ▼
///        │    │ └──────────────────────────────────────── ┘            heard; answered, if that is enough
///        │    └──────────────────────────────────────────────────────────────────────────────────  calling ⟲ again,
///        │                     our addresses changed, or our relay is back                             ▲   with back-off
///        └─────────────────────────────────────────────────────────────────────────────────────────────┘
///
/// Its owner calls `look` when a timer of the connection fires and at `deadline`, and the rest when that happens; when one
/// returns true, it calls.
package struct CallSchedule: Sendable, Hashable {
    /// What is seen of the connection.
    package struct Sample: Sendable, Hashable {
        /// Since when something is under way without a sign of life; nil while nothing is.
        package var silentSince: Instant?
        /// RFC 9002 §6.2, without back-off.
        package var probeTimeout: Duration

        package init(silentSince: Instant?, probeTimeout: Duration) {
            self.silentSince = silentSince
            self.probeTimeout = probeTimeout
        }
    }

    private enum State: Hashable {
        case quiet
        case waiting(until: Instant)
        case calling(Reason, attempt: Int, next: Instant)
    }

    private enum Reason: Hashable {
        /// Only a packet of the peer ends it; news are told until they are answered all the same.
        case unheard
        /// The peer hears us still, as far as we know: its answer is enough.
        case moved
    }

    private var state = State.quiet
    private var lastCall: Instant?
    /// Our addresses or relays are others, and the peer has not answered since.
    private var hasNews = false

    /// A process that the machine does not let run for so long is not silent.
    static let shortestPatience: Duration = .milliseconds(500)
    /// With the call, the dialler's move and its first packet, data flows again within 5 s.
    static let longestPatience: Duration = .seconds(2)
    static let timeouts = 2
    static let firstPause: Duration = .milliseconds(250)
    /// A dialler that slept has an answer soon after it woke.
    static let longestPause: Duration = .seconds(4)
    /// What an answered caller gives the dialler to move: a new connection to a relay takes four round trips.
    static let pauseAfterAnswer: Duration = .milliseconds(1_500)
    /// Of calls that only tell news. About half a minute.
    static let maxAttempts = 10

    package init() {}

    package var isQuiet: Bool { state == .quiet }

    package var isCalling: Bool {
        if case .calling = state { true } else { false }
    }

    /// The call to be sent says that the peer is not heard.
    package var isUnheard: Bool {
        if case .calling(.unheard, _, _) = state { true } else { false }
    }

    package var deadline: Instant {
        switch state {
        case .quiet: .distantFuture
        case .waiting(let until): until
        case .calling(_, _, let next): next
        }
    }

    static func patience(_ sample: Sample) -> Duration {
        min(max(sample.probeTimeout * timeouts, shortestPatience), longestPatience)
    }

    // MARK: - Events

    package mutating func look(_ sample: Sample, now: Instant) -> Bool {
        switch state {
        case .quiet, .waiting:
            guard let since = sample.silentSince else {
                state = .quiet
                return false
            }
            let until = since.advanced(by: Self.patience(sample))
            guard until <= now else {
                state = .waiting(until: until)
                return false
            }
            return begin(.unheard, now)
        case .calling(let reason, let attempt, let next):
            guard next <= now else { return false }
            guard reason == .unheard || attempt < Self.maxAttempts else {
                state = .quiet
                return false
            }
            called(reason, attempt: attempt + 1, now)
            return true
        }
    }

    /// A genuine packet of the peer has come.
    package mutating func heard() {
        switch state {
        case .quiet, .calling(.moved, _, _): break
        // It may have found us by itself, and still looks for us where we were.
        case .calling(.unheard, let attempt, let next) where hasNews:
            state = .calling(.moved, attempt: attempt, next: next)
        case .waiting, .calling(.unheard, _, _): state = .quiet
        }
    }

    /// The peer has our call.
    package mutating func answered(now: Instant) {
        switch state {
        case .quiet, .waiting: break
        // An answer to the call before: the latest news have still to be told.
        case .calling(.moved, attempt: 0, _): break
        case .calling(.moved, _, _):
            hasNews = false
            state = .quiet
        case .calling(.unheard, let attempt, _):
            if attempt > 0 { hasNews = false }
            state = .calling(.unheard, attempt: attempt, next: now.advanced(by: Self.pauseAfterAnswer))
        }
    }

    /// Our addresses or relays have changed.
    ///
    /// - Parameter isLost: the way on which we heard the peer leads to us no more.
    package mutating func moved(isLost: Bool, now: Instant) -> Bool {
        hasNews = true
        if case .calling(.unheard, _, _) = state { return begin(.unheard, now) }
        return begin(isLost ? .unheard : .moved, now)
    }

    /// At once, unless the last call was a moment ago: a relay or an interface that comes and goes makes no storm of calls.
    private mutating func begin(_ reason: Reason, _ now: Instant) -> Bool {
        if let earliest = lastCall?.advanced(by: Self.firstPause), now < earliest {
            state = .calling(reason, attempt: 0, next: earliest)
            return false
        }
        called(reason, attempt: 1, now)
        return true
    }

    private mutating func called(_ reason: Reason, attempt: Int, _ now: Instant) {
        lastCall = now
        state = .calling(reason, attempt: attempt, next: now.advanced(by: Self.pause(after: attempt)))
    }

    private static func pause(after attempt: Int) -> Duration {
        min(firstPause * (1 << min(attempt - 1, 8)), longestPause)
    }
}
