import MewLoop

// Waiting for what is decided, for those who show it.

extension PathKeeper {
    /// Suspends until the keeper has looked at its connection after look number `seen`. Only a look decides why a link is not direct;
    /// times, and whether a leg has joined, may change between two.
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
