public import MewWire

/// One request of an agent and, once it has one, its outcome.
public struct DeskEntry: Record, Sendable, Equatable {
    public let request: Request
    public let turn: TurnID
    public var closing: Closing?

    /// How a request ended.
    public struct Closing: Record, Sendable, Equatable {
        public var outcome: RequestOutcome
        public var by: By?
        /// The answer in one word; nil for answers to questions, and for requests that nobody answered.
        public var decision: String?
        /// Tells whether another answer is the same; nil when nobody answered.
        public var answer: ShownDigest?
        /// Whether the answer named the digest of what was shown.
        public var isBound: Bool

        public init(outcome: RequestOutcome, by: By? = nil, answer: Answer? = nil, isBound: Bool = false) {
            (self.outcome, self.by, self.isBound) = (outcome, by, isBound)
            (decision, self.answer) = (answer?.content.decision, answer?.fingerprint)
        }

        package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
            outcome = try f.required("outcome", old?.outcome)
            by = try f.optional("by", old?.by)
            isBound = try f.unless(false, "bound", old?.isBound)
            // Formerly the answer was kept whole; nothing writes that any more.
            let whole: Answer? = try f.optional("answer", nil)
            decision = try f.optional("decision", old?.decision) ?? whole?.content.decision
            answer = try f.optional("answered", old?.answer) ?? whole?.fingerprint
        }
    }

    public init(request: Request, turn: TurnID) {
        (self.request, self.turn) = (request, turn)
    }

    package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
        request = try f.required("request", old?.request)
        turn = try f.required("turn", old?.turn)
        closing = try f.optional("closing", old?.closing)
    }
}

/// A request that has its outcome: what judges answers that come late. A few hundred bytes, however large it was.
public struct SettledRequest: Record, Sendable, Equatable {
    public let id: RequestID
    /// Which kind of answer it wanted.
    public let kind: AnswerKind
    public let closing: DeskEntry.Closing

    /// Nil for a request that is open.
    init?(_ entry: DeskEntry) {
        guard let closing = entry.closing else { return nil }
        (id, kind, self.closing) = (entry.request.id, entry.request.content.answerKind, closing)
    }

    package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
        id = try f.required("id", old?.id)
        kind = try f.required("kind", old?.kind)
        closing = try f.required("closing", old?.closing)
    }
}

/// The four kinds of answers.
public enum AnswerKind: String, WireEnum {
    case permission, questions, plan, goal
}

/// Remembers which requests are open and settles each exactly once (NEEDS N-40 … N-42).
///
/// Pure value. A request is opened before anybody is shown it, so that a fast answer finds it. Requests wait in the order in
/// which they came; identifiers are never used twice.
public struct RequestDesk: Sendable {
    public enum Verdict: Sendable, Equatable {
        /// This answer settled the request: resume the agent and tell everyone.
        case settled(DeskEntry)
        /// The same device gave the same answer before: nothing else happens.
        case repeated(SettledRequest)
        /// Someone else, or the end of the turn, was first.
        case tooLate(SettledRequest)
        /// The answer was for another text than the one asked about.
        case notWhatWasShown
        /// A goal was answered like a permission, or the like.
        case wrongKind
        case unknown
    }

    /// Settled requests that are remembered, for people who answer late.
    public static let rememberedSettled = 256
    /// An agent that has this many questions open asks no more.
    public static let maxOpen = 64
    /// Encoded, with the text that people are shown. What is larger belongs into a file, which the request names.
    public static let maxRequestBytes = 512 << 10
    /// All open requests go to everybody who attaches, and must fit into a client's queue beside a snapshot.
    public static let maxOpenBytes = 1 << 20

    /// Oldest first.
    public private(set) var open: [DeskEntry] = []
    private(set) var settled: [SettledRequest] = []

    public init() {}

    /// As they were stored, oldest first.
    init(open: [DeskEntry], settled: [SettledRequest]) {
        self.open = open
        self.settled = settled.suffix(Self.rememberedSettled)
    }

