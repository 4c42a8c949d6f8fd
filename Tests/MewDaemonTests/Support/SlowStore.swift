import MewBase
import MewIdentity
import MewLoop
import MewSession
import MewWire
import Synchronization

/// A store whose commits take time, as on a disk that syncs. A page takes as long as four of them.
struct SlowStore: SessionStore {
    /// Whether the first news of the disk has come.
    private final class News: Sendable {
        private let hasCome = Mutex(false)

        /// True once.
        func isFirst() -> Bool {
            hasCome.withLock { hasCome in
                defer { hasCome = true }
                return !hasCome
            }
        }
    }

    private let news = News()
    let store: any SessionStore
    let loop: any Loop
    let commitTime: Duration

    init(store: any SessionStore, loop: any Loop, commitTime: Duration) {
        (self.store, self.loop, self.commitTime) = (store, loop, commitTime)
    }

    func commit(_ writes: [StoreWrite]) async throws(StoreError) {
        try? await LoopClock(loop).sleep(until: loop.now.advanced(by: commitTime), tolerance: nil)
        try await store.commit(writes)
    }

    func sessions() async throws(StoreError) -> [SessionLine] { try await store.sessions() }

    func load(_ session: SessionID, limits: LoadLimits) async throws(StoreError) -> StoredSession? {
        try await store.load(session, limits: limits)
    }

    func events(
        of session: SessionID, after sequence: SequenceNumber, limit: Int
    ) async throws(StoreError) -> [EventRow] {
        try await store.events(of: session, after: sequence, limit: limit)
    }

    func messages(
        of session: SessionID, before position: UInt64, limit: Int, maxBytes: Int
    ) async throws(StoreError) -> [MessageRow] {
        _ = await LoopClock(loop).pause(for: commitTime * 4)
        return try await store.messages(of: session, before: position, limit: limit, maxBytes: maxBytes)
    }

    func receipt(_ operation: OperationID, of device: NodeID) async throws(StoreError) -> ReceiptRow? {
        try await store.receipt(operation, of: device)
    }

    func receipts(of session: SessionID) async throws(StoreError) -> [ReceiptRow] {
        try await store.receipts(of: session)
    }

    func operationBounds(of device: NodeID) async throws(StoreError) -> OperationBounds {
        try await store.operationBounds(of: device)
    }

    func sessionsWithWork() async throws(StoreError) -> [SessionID] { try await store.sessionsWithWork() }
    func devices() async throws(StoreError) -> [DeviceRow] { try await store.devices() }
    func groups() async throws(StoreError) -> [GroupRow] { try await store.groups() }
    func setting(_ name: SettingName) async throws(StoreError) -> String? { try await store.setting(name) }

    func settings(under prefix: SettingName) async throws(StoreError) -> [SettingName: String] {
        try await store.settings(under: prefix)
    }

    func processes() async throws(StoreError) -> [ProcessRow] { try await store.processes() }
    func prune(now: WallTime) async throws(StoreError) { try await store.prune(now: now) }
    func doubt() async -> StoreError? { await store.doubt() }
    func saving() async -> SavingState { await store.saving() }

    /// The first time, a change that is undone before anybody can read it.
    func savingChanged(from known: SavingState) async -> SavingState {
        if news.isFirst() { return known }
        return await store.savingChanged(from: known)
    }
}
