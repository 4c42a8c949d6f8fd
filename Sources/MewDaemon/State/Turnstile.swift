import Synchronization

/// Lets one task through at a time, in the order they came: for a change that must read, write to the disk and apply without
/// another change in between.
final class Turnstile: Sendable {
    private struct State {
        var isTaken = false
        /// As many as ask at once: operators, whom the control socket bounds, or channels, which ask one thing at a time.
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())

    /// Not cancellable: what waits here is short, and a change that was asked for is made.
    func pass<Value, Failure>(
        _ body: () async throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        await withCheckedContinuation { waiter in
            state.withLock { state in
                guard state.isTaken else {
                    state.isTaken = true
                    return waiter.resume()
                }
                state.waiting.append(waiter)
            }
        }
        defer { leave() }
        return try await body()
    }

    private func leave() {
        state.withLock { state in
            guard !state.waiting.isEmpty else {
                state.isTaken = false
                return
            }
            state.waiting.removeFirst().resume()
        }
    }
}
