/// Lets the writers of one stream in one after the other, in the order they came. Part of the channel's actor.
struct WriteTurns {
    private struct Waiter {
        let ticket: UInt64
        let continuation: CheckedContinuation<Bool, Never>
    }

    private(set) var isTaken = false
    /// As many as tasks wait to send; each waits with its own message, so nothing is queued here.
    private var waiters: [Waiter] = []
    private var lastTicket: UInt64 = 0

    var hasWaiters: Bool { !waiters.isEmpty }

    /// True when the turn is now the caller's.
    mutating func takeIfFree() -> Bool {
        guard !isTaken else { return false }
        isTaken = true
        return true
    }

    /// Names a waiter, so that it can be cancelled.
    mutating func ticket() -> UInt64 {
        lastTicket += 1
        return lastTicket
    }

    /// Resumes `continuation` with true when the turn is the waiter's, with false when it was cancelled.
    mutating func wait(_ ticket: UInt64, _ continuation: CheckedContinuation<Bool, Never>) {
        if takeIfFree() {
            continuation.resume(returning: true)
        } else {
            waiters.append(Waiter(ticket: ticket, continuation: continuation))
        }
    }

    /// Ignored when the waiter has its turn already.
    mutating func cancel(_ ticket: UInt64) {
        guard let index = waiters.firstIndex(where: { $0.ticket == ticket }) else { return }
        waiters.remove(at: index).continuation.resume(returning: false)
    }

    /// Passes the turn to who waits longest.
    mutating func release() {
        guard !waiters.isEmpty else {
            isTaken = false
            return
        }
        waiters.removeFirst().continuation.resume(returning: true)
    }
}
