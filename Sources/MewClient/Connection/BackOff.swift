public import MewBase

/// How long to wait before the next dial: 1, 2, 4, 8, 16, 30, 30 … seconds, plus up to half a second of jitter
/// (spec/mew-wire.md §5.2), so that many clients of a restarted daemon do not return in one instant.
public struct BackOff: Sendable, Equatable {
    /// Longest step. A person who waits gives up after about this long, so slower would only hide a returning daemon.
    public static let longest: Duration = .seconds(30)
    /// Exclusive bound of the jitter, in milliseconds.
    public static let jitterMilliseconds: UInt64 = 500

    /// Failures since the last success.
    public private(set) var failures = 0

    public init() {}

    /// Counts a failure and returns the wait before the next dial.
    public mutating func failed(entropy: some Entropy) -> Duration {
        let step = min(failures, 5)  // 2^5 is already above the longest
        failures = min(failures + 1, 1_000_000)
        let base = min(Duration.seconds(1 << step), Self.longest)
        return base + .milliseconds(entropy.uint64() % Self.jitterMilliseconds)
    }

    /// The connection answered: the next failure starts from one second again.
    public mutating func succeeded() {
        failures = 0
    }
}
