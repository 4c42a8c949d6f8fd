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

    private func settle(_ final: State) {
        guarded.withLock { guarded in
            if case .closed = guarded.state { return }
            if case .waiting(let waiters) = guarded.state {
                let isOpen = if case .open = final { true } else { false }
                for (_, waiter) in waiters.sorted(by: { $0.key < $1.key }) { waiter.resume(returning: isOpen) }
            }
            guarded.state = final
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
                guarded.withLock { guarded in
                    switch guarded.state {
                    case .open: waiter.resume(returning: true)
                    case .closed: waiter.resume(returning: false)
                    case .waiting(var waiters):
                        guard !Task.isCancelled else { return waiter.resume(returning: false) }
                        waiters[ticket] = waiter
                        guarded.state = .waiting(waiters)
                    }
                }
            }
        } onCancel: {
            guarded.withLock { guarded in
                guard case .waiting(var waiters) = guarded.state else { return }
                waiters.removeValue(forKey: ticket)?.resume(returning: false)
                guarded.state = .waiting(waiters)
            }
        }
    }
}
