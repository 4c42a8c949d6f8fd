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

// Waiting for what is decided, for those who show it.

extension PathKeeper {
    /// Suspends until the keeper has looked at its connection after look number `seen`: only then the status can be another one.
    ///
    /// - Returns: the number of the last look; nil when the connection is over or the calling task is cancelled.
    func decided(after seen: UInt64) async -> UInt64? {
        while decisions.count == seen, !isOver, !Task.isCancelled { await wait(unless: seen) }
        return isOver || Task.isCancelled ? nil : decisions.count
    }

    /// - Parameter seen: looked at once more at the last moment, because other jobs may run between the caller's look and the
    ///   suspension (swift issue 85668).
    private func wait(unless seen: UInt64) async {
        let waiter = decisions.makeWaiter()
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                if decisions.count != seen || isOver || Task.isCancelled {
                    continuation.resume()
                } else {
                    decisions.add(waiter, continuation)
                }
            }
        } onCancel: {
            loop.perform { self.assumeIsolated { $0.decisions.resume(waiter) } }
        }
    }
}
