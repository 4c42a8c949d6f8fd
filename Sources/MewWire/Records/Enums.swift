// The enums of spec/mew-wire.md §3.3.1, with exactly these strings. An unknown string fails the message that holds it, except
// where a type says otherwise.

/// What kind of program a client is. Unknown kinds are `unknown`.
public enum ClientKind: String, WireEnum, Sendable, Hashable {
    case tui, web, desktop, cli, mobile, remote, unknown

    package static func otherwise(_ text: String) -> ClientKind? { .unknown }
}

/// Whether a session works.
public enum SessionState: String, WireEnum, Sendable, Hashable {
    /// Loaded, no turn.
    case active
    /// On disk only; also the signal that a turn is over.
    case idle
    case running
}

/// An answer to a permission request.
public enum PermissionDecision: String, WireEnum, Sendable, Hashable {
    /// This call.
    case allowOnce = "allow_once"
    /// This tool for the rest of the session.
    case allowSession = "allow_session"
    case deny
}

/// What runs without asking (spec/mew-wire.md §4.13). On the wire it is a plain string, because daemons may know others.
public enum PermissionMode: String, Sendable, Hashable, CaseIterable {
    case standard, permissive, auto
    case autoPlus = "auto_plus"
    case dangerous

    /// Nil for a mode we do not have. `autoplus` is taken for `auto_plus`.
    public init?(text: String) {
        self.init(rawValue: text == "autoplus" ? "auto_plus" : text)
    }
}

/// Why a person's attention is asked for.
public enum AlertKind: String, WireEnum, Sendable, Hashable {
    case turnComplete = "turn_complete"
    case turnFailed = "turn_failed"
    case permissionNeeded = "permission_needed"
    case inputNeeded = "input_needed"
}

/// Who speaks in a message.
public enum Role: String, WireEnum, Sendable, Hashable {
    case user, assistant, system
}

/// Why a model stopped.
public enum FinishReason: String, WireEnum, Sendable, Hashable {
    case stop, length
    case toolUse = "tool_use"
    case error

    package static func otherwise(_ text: String) -> FinishReason? { Self.named(pascalCase: text) }
}

/// What kept a model from answering.
public enum ProviderErrorKind: String, WireEnum, Sendable, Hashable {
    case providerAuth = "provider_auth"
    case providerRateLimit = "provider_rate_limit"
    case providerOverload = "provider_overload"
    case providerAPI = "provider_api"
    case contextOverflow = "context_overflow"
    case aborted
    case toolExec = "tool_exec"
    case toolTimeout = "tool_timeout"
    case mcpTransport = "mcp_transport"
    case network, unknown

    package static func otherwise(_ text: String) -> ProviderErrorKind? { Self.named(pascalCase: text) }
}

/// How git sees a changed file.
public enum GitFileStatus: String, WireEnum, Sendable, Hashable {
    case added, modified, deleted, renamed, untracked
}

/// What a stretch of context holds.
public enum SegmentKind: String, WireEnum, Sendable, Hashable {
    case scaffold
    case contextFile = "context_file"
    case skill, tools, message, part
    case compactionSummary = "compaction_summary"
}

/// How a subagent ended: `"completed"`, `"cancelled"` or `{"failed":{"reason":"…"}}`.
public enum SubagentOutcome: WireValue, Sendable, Equatable {
    case completed
    case cancelled
    case failed(reason: String)

    package static func read(_ json: JSON, on link: ApplicationProtocol) throws(FieldError) -> SubagentOutcome {
        switch json {
        case .string("completed"): return .completed
        case .string("cancelled"): return .cancelled
        default: break
        }
        guard case .string(let reason)? = json["failed"]?["reason"] else {
            throw FieldError("must be completed, cancelled or {\"failed\":{\"reason\":…}}")
        }
        return .failed(reason: reason)
    }

    package func write(to fields: inout Fields) {
        switch self {
        case .completed: fields.writer.write("completed")
        case .cancelled: fields.writer.write("cancelled")
        case .failed(let reason): fields.writer.write(["failed": ["reason": .string(reason)]] as JSONObject)
        }
    }
}

extension WireEnum {
    /// The case whose snake_case string is `text` in PascalCase, as daemons before the phone wrote them.
    fileprivate static func named(pascalCase text: String) -> Self? {
        allCases.first { value in
            value.rawValue.split(separator: "_").map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined() == text
        }
    }
}
