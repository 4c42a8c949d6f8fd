// Daemon → clients of a session: what happens in a turn (spec/mew-wire.md §3.2.2). `session_cleared` has no fields.

extension DaemonMessage {
    /// `user_message`: a prompt or guidance was taken.
    public struct UserMessage: Record, Sendable, Equatable {
        public var text: String
        /// Native, as are the following: by it a client knows its own prompt again.
        public var operation: OperationID?
        public var by: By?
        public var messageID: MessageID?
        public var turnID: TurnID?
        /// The files that came with it; left out when there are none.
        public var attachments: [Attachment]

        public init(
            text: String, operation: OperationID? = nil, by: By? = nil, messageID: MessageID? = nil,
            turnID: TurnID? = nil, attachments: [Attachment] = []
        ) {
            (self.text, self.operation, self.by, self.messageID) = (text, operation, by, messageID)
            (self.turnID, self.attachments) = (turnID, attachments)
        }

        package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
            text = try f.required("text", old?.text)
            operation = try f.native("op_id", old?.operation)
            by = try f.native("by", old?.by)
            messageID = try f.native("message_id", old?.messageID)
            turnID = try f.native("turn_id", old?.turnID)
            let files = old?.attachments.isEmpty == false ? old?.attachments : nil
            attachments = try f.listed(try f.native("attachments", files) ?? [], "attachments")
        }
    }

    /// `provider`: what streams from the model.
    public struct Provider: Record, Sendable, Equatable {
        public var event: ProviderEvent

        public init(event: ProviderEvent) {
            self.event = event
        }

        package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
            event = try f.required("event", old?.event)
        }
    }

    /// `part_updated`: replaces the whole part; wins over deltas.
    public struct PartUpdated: Record, Sendable, Equatable {
        public var partID: PartID
        public var part: Part

        public init(partID: PartID, part: Part) {
            (self.partID, self.part) = (partID, part)
        }

        package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
            partID = try f.required("part_id", old?.partID)
            part = try f.required("part", old?.part)
        }
    }

    /// `tool_start`.
    public struct ToolStart: Record, Sendable, Equatable {
        public var callID: CallID

        public init(callID: CallID) {
            self.callID = callID
        }

        package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
            callID = try f.required("call_id", old?.callID)
        }
    }

    /// `tool_progress`: output to append.
    public struct ToolProgress: Record, Sendable, Equatable {
        public var callID: CallID
        public var chunk: String

        public init(callID: CallID, chunk: String) {
            (self.callID, self.chunk) = (callID, chunk)
        }

        package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
            callID = try f.required("call_id", old?.callID)
            chunk = try f.required("chunk", old?.chunk)
        }
    }

    /// `tool_end`.
    public struct ToolEnd: Record, Sendable, Equatable {
        public var callID: CallID
        public var succeeded: Bool

        public init(callID: CallID, succeeded: Bool) {
            (self.callID, self.succeeded) = (callID, succeeded)
        }

        package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
            callID = try f.required("call_id", old?.callID)
            succeeded = try f.required("success", old?.succeeded)
        }
    }

    /// `error_event`: an error or notice inside a turn; `aborted` on cancel.
    public struct ErrorEvent: Record, Sendable, Equatable {
        public var message: String

        public init(message: String) {
            self.message = message
        }

        package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
            message = try f.required("message", old?.message)
        }
    }

    /// `todos_updated`: the whole list.
    public struct TodosUpdated: Record, Sendable, Equatable {
        public var todos: [Todo]

        public init(todos: [Todo]) {
            self.todos = todos
        }

        package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
            todos = try f.required("todos", old?.todos)
        }
    }

    /// `flagged_files_changed`: the whole list.
    public struct FlaggedFilesChanged: Record, Sendable, Equatable {
        public var sessionID: SessionID
        public var files: [FlaggedFile]

        public init(sessionID: SessionID, files: [FlaggedFile]) {
            (self.sessionID, self.files) = (sessionID, files)
        }

        package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
            sessionID = try f.session(old?.sessionID)
            files = try f.required("files", old?.files)
        }
    }

    /// `persona_switch_requested`: by a tool, for after the turn.
    public struct PersonaSwitchRequested: Record, Sendable, Equatable {
        public var name: String

        public init(name: String) {
            self.name = name
        }

        package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
            name = try f.required("name", old?.name)
        }
    }

    /// `job_update`: a command in the background.
    public struct JobUpdate: Record, Sendable, Equatable {
        public var jobID: String
        public var command: String
        /// Free text.
        public var state: String

        public init(jobID: String, command: String, state: String) {
            (self.jobID, self.command, self.state) = (jobID, command, state)
        }

        package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
            jobID = try f.required("job_id", old?.jobID)
            command = try f.required("command", old?.command)
            state = try f.required("state", old?.state)
        }
    }

    /// `subagent_start`.
    public struct SubagentStart: Record, Sendable, Equatable {
        public var parentCallID: CallID
        public var name: String
        public var childSessionID: SessionID
        public var displayName: String?

        public init(parentCallID: CallID, name: String, childSessionID: SessionID, displayName: String? = nil) {
            (self.parentCallID, self.name, self.childSessionID) = (parentCallID, name, childSessionID)
            self.displayName = displayName
        }

        package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
            parentCallID = try f.required("parent_call_id", old?.parentCallID)
            name = try f.required("name", old?.name)
            childSessionID = try f.required("child_session_id", old?.childSessionID)
            displayName = try f.nullable("display_name", old?.displayName)
        }
    }

    /// `subagent_status`.
    public struct SubagentStatus: Record, Sendable, Equatable {
        public var parentCallID: CallID
        public var toolName: String
        public var message: String

        public init(parentCallID: CallID, toolName: String, message: String) {
            (self.parentCallID, self.toolName, self.message) = (parentCallID, toolName, message)
        }

        package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
            parentCallID = try f.required("parent_call_id", old?.parentCallID)
            toolName = try f.required("tool_name", old?.toolName)
            message = try f.required("message", old?.message)
        }
    }

    /// `subagent_end`.
    public struct SubagentEnd: Record, Sendable, Equatable {
        public var parentCallID: CallID
        public var childSessionID: SessionID
        public var outcome: SubagentOutcome
        public var manifests: [TurnManifest]

        public init(
            parentCallID: CallID, childSessionID: SessionID, outcome: SubagentOutcome, manifests: [TurnManifest] = []
        ) {
            (self.parentCallID, self.childSessionID, self.outcome) = (parentCallID, childSessionID, outcome)
            self.manifests = manifests
        }

        package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
            parentCallID = try f.required("parent_call_id", old?.parentCallID)
            childSessionID = try f.required("child_session_id", old?.childSessionID)
            outcome = try f.required("outcome", old?.outcome)
            manifests = try f.defaulted("manifests", old?.manifests, [])
        }
    }

    /// `slash_result`, to the requester only.
    public struct SlashResult: Record, Sendable, Equatable {
        public var text: String

        public init(text: String) {
            self.text = text
        }

        package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
            text = try f.required("text", old?.text)
        }
    }
}
