import Synchronization

@testable import mew

/// Keeps what a command printed, and lets a test wait for it.
final class LineCollector: LineSink {
    private struct State {
        var text = ""
        var isOver = false
        var waiters: [(number: UInt64, wanted: String, continuation: CheckedContinuation<String?, Never>)] = []
        var nextWaiter: UInt64 = 0
    }

    private let state = Mutex(State())

    var text: String { state.withLock { $0.text } }
    var lines: [String] { text.split(separator: "\n").map(String.init) }

    /// Without what is said besides while a dial takes long: on a busy machine any may.
    var sentences: [String] { Self.sentences(of: lines) }

    static func sentences(of lines: [String]) -> [String] {
        lines.filter { !$0.hasPrefix("(trying ") && !$0.hasPrefix("(looking for ") }
    }

    func write(_ text: String) {
        state.withLock { $0.text += text }
        settle()
    }

    /// Nothing more comes: who waits gets nil.
    func end() {
        state.withLock { $0.isOver = true }
        settle()
    }

    /// The first whole line that contains `wanted`; nil when the command ended without one, or the test was cancelled.
    func line(containing wanted: String) async -> String? {
        let number = state.withLock { state in
            state.nextWaiter += 1
            return state.nextWaiter
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                state.withLock { $0.waiters.append((number, wanted, continuation)) }
                if Task.isCancelled { giveUp(number) }
                settle()
            }
        } onCancel: {
            giveUp(number)
        }
    }

    private func giveUp(_ number: UInt64) {
        let waiter = state.withLock { state -> CheckedContinuation<String?, Never>? in
            guard let index = state.waiters.firstIndex(where: { $0.number == number }) else { return nil }
            return state.waiters.remove(at: index).continuation
        }
        waiter?.resume(returning: nil)
    }

    private func settle() {
        let done = state.withLock { state -> [(CheckedContinuation<String?, Never>, String?)] in
            let whole = state.text.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
            var done: [(CheckedContinuation<String?, Never>, String?)] = []
            state.waiters.removeAll { waiter in
                let line = whole.first { $0.contains(waiter.wanted) }.map(String.init)
                guard line != nil || state.isOver else { return false }
                done.append((waiter.continuation, line))
                return true
            }
            return done
        }
        for (continuation, line) in done { continuation.resume(returning: line) }
    }
}
