import MewBase
public import MewWire

// Requests of the agent and the answers of people (spec/mew-wire.md §4.7, §4.13, NEEDS N-40 … N-43).

extension SessionCore {
    // MARK: - Asking

    mutating func ask(_ tool: ToolPermission, _ call: AgentCallID, _ moment: Moment) {
        guard !runsUnasked(tool) else { return answer(call, .permission(.allowedByMode)) }
        let content: Request.Content =
            if let parent = tool.parentCall {
                .subagentPermission(parentCallID: parent, toolName: tool.toolName, input: tool.input)
            } else {
                .permission(toolName: tool.toolName, input: tool.input)
            }
        ask(content, call: "", call, alert: .permissionNeeded, detail: tool.toolName, moment)
    }

    /// The modes that ask a model behave as `standard`, because there is none that could be asked.
    private func runsUnasked(_ tool: ToolPermission) -> Bool {
        if record.allowedTools.contains(tool.toolName) { return true }
        switch (record.mode, tool.sensitivity) {
        case (.dangerous, _), (_, .readOnly), (.permissive, .mutating): return true
        case (.permissive, .dangerous): return false
        case (.standard, .mutating), (.standard, .dangerous), (.auto, .mutating), (.auto, .dangerous),
            (.autoPlus, .mutating), (.autoPlus, .dangerous):
            return false
        }
    }

    mutating func askForWorkspace(_ path: String, _ call: AgentCallID, _ moment: Moment) {
        guard record.mode != .dangerous else { return answer(call, .permission(.allowedByMode)) }
        ask(.workspacePermission(path: path), call: "", call, alert: nil, moment)
    }

    /// Registered, stored and only then shown.
    mutating func ask(
        _ content: Request.Content, call tool: CallID, _ call: AgentCallID, alert kind: AlertKind?,
        detail: String? = nil, _ moment: Moment
    ) {
        guard let turn = record.turn, !turn.isCancelling else { return answer(call, .failed(.cancelled)) }
        let request = Request(
            id: RequestID(moment.newID()), callID: tool, content: content, shown: content.shownText)
        let size = request.encoded().count
        guard size <= RequestDesk.maxRequestBytes else { return answer(call, .failed(.tooLarge(bytes: size))) }
        guard desk.hasRoom(for: size) else { return answer(call, .failed(.tooManyRequests)) }
        let entry = DeskEntry(request: request, turn: turn.id)
        desk.open(entry)
        save(entry)
        waitingCalls[request.id] = call
        emit(.request(request), moment)
        if let kind { alert(kind, detail: detail, moment) }
        tellAttention()
    }

    private mutating func save(_ entry: DeskEntry) {
        let settled = SettledRequest(entry)
        step.writes.append(
            .putRequest(
                id,
                RequestRow(
                    id: entry.request.id, body: settled?.encoded() ?? entry.encoded(), isOpen: settled == nil)))
    }

    // MARK: - Answering

    mutating func take(_ answer: Answer, _ request: ClientRequest, _ moment: Moment) {
        if request.link == .native, answer.shownDigest == nil {
            return refuse(request, .digestMissing, "an answer names the digest of what was shown", moment)
        }
        let digest = request.link == .native ? answer.shownDigest : nil
        switch desk.answer(answer, by: request.by, digest: digest) {
        case .settled(let entry):
            settle(entry, answer, moment)
            verdict(.settled, nil, answer, request)
            receive(request, .done, moment, staysWithSession: true)
        case .repeated:
            verdict(.repeated, nil, answer, request)
            dismiss(answer.requestID, at: request)
            receive(request, .done, moment, staysWithSession: true)
        case .tooLate(let settled):
            verdict(.tooLate, settled.closing, answer, request)
            decline(answer, request, .tooLate, Self.tooLateSentence(settled.closing), moment)
        case .notWhatWasShown:
            verdict(.notWhatWasShown, nil, answer, request)
            decline(answer, request, .notWhatWasShown, "the answer was for another text than the one asked", moment)
        case .wrongKind:
            verdict(.unknown, nil, answer, request)
            decline(answer, request, .badInput, "this request wants another kind of answer", moment)
        case .unknown:
            verdict(.unknown, nil, answer, request)
            decline(answer, request, .unknownRequest, "no such request", moment)
        }
    }

