import Synchronization

/// Opens or closes once; whoever comes before waits.
final class Gate: Sendable {
    private enum State {
        case waiting([Int: CheckedContinuation<Bool, Never>])
        case open
        case closed
    }

    private struct Guarded {
        var state = State.waiting([:])
        var nextTicket = 0
    }

    private let guarded = Mutex(Guarded())

    /// Nothing after `close`.
    func open() { settle(.open) }

    /// An open gate closes too: from then on nobody passes.
    func close() { settle(.closed) }

    /// Nobody is resumed under the lock: cancelling holds the lock of the task and then takes ours.
    private func settle(_ final: State) {
        let waiters = guarded.withLock { guarded -> [Int: CheckedContinuation<Bool, Never>] in
            if case .closed = guarded.state { return [:] }
            defer { guarded.state = final }
            if case .waiting(let waiters) = guarded.state { return waiters }
            return [:]
        }
        let isOpen = if case .open = final { true } else { false }
        for (_, waiter) in waiters.sorted(by: { $0.key < $1.key }) { waiter.resume(returning: isOpen) }
    }

    /// How many wait before it.
    var waiterCount: Int {
        guarded.withLock { guarded in
            if case .waiting(let waiters) = guarded.state { waiters.count } else { 0 }
        }
    }

    /// False when it is closed, or the task cancelled. As many may wait as channels may (`Admission.waitingChannels`).
    func passed() async -> Bool {
        let ticket = guarded.withLock { guarded in
            guarded.nextTicket += 1
            return guarded.nextTicket
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { waiter in
                let now = guarded.withLock { guarded -> Bool? in
                    switch guarded.state {
                    case .open: return true
                    case .closed: return false
                    case .waiting(var waiters):
                        guard !Task.isCancelled else { return false }
                        waiters[ticket] = waiter
                        guarded.state = .waiting(waiters)
                        return nil
                    }
                }
                if let now { waiter.resume(returning: now) }
            }
        } onCancel: {
            let waiter = guarded.withLock { guarded -> CheckedContinuation<Bool, Never>? in
                guard case .waiting(var waiters) = guarded.state else { return nil }
                defer { guarded.state = .waiting(waiters) }
                return waiters.removeValue(forKey: ticket)
            }
            waiter?.resume(returning: false)
        }
    }
}
