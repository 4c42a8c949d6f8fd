// What streams from a model (spec/mew-wire.md §3.4): `type`, then the fields of the type. Travels in `provider`.

/// One event of a model's answer.
public enum ProviderEvent: Record, Sendable, Equatable {
    /// A part begins; text may come with its beginning, tool calls are `pending`.
    case partStart(Part)
    case partDelta(PartDelta)
    /// The part is complete; the parsed input of a tool call comes with the next `part_updated`.
    case partEnd(PartID)
    /// One answer is over. There are several per turn, one for each round of tools.
    case messageEnd(MessageEnd)
    case retryWait(RetryWait)
    case error(ProviderError)

    package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
        switch try f.required("type", old?.type) {
        case .partStart: self = .partStart(try f.required("part", old?.startedPart))
        case .partDelta: self = .partDelta(try PartDelta(&f, old?.partDelta))
        case .partEnd: self = .partEnd(try f.required("part_id", old?.endedPart))
        case .messageEnd: self = .messageEnd(try MessageEnd(&f, old?.messageEnd))
        case .retryWait: self = .retryWait(try RetryWait(&f, old?.retryWait))
        case .error: self = .error(try ProviderError(&f, old?.error))
        }
    }
}

extension ProviderEvent {
    /// More of an open part.
    public struct PartDelta: Record, Sendable, Equatable {
        public var partID: PartID
        /// `text` (also empty) for text and reasoning; `signature` replaces; `arguments`, `call_id`, `tool_name` for tool calls.
        public var field: String
        public var delta: String

        public init(partID: PartID, field: String = "text", delta: String) {
            (self.partID, self.field, self.delta) = (partID, field, delta)
        }

        package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
            partID = try f.required("part_id", old?.partID)
            field = try f.required("field", old?.field)
            delta = try f.required("delta", old?.delta)
        }
    }

    /// How an answer ended and what it used.
    public struct MessageEnd: Record, Sendable, Equatable {
        public var finish: FinishReason
        public var usage: Tokens
        public var cost: Double
        public var manifest: TurnManifest?

        public init(finish: FinishReason, usage: Tokens, cost: Double = 0, manifest: TurnManifest? = nil) {
            (self.finish, self.usage, self.cost, self.manifest) = (finish, usage, cost, manifest)
        }

        package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
            finish = try f.required("finish", old?.finish)
            usage = try f.required("usage", old?.usage)
            cost = try f.required("cost", old?.cost)
            manifest = try f.optional("manifest", old?.manifest)
        }
    }

    /// The provider is asked again after a pause.
    public struct RetryWait: Record, Sendable, Equatable {
        public var attempt: UInt32
        public var maxAttempts: UInt32
        public var delaySeconds: UInt64
        public var reason: String

        public init(attempt: UInt32, maxAttempts: UInt32, delaySeconds: UInt64, reason: String) {
            (self.attempt, self.maxAttempts, self.delaySeconds) = (attempt, maxAttempts, delaySeconds)
            self.reason = reason
        }

        package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
            attempt = try f.required("attempt", old?.attempt)
            maxAttempts = try f.required("max_attempts", old?.maxAttempts)
            delaySeconds = try f.required("delay_secs", old?.delaySeconds)
            reason = try f.required("reason", old?.reason)
        }
    }
}

// MARK: - Looking inside

/// The strings of a provider event's `type`.
enum ProviderEventType: String, WireEnum {
    case partStart = "part_start"
    case partDelta = "part_delta"
    case partEnd = "part_end"
    case messageEnd = "message_end"
    case retryWait = "retry_wait"
    case error
}

extension ProviderEvent {
    var type: ProviderEventType {
        switch self {
        case .partStart: .partStart
        case .partDelta: .partDelta
        case .partEnd: .partEnd
        case .messageEnd: .messageEnd
        case .retryWait: .retryWait
        case .error: .error
        }
    }

    public var startedPart: Part? { if case .partStart(let part) = self { part } else { nil } }
    public var partDelta: PartDelta? { if case .partDelta(let value) = self { value } else { nil } }
    public var endedPart: PartID? { if case .partEnd(let id) = self { id } else { nil } }
    public var messageEnd: MessageEnd? { if case .messageEnd(let value) = self { value } else { nil } }
    public var retryWait: RetryWait? { if case .retryWait(let value) = self { value } else { nil } }
    public var error: ProviderError? { if case .error(let value) = self { value } else { nil } }
}
