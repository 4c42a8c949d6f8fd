internal import MewBase

/// How fast a client may send: `rate` bytes a second in the long run, `burst` at once. What was sent beyond that is a debt,
/// and nothing is read until it is paid: the kernel's buffers fill up, and the sender feels it.
struct TokenBucket {
    private let rate: Int
    private let burst: Int
    private var tokens: Int
    private var filled: Instant

    /// - Parameters: bytes a second (at least one), and bytes.
    init(rate: Int, burst: Int, now: Instant) {
        precondition(rate > 0 && burst > 0, "a bucket that never fills")
        self.rate = rate
        self.burst = burst
        tokens = burst
        filled = now
    }

    /// Takes what was read.
    ///
    /// - Returns: how long nothing may be read now; nil when it may go on.
    mutating func take(_ byteCount: Int, now: Instant) -> Duration? {
        refill(now)
        tokens -= min(byteCount, Int.max / 2)
        guard tokens < 0 else { return nil }
        let (seconds, rest) = (-tokens).quotientAndRemainder(dividingBy: rate)
        return .seconds(seconds) + .nanoseconds(Int64(Double(rest) / Double(rate) * 1e9) + 1)
    }

    private mutating func refill(_ now: Instant) {
        let elapsed = Double(max(0, filled.duration(to: now).saturatingNanoseconds)) / 1e9
        let gained = elapsed * Double(rate)
        // Whole bytes only: what is left over counts the next time.
        guard gained >= 1 else { return }
        tokens = gained >= Double(burst - min(tokens, burst)) ? burst : tokens + Int(gained)
        filled = now
    }
}
