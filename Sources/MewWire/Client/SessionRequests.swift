// Client → daemon: the life cycle of sessions (spec/mew-wire.md §3.1.1, spec/native-wire.md §2). `list_sessions` has no
// fields. Natively `attach_session`, `new_session` and `new_session_in_group` open a session channel.

extension ClientMessage {
    /// `new_session`: makes a session and attaches to it. Answered with `session_ready`.
    public struct NewSession: Record, Sendable, Equatable {
        /// On the daemon's machine; nil is its default directory.
        public var cwd: String?
        public var clientKind: ClientKind
        /// The name of an agent, never a command; nil is the default one.
        public var agent: String?

        public init(cwd: String? = nil, clientKind: ClientKind = .unknown, agent: String? = nil) {
            (self.cwd, self.clientKind, self.agent) = (cwd, clientKind, agent)
        }

        package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
            cwd = try f.nullable("cwd", old?.cwd, upTo: TextLimits.pathBytes)
            clientKind = try f.defaulted("client_kind", old?.clientKind, .unknown)
            agent = try f.native("agent", old?.agent, upTo: TextLimits.nameBytes)
        }
    }

    /// `new_session_in_group`: the same, put into a group first.
    public struct NewSessionInGroup: Record, Sendable, Equatable {
        public var cwd: String?
        public var groupID: GroupID
        public var clientKind: ClientKind
        public var agent: String?

        public init(cwd: String? = nil, groupID: GroupID, clientKind: ClientKind = .unknown, agent: String? = nil) {
            (self.cwd, self.groupID, self.clientKind, self.agent) = (cwd, groupID, clientKind, agent)
        }

        package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
            cwd = try f.nullable("cwd", old?.cwd, upTo: TextLimits.pathBytes)
            groupID = try f.required("group_id", old?.groupID)
            clientKind = try f.defaulted("client_kind", old?.clientKind, .unknown)
            agent = try f.native("agent", old?.agent, upTo: TextLimits.nameBytes)
        }
    }

    /// `attach_session`: from now on this channel (stock: connection) hears the session. For the order of what follows see
    /// spec/mew-wire.md §4.3 and `caught_up`.
    public struct AttachSession: Record, Sendable, Equatable {
        public var sessionID: SessionID
        public var clientKind: ClientKind
        /// The last event this client has; nil asks for a snapshot.
        public var afterSequence: SequenceNumber?
        /// The epoch that number belongs to.
        public var epoch: Epoch?

        public init(
            sessionID: SessionID, clientKind: ClientKind = .unknown, afterSequence: SequenceNumber? = nil,
            epoch: Epoch? = nil
        ) {
            (self.sessionID, self.clientKind, self.afterSequence) = (sessionID, clientKind, afterSequence)
            self.epoch = epoch
        }

        package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
            sessionID = try f.session(old?.sessionID)
            clientKind = try f.defaulted("client_kind", old?.clientKind, .unknown)
            afterSequence = try f.native("after_seq", old?.afterSequence)
            epoch = try f.native("epoch", old?.epoch)
        }
    }

    /// `resume_session`, native: goes on after a `gap` on the same channel.
    public struct ResumeSession: Record, Sendable, Equatable {
        public var sessionID: SessionID
        public var afterSequence: SequenceNumber

        public init(sessionID: SessionID, afterSequence: SequenceNumber) {
            (self.sessionID, self.afterSequence) = (sessionID, afterSequence)
        }

        package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
            sessionID = try f.session(old?.sessionID)
            afterSequence = try f.required("after_seq", old?.afterSequence)
        }
    }

    /// `load_session_history`: an older page. Answered with `session_history_page`.
    public struct LoadSessionHistory: Record, Sendable, Equatable {
        public var sessionID: SessionID
        /// Index in the list of messages; the page ends just before it.
        public var before: UInt64
        /// Messages.
        public var limit: UInt64
        /// The frozen list that `before` counts in.
        public var historyID: HistoryID?

        public init(sessionID: SessionID, before: UInt64, limit: UInt64 = 24, historyID: HistoryID? = nil) {
            (self.sessionID, self.before, self.limit, self.historyID) = (sessionID, before, limit, historyID)
        }

        package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
            sessionID = try f.session(old?.sessionID)
            before = try f.required("before", old?.before)
            limit = try f.defaulted("limit", old?.limit, 24)
            historyID = try f.native("history_id", old?.historyID)
        }
    }

    /// `delete_session`: erases it. No stock reply.
    public struct DeleteSession: Record, Sendable, Equatable {
        public var sessionID: SessionID

        public init(sessionID: SessionID) {
            self.sessionID = sessionID
        }

        package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
            sessionID = try f.session(old?.sessionID)
        }
    }

    /// `rename_session`: sets the custom title. Everyone gets `session_title_changed`.
    public struct RenameSession: Record, Sendable, Equatable {
        public var sessionID: SessionID
        public var title: String

        public init(sessionID: SessionID, title: String) {
            (self.sessionID, self.title) = (sessionID, title)
        }

        package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
            sessionID = try f.session(old?.sessionID)
            title = try f.required("title", old?.title, upTo: TextLimits.nameBytes)
        }
    }

    /// `regenerate_title`: a new title from the first prompt. Everyone gets `session_title_changed`.
    public struct RegenerateTitle: Record, Sendable, Equatable {
        public var sessionID: SessionID

        public init(sessionID: SessionID) {
            self.sessionID = sessionID
        }

        package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
            sessionID = try f.session(old?.sessionID)
        }
    }

    /// `archive_session`. Everyone gets `session_meta_changed`.
    public struct ArchiveSession: Record, Sendable, Equatable {
        public var sessionID: SessionID
        public var archived: Bool

        public init(sessionID: SessionID, archived: Bool) {
            (self.sessionID, self.archived) = (sessionID, archived)
        }

        package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
            sessionID = try f.session(old?.sessionID)
            archived = try f.required("archived", old?.archived)
        }
    }

    /// `pin_session`: keeps it from being archived by itself, which no daemon of ours does, and first among idle ones. Everyone gets `session_meta_changed`.
    public struct PinSession: Record, Sendable, Equatable {
        public var sessionID: SessionID
        public var pinned: Bool

        public init(sessionID: SessionID, pinned: Bool) {
            (self.sessionID, self.pinned) = (sessionID, pinned)
        }

        package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
            sessionID = try f.session(old?.sessionID)
            pinned = try f.required("pinned", old?.pinned)
        }
    }
}
