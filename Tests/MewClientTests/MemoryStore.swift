import MewClient
import Synchronization

/// Client records in memory, shared by the "processes" of a test.
actor MemoryStore: ClientStore {
    nonisolated let instance = ClientInstance("this")
    private var kept = ClientRecords()
    /// Thrown by the next changes.
    var failure: ClientStoreError?

    func fail(with failure: ClientStoreError?) { self.failure = failure }

    nonisolated func isRunning(_ instance: ClientInstance) -> Bool { instance == self.instance }

    func records() -> ClientRecords { kept }

    func update<Value: Sendable>(
        _ change: @Sendable (inout ClientRecords) throws(ClientStoreError) -> Value
    ) throws(ClientStoreError) -> Value {
        if let failure { throw failure }
        return try change(&kept)
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
