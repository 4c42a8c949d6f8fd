package import MewBase

/// How a pause ended.
package enum Pause: Hashable, Sendable {
    /// All of its time has passed.
    case over
    /// The task was cancelled before that.
    case cancelled
}

/// The clock of a loop, for code that wants a `Clock`: real on an `EventLoop`, virtual in a simulation.
///
/// `pause` and `sleep` are cancellable and never end early. They can be awaited from any task, best from one that prefers the loop.
/// Our own code pauses: what a `try?` would swallow, it has to look at.
package struct LoopClock: Clock {
    private let loop: any Loop

    package init(_ loop: any Loop) {
        self.loop = loop
    }

    package var now: Instant { loop.now }

    package var minimumResolution: Duration { .nanoseconds(1) }

    /// Suspends for as long as `duration`, or until the task is cancelled.
    package func pause(for duration: Duration) async -> Pause {
        await pause(until: now.advanced(by: duration))
    }

    /// Suspends until `deadline` has come, or the task is cancelled.
    package func pause(until deadline: Instant) async -> Pause {
        let sleeper = Sleeper(loop)
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                loop.perform { sleeper.start(until: deadline, continuation) }
            }
        } onCancel: {
            loop.perform { sleeper.cancel() }
        }
    }

    /// - Throws: `CancellationError` when the task is cancelled before `deadline`.
    package func sleep(until deadline: Instant, tolerance: Duration?) async throws {
        guard await pause(until: deadline) == .over else { throw CancellationError() }
    }
}

extension Loop {
    /// Runs `action` at once when on the loop's thread, otherwise soon.
    package func perform(_ action: @escaping @Sendable () -> Void) {
        if isCurrent { action() } else { post(action) }
    }
}

/// One sleeping task. Cancellation may come before the sleep begins, since both arrive as posts.
///
/// `@unchecked Sendable`: touched on the loop's thread only.
private final class Sleeper: @unchecked Sendable {
    private enum State {
        case idle
        case sleeping(CheckedContinuation<Pause, Never>, LoopTimer)
        case ended
    }

    private let loop: any Loop
    private var state = State.idle

    init(_ loop: any Loop) {
        self.loop = loop
    }

    func start(until deadline: Instant, _ continuation: CheckedContinuation<Pause, Never>) {
        guard case .idle = state else { return continuation.resume(returning: .cancelled) }
        state = .sleeping(continuation, loop.schedule(at: deadline) { self.end(.over) })
    }

    func cancel() {
        end(.cancelled)
    }

    private func end(_ pause: Pause) {
        let old = state
        state = .ended
        guard case .sleeping(let continuation, let timer) = old else { return }
        if pause == .cancelled { loop.cancel(timer) }
        continuation.resume(returning: pause)
    }
}
