import MewBase
import MewWire

// What the agent of the running turn tells and asks. Every call is answered, at once or when people did.

extension SessionCore {
    mutating func handle(_ call: AgentCall, _ id: AgentCallID, _ turn: TurnID, _ moment: Moment) {
        guard record.turn?.id == turn else { return answer(id, .failed(.gone)) }
        switch call {
        case .emit(let event): take(event, id, moment)
        case .permission(let tool): ask(tool, id, moment)
        case .workspacePermission(let path): askForWorkspace(path, id, moment)
        case .ask(let questions, let tool):
            ask(.askUser(questions: questions), call: tool, id, alert: .inputNeeded, moment)
        case .plan(let plan, let tool):
            let content = Request.Content.planApproval(
                planPath: plan.path, planMarkdown: plan.markdown, persona: plan.persona)
            ask(content, call: tool, id, alert: .inputNeeded, moment)
        case .goal(let objective, let tool):
            ask(.goal(objective: objective), call: tool, id, alert: .inputNeeded, moment)
        case .takeGuidance: answer(id, .guidance(takeGuidance()))
        case .willStart(let process): start(process, id)
        case .didEnd(let process): end(process, id)
        }
    }

    // MARK: - Events

    private mutating func take(_ event: AgentEvent, _ call: AgentCallID, _ moment: Moment) {
        let size = event.roughBytes
        guard size <= AgentEvent.maxBytes else { return answer(call, .failed(.tooLarge(bytes: size))) }
        apply(event, moment)
        answer(call, .done)
    }

    private mutating func apply(_ event: AgentEvent, _ moment: Moment) {
        switch event {
        case .provider(let event):
            emit(.provider(.init(event: event)), moment)
            if case .messageEnd(let end) = event { count(end) }
        case .partUpdated(let part): emit(.partUpdated(.init(partID: part.id, part: part)), moment)
        case .toolStarted(let call): emit(.toolStart(.init(callID: call)), moment)
        case .toolProgress(let call, let chunk): emit(.toolProgress(.init(callID: call, chunk: chunk)), moment)
        case .toolEnded(let call, let success): emit(.toolEnd(.init(callID: call, succeeded: success)), moment)
        case .toolResults(let calls): addResults(of: calls, moment)
        case .notice(let text): emit(.errorEvent(.init(message: text)), moment)
        case .error(let text):
            record.turn?.hasFailed = true
            mustSave = true
            emit(.errorEvent(.init(message: text)), moment)
        case .todos(let todos):
            record.todos = FirstScreen.kept(todos)
            mustSave = true
            emit(.todosUpdated(.init(todos: record.todos)), moment)
        case .changes(let changes): add(changes, moment)
        case .flaggedFiles(let files):
            record.flaggedFiles = FirstScreen.kept(files)
            mustSave = true
            emit(.flaggedFilesChanged(.init(sessionID: id, files: record.flaggedFiles)), moment)
        case .usage(let usage, let context):
            add(usage, context)
            transcript.addCost(usage.cost)
            mustWriteMessages = true
        case .personaSwitchRequested(let name):
            record.turn?.nextPersona = name
            mustSave = true
        case .job(let job, let command, let state):
            emit(.jobUpdate(.init(jobID: job, command: command, state: state)), moment)
        case .subagentStarted, .subagentStatus, .subagentEnded: emit(subagentEvent: event, moment)
        }
    }

    private mutating func emit(subagentEvent event: AgentEvent, _ moment: Moment) {
        switch event {
        case .subagentStarted(let parent, let name, let child, let displayName):
            emit(
                .subagentStart(
                    .init(parentCallID: parent, name: name, childSessionID: child, displayName: displayName)), moment)
        case .subagentStatus(let parent, let tool, let message):
            emit(.subagentStatus(.init(parentCallID: parent, toolName: tool, message: message)), moment)
        case .subagentEnded(let parent, let child, let outcome, let manifests):
            emit(
                .subagentEnd(
                    .init(parentCallID: parent, childSessionID: child, outcome: outcome, manifests: manifests)),
                moment)
        default:
            break
        }
    }

