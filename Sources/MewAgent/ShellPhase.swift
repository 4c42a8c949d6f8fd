import MewBase

/// How far the run of a command is, and what is to be done when something happens.
///
/// Pure value; `ShellRun` performs the steps, and enters the phase that each of them begins.
///
/// ```
///                     ┌────────────── leader exits ──────────────┐
/// idle ── start ──▶ held ── release ──▶ running ── leader exits ──▶ lingering ──┐
///                     │                    │            output ends, or 2 s ────┤ nothing left ──▶ over
///                     └──── terminate ─────┴── SIGTERM ──▶ ending ◀─────────────┘ something left
///                                                            │ all gone ──▶ over
///                                                            └─ 2 s ── SIGKILL ──▶ killed ── all gone, or 2 s ──▶ over
/// ```
enum ShellPhase: Equatable {
    case idle, held, running
    case lingering(until: Instant)
    case ending(until: Instant)
    case killed(until: Instant)
    case over

    enum Step: Equatable {
        case nothing
        /// Opens the gate: `running`.
        case open
        /// The command never runs, the gate ends by itself: `ending`.
        case giveUpGate
        /// The shell has ended; who holds the output may go on for a while: `lingering`.
        case linger
        /// SIGTERM to all that is left: `ending`; when nothing is left, the end.
        case endLeftovers
        /// SIGTERM to all: `ending`.
        case endSession
        /// SIGKILL to all: `killed`.
        case kill
        /// `over`.
        case finish
    }

    /// Somebody lets it run.
    var released: Step { self == .held ? .open : .nothing }

    /// Somebody wants it to end.
    var terminated: Step {
        switch self {
        case .held: .giveUpGate
        case .running, .lingering: .endSession
        case .idle, .ending, .killed, .over: .nothing
        }
    }

    /// The shell has ended; it may be killed while it waits at its gate, too.
    var leaderExited: Step {
        switch self {
        case .held, .running: .linger
        case .idle, .lingering, .ending, .killed, .over: .nothing
        }
    }

    /// What follows from what has ended so far.
    ///
    /// - Parameter isAnybodyLeft: looked for only where it matters: it takes a millisecond.
    func settled(hasExited: Bool, hasOutput: Bool, isAnybodyLeft: @autoclosure () -> Bool) -> Step {
        switch self {
        case .lingering: hasOutput ? .nothing : .endLeftovers
        case .ending: hasExited && !isAnybodyLeft() ? .finish : .nothing
        case .killed: hasExited ? .finish : .nothing
        case .idle, .held, .running, .over: .nothing
        }
    }

    /// Its time may be over.
    func due(now: Instant) -> Step {
        switch self {
        case .lingering(let until): until <= now ? .endLeftovers : .nothing
        case .ending(let until): until <= now ? .kill : .nothing
        case .killed(let until): until <= now ? .finish : .nothing
        case .idle, .held, .running, .over: .nothing
        }
    }

    /// When `due` is to be asked.
    var deadline: Instant? {
        switch self {
        case .idle, .held, .running, .over: nil
        case .lingering(let until), .ending(let until), .killed(let until): until
        }
    }
}
