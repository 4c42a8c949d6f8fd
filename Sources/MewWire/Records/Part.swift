public import MewBase

// The parts of a message (spec/mew-wire.md §3.3.4). On the wire each is one flat object: `type`, `id`, `message_id`,
// `session_id`, then the fields of its type.

/// One part of a message.
///
/// `messageID` need not be the message that holds the part: stock providers make it up, and clients must bear that.
public struct Part: Record, Sendable, Equatable {
    public var id: PartID
    public var messageID: MessageID
    /// The ULID of the session, without its `sess_`.
    public var session: ULID
    public var content: Content

    public enum Content: Sendable, Equatable {
        case text(Text)
        case reasoning(Reasoning)
        case file(File)
        case toolCall(ToolCall)
        case toolResult(ToolResult)
        case compaction(Compaction)
    }

    public init(id: PartID, messageID: MessageID, session: ULID, content: Content) {
        (self.id, self.messageID, self.session, self.content) = (id, messageID, session, content)
    }

    package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
        let type = try f.required("type", old?.content.type)
        id = try f.required("id", old?.id)
        messageID = try f.required("message_id", old?.messageID)
        session = try f.required("session_id", old?.session)
        switch type {
        case .text: content = .text(try Text(&f, old?.content.text))
        case .reasoning: content = .reasoning(try Reasoning(&f, old?.content.reasoning))
        case .file: content = .file(try File(&f, old?.content.file))
        case .toolCall: content = .toolCall(try ToolCall(&f, old?.content.toolCall))
        case .toolResult: content = .toolResult(try ToolResult(&f, old?.content.toolResult))
        case .compaction: content = .compaction(try Compaction(&f, old?.content.compaction))
        }
    }
}

extension Part {
    /// Whether it is text of the program's own, which is whole when it begins.
    public var isSynthetic: Bool { content.text?.isSynthetic ?? false }

    /// What was said.
    public struct Text: Record, Sendable, Equatable {
        public var text: String
        /// Made by the program, not by a person or a model. Left out when false.
        public var isSynthetic: Bool

        public init(text: String, isSynthetic: Bool = false) {
            (self.text, self.isSynthetic) = (text, isSynthetic)
        }

        package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
            text = try f.required("text", old?.text)
            isSynthetic = try f.unless(false, "synthetic", old?.isSynthetic)
        }
    }

    /// What the model thought. The opaque fields must be kept: the provider wants them back.
    public struct Reasoning: Record, Sendable, Equatable {
        public var text: String
        public var signature: String?
        public var encryptedContent: String?

        public init(text: String, signature: String? = nil, encryptedContent: String? = nil) {
            (self.text, self.signature, self.encryptedContent) = (text, signature, encryptedContent)
        }

        package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
            text = try f.required("text", old?.text)
            signature = try f.optional("signature", old?.signature)
            encryptedContent = try f.optional("encrypted_content", old?.encryptedContent)
        }
    }

    /// A file that belongs to the message.
    public struct File: Record, Sendable, Equatable {
        public var mime: String
        public var filename: String?
        public var url: String

        public init(mime: String, filename: String? = nil, url: String) {
            (self.mime, self.filename, self.url) = (mime, filename, url)
        }

        package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
            mime = try f.required("mime", old?.mime)
            filename = try f.optional("filename", old?.filename)
            url = try f.required("url", old?.url)
        }
    }

    /// A tool that the model called.
    public struct ToolCall: Record, Sendable, Equatable {
        public var toolName: String
        public var callID: CallID
        public var state: ToolState
        /// `readonly`, `mutating` or `dangerous`; from daemons of the `14f8def2` line only.
        public var sensitivity: String?

        public init(toolName: String, callID: CallID, state: ToolState, sensitivity: String? = nil) {
            (self.toolName, self.callID, self.state, self.sensitivity) = (toolName, callID, state, sensitivity)
        }

        package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
            toolName = try f.required("tool_name", old?.toolName)
            callID = try f.required("call_id", old?.callID)
            state = try f.required("state", old?.state)
            sensitivity = try f.optional("sensitivity", old?.sensitivity)
        }
    }

    /// Stands where the result of a call goes into the conversation.
    public struct ToolResult: Record, Sendable, Equatable {
        public var callID: CallID

        public init(callID: CallID) {
            self.callID = callID
        }

        package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
            callID = try f.required("call_id", old?.callID)
        }
    }

    /// Stands where older messages were summed up.
    public struct Compaction: Record, Sendable, Equatable {
        public var isAutomatic: Bool
        public var overflow: Bool
        public var tailStartID: MessageID?
        public var summary: String?
        public var removedCount: UInt32?

        public init(
            isAutomatic: Bool, overflow: Bool = false, tailStartID: MessageID? = nil, summary: String? = nil,
            removedCount: UInt32? = nil
        ) {
            (self.isAutomatic, self.overflow, self.tailStartID) = (isAutomatic, overflow, tailStartID)
            (self.summary, self.removedCount) = (summary, removedCount)
        }

        package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
            isAutomatic = try f.required("auto", old?.isAutomatic)
            overflow = try f.defaulted("overflow", old?.overflow, false)
            tailStartID = try f.optional("tail_start_id", old?.tailStartID)
            summary = try f.optional("summary", old?.summary)
            removedCount = try f.optional("removed_count", old?.removedCount)
        }
    }
}

// MARK: - Looking inside

/// The strings of a part's `type`.
enum PartType: String, WireEnum {
    case text, reasoning, file
    case toolCall = "tool_call"
    case toolResult = "tool_result"
    case compaction
}

extension Part.Content {
    var type: PartType {
        switch self {
        case .text: .text
        case .reasoning: .reasoning
        case .file: .file
        case .toolCall: .toolCall
        case .toolResult: .toolResult
        case .compaction: .compaction
        }
    }

    public var text: Part.Text? { if case .text(let value) = self { value } else { nil } }
    public var reasoning: Part.Reasoning? { if case .reasoning(let value) = self { value } else { nil } }
    public var file: Part.File? { if case .file(let value) = self { value } else { nil } }
    public var toolCall: Part.ToolCall? { if case .toolCall(let value) = self { value } else { nil } }
    public var toolResult: Part.ToolResult? { if case .toolResult(let value) = self { value } else { nil } }
    public var compaction: Part.Compaction? { if case .compaction(let value) = self { value } else { nil } }
}
