import MewWire

/// What a device has of a session's stream, and what may come next on its channel: every event once and in order, none in a gap, none
/// before a snapshot is whole.
///
///     attached ──session_ready──► following ──gap──► silent ──the device resumes──► following
///        │                            ▲ │
///        │ session_ready (snapshot)   │ │ session_ready (snapshot)
///        └───────────► gathering ◄────┼─┘
///                          │          │
///                          └─caught_up┘       a gap breaks a snapshot off, too
struct HeardStream {
    /// With each the last event up to which the device has the stream.
    private enum State {
        /// Nothing has come yet.
        case attached(SequenceNumber)
        case following(SequenceNumber)
        /// A snapshot comes, in place of what it has.
        case gathering(SequenceNumber)
        case silent(SequenceNumber)
    }

    private var state: State

    init(after sequence: SequenceNumber = .zero) {
        state = .attached(sequence)
    }

    var last: SequenceNumber {
        switch state {
        case .attached(let last), .following(let last), .gathering(let last), .silent(let last): last
        }
    }

    var isFollowing: Bool {
        if case .following = state { true } else { false }
    }

    /// The device asks for what comes after that event. Without a gap the daemon says itself when it begins anew.
    mutating func resume(after sequence: SequenceNumber) {
        if case .silent = state { state = .following(sequence) }
    }

    /// Returns what must not be; nil when all is well.
    mutating func take(_ frame: DaemonFrame) -> String? {
        if let sequence = frame.sequence { return take(sequence) }
        switch frame.message {
        case .sessionReady(let ready): begin(ready.resume)
        case .gap(let gap): return fallSilent(after: gap.afterSequence)
        case .caughtUp(let end): return catchUp(to: end.sequence)
        default: break
        }
        return nil
    }

    private mutating func take(_ sequence: SequenceNumber) -> String? {
        guard case .following(let last) = state, sequence == last.next else { return "event \(sequence) when \(state)" }
        state = .following(sequence)
        return nil
    }

    private mutating func begin(_ resume: ResumeKind?) {
        switch (resume, state) {
        case (.snapshot, .attached): state = .gathering(.zero)
        case (.snapshot, .following), (.snapshot, .gathering), (.snapshot, .silent): state = .gathering(last)
        case (.replay, _), (.new, _), (nil, _): state = .following(last)
        }
    }

    private mutating func fallSilent(after sequence: SequenceNumber) -> String? {
        switch state {
        case .following(sequence), .gathering(sequence): state = .silent(sequence)
        case .following, .gathering, .attached, .silent: return "a gap after \(sequence) when \(state)"
        }
        return nil
    }

    private mutating func catchUp(to sequence: SequenceNumber) -> String? {
        switch state {
        case .gathering, .following(sequence): state = .following(sequence)
        case .following, .attached, .silent: return "caught up to \(sequence) when \(state)"
        }
        return nil
    }
}
