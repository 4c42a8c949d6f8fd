public import MewIdentity
public import MewWire

/// Where everything that must survive is kept: sessions, their journals and messages, open requests, waiting work, receipts,
/// devices, groups and settings (DESIGN §8).
///
/// Contract: when `commit` returns, all of `writes` are on the disk, also through a loss of power; when it throws, none of them
/// is there, and only after `inDoubt` might a crash bring them back. Commits take effect in the order in which they were called,
/// and a read sees every commit that returned before it.
/// Implementations may gather several commits into one, for at most 2 ms.
///
/// Bodies are JSON texts that the store neither reads nor changes. A body that comes back damaged is left out: one bad record
/// costs one record.
public protocol SessionStore: Sendable {
    func commit(_ writes: [StoreWrite]) async throws(StoreError)

    // MARK: Sessions

    /// Every session, without journal and messages.
    func sessions() async throws(StoreError) -> [SessionLine]

    /// One session with what is needed to go on with it; nil when there is none of that name.
    ///
    /// - Parameter limits: how much of the ends of journal and transcript is wanted.
    func load(_ session: SessionID, limits: LoadLimits) async throws(StoreError) -> StoredSession?

    /// Events with sequence numbers above `after`, oldest first.
    func events(
        of session: SessionID, after sequence: SequenceNumber, limit: Int
    ) async throws(StoreError) -> [EventRow]

    /// The messages just before position `before`, oldest first: as many as fit into `limit` and `maxBytes`, but at least one
    /// when there is any.
    func messages(
        of session: SessionID, before position: UInt64, limit: Int, maxBytes: Int
    ) async throws(StoreError) -> [MessageRow]

    /// Sessions in which work waits, guidance included.
    func sessionsWithWork() async throws(StoreError) -> [SessionID]

    // MARK: Operations

    /// The receipt of one operation; nil when none is kept.
    func receipt(_ operation: OperationID, of device: NodeID) async throws(StoreError) -> ReceiptRow?

    /// Receipts that stay with a session, the newest 1,000: far more than may be unfinished.
    func receipts(of session: SessionID) async throws(StoreError) -> [ReceiptRow]

    /// The bounds of a device's operations.
    func operationBounds(of device: NodeID) async throws(StoreError) -> OperationBounds

    // MARK: The rest

    func devices() async throws(StoreError) -> [DeviceRow]
    func groups() async throws(StoreError) -> [GroupRow]
    func setting(_ name: SettingName) async throws(StoreError) -> String?
    func settings(under prefix: SettingName) async throws(StoreError) -> [SettingName: String]

    /// Agent processes that were running when last heard of.
    func processes() async throws(StoreError) -> [ProcessRow]

    // MARK: Health

    /// Removes what is kept for a limited time only: receipts that no session holds, after 30 days.
    func prune(now: WallTime) async throws(StoreError)

    /// Whether writes reach the disk now.
    func saving() async -> SavingState

    /// The error of a commit of which nobody knows whether a crash brings it back; nil while there is none.
    func doubt() async -> StoreError?

    /// Suspends until the state differs from `known`, or the task is cancelled; returns the present one.
    func savingChanged(from known: SavingState) async -> SavingState
}

/// Why the store did not do it. Nothing was changed, except perhaps after `inDoubt`.
public enum StoreError: Error, Hashable, Sendable, CustomStringConvertible {
    /// No room on the disk, or the device fails. The store tries again by itself; `SavingState` tells when it succeeds. Or the
    /// file was found damaged; then nothing more is saved until the next start has repaired it.
    case notSaved(reason: String)
    /// The device failed while a commit was made durable. That commit is undone, but until the store can write again nobody knows
    /// whether a start after a crash finds it. Other commits are answered so as well, because they may repeat it.
    case inDoubt(reason: String)
    /// The database was written by a newer version.
    case newerSchema(found: Int, known: Int)
    /// Another process has the database open.
    case locked
    /// The database or its directory cannot be written.
    case readOnly(path: String)
    /// What stands in the place of the database is not ours to open; nothing was done to it.
    case unusable(path: String, UnusableFile)
    /// What was asked for stands on a damaged page, or the whole file is damaged beyond what repair can do.
    case damaged(String)
    /// A write that contradicts what is stored: a fault of ours.
    case contradiction(String)
    case closed

    public var description: String {
        switch self {
        case .notSaved(let reason): "nothing is being saved: \(reason)"
        case .inDoubt(let reason): "the disk failed while it was saving, and may have kept some of it: \(reason)"
        case .newerSchema(let found, let known):
            "the database has format \(found), this program knows formats up to \(known); use a newer mew"
        case .locked: "another process has the database open"
        case .readOnly(let path): "\(path) cannot be written"
        case .unusable(let path, let problem): "\(path) cannot be used: \(problem)"
        case .damaged(let what): "the database is damaged: \(what)"
        case .contradiction(let what): "a write contradicts what is stored: \(what)"
        case .closed: "the store is closed"
        }
    }
}

/// Why a file that is there is no database to open.
public enum UnusableFile: Hashable, Sendable, CustomStringConvertible {
    /// With what it is: a directory, a named pipe, a device.
    case notAFile(String)
    case otherOwner
    /// Or unwritable; with the system's words.
    case unreadable(String)

    /// Half a sentence.
    public var description: String {
        switch self {
        case .notAFile(let kind): "it is \(kind)"
        case .otherOwner: "it belongs to another user"
        case .unreadable(let cause): cause
        }
    }
}

extension ErrorCode {
    /// What a client is told whose request the store did not do: only `notSaved` says that it has certainly no effect.
    public init(_ error: StoreError) {
        switch error {
        case .notSaved: self = .notSaved
        case .inDoubt, .newerSchema, .locked, .readOnly, .unusable, .damaged, .contradiction, .closed: self = .internal
        }
    }
}

/// Whether what happens is being saved.
public struct SavingState: Hashable, Sendable {
    public let isSaving: Bool
    /// Half a sentence for people, when it is not.
    public let reason: String?

    public init(isSaving: Bool, reason: String?) {
        self.isSaving = isSaving
        self.reason = reason
    }

    public static let saving = SavingState(isSaving: true, reason: nil)
}

/// How much of a session's end is read when it is loaded.
public struct LoadLimits: Hashable, Sendable {
    public var events: Int
    public var eventBytes: Int
    public var messages: Int
    public var messageBytes: Int

    public init(events: Int, eventBytes: Int, messages: Int, messageBytes: Int) {
        self.events = events
        self.eventBytes = eventBytes
        self.messages = messages
        self.messageBytes = messageBytes
    }
}