    /// Whether one more of that size may be opened.
    func hasRoom(for bytes: Int) -> Bool {
        open.count < Self.maxOpen
            && open.reduce(bytes) { $0 + $1.request.encoded().count } <= Self.maxOpenBytes
    }

    public var pendingPermissions: UInt32 { UInt32(open.count { $0.request.content.isPermission }) }
    public var pendingQuestions: UInt32 { UInt32(open.count) - pendingPermissions }

    /// Call before the request is shown to anyone.
    mutating func open(_ entry: DeskEntry) {
        let id = entry.request.id
        precondition(
            entry.closing == nil && closing(of: id) == nil && !open.contains { $0.request.id == id },
            "request IDs are never used twice")
        open.append(entry)
    }

    /// - Parameter digest: what the client says it displayed; nil for clients that cannot say, whose answers count unbound.
    mutating func answer(_ answer: Answer, by: By, digest: ShownDigest?) -> Verdict {
        guard let entry = open.first(where: { $0.request.id == answer.requestID }) else { return judge(answer, by: by) }
        guard answer.content.kind == entry.request.content.answerKind else { return .wrongKind }
        if let digest, digest != entry.request.expectedDigest { return .notWhatWasShown }
        let closing = DeskEntry.Closing(outcome: .answered, by: by, answer: answer, isBound: digest != nil)
        return .settled(close(entry, closing))
    }

    /// An answer to a request that is not open.
    private func judge(_ answer: Answer, by: By) -> Verdict {
        guard let request = settled.last(where: { $0.id == answer.requestID }) else { return .unknown }
        guard answer.content.kind == request.kind else { return .wrongKind }
        let isSame = request.closing.by?.node == by.node && request.closing.answer == answer.fingerprint
        return isSame ? .repeated(request) : .tooLate(request)
    }

    /// Ends every open request without an answer; returns them, oldest first.
    mutating func closeAll(_ outcome: RequestOutcome, by: By? = nil) -> [DeskEntry] {
        open.map { close($0, DeskEntry.Closing(outcome: outcome, by: by)) }
    }

    private mutating func close(_ entry: DeskEntry, _ closing: DeskEntry.Closing) -> DeskEntry {
        var entry = entry
        entry.closing = closing
        open.removeAll { $0.request.id == entry.request.id }
        SettledRequest(entry).map { settled.append($0) }
        if settled.count > Self.rememberedSettled { settled.removeFirst() }
        return entry
    }

    /// The request that was settled last of those whose ID ends so, as long as it is remembered; how long the end is, is its
    /// caller's to check.
    public func settled(endingIn text: String) -> SettledRequest? {
        let end = text.lowercased()
        return settled.last { $0.id.description.lowercased().hasSuffix(end) }
    }

    /// How a request ended, as long as it is remembered.
    func closing(of id: RequestID) -> DeskEntry.Closing? {
        settled.last { $0.id == id }?.closing
    }
}

extension Request {
    /// What an honest client names, having displayed `shown`.
    var expectedDigest: ShownDigest { ShownDigest(of: shown ?? content.shownText, request: id) }
}

extension Request.Content {
    var answerKind: AnswerKind {
        switch self {
        case .permission, .workspacePermission, .subagentPermission: .permission
        case .askUser: .questions
        case .planApproval: .plan
        case .goal: .goal
        }
    }
}

extension Answer.Content {
    fileprivate var kind: AnswerKind {
        switch self {
        case .permission: .permission
        case .questions: .questions
        case .plan: .plan
        case .goal: .goal
        }
    }
}

extension Answer {
    /// Equal for equal answers to one request, whatever the client displayed.
    fileprivate var fingerprint: ShownDigest {
        let text = Answer(requestID: requestID, content: content).encoded()
        return ShownDigest(of: String(decoding: text, as: UTF8.self), request: requestID)
    }
}
