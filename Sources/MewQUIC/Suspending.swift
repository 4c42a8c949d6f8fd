internal import MewLoop

/// An actor pinned to a loop that suspends the tasks which call it.
protocol Suspending: Actor {
    nonisolated var loop: any Loop { get }
    var waiters: Waiters { get set }
}

extension Connection: Suspending {}
extension Endpoint: Suspending {}

extension Suspending {
    /// Suspends the calling task until it is resumed or cancelled; the caller looks again at why.
    ///
    /// - Parameters:
    ///   - list: by which the task is resumed; without one, only what resumes everybody does.
    ///   - isReady: all that the caller waits for, looked at once more at the last moment: the runtime may run other jobs,
    ///     and turns of the loop, between the caller's look and the suspension (spec/swift-notes.md §4, swift issue 85668).
    func wait(in list: WaitList? = nil, unless isReady: () -> Bool) async {
        let id = waiters.makeID()
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                if isReady() || Task.isCancelled {
                    continuation.resume()
                } else {
                    waiters.add(id, continuation)
                    list?.add(id)
                }
            }
        } onCancel: {
            loop.post { self.assumeIsolated { _ = $0.waiters.resume(id) } }
        }
        list?.remove(id)
    }
}