    private mutating func settle(_ entry: DeskEntry, _ answer: Answer, _ moment: Moment) {
        save(entry)
        if case .plan(true, _) = answer.content, case .planApproval(_, _, let persona) = entry.request.content,
            offer.personas.contains(where: { $0.name == persona })
        {
            record.turn?.nextPersona = persona
            mustSave = true
        }
        tellResolved(entry, moment)
        if case .permission(.allowSession) = answer.content, let tool = entry.request.content.toolName {
            allow(tool, by: entry.closing?.by, moment)
        }
        tellAttention()
        if let call = waitingCalls.removeValue(forKey: entry.request.id) {
            self.answer(call, Self.reply(to: entry, answer))
        }
    }

    // MARK: - What was allowed for the session

    /// Every later use of the tool in this session, whoever prompts: whatever the command, also after a restart. So it is told,
    /// listed (`SessionInfo.allowedTools`) and can be taken back.
    private mutating func allow(_ tool: String, by: By?, _ moment: Moment) {
        guard !record.allowedTools.contains(tool) else { return }
        record.allowedTools.append(tool)
        tellAllowed(moment)
        note("tool_allowed", "a tool runs unasked in a session from now on", [tool], by)
    }

    mutating func forgetAllowedTools(_ request: ClientRequest, _ moment: Moment) {
        let forgotten = dropAllowedTools()
        if !forgotten.isEmpty {
            tellAllowed(moment)
            note("tools_ask_again", "what was allowed for a session was taken back", forgotten, request.by)
        }
        receive(request, .done, moment, sequence: journal.head)
    }

    /// At once, also during a turn; requests that are open stay open. Who wants to be asked more often is asked about everything.
    mutating func use(_ mode: PermissionMode, _ request: ClientRequest, _ moment: Moment) {
        let forgotten = mode.unasked < record.mode.unasked ? dropAllowedTools() : []
        record.mode = mode
        mustSave = true
        emit(.permissionModeChanged(.init(mode: mode.rawValue, allowedTools: forgotten.isEmpty ? nil : [])), moment)
        if !forgotten.isEmpty {
            note("tools_ask_again", "a stricter mode took back what was allowed for a session", forgotten, request.by)
        }
        receive(request, .done, moment, sequence: journal.head)
    }

    /// Returns them.
    private mutating func dropAllowedTools() -> [String] {
        defer { record.allowedTools = [] }
        return record.allowedTools
    }

    private mutating func tellAllowed(_ moment: Moment) {
        mustSave = true
        emit(
            .permissionModeChanged(.init(mode: record.mode.rawValue, allowedTools: record.allowedTools)), moment)
    }

    private mutating func note(_ name: String, _ sentence: String, _ tools: [String], _ by: By?) {
        step.effects.append(
            .note(
                Diagnostic(
                    .info, "session", name, sentence,
                    [
                        "session_id": .text(id.text), "tools": .text(tools.joined(separator: ", ")),
                        "device": .text(by?.name ?? ""),
                    ])))
    }

    private mutating func tellResolved(_ entry: DeskEntry, _ moment: Moment) {
        let closing = entry.closing
        emit(
            .requestResolved(
                .init(
                    requestID: entry.request.id, outcome: closing?.outcome, by: closing?.by,
                    decision: closing?.decision, bound: closing?.answer == nil ? nil : closing?.isBound)), moment)
    }

