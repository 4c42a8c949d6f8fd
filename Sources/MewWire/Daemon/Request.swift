// Daemon → clients of a session: requests that wait for an answer (spec/mew-wire.md §3.2.3, spec/native-wire.md §2). On the
// wire: `request_id`, for questions `call_id`, the fields of the type, and on native links `shown`.

/// One of the six requests. It has exactly one outcome; it is sent again at every attach while it is open, under the same ID.
public struct Request: Record, Sendable, Equatable {
    public var id: RequestID
    /// The tool call that asks; empty in the three permission requests, which do not say.
    public var callID: CallID
    public var content: Content
    /// The JSON text that clients render, and whose digest an answer must name: `content.shownText` at the daemon. Nil on stock
    /// links.
    public var shown: String?

    public enum Content: Record, Sendable, Equatable {
        case permission(toolName: String, input: JSON)
        /// A tool wants to leave the session's directory.
        case workspacePermission(path: String)
        case subagentPermission(parentCallID: CallID, toolName: String, input: JSON)
        /// One to four questions.
        case askUser(questions: [Question])
        case planApproval(planPath: String, planMarkdown: String, persona: String)
        case goal(objective: String)
    }

    public init(id: RequestID, callID: CallID = "", content: Content, shown: String? = nil) {
        (self.id, self.callID, self.content, self.shown) = (id, callID, content, shown)
    }

    /// Reads its kind from the `type` that stands in the same object.
    package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
        let kind = try f.kind(old?.content.kind)
        id = try f.required("request_id", old?.id)
        switch kind {
        case .askUserRequest, .planApprovalRequest, .goalProposed: callID = try f.required("call_id", old?.callID)
        default: callID = ""
        }
        content = try Content(&f, kind: kind, old?.content)
        shown = try f.native("shown", old?.shown)
    }

    /// With its `type`, so that it can be stored by itself.
    package func write(to fields: inout Fields) {
        fields.writeObject(type: content.kind.rawValue, self)
    }
}

extension Request.Content {
    /// Whether it counts as a permission or as a question (spec/mew-wire.md §4.7).
    public var isPermission: Bool {
        switch self {
        case .permission, .workspacePermission, .subagentPermission: true
        case .askUser, .planApproval, .goal: false
        }
    }

    /// What a daemon sends as `shown`: the stock request object without the IDs, its `type` first.
    public var shownText: String { String(decoding: encoded(), as: UTF8.self) }

    /// What a client renders: the content of a `shown` text.
    public init(shown: String) throws(FieldError) {
        let json: JSON
        do throws(JSONError) {
            json = try JSON(parsing: shown)
        } catch {
            throw FieldError("is \(error)", path: "shown")
        }
        self = try Self.decode(json)
    }

    var kind: DaemonMessage.Kind {
        switch self {
        case .permission: .permissionRequest
        case .workspacePermission: .workspacePermissionRequest
        case .subagentPermission: .subagentPermissionRequest
        case .askUser: .askUserRequest
        case .planApproval: .planApprovalRequest
        case .goal: .goalProposed
        }
    }

    package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
        try self.init(&f, kind: try f.kind(old?.kind), old)
    }

    package func write(to fields: inout Fields) {
        fields.writeObject(type: kind.rawValue, self)
    }

    fileprivate init(_ f: inout Fields, kind: DaemonMessage.Kind?, _ old: Self?) throws(FieldError) {
        switch kind {
        case .permissionRequest:
            self = .permission(
                toolName: try f.required("tool_name", old?.toolName), input: try f.required("input", old?.input))
        case .workspacePermissionRequest:
            self = .workspacePermission(path: try f.required("path", old?.path))
        case .subagentPermissionRequest:
            self = .subagentPermission(
                parentCallID: try f.required("parent_call_id", old?.parentCallID),
                toolName: try f.required("tool_name", old?.toolName), input: try f.required("input", old?.input))
        case .askUserRequest:
            self = .askUser(questions: try f.required("questions", old?.questions))
        case .planApprovalRequest:
            let plan = old?.plan
            self = .planApproval(
                planPath: try f.required("plan_path", plan?.path),
                planMarkdown: try f.required("plan_markdown", plan?.markdown),
                persona: try f.required("persona", plan?.persona))
        case .goalProposed:
            self = .goal(objective: try f.required("objective", old?.objective))
        default:
            throw FieldError("is no request", path: "type")
        }
    }
}

// MARK: - Looking inside

extension Request.Content {
    private var path: String? { if case .workspacePermission(let path) = self { path } else { nil } }
    private var objective: String? { if case .goal(let objective) = self { objective } else { nil } }

    public var toolName: String? {
        switch self {
        case .permission(let name, _), .subagentPermission(_, let name, _): name
        case .workspacePermission, .askUser, .planApproval, .goal: nil
        }
    }

    public var input: JSON? {
        switch self {
        case .permission(_, let input), .subagentPermission(_, _, let input): input
        case .workspacePermission, .askUser, .planApproval, .goal: nil
        }
    }

    private var parentCallID: CallID? {
        if case .subagentPermission(let id, _, _) = self { id } else { nil }
    }

    public var questions: [Question]? { if case .askUser(let questions) = self { questions } else { nil } }

    private var plan: (path: String, markdown: String, persona: String)? {
        if case .planApproval(let path, let markdown, let persona) = self { (path, markdown, persona) } else { nil }
    }
}

extension DaemonMessage {
    /// `request_resolved`, to those attached: dismiss the request everywhere, also when its ID is unknown.
    public struct RequestResolved: Record, Sendable, Equatable {
        public var requestID: RequestID
        /// Native, as are the following.
        public var outcome: RequestOutcome?
        public var by: By?
        /// In one word; see `Answer.Content.decision`.
        public var decision: String?
        /// Whether the answer named the digest of what was shown; false for answers from stock clients.
        public var bound: Bool?

        public init(
            requestID: RequestID, outcome: RequestOutcome? = nil, by: By? = nil, decision: String? = nil,
            bound: Bool? = nil
        ) {
            (self.requestID, self.outcome, self.by) = (requestID, outcome, by)
            (self.decision, self.bound) = (decision, bound)
        }

        package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
            requestID = try f.required("request_id", old?.requestID)
            outcome = try f.native("outcome", old?.outcome)
            by = try f.native("by", old?.by)
            decision = try f.native("decision", old?.decision)
            bound = try f.native("bound", old?.bound)
        }
    }
}
