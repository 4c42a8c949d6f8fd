public import MewWire

/// Everything about a session that is neither an event nor a message: what its row in the store says.
public struct SessionRecord: Record, Sendable, Equatable {
    // MARK: What it is

    public var createdAt: WallTime
    /// Nil is the home directory of the daemon's user.
    public var cwd: String?
    /// `cwd` with all links resolved; sessions of one project have equal ones.
    public var workspacePath: String?
    /// The name of its agent; fixed.
    public var agent: String
    public var model: ModelName?
    public var thinkingVariant: String?
    public var persona: String?
    public var mode: PermissionMode
    /// Tools that were allowed for the rest of the session, each for whatever it does and whoever prompts.
    public var allowedTools: [String]

    // MARK: How people see it

    /// Set by a person, or made after the first turn.
    public var title: String?
    public var summary: String?
    /// The first 60 characters of the first prompt, then `…`.
    public var firstMessage: String?
    public var lastMessageAt: WallTime?
    public var isArchived: Bool
    public var isPinned: Bool
    public var group: GroupID?

    // MARK: What it did

    public var lastTurnFailed: Bool
    public var usage: SessionUsage?
    public var contextTokens: UInt64?
    public var changes: ChangeStats?
    public var todos: [Todo]
    public var flaggedFiles: [FlaggedFile]

    // MARK: Where it stands

    public var epoch: Epoch
    public var history: HistoryID
    /// The stored messages contain every event up to this one; younger events are applied on top of them.
    public var transcriptUpTo: SequenceNumber
    /// The part that is being streamed.
    public var streamingPart: PartID?
    /// The position of the first message that the running turn still writes.
    public var unfinishedFrom: UInt64?
    public var turn: RunningTurn?
    /// The one process that may work for the session.
    public var process: AgentProcess?
    /// The number of the next piece of waiting work.
    public var nextWork: UInt64

    public init(
        createdAt: WallTime, cwd: String?, workspacePath: String? = nil, agent: String, model: ModelName? = nil,
        thinkingVariant: String? = nil, persona: String? = nil, group: GroupID? = nil, epoch: Epoch, history: HistoryID
    ) {
        (self.createdAt, self.cwd, self.workspacePath) = (createdAt, cwd, workspacePath)
        (self.agent, self.model, self.thinkingVariant) = (agent, model, thinkingVariant)
        (self.persona, self.group, self.epoch, self.history) = (persona, group, epoch, history)
        (mode, allowedTools, isArchived, isPinned, lastTurnFailed) = (.standard, [], false, false, false)
        (todos, flaggedFiles, transcriptUpTo, nextWork) = ([], [], .zero, 1)
    }

    package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
        createdAt = try f.required("created_at", old?.createdAt)
        cwd = try f.optional("cwd", old?.cwd)
        workspacePath = try f.optional("workspace_path", old?.workspacePath)
        agent = try f.required("agent", old?.agent)
        model = try f.optional("model", old?.model)
        thinkingVariant = try f.optional("thinking_variant", old?.thinkingVariant)
        persona = try f.optional("persona", old?.persona)
        // A mode that a newer program wrote must not widen what runs without asking.
        mode = PermissionMode(text: try f.required("mode", old?.mode.rawValue)) ?? .standard
        allowedTools = try f.unless([], "allowed_tools", old?.allowedTools)
        title = try f.optional("title", old?.title)
        summary = try f.optional("summary", old?.summary)
        firstMessage = try f.optional("first_message", old?.firstMessage)
        lastMessageAt = try f.optional("last_message_at", old?.lastMessageAt)
        isArchived = try f.unless(false, "archived", old?.isArchived)
        isPinned = try f.unless(false, "pinned", old?.isPinned)
        group = try f.optional("group", old?.group)
        lastTurnFailed = try f.unless(false, "last_turn_failed", old?.lastTurnFailed)
        usage = try f.optional("usage", old?.usage)
        contextTokens = try f.optional("context_tokens", old?.contextTokens)
        changes = try f.optional("changes", old?.changes)
        todos = try f.unless([], "todos", old?.todos)
        flaggedFiles = try f.unless([], "flagged_files", old?.flaggedFiles)
        epoch = try f.required("epoch", old?.epoch)
        history = try f.required("history", old?.history)
        transcriptUpTo = try f.required("transcript_up_to", old?.transcriptUpTo)
        streamingPart = try f.optional("streaming_part", old?.streamingPart)
        unfinishedFrom = try f.optional("unfinished_from", old?.unfinishedFrom)
        turn = try f.optional("turn", old?.turn)
        process = try f.optional("process", old?.process)
        nextWork = try f.required("next_work", old?.nextWork)
    }

    /// What alerts and phones call the session.
    public func displayTitle(_ id: SessionID) -> String {
        title ?? summary ?? id.text
    }
}

/// A model, as sessions name it.
public struct ModelName: Record, Sendable, Hashable {
    public var provider: String
    public var model: String

    public init(provider: String, model: String) {
        (self.provider, self.model) = (provider, model)
    }

    package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
        provider = try f.required("provider", old?.provider)
        model = try f.required("model", old?.model)
    }
}

/// A turn that was handed to the agent.
public struct RunningTurn: Record, Sendable, Equatable {
    public var id: TurnID
    public var startedAt: WallTime
    /// The prompt's operation, when a native client sent it.
    public var operation: OperationKey?
    /// The event that told of the prompt.
    public var promptSequence: SequenceNumber
    /// The position of the first message that can be its own: the number of messages when it started.
    public var messagesFrom: UInt64
    /// Whether the session is to be named after this turn.
    public var wantsTitle: Bool
    /// A notice that counts as a failure was shown.
    public var hasFailed: Bool
    /// Somebody asked to end it.
    public var isCancelling: Bool
    /// What the session turns into when the turn is over.
    public var nextPersona: String?

    public init(
        id: TurnID, startedAt: WallTime, operation: OperationKey?, prompt: WaitingPrompt, messagesFrom: UInt64
    ) {
        (self.id, self.startedAt, self.operation) = (id, startedAt, operation)
        (promptSequence, wantsTitle, self.messagesFrom) = (prompt.sequence, prompt.wantsTitle, messagesFrom)
        (hasFailed, isCancelling) = (false, false)
    }

    package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
        id = try f.required("id", old?.id)
        startedAt = try f.required("started_at", old?.startedAt)
        operation = try f.optional("operation", old?.operation)
        promptSequence = try f.required("prompt_at", old?.promptSequence)
        // Formerly it was not kept; then all messages may be its own.
        messagesFrom = try f.unless(0, "messages_from", old?.messagesFrom)
        wantsTitle = try f.unless(false, "wants_title", old?.wantsTitle)
        nextPersona = try f.optional("next_persona", old?.nextPersona)
        hasFailed = try f.unless(false, "failed", old?.hasFailed)
        isCancelling = try f.unless(false, "cancelling", old?.isCancelling)
    }
}
