package import MewBase

/// The clock of a loop, for code that wants a `Clock`: real on an `EventLoop`, virtual in a simulation.
///
/// `sleep` is cancellable and never ends early. It can be awaited from any task, best from one that prefers the loop.
package struct LoopClock: Clock {
    private let loop: any Loop

    package init(_ loop: any Loop) {
        self.loop = loop
    }

    package var now: Instant { loop.now }

    package var minimumResolution: Duration { .nanoseconds(1) }

    /// - Throws: `CancellationError` when the task is cancelled before `deadline`.
    package func sleep(until deadline: Instant, tolerance: Duration?) async throws {
        let sleeper = Sleeper(loop)
        let slept = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                loop.perform { sleeper.start(until: deadline, continuation) }
            }
        } onCancel: {
            loop.perform { sleeper.cancel() }
        }
        guard slept else { throw CancellationError() }
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
        case sleeping(CheckedContinuation<Bool, Never>, LoopTimer)
        case over
    }

    private let loop: any Loop
    private var state = State.idle

    init(_ loop: any Loop) {
        self.loop = loop
    }

    func start(until deadline: Instant, _ continuation: CheckedContinuation<Bool, Never>) {
        guard case .idle = state else { return continuation.resume(returning: false) }
        state = .sleeping(continuation, loop.schedule(at: deadline) { self.end(slept: true) })
    }

    func cancel() {
        end(slept: false)
    }

    private func end(slept: Bool) {
        let old = state
        state = .over
        guard case .sleeping(let continuation, let timer) = old else { return }
        if !slept { loop.cancel(timer) }
        continuation.resume(returning: slept)
    }
}
