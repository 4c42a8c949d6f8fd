import MewBase
import MewClient
import MewWire

/// The questions of one session on this screen: one at a time, in the order they came; the visible one never changes by
/// itself (NEEDS N-41). Says what to print and what to answer; does neither.
struct QuestionDesk {
    /// What to do with permission requests.
    enum Permit: String, CaseIterable, Sendable {
        case ask, once, session, deny

        var decision: PermissionDecision? {
            switch self {
            case .ask: nil
            case .once: .allowOnce
            case .session: .allowSession
            case .deny: .deny
            }
        }
    }

    enum Action: Equatable {
        case print([String])
        case answer(PendingRequest, Answer.Content)
    }

    private struct Shown {
        let request: PendingRequest
        let at: ContinuousClock.Instant
        var reader: AnswerReader
    }

    /// Typed before the question could be read, so not meant for it.
    static let grace: Duration = .milliseconds(300)

    let permit: Permit
    /// A person can be asked here.
    let canAsk: Bool
    let daemon: String
    private var shown: Shown?
    /// Requests whose event has been printed. The view is ahead of the screen: a question must not overtake what led to it.
    private var arrived: Set<RequestID> = []
    /// Announced for another device to answer.
    private var announced: Set<RequestID> = []
    /// What `--permit` said was refused: saying it again would be refused again, without end.
    private var refused: Set<RequestID> = []

    init(permit: Permit, canAsk: Bool, daemon: String) {
        (self.permit, self.canAsk, self.daemon) = (permit, canAsk, daemon)
    }

    /// The event of a request has come to the screen.
    mutating func arrived(_ id: RequestID) {
        arrived.insert(id)
    }

    /// The daemon did not take the answer to a request that is still open.
    mutating func refused(_ id: RequestID) {
        refused.insert(id)
    }

    /// The requests of the session as they are now.
    ///
    /// - Parameter mayDecide: false while they may belong to somebody else's turn: nothing is decided by `--permit` then.
    mutating func update(
        _ requests: [PendingRequest], mayDecide: Bool, now: ContinuousClock.Instant
    ) -> [Action] {
        var actions: [Action] = []
        if let current = shown, !requests.contains(where: { $0.isSame(as: current.request) && $0.answering == .open }) {
            shown = nil
        }
        arrived.formIntersection(requests.map(\.id))
        announced.formIntersection(arrived)
        refused.formIntersection(arrived)
        for request in requests where request.answering == .open && arrived.contains(request.id) {
            if let decision = permit.decision, request.content.isPermission, !refused.contains(request.id) {
                if mayDecide { actions.append(.answer(request, .permission(decision))) }
            } else if canAsk {
                if shown == nil { actions.append(.print(show(request, now))) }
            } else if announced.insert(request.id).inserted {
                actions.append(.print(announce(request)))
            }
        }
        return actions
    }

    private mutating func show(_ request: PendingRequest, _ now: ContinuousClock.Instant) -> [String] {
        shown = Shown(request: request, at: now, reader: AnswerReader(request.content))
        let text = RequestText(request.content)
        return ["", "? [\(request.handle)]"] + text.lines + [text.choices]
    }

    private func announce(_ request: PendingRequest) -> [String] {
        let text = RequestText(request.content)
        return ["", "? [\(request.handle)]"] + text.lines + [
            "Answer from any device: mew answer \(shellQuoted(daemon)) \(request.handle) \(text.commandLineChoices)"
        ]
    }

    /// A line that a person typed.
    mutating func typed(_ line: String, now: ContinuousClock.Instant) -> [Action] {
        guard var current = shown else { return [] }
        guard now - current.at >= Self.grace else { return [.print(["(typed before the question: not taken)"])] }
        let step = current.reader.read(line)
        shown = current
        switch step {
        case .answer(let content):
            shown = nil  // what is typed next is not meant for it
            return [.answer(current.request, content)]
        case .more: return []
        case .again(let words): return [.print([words])]
        }
    }
}

extension PendingRequest {
    fileprivate func isSame(as other: PendingRequest) -> Bool { id == other.id && digest == other.digest }
}

extension DaemonMessage.AnswerVerdict {
    /// What became of an answer, in words; nil when `request_resolved` says it all.
    func words(_ names: inout DistinctNames) -> String? {
        switch outcome {
        case .settled, .repeated: nil
        case .tooLate: AnswerEnd(self).tooLate(&names)
        case .notWhatWasShown: "not taken: the daemon asks something else now; look again"
        case .unknown: "the daemon does not know this question"
        }
    }
}

/// How a question ended that somebody answered too late.
struct AnswerEnd: Sendable {
    let how: RequestOutcome?
    let by: By?
    let decision: String?

    init(_ verdict: DaemonMessage.AnswerVerdict) {
        (how, by, decision) = (verdict.how, verdict.by, verdict.decision)
    }

    init(_ resolved: DaemonMessage.RequestResolved) {
        (how, by, decision) = (resolved.outcome, resolved.by, resolved.decision)
    }

    func tooLate(_ names: inout DistinctNames) -> String {
        switch how {
        case .cancelled: "too late: the question was cancelled"
        case .turnEnded: "too late: its turn has ended"
        case .answered, nil:
            "too late: answered\(by.map { " by \(names.name(of: $0))" } ?? "")"
                + (decision.map { ": \(AnswerReader.word($0).printable(limit: 40))" } ?? "")
        }
    }
}
