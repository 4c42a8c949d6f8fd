public import MewBase

// The messages of a conversation (spec/mew-wire.md §3.3.3).

/// One message: what a person or an assistant said in one go, in parts.
///
/// Tool results are kept in `user` messages of their own, which have only `tool_result` parts and are not shown.
public struct Message: Record, Sendable, Equatable {
    public var id: MessageID
    /// The ULID of the session, without its `sess_`.
    public var session: ULID
    public var role: Role
    public var parts: [Part]
    public var time: MessageTime
    public var assistant: AssistantMeta?
    /// The number of this message's last change in the journal; native links only.
    public var sequence: SequenceNumber?
    /// The turn it belongs to: of a prompt its own, which may begin long after it was said; native links only.
    public var turn: TurnID?

    public init(
        id: MessageID, session: ULID, role: Role, parts: [Part], time: MessageTime, assistant: AssistantMeta? = nil,
        sequence: SequenceNumber? = nil, turn: TurnID? = nil
    ) {
        (self.id, self.session, self.role, self.parts, self.time) = (id, session, role, parts, time)
        (self.assistant, self.sequence, self.turn) = (assistant, sequence, turn)
    }

    package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
        id = try f.required("id", old?.id)
        session = try f.required("session_id", old?.session)
        role = try f.required("role", old?.role)
        parts = try f.required("parts", old?.parts)
        time = try f.required("time", old?.time)
        assistant = try f.optional("assistant", old?.assistant)
        sequence = try f.native("seq", old?.sequence)
        turn = try f.native("turn_id", old?.turn)
    }
}

/// When a message began and was complete.
public struct MessageTime: Record, Sendable, Equatable {
    public var created: WallTime
    public var completed: WallTime?

    public init(created: WallTime, completed: WallTime? = nil) {
        (self.created, self.completed) = (created, completed)
    }

    package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
        created = try f.required("created", old?.created)
        completed = try f.optional("completed", old?.completed)
    }
}

/// What is known about the model's side of a message.
public struct AssistantMeta: Record, Sendable, Equatable {
    public var providerID: String
    public var modelID: String
    /// US dollars.
    public var cost: Double
    public var tokens: Tokens
    public var finish: FinishReason?
    public var error: ProviderError?
    public var manifest: TurnManifest?

    public init(
        providerID: String, modelID: String, cost: Double = 0, tokens: Tokens, finish: FinishReason? = nil,
        error: ProviderError? = nil, manifest: TurnManifest? = nil
    ) {
        (self.providerID, self.modelID, self.cost, self.tokens) = (providerID, modelID, cost, tokens)
        (self.finish, self.error, self.manifest) = (finish, error, manifest)
    }

    package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
        providerID = try f.required("provider_id", old?.providerID)
        modelID = try f.required("model_id", old?.modelID)
        cost = try f.required("cost", old?.cost)
        tokens = try f.required("tokens", old?.tokens)
        finish = try f.optional("finish", old?.finish)
        error = try f.optional("error", old?.error)
        manifest = try f.optional("manifest", old?.manifest)
    }
}

/// What one answer of a model used.
public struct Tokens: Record, Sendable, Equatable {
    public var input: UInt32
    public var output: UInt32
    public var reasoning: UInt32
    public var cacheRead: UInt32
    public var cacheWrite: UInt32

    public init(
        input: UInt32 = 0, output: UInt32 = 0, reasoning: UInt32 = 0, cacheRead: UInt32 = 0, cacheWrite: UInt32 = 0
    ) {
        (self.input, self.output, self.reasoning, self.cacheRead) = (input, output, reasoning, cacheRead)
        self.cacheWrite = cacheWrite
    }

    package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
        input = try f.required("input", old?.input)
        output = try f.required("output", old?.output)
        reasoning = try f.required("reasoning", old?.reasoning)
        cacheRead = try f.required("cache_read", old?.cacheRead)
        cacheWrite = try f.required("cache_write", old?.cacheWrite)
    }
}

/// Why a model gave no (complete) answer.
public struct ProviderError: Record, Sendable, Equatable {
    public var kind: ProviderErrorKind
    public var message: String

    public init(kind: ProviderErrorKind, message: String) {
        (self.kind, self.message) = (kind, message)
    }

    package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
        kind = try f.required("kind", old?.kind)
        message = try f.required("message", old?.message)
    }
}
