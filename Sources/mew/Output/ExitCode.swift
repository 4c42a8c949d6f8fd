import MewLoop

/// How the process ends (DESIGN §10). Scripts rely on the numbers.
enum ExitCode: Int32, Sendable {
    case ok = 0
    case failed = 1
    case usage = 2
    case timedOut = 3
    case unauthorized = 4
    case unreachable = 5
    /// The state does not allow it: busy, too late, mismatch.
    case refused = 6
    case deliveryUnknown = 7
    /// A signal ended it: 128 and the number of that, as a shell says it. Whatever it was about goes on, or nobody knows.
    case hungUp = 129
    case interrupted = 130
    case terminated = 143

    init(_ signal: Signal) {
        self =
            switch signal {
            case .interrupt: .interrupted
            case .hangUp: .hungUp
            default: .terminated
            }
    }
}
