internal import MewBase
public import MewIdentity
public import MewWire

/// Everything a client knows about one daemon: what an app draws.
///
/// One value, changed by frames and phases only, never by the screen. Lists are replaced whole.
public struct DaemonView: Sendable {
    public internal(set) var record: DaemonRecord
    public internal(set) var phase = LinkPhase.idle
    /// The last session list, kept current by the changes the daemon tells everyone; nil before the first.
    public internal(set) var sessions: [SessionInfo]?
    public internal(set) var groups: [GroupInfo] = []
    /// The sessions this client is attached to.
    public internal(set) var attached: [SessionID: AttachedSession] = [:]
    /// What was asked and is not over.
    public internal(set) var operations: [OperationID: Operation] = [:]
    /// What is being written to its sessions.
    public internal(set) var drafts: [SessionID: Draft] = [:]
    /// False while the daemon saves nothing; with its reason.
    public private(set) var isSaving = true
    public private(set) var notSavingReason: String?
    /// The daemon's identity is in use in two places: the one we talk to says so, or two took turns in answering us.
    public internal(set) var isInTwoPlaces = false
    /// Messages of types we do not know, skipped.
    public internal(set) var skippedMessages = 0

    /// Name and version of this program.
    let app: String
    /// The node ID of this device.
    let device: NodeID?

    /// - Parameters:
    ///   - app: name and version of this program.
    ///   - device: the node ID of this device.
    public init(record: DaemonRecord, app: String = "", device: NodeID? = nil) {
        (self.record, self.app, self.device) = (record, app, device)
    }

    /// When the daemon last proved to be there.
    public var lastProof: WallTime? { record.lastProof }

    /// The versions of this program and of the daemon, when they differ: what one of them can do, the other may not know.
    public var versions: Versions? {
        guard let ours = app.split(separator: " ").last.map(String.init), let theirs = record.version, ours != theirs
        else { return nil }
        return Versions(ours: ours, theirs: theirs)
    }

    public struct Versions: Sendable, Hashable {
        public let ours: String
        /// Cleaned.
        public let theirs: String
    }

    public var needsYou: Int { sessions?.count { $0.needsYou } ?? 0 }

    mutating func assumeSaving() { (isSaving, notSavingReason) = (true, nil) }

    /// Changes that the daemon tells everyone. Those that name a session we do not list are ignored.
    mutating func apply(_ message: DaemonMessage) {
        switch message {
        case .pong(let pong): record.version = pong.version.printable(limit: 64)
        case .sessionList(let list): sessions = list.sessions
        case .groupList(let list), .groupsChanged(let list): groups = list.groups
        case .daemonState(let state):
            isSaving = state.isSaving
            notSavingReason = state.reason?.printable(limit: 200)
        case .sessionTitleChanged(let change): patch(change.sessionID) { $0.title = change.title }
        case .sessionSummaryChanged(let change): patch(change.sessionID) { $0.summary = change.summary }
        case .sessionActivityChanged(let change):
            patch(change.sessionID) {
                $0.state = change.activity
                $0.turnID = change.activity == .running ? change.turnID : nil
            }
        case .sessionUsageChanged(let change):
            patch(change.sessionID) {
                $0.usage = change.usage
                $0.contextTokens = change.contextTokens ?? $0.contextTokens
            }
        case .sessionMetaChanged(let change):
            patch(change.sessionID) {
                ($0.archived, $0.pinned, $0.groupID) = (change.archived, change.pinned, change.groupID)
            }
        case .sessionAttentionChanged(let change):
            patch(change.sessionID) {
                $0.pendingPermissions = change.pendingPermissions
                $0.pendingQuestions = change.pendingQuestions
            }
        default: break
        }
    }

    private mutating func patch(_ id: SessionID, _ change: (inout SessionInfo) -> Void) {
        guard let index = sessions?.firstIndex(where: { $0.sessionID == id }) else { return }
        guard var info = sessions?[index] else { return }
        change(&info)
        sessions?[index] = info
    }
}
