import MewBase
import MewWire

// The beginning and the end of a turn (spec/mew-wire.md §4.4).

extension SessionCore {
    /// Started is durable before the agent hears of it.
    mutating func start(_ prompt: WaitingPrompt, _ waiting: Waiting, _ moment: Moment) {
        forget(work.removeFirst())
        record.turn = RunningTurn(
            id: prompt.turn, startedAt: moment.wall, operation: waiting.work.operation, prompt: prompt,
            messagesFrom: transcript.count)
        let client = workClients.removeValue(forKey: waiting.number)
        advanceTurn(to: .started, nil, moment, client: client)
        emit(
            .sessionActivityChanged(.init(sessionID: id, activity: .running, turnID: prompt.turn)), moment)
        step.effects.append(
            .startTurn(
                AgentTurn(
                    session: id, turn: prompt.turn, text: prompt.text, attachments: prompt.attachments,
                    guidance: takeGuidance(), directory: record.cwd, model: record.model,
                    thinkingVariant: record.thinkingVariant, persona: record.persona)))
    }

    private mutating func advanceTurn(
        to state: ReceiptState, _ result: TurnResult?, _ moment: Moment, client: ClientID? = nil,
        sentence: String? = nil
    ) {
        guard let turn = record.turn, let key = turn.operation else { return }
        advance(
            key,
            DaemonMessage.Receipt(
                operation: key.id, state: state, isRepeat: false, sessionID: id, sequence: turn.promptSequence,
                turnID: turn.id, result: result, message: sentence, at: moment.wall), client: client)
    }

    // MARK: - The end

    mutating func turnEnded(_ turn: TurnID, _ result: AgentResult, _ moment: Moment) {
        guard record.turn?.id == turn else { return }
        switch result {
        case .completed:
            endTurn(record.turn?.hasFailed == true ? .failed : .completed, note: nil, moment)
        case .failed(let sentence):
            endTurn(.failed, note: sentence, moment)
        case .unavailable(let sentence):
            failPrompts(sentence, moment)
            endTurn(.failed, note: sentence, moment)
        case .cancelled:
            endTurn(.cancelled, note: "aborted", moment)
        }
    }

    /// A turn that was started when the daemon died is over, and what waits may go on.
    mutating func recover(isAgentGone: Bool, _ moment: Moment) {
        isUnsettled = false
        if isAgentGone, record.process != nil { forgetProcess() }
        if record.turn != nil { endTurn(.interrupted, note: Self.crashNote, moment) }
        settleLost(moment)
        startNext(moment)
    }

    mutating func shutDown(_ moment: Moment) {
        isShutDown = true
        guard record.turn != nil else { return }
        endTurn(.interrupted, note: Self.stopNote, moment)
    }

    /// Ends the turn while those who hear the session still hear it. What waits ends with the erasing.
    mutating func prepareErasing(_ moment: Moment) {
        isShutDown = true
        if record.turn != nil {
            endTurn(.interrupted, note: Self.deletingNote, moment, sentence: Self.deletedNote)
        }
    }

    /// Nothing starts any more, and whatever was promised gets its end.
    mutating func erase(_ moment: Moment) {
        prepareErasing(moment)
        dropWork(code: .unknownSession, Self.deletedNote, moment) { _ in true }
    }

    static let deletedNote = "the session was deleted"
    static let deletingNote = "interrupted: the session is being deleted"
    static let crashNote = "interrupted: the daemon stopped in the middle of this turn; it was not run again"
    static let stopNote = "interrupted: the daemon is shutting down"

    /// - Parameter sentence: why, for the one who prompted, where the result does not say it.
    private mutating func endTurn(
        _ result: TurnResult, note: String?, _ moment: Moment, sentence: String? = nil
    ) {
        guard let turn = record.turn else { return }
        closeRequests(result == .cancelled ? .cancelled : .turnEnded, by: nil, moment)
        closeOpenParts(of: turn, because: note ?? "the turn is over", moment)
        if let note {
            emit(.errorEvent(.init(message: note)), moment)
            if !hasAnswered(turn) { showReason(note, moment) }
        }
        let hasFailed = turn.hasFailed || result != .completed
        advanceTurn(to: .done, result, moment, sentence: sentence)
        record.turn = nil
        // Who cancels knows; lists show what went wrong.
        record.lastTurnFailed = turn.hasFailed || result == .failed || result == .interrupted
        record.lastMessageAt = moment.wall
        mustSave = true
        tellEnd(of: turn, hasFailed: hasFailed, moment)
        if let persona = turn.nextPersona {
            emit(.personaSwitchRequested(.init(name: persona)), moment)
            use(persona: persona, moment)
        }
        if result != .interrupted { startNext(moment) }
    }

