// Client → daemon: answers to the requests of agents (spec/mew-wire.md §3.1.2): `request_id`, the fields of the type, and on
// native links `shown_digest`. Anyone attached may answer; the first one wins.

/// `permission_response`, `ask_user_response`, `plan_approval_response` or `goal_response`.
///
/// Natively the daemon replies with `answer_verdict`; everyone attached gets `request_resolved`.
public struct Answer: Record, Sendable, Equatable {
    public var requestID: RequestID
    public var content: Content
    /// Of what the client displayed. Mandatory on native links, unknown on stock ones.
    public var shownDigest: ShownDigest?

    public enum Content: Sendable, Hashable {
        /// To a tool, workspace or subagent permission request.
        case permission(PermissionDecision)
        /// One text per question, by position.
        case questions([String])
        case plan(approved: Bool, feedback: String?)
        case goal(accepted: Bool)
    }

    public init(requestID: RequestID, content: Content, shownDigest: ShownDigest? = nil) {
        (self.requestID, self.content, self.shownDigest) = (requestID, content, shownDigest)
    }

    /// Reads its kind from the `type` that stands in the same object.
    package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
        let kind = try f.kind(old?.content.kind)
        requestID = try f.required("request_id", old?.requestID)
        content = try Content(&f, kind: kind, old?.content)
        shownDigest = try f.native("shown_digest", old?.shownDigest)
    }

    /// With its `type`, so that it can be stored by itself.
    package func write(to fields: inout Fields) {
        fields.writeObject(type: content.kind.rawValue, self)
    }
}

extension Answer.Content {
    var kind: ClientMessage.Kind {
        switch self {
        case .permission: .permissionResponse
        case .questions: .askUserResponse
        case .plan: .planApprovalResponse
        case .goal: .goalResponse
        }
    }

    /// The decision in one word, as `request_resolved` tells it to everyone; nil for answers to questions.
    public var decision: String? {
        switch self {
        case .permission(let decision): decision.rawValue
        case .questions: nil
        case .plan(let approved, _): approved ? "approved" : "rejected"
        case .goal(let accepted): accepted ? "accepted" : "declined"
        }
    }

    fileprivate init(_ f: inout Fields, kind: ClientMessage.Kind?, _ old: Self?) throws(FieldError) {
        switch kind {
        case .permissionResponse:
            self = .permission(try f.required("decision", old?.permission))
        case .askUserResponse:
            let answers = try f.listed(try f.required("answers", old?.answers), "answers")
            guard !f.isReading || answers.allSatisfy({ $0.utf8.count <= TextLimits.wordsBytes }) else {
                throw FieldError("must have at most \(TextLimits.wordsBytes) bytes each", path: "answers")
            }
            self = .questions(answers)
        case .planApprovalResponse:
            self = .plan(
                approved: try f.required("approved", old?.approved),
                feedback: try f.optional("feedback", old?.feedback, upTo: TextLimits.wordsBytes))
        case .goalResponse:
            self = .goal(accepted: try f.required("accepted", old?.accepted))
        default:
            throw FieldError("is no answer", path: "type")
        }
    }

    private var permission: PermissionDecision? { if case .permission(let value) = self { value } else { nil } }
    private var answers: [String]? { if case .questions(let value) = self { value } else { nil } }
    private var approved: Bool? { if case .plan(let value, _) = self { value } else { nil } }
    private var feedback: String? { if case .plan(_, let value) = self { value } else { nil } }
    private var accepted: Bool? { if case .goal(let value) = self { value } else { nil } }
}