    /// The message that carries the results back to the model. Clients make nothing of it, so no event tells of it.
    private mutating func addResults(of calls: [CallID], _ moment: Moment) {
        let message = MessageID(moment.newID())
        let session = self.id.ulid ?? ULID(high: 0, low: 0)
        let parts = calls.map { call in
            Part(
                id: PartID(moment.newID()), messageID: message, session: session,
                content: .toolResult(Part.ToolResult(callID: call)))
        }
        transcript.add(
            Message(
                id: message, session: session, role: .user, parts: parts, time: MessageTime(created: moment.wall),
                sequence: journal.head))
        mustWriteMessages = true
    }

    // MARK: - Sums

    private mutating func count(_ end: ProviderEvent.MessageEnd) {
        add(
            SessionUsage(
                inputTokens: UInt64(end.usage.input), outputTokens: UInt64(end.usage.output),
                cacheReadTokens: UInt64(end.usage.cacheRead), cacheWriteTokens: UInt64(end.usage.cacheWrite),
                cost: end.cost), UInt64(end.usage.input))
    }

    private mutating func add(_ usage: SessionUsage, _ context: UInt64?) {
        var sum = record.usage ?? SessionUsage()
        sum.inputTokens = sum.inputTokens.saturating(plus: usage.inputTokens)
        sum.outputTokens = sum.outputTokens.saturating(plus: usage.outputTokens)
        sum.cacheReadTokens = sum.cacheReadTokens.saturating(plus: usage.cacheReadTokens)
        sum.cacheWriteTokens = sum.cacheWriteTokens.saturating(plus: usage.cacheWriteTokens)
        sum.cost += usage.cost
        record.usage = sum
        if let context { record.contextTokens = context }
        mustSave = true
    }

    /// Names that are kept in the sum. More say nothing to anybody, and all are written with every change of the session.
    private static let maxChangedFiles = 200

    private mutating func add(_ changes: ChangeStats, _ moment: Moment) {
        var sum = record.changes ?? ChangeStats(added: 0, removed: 0, files: [])
        sum.added = sum.added.saturating(plus: changes.added)
        sum.removed = sum.removed.saturating(plus: changes.removed)
        for file in changes.files where !sum.files.contains(file) && sum.files.count < Self.maxChangedFiles {
            sum.files.append(file)
        }
        record.changes = sum
        mustSave = true
        emit(
            .sessionStatsChanged(
                .init(
                    sessionID: id, added: sum.added, removed: sum.removed, filesChanged: UInt64(sum.files.count))),
            moment)
    }

    // MARK: - Processes

    private mutating func start(_ process: AgentProcess, _ call: AgentCallID) {
        if let running = record.process { return answer(call, .failed(.processRunning(running))) }
        record.process = process
        mustSave = true
        step.writes.append(.startProcess(ProcessRow(session: id, process: process)))
        answer(call, .done)
    }

    private mutating func end(_ process: AgentProcess, _ call: AgentCallID) {
        if record.process == process { forgetProcess() }
        answer(call, .done)
    }

    /// It was proven gone.
    mutating func forgetProcess() {
        record.process = nil
        mustSave = true
        step.writes.append(.endProcess(id))
    }
}

extension AgentEvent {
    /// The encoded size of what could be large in it.
    var roughBytes: Int {
        switch self {
        case .provider(let event): event.encoded().count
        case .partUpdated(let part): part.encoded().count
        case .toolProgress(_, let chunk): chunk.encoded().count
        case .notice(let text), .error(let text): text.encoded().count
        case .todos(let todos): todos.encoded().count
        case .flaggedFiles(let files): files.encoded().count
        case .changes(let changes): changes.encoded().count
        case .subagentEnded(_, _, _, let manifests): manifests.encoded().count
        case .subagentStarted(_, let name, _, let displayName): (name + (displayName ?? "")).encoded().count
        case .subagentStatus(_, let tool, let message): (tool + message).encoded().count
        case .job(_, let command, let state): (command + state).encoded().count
        case .personaSwitchRequested(let name): name.encoded().count
        case .toolStarted, .toolEnded, .toolResults, .usage: 0
        }
    }
}

extension UInt64 {
    func saturating(plus other: UInt64) -> UInt64 {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? .max : sum
    }
}
