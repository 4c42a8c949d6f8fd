internal import MewLoop

/// Suspended tasks of one loop. Each is resumed exactly once: whoever resumes it takes it out.
///
/// Touched on the loop's thread only.
final class Waiters {
    struct ID: Hashable, Sendable {
        fileprivate let index: Int
        /// Never reused, unlike the index.
        fileprivate let number: UInt64
    }

    private struct Entry {
        let number: UInt64
        /// Nil until the task is suspended.
        var suspended: (continuation: UnsafeContinuation<Void, Never>, list: WaitList?)?
    }

    private let loop: any Loop
    private var entries: [Entry?] = []
    private var free: [Int] = []
    private var lastNumber: UInt64 = 0

    init(on loop: any Loop) {
        self.loop = loop
    }

    var count: Int { entries.count - free.count }

    /// Suspends the calling task, which runs on the loop, until it is resumed or cancelled; the caller looks again at why.
    /// It may go on elsewhere: who is bound to no actor asks the loop before it touches anything again.
    ///
    /// - Parameters:
    ///   - list: by which the task is resumed; without one, only what resumes everybody does.
    ///   - isReady: all that the caller waits for, looked at once more at the last moment: the runtime may run other jobs,
    ///     and turns of the loop, between the caller's look and the suspension (spec/swift-notes.md §4, swift issue 85668).
    ///   - isolation: the caller's. The body below would leave an actor that it does not capture, and with that the loop.
    func wait(
        in list: WaitList? = nil, isolation: isolated (any Actor)? = #isolation, unless isReady: () -> Bool
    ) async {
        let id = enter()
        let (loop, waiters) = (loop, LoopBound(self))
        await withTaskCancellationHandler {
            _ = isolation
            loop.checkIsolated()
            // Unchecked: that each is resumed once can be seen below, and checking costs as much as suspending.
            await withUnsafeContinuation { continuation in
                if isReady() || Task.isCancelled {
                    leave(id)
                    continuation.resume()
                } else {
                    entries[id.index]?.suspended = (continuation, list)
                    list?.ids.append(id)
                }
            }
        } onCancel: {
            loop.post { waiters.value.resume(id) }
        }
    }

    private func enter() -> ID {
        let index = free.popLast() ?? entries.count
        if index == entries.count { entries.append(nil) }
        lastNumber += 1
        entries[index] = Entry(number: lastNumber)
        return ID(index: index, number: lastNumber)
    }

    @discardableResult
    private func leave(_ id: ID) -> Entry? {
        guard let entry = entries[id.index], entry.number == id.number else { return nil }
        entries[id.index] = nil
        free.append(id.index)
        return entry
    }

    /// Harmless when it has been resumed already; one that is not suspended yet will see for itself.
    private func resume(_ id: ID) {
        guard let entry = entries[id.index], entry.number == id.number, let suspended = entry.suspended else { return }
        leave(id)
        suspended.list?.ids.removeAll { $0 == id }
        suspended.continuation.resume()
    }

    /// The one that has waited longest.
    func resumeFirst(_ list: WaitList) {
        guard !list.ids.isEmpty else { return }
        leave(list.ids.removeFirst())?.suspended?.continuation.resume()
    }

    func resumeAll(_ list: WaitList) {
        // Resuming only queues the tasks: nobody waits again meanwhile.
        for id in list.ids { leave(id)?.suspended?.continuation.resume() }
        list.ids.removeAll(keepingCapacity: true)
    }

    /// In the order in which they began to wait.
    func resumeAll() {
        let suspended = entries.indices.compactMap { index -> ID? in
            guard let entry = entries[index], entry.suspended != nil else { return nil }
            return ID(index: index, number: entry.number)
        }
        for id in suspended.sorted(by: { $0.number < $1.number }) { resume(id) }
    }
}

/// The tasks that wait for one thing, in the order in which they began.
final class WaitList {
    fileprivate var ids: [Waiters.ID] = []

    var isEmpty: Bool { ids.isEmpty }
}
