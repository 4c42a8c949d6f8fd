public import MewWire

/// Something that waits until the session is free: a prompt, a switch, a command. Done in the order in which it came.
public struct PendingWork: Record, Sendable, Equatable {
    public var task: Task
    /// Set when a native client asked for it.
    public var operation: OperationKey?
    public var by: By
    /// The one that shows its words; nil for what has none, and for what was stored before this was kept.
    public var message: MessageID?

    public enum Task: Sendable, Equatable {
        case prompt(WaitingPrompt)
        /// Words for the running turn or, when none runs, for the next.
        case guide(String)
        case switchModel(ModelName)
        case setThinkingVariant(String?)
        case switchPersona(String)
        /// `/clear`.
        case clear
        /// `/compact`.
        case compact
    }

    public init(task: Task, operation: OperationKey?, by: By, message: MessageID? = nil) {
        (self.task, self.operation, self.by, self.message) = (task, operation, by, message)
    }

    package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
        let kind = try f.required("task", old?.task.kind)
        switch kind {
        case .prompt: task = .prompt(try f.required("prompt", old?.task.prompt))
        case .guide: task = .guide(try f.required("text", old?.task.guidance))
        case .model: task = .switchModel(try f.required("model", old?.task.model))
        case .variant: task = .setThinkingVariant(try f.optional("variant", old?.task.variant))
        case .persona: task = .switchPersona(try f.required("persona", old?.task.persona))
        case .clear: task = .clear
        case .compact: task = .compact
        }
        operation = try f.optional("operation", old?.operation)
        by = try f.required("by", old?.by)
        message = try f.optional("message", old?.message)
    }

    /// What it says and names, in bytes; zero for what is no words of a person.
    var wordBytes: Int {
        (task.words?.utf8.count ?? 0)
            + (task.prompt?.attachments ?? []).reduce(0) { $0 + $1.path.utf8.count + ($1.mime?.utf8.count ?? 0) }
    }
}

/// A prompt that was taken and not started.
public struct WaitingPrompt: Record, Sendable, Equatable {
    public var turn: TurnID
    public var text: String
    public var attachments: [Attachment]
    /// The event that told of it.
    public var sequence: SequenceNumber
    /// Whether the connection it came from wants sessions to be named.
    public var wantsTitle: Bool

    public init(
        turn: TurnID, text: String, attachments: [Attachment], sequence: SequenceNumber, wantsTitle: Bool
    ) {
        (self.turn, self.text, self.attachments, self.sequence) = (turn, text, attachments, sequence)
        self.wantsTitle = wantsTitle
    }

    package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
        turn = try f.required("turn", old?.turn)
        text = try f.required("text", old?.text)
        attachments = try f.unless([], "attachments", old?.attachments)
        sequence = try f.required("at", old?.sequence)
        wantsTitle = try f.unless(false, "wants_title", old?.wantsTitle)
    }
}

extension PendingWork.Task {
    fileprivate enum Kind: String, WireEnum {
        case prompt, guide, model, variant, persona, clear, compact
    }

    fileprivate var kind: Kind {
        switch self {
        case .prompt: .prompt
        case .guide: .guide
        case .switchModel: .model
        case .setThinkingVariant: .variant
        case .switchPersona: .persona
        case .clear: .clear
        case .compact: .compact
        }
    }

    var prompt: WaitingPrompt? { if case .prompt(let value) = self { value } else { nil } }
    var guidance: String? { if case .guide(let value) = self { value } else { nil } }
    /// Of a person.
    var words: String? { prompt?.text ?? guidance }

    /// The least scope that may ask for it.
    var neededScope: Scope {
        switch self {
        case .prompt: ClientMessage.Kind.prompt.neededScope
        case .guide: ClientMessage.Kind.guide.neededScope
        case .switchModel: ClientMessage.Kind.switchModel.neededScope
        case .setThinkingVariant: ClientMessage.Kind.setThinkingVariant.neededScope
        case .switchPersona: ClientMessage.Kind.switchPersona.neededScope
        case .clear, .compact: ClientMessage.Kind.slashCommand.neededScope
        }
    }

    fileprivate var model: ModelName? { if case .switchModel(let value) = self { value } else { nil } }
    fileprivate var variant: String? { if case .setThinkingVariant(let value) = self { value } else { nil } }
    fileprivate var persona: String? { if case .switchPersona(let value) = self { value } else { nil } }
}
