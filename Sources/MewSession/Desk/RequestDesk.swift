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
        public var answer: Answer?
        /// Whether the answer named the digest of what was shown.
        public var isBound: Bool

        public init(outcome: RequestOutcome, by: By? = nil, answer: Answer? = nil, isBound: Bool = false) {
            (self.outcome, self.by, self.answer, self.isBound) = (outcome, by, answer, isBound)
        }

        package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
            outcome = try f.required("outcome", old?.outcome)
            by = try f.optional("by", old?.by)
            isBound = try f.unless(false, "bound", old?.isBound)
            answer = try f.optional("answer", old?.answer)
        }

        public var decision: String? { answer?.content.decision }
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

/// Remembers which requests are open and settles each exactly once (NEEDS N-40 … N-42).
///
/// Pure value. A request is opened before anybody is shown it, so that a fast answer finds it. Requests wait in the order in
/// which they came; identifiers are never used twice.
public struct RequestDesk: Sendable {
    public enum Verdict: Sendable, Equatable {
        /// This answer settled the request: resume the agent and tell everyone.
        case settled(DeskEntry)
        /// The same device gave the same answer before: nothing else happens.
        case repeated(DeskEntry)
        /// Someone else, or the end of the turn, was first.
        case tooLate(DeskEntry)
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

    /// Oldest first.
    public private(set) var open: [DeskEntry] = []
    private var settled: [DeskEntry] = []

    public init() {}

    /// - Parameter entries: as they were stored, oldest first.
    init(_ entries: [DeskEntry]) {
        open = entries.filter { $0.closing == nil }
        settled = Array(entries.filter { $0.closing != nil }.suffix(Self.rememberedSettled))
    }

    public var pendingPermissions: UInt32 { UInt32(open.count { $0.request.content.isPermission }) }
    public var pendingQuestions: UInt32 { UInt32(open.count) - pendingPermissions }

    /// Call before the request is shown to anyone.
    mutating func open(_ entry: DeskEntry) {
        precondition(entry.closing == nil && find(entry.request.id) == nil, "request IDs are never used twice")
        open.append(entry)
    }

    /// - Parameter digest: what the client says it displayed; nil for clients that cannot say, whose answers count unbound.
    mutating func answer(_ answer: Answer, by: By, digest: ShownDigest?) -> Verdict {
        guard let entry = find(answer.requestID) else { return .unknown }
        guard answer.content.fits(entry.request.content) else { return .wrongKind }
        if let closing = entry.closing {
            let isSame = closing.by?.node == by.node && closing.answer?.content == answer.content
            return isSame ? .repeated(entry) : .tooLate(entry)
        }
        if let digest, digest != entry.request.expectedDigest { return .notWhatWasShown }
        let closing = DeskEntry.Closing(outcome: .answered, by: by, answer: answer, isBound: digest != nil)
        return .settled(close(entry, closing))
    }

    /// Ends every open request without an answer; returns them, oldest first.
    mutating func closeAll(_ outcome: RequestOutcome, by: By? = nil) -> [DeskEntry] {
        open.map { close($0, DeskEntry.Closing(outcome: outcome, by: by)) }
    }

    private mutating func close(_ entry: DeskEntry, _ closing: DeskEntry.Closing) -> DeskEntry {
        var entry = entry
        entry.closing = closing
        open.removeAll { $0.request.id == entry.request.id }
        settled.append(entry)
        if settled.count > Self.rememberedSettled { settled.removeFirst() }
        return entry
    }

    /// Open, or settled and still remembered.
    func find(_ id: RequestID) -> DeskEntry? {
        open.first { $0.request.id == id } ?? settled.last { $0.request.id == id }
    }
}

extension Request {
    /// What an honest client names, having displayed `shown`.
    var expectedDigest: ShownDigest { ShownDigest(of: shown ?? content.shownText, request: id) }
}

extension Answer.Content {
    fileprivate func fits(_ request: Request.Content) -> Bool {
        switch (self, request) {
        case (.permission, .permission), (.permission, .workspacePermission), (.permission, .subagentPermission),
            (.questions, .askUser), (.plan, .planApproval), (.goal, .goal):
            true
        case (.permission, _), (.questions, _), (.plan, _), (.goal, _):
            false
        }
    }
}
