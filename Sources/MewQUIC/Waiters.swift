/// Suspended tasks of one actor, by number. Each is resumed exactly once.
struct Waiters {
    struct ID: Hashable, Sendable {
        let number: UInt64
    }

    private var continuations: [UInt64: CheckedContinuation<Void, Never>] = [:]
    private var next: UInt64 = 0

    var count: Int { continuations.count }

    mutating func makeID() -> ID {
        next += 1
        return ID(number: next)
    }

    mutating func add(_ id: ID, _ continuation: CheckedContinuation<Void, Never>) {
        continuations[id.number] = continuation
    }

    /// Harmless when the task has been resumed already.
    mutating func resume(_ id: ID?) {
        guard let id else { return }
        continuations.removeValue(forKey: id.number)?.resume()
    }

    mutating func resume(_ ids: [ID]) {
        for id in ids { resume(id) }
    }

    /// In the order in which they began to wait: the order of a dictionary would differ from run to run.
    mutating func resumeAll() {
        let waiting = continuations.sorted { $0.key < $1.key }
        continuations.removeAll()
        for (_, continuation) in waiting { continuation.resume() }
    }
}