    private mutating func tellEnd(of turn: RunningTurn, hasFailed: Bool, _ moment: Moment) {
        emit(.sessionActivityChanged(.init(sessionID: id, activity: .idle, turnID: turn.id)), moment)
        if var usage = record.usage {
            usage.turns += 1
            record.usage = usage
            emit(
                .sessionUsageChanged(.init(sessionID: id, usage: usage, contextTokens: record.contextTokens)),
                moment)
        }
        alert(hasFailed ? .turnFailed : .turnComplete, moment)
        if turn.wantsTitle, !hasFailed, record.title == nil, let first = record.firstMessage {
            setTitle(Self.title(from: first), moment)
        }
    }

    /// Parts that the agent left open: nobody will close them any more. What a call has printed so far stays, below the reason.
    private mutating func closeOpenParts(of turn: RunningTurn, because reason: String, _ moment: Moment) {
        if let part = transcript.reducer.streamingPart { emit(.provider(.init(event: .partEnd(part))), moment) }
        for part in openCalls(of: turn) {
            guard case .toolCall(let call) = part.content else { continue }
            close(part, call, because: reason, moment)
            emit(.toolEnd(.init(callID: call.callID, succeeded: false)), moment)
        }
    }

    private mutating func close(_ part: Part, _ call: Part.ToolCall, because reason: String, _ moment: Moment) {
        var (part, call) = (part, call)
        call.state = ToolState(
            input: call.state.input, phase: .error(Self.reason(reason, after: call.state.phase)),
            time: ToolTime(start: call.state.time.start, end: moment.wall))
        part.content = .toolCall(call)
        emit(.partUpdated(.init(partID: part.id, part: part)), moment)
    }

    /// What is forgotten can be changed no more: a call that still runs there would look in the history as if it ran for ever.
    mutating func closeParts(ofFirst count: Int, _ moment: Moment) {
        guard count > 0 else { return }
        for part in transcript.messages.prefix(count).flatMap(\.parts).filter(\.isOpenCall) {
            guard case .toolCall(let call) = part.content else { continue }
            close(part, call, because: Self.forgottenNote, moment)
        }
    }

    static let forgottenNote = "how this call ended is not in the history: too much was said while it ran"

    private static func reason(_ reason: String, after phase: ToolState.Phase) -> String {
        guard case .running(let output) = phase, !output.isEmpty else { return reason }
        return reason + "\n" + output.end(cutting: output.utf8.count - interruptedOutputBytes)
    }

    /// As much as the shell agent keeps of a command that ends; people read the end.
    static let interruptedOutputBytes = 48 << 10

    /// A prompt that waits may stand behind any of them.
    private func openCalls(of turn: RunningTurn) -> [Part] {
        transcript.messages(from: turn.messagesFrom).flatMap(\.parts).filter(\.isOpenCall)
    }

    // MARK: - Why, in the history

    /// Whether anything of the turn is in the history.
    private func hasAnswered(_ turn: RunningTurn) -> Bool {
        transcript.messages(from: turn.messagesFrom).contains { $0.role == .assistant }
    }

    /// An error passes, and who comes later would see the prompt and nothing after it: the reason is a message too, by events like
    /// every other, so that each list of messages has it at the same place.
    private mutating func showReason(_ note: String, _ moment: Moment) {
        let message = MessageID(moment.newIDs(2))
        let part = Part(
            id: PartID(message.ulid.successor), messageID: message, session: id.ulid ?? ULID(high: 0, low: 0),
            content: .text(Part.Text(text: note, isSynthetic: true)))
        emit(.provider(.init(event: .partStart(part))), moment)
        emit(.provider(.init(event: .partEnd(part.id))), moment)
    }
}
