import MewClient

/// Client records in memory, shared by the "processes" of a test.
actor MemoryStore: ClientStore {
    private var kept = ClientRecords()
    /// Thrown by the next changes.
    var failure: ClientStoreError?

    func fail(with failure: ClientStoreError?) { self.failure = failure }

    func records() -> ClientRecords { kept }

    func update<Value: Sendable>(
        _ change: @Sendable (inout ClientRecords) throws(ClientStoreError) -> Value
    ) throws(ClientStoreError) -> Value {
        if let failure { throw failure }
        return try change(&kept)
    }
}
