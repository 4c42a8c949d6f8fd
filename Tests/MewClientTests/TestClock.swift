import Synchronization

/// Time that moves only when a test says so.
final class TestClock: Clock {
    struct Instant: InstantProtocol {
        var offset: Duration = .zero
        func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }
        func duration(to other: Instant) -> Duration { other.offset - offset }
        static func < (left: Instant, right: Instant) -> Bool { left.offset < right.offset }
    }

    private struct Sleeper {
        let deadline: Instant
        let continuation: CheckedContinuation<Bool, Never>
    }

    private struct State {
        var now = Instant()
        var sleepers: [UInt64: Sleeper] = [:]
        var next: UInt64 = 0
        /// Who waits for somebody to sleep until a certain time.
        var watchers: [UInt64: (deadline: Instant, continuation: CheckedContinuation<Void, Never>)] = [:]
    }

    private let state = Mutex(State())

    var now: Instant { state.withLock { $0.now } }
    var minimumResolution: Duration { .nanoseconds(1) }

    func sleep(until deadline: Instant, tolerance: Duration?) async throws {
        let number = state.withLock { state in
            state.next += 1
            return state.next
        }
        let slept = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let (now, watchers) = state.withLock { state -> (Bool?, [CheckedContinuation<Void, Never>]) in
                    if Task.isCancelled { return (false, []) }
                    if deadline <= state.now { return (true, []) }
                    state.sleepers[number] = Sleeper(deadline: deadline, continuation: continuation)
                    let watchers = state.watchers.filter { $0.value.deadline == deadline }
                    for number in watchers.keys { state.watchers[number] = nil }
                    return (nil, watchers.values.map(\.continuation))
                }
                if let now { continuation.resume(returning: now) }
                for watcher in watchers { watcher.resume() }
            }
        } onCancel: {
            state.withLock { $0.sleepers.removeValue(forKey: number) }?.continuation.resume(returning: false)
        }
        guard slept else { throw CancellationError() }
    }

    /// Waits until somebody sleeps for exactly `duration` from now, or the task is cancelled.
    func sleeper(for duration: Duration) async {
        let number = state.withLock { state in
            state.next += 1
            return state.next
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let goesOn = state.withLock { state in
                    let deadline = state.now.advanced(by: duration)
                    let isThere = state.sleepers.values.contains { $0.deadline == deadline }
                    if isThere || Task.isCancelled { return true }
                    state.watchers[number] = (deadline, continuation)
                    return false
                }
                if goesOn { continuation.resume() }
            }
        } onCancel: {
            state.withLock { $0.watchers.removeValue(forKey: number) }?.continuation.resume()
        }
    }

    var hasSleeper: Bool { state.withLock { !$0.sleepers.isEmpty } }

    /// Waits until nobody sleeps.
    func noSleeper() async {
        while state.withLock({ !$0.sleepers.isEmpty }) { await Task.yield() }
    }

    func advance(by duration: Duration) {
        let woken = state.withLock { state -> [Sleeper] in
            state.now = state.now.advanced(by: duration)
            let woken = state.sleepers.filter { $0.value.deadline <= state.now }
            for number in woken.keys { state.sleepers[number] = nil }
            return woken.values.sorted { $0.deadline < $1.deadline }
        }
        for sleeper in woken { sleeper.continuation.resume(returning: true) }
    }
}
