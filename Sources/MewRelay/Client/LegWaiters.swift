internal import MewLoop

/// Suspended tasks of one leg. Each is resumed exactly once.
struct LegWaiters {
    enum Kind: Hashable {
        /// For a change of phase.
        case phase
        /// For something to write.
        case writer
    }

    private var waiting: [(id: UInt64, kind: Kind, continuation: CheckedContinuation<Void, Never>)] = []
    private var last: UInt64 = 0

    mutating func makeID() -> UInt64 {
        last += 1
        return last
    }

    mutating func add(_ id: UInt64, _ kind: Kind, _ continuation: CheckedContinuation<Void, Never>) {
        waiting.append((id, kind, continuation))
    }

    /// Harmless when the task has been resumed already.
    mutating func resume(_ id: UInt64) {
        guard let index = waiting.firstIndex(where: { $0.id == id }) else { return }
        waiting.remove(at: index).continuation.resume()
    }

    /// In the order in which they began to wait.
    mutating func resumeAll(_ kind: Kind? = nil) {
        let due = waiting.filter { kind == nil || $0.kind == kind }
        waiting.removeAll { kind == nil || $0.kind == kind }
        for waiter in due { waiter.continuation.resume() }
    }
}

extension RelayLeg {
    /// Suspends the calling task until it is resumed or cancelled; the caller looks again at why.
    ///
    /// - Parameter isReady: looked at once more at the last moment, because other jobs may run between the caller's look and
    ///   the suspension (swift issue 85668).
    func wait(_ kind: LegWaiters.Kind = .phase, unless isReady: () -> Bool) async {
        let id = waiters.makeID()
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                if isReady() || Task.isCancelled {
                    continuation.resume()
                } else {
                    waiters.add(id, kind, continuation)
                }
            }
        } onCancel: {
            loop.perform { self.assumeIsolated { $0.waiters.resume(id) } }
        }
    }
}
