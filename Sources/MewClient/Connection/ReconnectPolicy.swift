public import MewBase

/// Decides when to dial: the one owner of "reconnect" (NEEDS N-15, N-16). After the end of a connection or of an attempt it dials
/// again after a wait, or parks until a person acts; in the background it does neither.
///
/// Pure value: say what happens, and do what it answers.
///
///                 ┌──────── trouble ────────┐
///                 ▼                         │
///     start ─▶ waiting ─time is up─▶ attempting ─link─▶ linked ─remote_ready─▶ ready
///                 │                         │              │                     │
///               parked ◀──────── refusal ───┴──────────────┴─────────────────────┘
///
/// Asleep, `waiting` has no end and nothing is attempted; a link that lives is left alone.
public struct ReconnectPolicy: Sendable, Equatable {
    public enum Step: Sendable, Equatable {
        case dial(after: Duration, ConnectionTrouble)
        /// The app is in the background: not before it is in front again.
        case sleep(ConnectionTrouble)
        case park(ConnectionRefusal)
        case stop
    }

    /// What is to be done at once.
    public enum Reaction: Sendable, Equatable {
        case nothing
        /// End the wait or the attempt that is going on; what follows, `mayAttempt` says.
        case interrupt
        /// Find out whether the link that seems to live does.
        case probe
    }

    enum State: Sendable, Equatable, CaseIterable { case waiting, attempting, linked, ready, parked }

    private(set) var state = State.waiting
    /// The app is in the background, or the machine is about to sleep.
    private(set) var isAsleep = false
    private var backOff = BackOff()
    /// The absence was announced: the first dial after it is on time, later ones back off.
    private var announced = false

    public init() {}

    public var failures: Int { backOff.failures }

    // MARK: - What the connection does

    /// Begins an attempt, after a wait or in the place of one that was interrupted; false while asleep.
    public mutating func mayAttempt() -> Bool {
        state = isAsleep ? .waiting : .attempting
        return !isAsleep
    }

    /// Something answered; nothing is accepted yet.
    public mutating func linked() { state = .linked }

    public mutating func becameReady() { state = .ready }

    /// The daemon answered: the next failure starts from one second again.
    public mutating func answered() {
        backOff.succeeded()
        announced = false
    }

    public mutating func ended(_ end: ConnectionEnd, entropy: some Entropy) -> Step {
        state = .waiting
        switch end {
        case .stopped:
            return .stop
        case .refusal(let refusal):
            state = .parked
            return .park(refusal)
        case .trouble(let trouble) where isAsleep:
            return .sleep(trouble)
        case .trouble(.restarting(let absence)) where !announced:
            announced = true
            return .dial(after: absence, .restarting(absence))
        case .trouble(let trouble):
            return .dial(after: backOff.failed(entropy: entropy), trouble)
        }
    }

    // MARK: - What people and the system do

    /// A person asked for it now: replaces an attempt, leaves a refusal behind. Who asks is in front of the app.
    public mutating func retried() -> Reaction {
        isAsleep = false
        switch state {
        case .ready: return .nothing
        case .waiting, .attempting, .linked, .parked:
            backOff.succeeded()
            return .interrupt
        }
    }

    /// The network changed or the machine woke: a wait is over, an attempt that is going on is joined.
    public mutating func triggered() -> Reaction {
        guard !isAsleep else { return .nothing }
        switch state {
        case .waiting:
            backOff.succeeded()
            return .interrupt
        case .attempting, .linked, .ready, .parked: return .nothing
        }
    }

    /// The app is not seen any more: no timer of ours runs and nothing dials. The system will end a link that lives, if it wants to.
    public mutating func enteredBackground() -> Reaction {
        guard !isAsleep else { return .nothing }
        isAsleep = true
        switch state {
        case .waiting, .attempting: return .interrupt
        case .linked, .ready, .parked: return .nothing
        }
    }

    /// The app is seen again: it dials at once, and does not believe a link that may have died meanwhile.
    public mutating func enteredForeground() -> Reaction {
        isAsleep = false
        switch state {
        case .waiting:
            backOff.succeeded()
            return .interrupt
        case .ready: return .probe
        case .attempting, .linked, .parked: return .nothing
        }
    }
}
