/// A point on the boot-time clock: nanoseconds since the machine started, sleep included.
///
/// Liveness, leases and pairing codes are measured with it (NEEDS N-47: a wrong wall clock must never cost a
/// connection). It says nothing across machines or across reboots.
public struct Instant: InstantProtocol, Sendable {
    public let nanoseconds: UInt64

    public init(nanoseconds: UInt64) {
        self.nanoseconds = nanoseconds
    }

    /// Saturates at both ends instead of trapping: deadlines such as "never" are legal values.
    public func advanced(by duration: Duration) -> Instant {
        let delta = duration.saturatingNanoseconds
        guard delta < 0 else {
            let (sum, overflow) = nanoseconds.addingReportingOverflow(UInt64(delta))
            return overflow ? .distantFuture : Instant(nanoseconds: sum)
        }
        return Instant(nanoseconds: nanoseconds - min(nanoseconds, delta.magnitude))
    }

    public func duration(to other: Instant) -> Duration {
        other >= self
            ? .nanoseconds(Int64(clamping: other.nanoseconds - nanoseconds))
            : .nanoseconds(-Int64(clamping: nanoseconds - other.nanoseconds))
    }

    public static func < (left: Instant, right: Instant) -> Bool {
        left.nanoseconds < right.nanoseconds
    }

    public static let zero = Instant(nanoseconds: 0)

    /// "Never" as a deadline.
    public static let distantFuture = Instant(nanoseconds: .max)
}

extension Duration {
    /// Whole nanoseconds, clamped to what 64 bits hold (292 years).
    public var saturatingNanoseconds: Int64 {
        let (seconds, attoseconds) = components
        let (scaled, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        guard !overflow else { return seconds < 0 ? .min : .max }
        let (sum, carry) = scaled.addingReportingOverflow(attoseconds / 1_000_000_000)
        return carry ? (seconds < 0 ? .min : .max) : sum
    }

    /// Milliseconds with their fraction, for display and JSON.
    public var milliseconds: Double {
        Double(saturatingNanoseconds) / 1_000_000
    }
}
