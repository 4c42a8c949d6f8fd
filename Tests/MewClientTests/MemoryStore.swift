import MewClient
import Synchronization

/// Client records in memory, shared by the "processes" of a test.
actor MemoryStore: ClientStore {
    nonisolated let instance = ClientInstance("this")
    private var kept = ClientRecords()
    /// Thrown by the next changes.
    var failure: ClientStoreError?

    /// Changes wait for the disk meanwhile.
    private var isHeld = false
    private var waiting: [CheckedContinuation<Void, Never>] = []

    func fail(with failure: ClientStoreError?) { self.failure = failure }

    func hold() { isHeld = true }

    /// How many changes wait.
    var waitingCount: Int { waiting.count }

    func release() {
        isHeld = false
        for change in waiting { change.resume() }
        waiting = []
    }

    /// The one that came last overtakes the others.
    func releaseLast() { waiting.popLast()?.resume() }

    /// What was read or changed is told later.
    private var holdsAnswers = false
    private var unanswered: [CheckedContinuation<Void, Never>] = []

    func holdAnswers() { holdsAnswers = true }

    var unansweredCount: Int { unanswered.count }

    /// The answer that was ready last overtakes the others.
    func answerLast() { unanswered.popLast()?.resume() }

    func answerAll() {
        holdsAnswers = false
        for answer in unanswered { answer.resume() }
        unanswered = []
    }

    private func answered<Value: Sendable>(_ value: Value) async -> Value {
        if holdsAnswers { await withCheckedContinuation { unanswered.append($0) } }
        return value
    }

    nonisolated func isRunning(_ instance: ClientInstance) -> Bool { instance == self.instance }

    func records() async -> ClientRecords { await answered(kept) }

    func update<Value: Sendable>(
        _ change: @Sendable (inout ClientRecords) throws(ClientStoreError) -> Value
    ) async throws(ClientStoreError) -> Value {
        if isHeld { await withCheckedContinuation { waiting.append($0) } }
        if let failure { throw failure }
        return await answered(try change(&kept))
    }
}

/// Another program of the same device, with the same records.
final class OtherProgram: ClientStore {
    let instance: ClientInstance
    private let shared: MemoryStore
    private let running: Mutex<Set<ClientInstance>>

    init(_ name: String, sharing shared: MemoryStore, beside running: Set<ClientInstance>) {
        (instance, self.shared) = (ClientInstance(name), shared)
        self.running = Mutex(running)
    }

    /// A program that ran beside this one has ended.
    func ended(_ instance: ClientInstance) { _ = running.withLock { $0.remove(instance) } }

    func isRunning(_ instance: ClientInstance) -> Bool {
        instance == self.instance || running.withLock { $0.contains(instance) }
    }

    func records() async throws(ClientStoreError) -> ClientRecords { await shared.records() }

    func update<Value: Sendable>(
        _ change: @Sendable (inout ClientRecords) throws(ClientStoreError) -> Value
    ) async throws(ClientStoreError) -> Value {
        try await shared.update(change)
    }
}
