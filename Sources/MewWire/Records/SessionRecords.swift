// Records about sessions (spec/mew-wire.md §3.3.2). Every optional field is left out when it has no value.

/// One line of a session list.
public struct SessionInfo: Record, Sendable, Equatable {
    public var sessionID: SessionID
    public var state: SessionState
    public var model: String?
    public var provider: String?
    public var createdAt: WallTime
    public var lastMessageAt: WallTime?
    public var summary: String?
    public var clientCount: UInt32
    public var cwd: String?
    /// The canonical directory, for grouping.
    public var workspacePath: String?
    public var lastTurnFailed: Bool
    public var archived: Bool
    public var pinned: Bool
    public var groupID: GroupID?
    public var changeStats: ChangeStats?
    public var usage: SessionUsage?
    public var contextTokens: UInt64?
    public var pendingPermissions: UInt32
    public var pendingQuestions: UInt32
    /// The first 60 characters of the first prompt, then `…`.
    public var firstMessage: String?
    /// Native links only, as are the following: stock links learn titles from `session_title_changed`.
    public var title: String?
    public var agent: String?
    public var headSequence: SequenceNumber?
    /// The running turn.
    public var turnID: TurnID?
    /// The device that alone may type in it now.
    public var leaseHolder: By?
    /// Tools that run unasked in it, because somebody allowed them for the session; nil when there are none.
    public var allowedTools: [String]?

    public init(
        sessionID: SessionID, state: SessionState, model: String? = nil, provider: String? = nil,
        createdAt: WallTime, lastMessageAt: WallTime? = nil, summary: String? = nil, clientCount: UInt32 = 0,
        cwd: String? = nil, workspacePath: String? = nil, lastTurnFailed: Bool = false, archived: Bool = false,
        pinned: Bool = false, groupID: GroupID? = nil, changeStats: ChangeStats? = nil, usage: SessionUsage? = nil,
        contextTokens: UInt64? = nil, pendingPermissions: UInt32 = 0, pendingQuestions: UInt32 = 0,
        firstMessage: String? = nil, title: String? = nil, agent: String? = nil, headSequence: SequenceNumber? = nil,
        turnID: TurnID? = nil, leaseHolder: By? = nil, allowedTools: [String]? = nil
    ) {
        (self.sessionID, self.state, self.model, self.provider) = (sessionID, state, model, provider)
        (self.createdAt, self.lastMessageAt, self.summary) = (createdAt, lastMessageAt, summary)
        (self.clientCount, self.cwd, self.workspacePath) = (clientCount, cwd, workspacePath)
        (self.lastTurnFailed, self.archived, self.pinned, self.groupID) = (lastTurnFailed, archived, pinned, groupID)
        (self.changeStats, self.usage, self.contextTokens) = (changeStats, usage, contextTokens)
        (self.pendingPermissions, self.pendingQuestions) = (pendingPermissions, pendingQuestions)
        (self.firstMessage, self.title, self.agent, self.headSequence) = (firstMessage, title, agent, headSequence)
        (self.turnID, self.leaseHolder, self.allowedTools) = (turnID, leaseHolder, allowedTools)
    }

    package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
        sessionID = try f.required("session_id", old?.sessionID)
        state = try f.required("state", old?.state)
        model = try f.optional("model", old?.model)
        provider = try f.optional("provider", old?.provider)
        createdAt = try f.required("created_at", old?.createdAt)
        lastMessageAt = try f.optional("last_message_at", old?.lastMessageAt)
        summary = try f.optional("summary", old?.summary)
        clientCount = try f.required("client_count", old?.clientCount)
        cwd = try f.optional("cwd", old?.cwd)
        workspacePath = try f.optional("workspace_path", old?.workspacePath)
        lastTurnFailed = try f.defaulted("last_turn_failed", old?.lastTurnFailed, false)
        archived = try f.defaulted("archived", old?.archived, false)
        pinned = try f.defaulted("pinned", old?.pinned, false)
        groupID = try f.optional("group_id", old?.groupID)
        changeStats = try f.optional("change_stats", old?.changeStats)
        usage = try f.optional("usage", old?.usage)
        contextTokens = try f.optional("context_tokens", old?.contextTokens)
        pendingPermissions = try f.defaulted("pending_permissions", old?.pendingPermissions, 0)
        pendingQuestions = try f.defaulted("pending_questions", old?.pendingQuestions, 0)
        firstMessage = try f.optional("first_message", old?.firstMessage)
        title = try f.native("title", old?.title)
        agent = try f.native("agent", old?.agent)
        headSequence = try f.native("head_seq", old?.headSequence)
        turnID = try f.native("turn_id", old?.turnID)
        leaseHolder = try f.native("lease_holder", old?.leaseHolder)
        allowedTools = try f.native("allowed_tools", old?.allowedTools)
    }
}

/// What a session changed in its files.
public struct ChangeStats: Record, Sendable, Equatable {
    /// Lines.
    public var added: UInt64
    /// Lines.
    public var removed: UInt64
    public var files: [String]

    public init(added: UInt64, removed: UInt64, files: [String]) {
        (self.added, self.removed, self.files) = (added, removed, files)
    }

    package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
        added = try f.required("added", old?.added)
        removed = try f.required("removed", old?.removed)
        files = try f.required("files", old?.files)
    }
}

/// What a session used since it was made.
public struct SessionUsage: Record, Sendable, Equatable {
    public var inputTokens: UInt64
    public var outputTokens: UInt64
    public var cacheReadTokens: UInt64
    public var cacheWriteTokens: UInt64
    /// US dollars.
    public var cost: Double
    public var turns: UInt32

    public init(
        inputTokens: UInt64 = 0, outputTokens: UInt64 = 0, cacheReadTokens: UInt64 = 0, cacheWriteTokens: UInt64 = 0,
        cost: Double = 0, turns: UInt32 = 0
    ) {
        (self.inputTokens, self.outputTokens, self.cacheReadTokens) = (inputTokens, outputTokens, cacheReadTokens)
        (self.cacheWriteTokens, self.cost, self.turns) = (cacheWriteTokens, cost, turns)
    }

    package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
        inputTokens = try f.required("input_tokens", old?.inputTokens)
        outputTokens = try f.required("output_tokens", old?.outputTokens)
        cacheReadTokens = try f.required("cache_read_tokens", old?.cacheReadTokens)
        cacheWriteTokens = try f.required("cache_write_tokens", old?.cacheWriteTokens)
        cost = try f.required("cost", old?.cost)
        turns = try f.required("turns", old?.turns)
    }
}
