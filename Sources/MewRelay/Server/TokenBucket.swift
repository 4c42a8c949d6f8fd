internal import MewBase

/// How fast a client may send: `rate` bytes a second in the long run, `burst` at once. Nothing is read that it has no right to
/// yet: the kernel's buffers fill up, and the sender feels it. It never runs into debt, which it would have to be made to wait
/// for with its pings behind.
struct TokenBucket {
    private let rate: Double
    private let burst: Double
    private var tokens: Double
    private var filled: Instant

    /// Reads of less than this much of a second are not worth their cost.
    private static let smallestPart = 0.02

    /// - Parameters: bytes a second (at least one), and bytes.
    init(rate: Int, burst: Int, now: Instant) {
        precondition(rate > 0 && burst > 0, "a bucket that never fills")
        self.rate = Double(rate)
        self.burst = Double(burst)
        tokens = Double(burst)
        filled = now
    }

    private var least: Double { min(burst, max(1, rate * Self.smallestPart)) }

    /// How many bytes may be read now; 0 while they are too few.
    mutating func available(now: Instant) -> Int {
        let elapsed = Double(max(0, filled.duration(to: now).saturatingNanoseconds)) / 1e9
        tokens = min(burst, tokens + elapsed * rate)
        filled = now
        return tokens < least ? 0 : Int(tokens)
    }

    /// What was read, no more than is available.
    mutating func take(_ byteCount: Int) {
        tokens -= Double(byteCount)
    }

    /// From the last `available` on, until there are some.
    var wait: Duration {
        .nanoseconds(Int64(max(0, least - tokens) / rate * 1e9) + 1)
    }
}
