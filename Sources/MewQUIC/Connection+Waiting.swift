internal import MewLoop
internal import MewQUICCore

extension Connection {
    /// Suspends the calling task until it is resumed or cancelled; the caller looks again at why.
    ///
    /// - Parameters:
    ///   - isReady: looked at once more at the last moment: the runtime may run other jobs between the caller's look and
    ///     the suspension (spec/swift-notes.md §4, swift issue 85668).
    ///   - register: keeps the number by which to resume the task.
    func wait(unless isReady: () -> Bool, _ register: (Waiters.ID) -> Void) async {
        let id = waiters.makeID()
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                if isReady() || Task.isCancelled {
                    continuation.resume()
                } else {
                    waiters.add(id, continuation)
                    register(id)
                }
            }
        } onCancel: {
            loop.post { self.assumeIsolated { $0.waiters.resume(id) } }
        }
    }
}
