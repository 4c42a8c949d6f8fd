/// Tells from two clocks, one of which stands still during sleep, that the machine has slept.
struct SleepDetector {
    private var offset: UInt64

    /// Shorter ones leave connections and mappings as they were; also more than the two readings can be apart when the
    /// thread is interrupted between them.
    static let shortest: Duration = .seconds(2)

    /// - Parameters: nanoseconds of the clock that counts sleep, and of the one that does not.
    init(boot: UInt64, awake: UInt64) {
        offset = boot &- awake
    }

    /// How long the machine slept since the last call, if it did.
    mutating func observe(boot: UInt64, awake: UInt64) -> Duration? {
        let now = boot &- awake
        guard now > offset else { return nil }
        let slept = Duration.nanoseconds(Int64(clamping: now - offset))
        guard slept >= Self.shortest else { return nil }
        offset = now
        return slept
    }
}
