// Daemon → everyone: what changed about a session (spec/mew-wire.md §3.2.1).

extension DaemonMessage {
    /// `session_title_changed`.
    public struct SessionTitleChanged: Record, Sendable, Equatable {
        public var sessionID: SessionID
        public var title: String

        public init(sessionID: SessionID, title: String) {
            (self.sessionID, self.title) = (sessionID, title)
        }

        package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
            sessionID = try f.session(old?.sessionID)
            title = try f.required("title", old?.title)
        }
    }

    /// `session_summary_changed`.
    public struct SessionSummaryChanged: Record, Sendable, Equatable {
        public var sessionID: SessionID
        public var summary: String

        public init(sessionID: SessionID, summary: String) {
            (self.sessionID, self.summary) = (sessionID, summary)
        }

        package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
            sessionID = try f.session(old?.sessionID)
            summary = try f.required("summary", old?.summary)
        }
    }

    /// `session_activity_changed`: `running` when a turn begins, `idle` when it ends.
    public struct SessionActivityChanged: Record, Sendable, Equatable {
        public var sessionID: SessionID
        public var activity: SessionState
        public var turnID: TurnID?

        public init(sessionID: SessionID, activity: SessionState, turnID: TurnID? = nil) {
            (self.sessionID, self.activity, self.turnID) = (sessionID, activity, turnID)
        }

        package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
            sessionID = try f.session(old?.sessionID)
            activity = try f.required("activity", old?.activity)
            turnID = try f.native("turn_id", old?.turnID)
        }
    }

    /// `session_usage_changed`, at the end of a turn: totals.
    public struct SessionUsageChanged: Record, Sendable, Equatable {
        public var sessionID: SessionID
        public var usage: SessionUsage
        public var contextTokens: UInt64?

        public init(sessionID: SessionID, usage: SessionUsage, contextTokens: UInt64? = nil) {
            (self.sessionID, self.usage, self.contextTokens) = (sessionID, usage, contextTokens)
        }

        package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
            sessionID = try f.session(old?.sessionID)
            usage = try f.required("usage", old?.usage)
            contextTokens = try f.optional("context_tokens", old?.contextTokens)
        }
    }

    /// `session_stats_changed`, to those attached: line counts of all its edits.
    public struct SessionStatsChanged: Record, Sendable, Equatable {
        public var sessionID: SessionID
        public var added: UInt64
        public var removed: UInt64
        public var filesChanged: UInt64

        public init(sessionID: SessionID, added: UInt64, removed: UInt64, filesChanged: UInt64) {
            (self.sessionID, self.added, self.removed, self.filesChanged) = (sessionID, added, removed, filesChanged)
        }

        package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
            sessionID = try f.session(old?.sessionID)
            added = try f.required("added", old?.added)
            removed = try f.required("removed", old?.removed)
            filesChanged = try f.required("files_changed", old?.filesChanged)
        }
    }

    /// `session_meta_changed`: the whole state, no patch; no group means no group.
    public struct SessionMetaChanged: Record, Sendable, Equatable {
        public var sessionID: SessionID
        public var archived: Bool
        public var pinned: Bool
        public var groupID: GroupID?

        public init(sessionID: SessionID, archived: Bool = false, pinned: Bool = false, groupID: GroupID? = nil) {
            (self.sessionID, self.archived, self.pinned, self.groupID) = (sessionID, archived, pinned, groupID)
        }

        package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
            sessionID = try f.session(old?.sessionID)
            archived = try f.defaulted("archived", old?.archived, false)
            pinned = try f.defaulted("pinned", old?.pinned, false)
            groupID = try f.optional("group_id", old?.groupID)
        }
    }

    /// `session_attention_changed`: how many requests are open.
    public struct SessionAttentionChanged: Record, Sendable, Equatable {
        public var sessionID: SessionID
        public var pendingPermissions: UInt32
        public var pendingQuestions: UInt32

        public init(sessionID: SessionID, pendingPermissions: UInt32, pendingQuestions: UInt32) {
            (self.sessionID, self.pendingPermissions) = (sessionID, pendingPermissions)
            self.pendingQuestions = pendingQuestions
        }

        package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
            sessionID = try f.session(old?.sessionID)
            pendingPermissions = try f.required("pending_permissions", old?.pendingPermissions)
            pendingQuestions = try f.required("pending_questions", old?.pendingQuestions)
        }
    }

    /// `session_alert`: a notification.
    public struct SessionAlert: Record, Sendable, Equatable {
        public var sessionID: SessionID
        /// Custom title, else summary, else session ID.
        public var title: String
        public var kind: AlertKind
        public var detail: String?
        /// Native, as is the next: clients show an alert once and drop one older than 10 s.
        public var alertID: AlertID?
        public var at: WallTime?

        public init(
            sessionID: SessionID, title: String, kind: AlertKind, detail: String? = nil, alertID: AlertID? = nil,
            at: WallTime? = nil
        ) {
            (self.sessionID, self.title, self.kind, self.detail) = (sessionID, title, kind, detail)
            (self.alertID, self.at) = (alertID, at)
        }

        package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
            sessionID = try f.session(old?.sessionID)
            title = try f.required("title", old?.title)
            kind = try f.required("kind", old?.kind)
            detail = try f.optional("detail", old?.detail)
            alertID = try f.native("alert_id", old?.alertID)
            at = try f.native("at_ms", old?.at)
        }
    }
}
