internal import CSys
internal import Synchronization

/// Runs what blocks, one after another on a thread of its own, which ends when there is nothing to do.
package final class RouterThread: Sendable {
    private struct Job: Sendable {
        let run: @Sendable () -> Void
        /// Instead, when there is no thread.
        let abandon: @Sendable () -> Void
    }

    private struct State {
        var waiting: [Job] = []
        var isRunning = false
    }

    private let state = Mutex(State())

    package init() {}

    /// What is cancelled runs to its end; nobody waits for it any more.
    ///
    /// - Parameter otherwise: the value when the task is cancelled, and when the system gives no thread.
    package func run<Value: Sendable>(
        otherwise: Value, _ body: @escaping @Sendable () -> Value
    ) async -> Value {
        let waiter = Waiter<Value>()
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                waiter.wait(continuation)
                if Task.isCancelled { waiter.tell(otherwise) }
                add(Job(run: { waiter.tell(body()) }, abandon: { waiter.tell(otherwise) }))
            }
        } onCancel: {
            waiter.tell(otherwise)
        }
    }

    private func add(_ job: Job) {
        let needsThread = state.withLock { state in
            state.waiting.append(job)
            defer { state.isRunning = true }
            return !state.isRunning
        }
        if needsThread { start() }
    }

    private func start() {
        let context = Unmanaged.passRetained(self)
        let error = csys_thread_start(
            "mew-router", { Unmanaged<RouterThread>.fromOpaque($0!).takeRetainedValue().work() }, context.toOpaque())
        guard error != 0 else { return }
        context.release()
        let abandoned = state.withLock { state in
            defer { state = State() }
            return state.waiting
        }
        for job in abandoned { job.abandon() }
    }

    private func work() {
        while let job = next() { job.run() }
    }

    private func next() -> Job? {
        state.withLock { state in
            guard state.waiting.isEmpty else { return state.waiting.removeFirst() }
            state.isRunning = false
            return nil
        }
    }
}

/// Told once, by whoever is first.
private final class Waiter<Value: Sendable>: Sendable {
    private let continuation = Mutex<CheckedContinuation<Value, Never>?>(nil)

    func wait(_ continuation: CheckedContinuation<Value, Never>) {
        self.continuation.withLock { $0 = continuation }
    }

    func tell(_ value: Value) {
        let waiting = continuation.withLock { waiting in
            defer { waiting = nil }
            return waiting
        }
        waiting?.resume(returning: value)
    }
}
