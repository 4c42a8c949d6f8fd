// Daemon → client: a session for the one who attaches to it (spec/mew-wire.md §3.2.1, spec/native-wire.md §2). Order after an
// attach: `session_ready`, replay or page (and `part_start` of an open part), all open requests, `caught_up`.

extension DaemonMessage {
    /// `session_ready` (R): this channel is attached now.
    public struct SessionReady: Record, Sendable, Equatable {
        public var sessionID: SessionID
        public var cwd: String?
        public var model: String?
        public var provider: String?
        /// `standard` when nil.
        public var permissionMode: String?
        /// Native, as are the following.
        public var epoch: Epoch?
        /// The last event there is.
        public var headSequence: SequenceNumber?
        /// What follows.
        public var resume: ResumeKind?
        /// How many events were lost for good.
        public var lost: UInt64?
        public var agent: String?

        public init(
            sessionID: SessionID, cwd: String? = nil, model: String? = nil, provider: String? = nil,
            permissionMode: String? = nil, epoch: Epoch? = nil, headSequence: SequenceNumber? = nil,
            resume: ResumeKind? = nil, lost: UInt64? = nil, agent: String? = nil
        ) {
            (self.sessionID, self.cwd, self.model, self.provider) = (sessionID, cwd, model, provider)
            (self.permissionMode, self.epoch, self.headSequence) = (permissionMode, epoch, headSequence)
            (self.resume, self.lost, self.agent) = (resume, lost, agent)
        }

        package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
            sessionID = try f.session(old?.sessionID)
            cwd = try f.optional("cwd", old?.cwd)
            model = try f.optional("model", old?.model)
            provider = try f.optional("provider", old?.provider)
            permissionMode = try f.optional("permission_mode", old?.permissionMode)
            epoch = try f.native("epoch", old?.epoch)
            headSequence = try f.native("head_seq", old?.headSequence)
            resume = try f.native("resume", old?.resume)
            lost = try f.native("lost", old?.lost)
            agent = try f.native("agent", old?.agent)
        }
    }

    /// `session_history_page` (R).
    public struct SessionHistoryPage: Record, Sendable, Equatable {
        public var sessionID: SessionID
        /// Oldest first.
        public var messages: [Message]
        /// The next `before`; nil when the start is reached.
        public var nextCursor: UInt64?
        /// True: the newest page, in place of the transcript. False: goes before it.
        public var replaces: Bool
        /// The last event that is in it; native, as is the next.
        public var asOfSequence: SequenceNumber?
        public var historyID: HistoryID?

        public init(
            sessionID: SessionID, messages: [Message], nextCursor: UInt64? = nil, replaces: Bool,
            asOfSequence: SequenceNumber? = nil, historyID: HistoryID? = nil
        ) {
            (self.sessionID, self.messages, self.nextCursor) = (sessionID, messages, nextCursor)
            (self.replaces, self.asOfSequence, self.historyID) = (replaces, asOfSequence, historyID)
        }

        package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
            sessionID = try f.session(old?.sessionID)
            messages = try f.required("messages", old?.messages)
            nextCursor = try f.optional("next_cursor", old?.nextCursor)
            replaces = try f.required("replace", old?.replaces)
            asOfSequence = try f.native("as_of_seq", old?.asOfSequence)
            historyID = try f.native("history_id", old?.historyID)
        }
    }

    /// `session_history` (R): the transcript, for clients that may not know pages.
    public struct SessionHistory: Record, Sendable, Equatable {
        public var messages: [Message]

        public init(messages: [Message]) {
            self.messages = messages
        }

        package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
            messages = try f.required("messages", old?.messages)
        }
    }

    /// `session_list` (R), in no order.
    public struct SessionList: Record, Sendable, Equatable {
        public var sessions: [SessionInfo]

        public init(sessions: [SessionInfo]) {
            self.sessions = sessions
        }

        package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
            sessions = try f.required("sessions", old?.sessions)
        }
    }

    /// `caught_up` (R, native): from here on it is live. Nothing is shown as live before it.
    public struct CaughtUp: Record, Sendable, Equatable {
        public var sessionID: SessionID
        public var sequence: SequenceNumber

        public init(sessionID: SessionID, sequence: SequenceNumber) {
            (self.sessionID, self.sequence) = (sessionID, sequence)
        }

        package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
            f.ownsSequenceField()
            sessionID = try f.session(old?.sessionID)
            sequence = try f.required("seq", old?.sequence)
        }
    }

    /// `gap` (R, native): this client's queue overflowed; silence until it sends `resume_session`.
    public struct Gap: Record, Sendable, Equatable {
        public var sessionID: SessionID
        /// The last event that was sent.
        public var afterSequence: SequenceNumber

        public init(sessionID: SessionID, afterSequence: SequenceNumber) {
            (self.sessionID, self.afterSequence) = (sessionID, afterSequence)
        }

        package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
            sessionID = try f.session(old?.sessionID)
            afterSequence = try f.required("after_seq", old?.afterSequence)
        }
    }
}

/// What `session_ready` announces.
public enum ResumeKind: String, WireEnum, Sendable, Hashable {
    /// The events after the client's number.
    case replay
    /// A page that replaces what the client has.
    case snapshot
    /// Nothing: the session was just made.
    case new
}
