package import MewBase

/// One thread's worth of time, timers and jobs: the serial executor of the actors pinned to it, and the task executor
/// that tasks touching them prefer (spec/swift-notes.md §4 and §13).
///
/// Two kinds exist: `EventLoop` (epoll, real time) and the simulated one of the tests (virtual time). Code above this
/// protocol never learns which one it runs on.
///
/// A **turn** is: deliver what the sockets received, fire the timers that are due, run the jobs that are queued (and the
/// jobs those enqueue, within a bound), run the end-of-turn actions until there are none, then wait. `now` is read once a
/// turn, so that every decision of one turn sees one time, and it never goes back.
package protocol Loop: SerialExecutor, TaskExecutor {
    /// The time of the present turn. From outside the loop's thread: the time of the call.
    var now: Instant { get }

    /// True on the loop's thread.
    var isCurrent: Bool { get }

    /// Runs `action` on the loop at `deadline`, or in the next turn when that has passed. On the loop's thread only.
    func schedule(at deadline: Instant, _ action: @escaping () -> Void) -> LoopTimer

    /// Forgets a timer; one that has fired is ignored. On the loop's thread only.
    func cancel(_ timer: LoopTimer)

    /// Runs `action` once, after the packets, timers and jobs of this turn: the place to flush what they have queued.
    /// On the loop's thread only.
    func atEndOfTurn(_ action: @escaping () -> Void)

    /// Runs `action` on the loop, in the order posted. From any thread.
    func post(_ action: @escaping @Sendable () -> Void)

    /// Starts an unstructured task on this loop. The only way to start one below the command line: a bare `Task {}` does
    /// not inherit the executor preference, which costs a thread hop per await and breaks deterministic simulation.
    @discardableResult
    func spawn<Success: Sendable>(_ body: @escaping @Sendable () async -> Success) -> Task<Success, Never>
}

/// Names a scheduled action. Numbers are never reused within a loop.
package struct LoopTimer: Hashable, Sendable {
    package let number: UInt64

    package init(number: UInt64) {
        self.number = number
    }
}

extension Loop {
    @discardableResult
    package func spawn<Success: Sendable>(
        _ body: @escaping @Sendable () async -> Success
    ) -> Task<Success, Never> {
        Task(executorPreference: self) { await body() }
    }
}
