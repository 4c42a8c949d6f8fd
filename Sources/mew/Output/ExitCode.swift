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
}
