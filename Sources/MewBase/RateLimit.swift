/// A token bucket: at most `burst` at once and `perSecond` in the long run.
package struct RateLimit: Sendable {
    private let burst: Double
    private let perSecond: Double
    private var tokens: Double
    private var updated: Instant?

    package init(burst: Int, perSecond: Int) {
        self.burst = Double(burst)
        self.perSecond = Double(perSecond)
        tokens = Double(burst)
    }

    /// True when one more is allowed now.
    package mutating func take(now: Instant) -> Bool {
        tokens = available(now: now)
        updated = max(updated ?? now, now)
        guard tokens >= 1 else { return false }
        tokens -= 1
        return true
    }

    /// True when it is as if nothing had ever been taken: it may be forgotten.
    package func isFull(now: Instant) -> Bool { available(now: now) >= burst }

    private func available(now: Instant) -> Double {
        guard let updated, now > updated else { return tokens }
        return min(burst, tokens + updated.duration(to: now).milliseconds / 1_000 * perSecond)
    }
}
