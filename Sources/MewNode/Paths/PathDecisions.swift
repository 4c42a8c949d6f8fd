import MewLoop

/// Counts the looks of a keeper, and holds who waits for the next one. A value.
struct PathDecisions {
    /// Its number tells whether something was missed.
    private(set) var count: UInt64 = 0
    private var waiting: [UInt64: CheckedContinuation<Void, Never>] = [:]
    private var lastWaiter: UInt64 = 0

    mutating func made() {
        count += 1
        let due = waiting.sorted { $0.key < $1.key }
        waiting = [:]
        for waiter in due { waiter.value.resume() }
    }

    mutating func makeWaiter() -> UInt64 {
        lastWaiter += 1
        return lastWaiter
    }

    mutating func add(_ waiter: UInt64, _ continuation: CheckedContinuation<Void, Never>) {
        waiting[waiter] = continuation
    }

    /// Harmless when it has been resumed already.
    mutating func resume(_ waiter: UInt64) {
        waiting.removeValue(forKey: waiter)?.resume()
    }
}
