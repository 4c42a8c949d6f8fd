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
    ///
    /// - Returns: whether somebody was waiting.
    @discardableResult
    mutating func resume(_ id: ID) -> Bool {
        guard let continuation = continuations.removeValue(forKey: id.number) else { return false }
        continuation.resume()
        return true
    }

    /// The one that has waited longest. Tasks that were cancelled may still stand in the list: they are passed over, or the
    /// one behind them would never learn.
    mutating func resumeFirst(_ list: WaitList) {
        while !list.ids.isEmpty {
            if resume(list.ids.removeFirst()) { return }
        }
    }

    mutating func resumeAll(_ list: WaitList) {
        let waiting = list.ids
        list.ids.removeAll()
        for id in waiting { resume(id) }
    }

    /// In the order in which they began to wait: the order of a dictionary would differ from run to run.
    mutating func resumeAll() {
        let waiting = continuations.sorted { $0.key < $1.key }
        continuations.removeAll()
        for (_, continuation) in waiting { continuation.resume() }
    }
}

/// The tasks that wait for one thing, in the order in which they began. Each takes itself out when it goes on.
final class WaitList {
    fileprivate(set) var ids: [Waiters.ID] = []

    var isEmpty: Bool { ids.isEmpty }

    func add(_ id: Waiters.ID) {
        ids.append(id)
    }

    func remove(_ id: Waiters.ID) {
        ids.removeAll { $0 == id }
    }
}