    private static func reply(to entry: DeskEntry, _ answer: Answer) -> AgentReply {
        let by = entry.closing?.by
        switch answer.content {
        case .permission(.deny): return .permission(.denied(by: by))
        case .permission(.allowOnce), .permission(.allowSession): return .permission(.allowed(by: by))
        case .plan(let approved, let feedback): return .plan(approved ? .approved : .rejected(feedback: feedback))
        case .goal(let accepted): return .goal(accepted: accepted)
        case .questions(let answers):
            let count = entry.request.content.questions?.count ?? answers.count
            let missing = max(0, count - answers.count)
            return .answers(answers.prefix(count) + [String](repeating: noAnswer, count: missing))
        }
    }

    private static let noAnswer = "(no answer)"

    // MARK: - Verdicts

    /// - Parameter closing: how the request ended, when the answer came too late.
    private mutating func verdict(
        _ outcome: AnswerOutcome, _ closing: DeskEntry.Closing?, _ answer: Answer, _ request: ClientRequest
    ) {
        guard let key = request.operation else { return }
        reply(
            .answerVerdict(
                .init(
                    operation: key.id, requestID: answer.requestID, outcome: outcome, how: closing?.outcome,
                    by: closing?.by, decision: closing?.decision)), to: request)
    }

    /// The verdict of an answer that came before, for a device that did not get it: with who won and how, as the first time.
    public func verdict(repeated answer: Answer, _ receipt: DaemonMessage.Receipt) -> DaemonMessage.AnswerVerdict {
        let outcome = Self.outcome(of: receipt)
        let closing = outcome == .tooLate ? desk.closing(of: answer.requestID) : nil
        return DaemonMessage.AnswerVerdict(
            operation: receipt.operation, requestID: answer.requestID, outcome: outcome, how: closing?.outcome,
            by: closing?.by, decision: closing?.decision)
    }

    private static func outcome(of receipt: DaemonMessage.Receipt) -> AnswerOutcome {
        switch (receipt.state, receipt.code) {
        case (.refused, .tooLate): .tooLate
        case (.refused, .notWhatWasShown): .notWhatWasShown
        case (.refused, _): .unknown
        case (.stored, _), (.started, _), (.done, _), (.absent, _): .repeated
        }
    }

    /// An answer that settles nothing. A stock client only wants its sheet to go away.
    private mutating func decline(
        _ answer: Answer, _ request: ClientRequest, _ code: ErrorCode, _ sentence: String, _ moment: Moment
    ) {
        guard request.operation == nil else { return refuse(request, code, sentence, moment) }
        dismiss(answer.requestID, at: request)
    }

    private mutating func dismiss(_ id: RequestID, at request: ClientRequest) {
        guard request.link == .stock else { return }
        reply(.requestResolved(.init(requestID: id)), to: request)
        reply(
            .sessionAttentionChanged(
                .init(
                    sessionID: self.id, pendingPermissions: desk.pendingPermissions,
                    pendingQuestions: desk.pendingQuestions)), to: request)
    }

    private static func tooLateSentence(_ closing: DeskEntry.Closing) -> String {
        switch closing.outcome {
        case .answered:
            let decision = closing.decision.map { ", \($0)" } ?? ""
            return "too late: answered by \(closing.by?.name ?? "another device")\(decision)"
        case .cancelled: return "too late: the turn was cancelled"
        case .turnEnded: return "too late: the turn is over"
        }
    }

    // MARK: - Closing

    /// Ends every open request, everywhere, with one change of the counts (spec/mew-wire.md §4.6).
    mutating func closeRequests(_ outcome: RequestOutcome, by: By?, _ moment: Moment) {
        let closed = desk.closeAll(outcome, by: by)
        for entry in closed {
            save(entry)
            tellResolved(entry, moment)
            if let call = waitingCalls.removeValue(forKey: entry.request.id) { answer(call, .failed(.cancelled)) }
        }
        if !closed.isEmpty { tellAttention() }
    }
}

extension PermissionMode {
    /// How much runs without asking, to compare.
    fileprivate var unasked: Int {
        switch self {
        case .standard, .auto, .autoPlus: 0
        case .permissive: 1
        case .dangerous: 2
        }
    }
}
