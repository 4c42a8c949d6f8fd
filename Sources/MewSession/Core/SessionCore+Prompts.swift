import MewBase
import MewIdentity
import MewWire

// Prompts, guidance and cancel (spec/mew-wire.md §4.4 and §4.6).

extension SessionCore {
    mutating func take(_ prompt: ClientMessage.Prompt, _ request: ClientRequest, _ moment: Moment) {
        guard !prompt.text.trimmed.isEmpty || !prompt.attachments.isEmpty else {
            return refuse(request, .badInput, "the prompt is empty", moment)
        }
        guard prompt.text.utf8.count <= Self.maxPromptBytes else {
            return refuse(
                request, .tooLarge, "a prompt has at most \(Self.maxPromptBytes) bytes; put the rest into a file",
                moment)
        }
        guard hasRoomToWait(request, moment) else { return }
        let turn = TurnID(moment.newID())
        var waiting = WaitingPrompt(
            turn: turn, text: prompt.text, attachments: prompt.attachments, sequence: .zero,
            wantsTitle: request.namesSessions)
        let words = PendingWork(task: .prompt(waiting), operation: request.operation, by: request.by)
        guard hasRoomFor(words, request, moment) else { return }
        let said = say(prompt.text, prompt.attachments, request, turn: turn, moment)
        waiting.sequence = said.sequence
        receive(request, .stored, moment, sequence: said.sequence, turn: turn, staysWithSession: true)
        add(.prompt(waiting), request, message: said.message)
        startNext(moment)
    }

    /// Shows words of a person in the conversation, at once. The identifiers after the message's own are those of its parts.
    private mutating func say(
        _ text: String, _ attachments: [Attachment], _ request: ClientRequest, turn: TurnID?, _ moment: Moment
    ) -> (sequence: SequenceNumber, message: MessageID) {
        if record.firstMessage == nil {
            let line = text.singleLine
            record.firstMessage = line.beginning.utf8.count < line.utf8.count ? line.beginning + "…" : line
        }
        record.lastMessageAt = moment.wall
        mustSave = true
        let message = DaemonMessage.UserMessage(
            text: text, operation: request.operation?.id, by: request.by, turnID: turn, attachments: attachments)
        let first = moment.newIDs(message.identifiers)
        return (emit(.userMessage(message.named(first)), moment), MessageID(first))
    }

    // MARK: - Guidance

    mutating func take(_ guide: ClientMessage.Guide, _ request: ClientRequest, _ moment: Moment) {
        // Blank guidance is ignored; natively that is still an answer.
        guard !guide.text.trimmed.isEmpty else { return receive(request, .done, moment) }
        guard guide.text.utf8.count <= Self.maxPromptBytes else {
            return refuse(request, .tooLarge, "guidance has at most \(Self.maxPromptBytes) bytes", moment)
        }
        guard guidance.count < Self.maxGuidance else {
            return refuse(
                request, .busy, "\(Self.maxGuidance) pieces of guidance wait already; let the agent take them first",
                moment)
        }
        var words = PendingWork(task: .guide(guide.text), operation: nil, by: request.by)
        guard hasRoomFor(words, request, moment) else { return }
        let said = say(guide.text, [], request, turn: record.turn?.id, moment)
        words.message = said.message
        let number = nextWorkNumber()
        guidance.append(Waiting(number: number, work: words))
        step.writes.append(.putWork(id, WorkRow(number: number, body: words.encoded())))
        receive(request, .done, moment, sequence: said.sequence, turn: record.turn?.id)
    }

    /// Hands the guidance out, once.
    mutating func takeGuidance() -> [String] {
        step.writes += guidance.map { .removeWork(id, number: $0.number) }
        defer { guidance = [] }
        return guidance.compactMap(\.work.task.guidance)
    }

    // MARK: - Cancel

    mutating func take(_ cancel: ClientMessage.Cancel, _ request: ClientRequest, _ moment: Moment) {
        if let turn = cancel.turnID, cancelWaiting(turn, request.by, moment) {
            return receive(request, .done, moment, turn: turn)
        }
        guard let turn = record.turn, cancel.turnID == nil || cancel.turnID == turn.id else {
            // Stock: nothing runs, nothing happens.
            guard request.operation != nil else { return }
            return refuse(request, .turnOver, "that turn is over", moment)
        }
        if !turn.isCancelling {
            record.turn?.isCancelling = true
            mustSave = true
            closeRequests(.cancelled, by: request.by, moment)
            step.effects.append(.cancelTurn(turn.id))
        }
        receive(request, .done, moment, turn: turn.id)
    }

    /// A prompt that has not started is taken out of the queue. False when there is none of that turn.
    private mutating func cancelWaiting(_ turn: TurnID, _ by: By, _ moment: Moment) -> Bool {
        guard let index = work.firstIndex(where: { $0.work.task.prompt?.turn == turn }) else { return false }
        let waiting = work.remove(at: index)
        forget(waiting)
        say("not run: cancelled by \(by.name) before its turn", of: waiting, moment)
        settle(waiting, .done, moment, result: .cancelled)
        return true
    }

    /// Prompts that wait for an agent that cannot work end as failed, with the reason. Other work needs no agent, or nobody waits
    /// for its answer.
    mutating func failPrompts(_ sentence: String, _ moment: Moment) {
        for waiting in work where waiting.work.task.prompt != nil {
            forget(waiting)
            say(sentence, of: waiting, moment)
            settle(waiting, .done, moment, result: .failed, sentence: sentence)
        }
        work.removeAll { $0.work.task.prompt != nil }
    }

    /// Words that wait stand in the conversation, and nothing came of them: that is said in their own message, so that every list
    /// of messages has it where people look, and a text that is being streamed goes on. Stock clients do not know the parts of a
    /// message that they were told as it came; they are told besides, and see it in the history.
    private mutating func say(_ sentence: String, of waiting: Waiting, _ moment: Moment) {
        guard let message = waiting.work.message, let text = waiting.work.task.words else { return }
        let part = Part.words(
            text + (text.isEmpty ? "" : "\n") + "(\(sentence))", in: message, of: id.ulid ?? ULID(high: 0, low: 0))
        emit(.partUpdated(.init(partID: part.id, part: part)), moment)
        for client in clients where client.link == .stock {
            stream(.errorEvent(.init(message: "“\(text.singleLine.beginning)”: \(sentence)")), to: client)
        }
    }

    // MARK: - Devices that may do less

    /// Nothing more is done for a device that was revoked while it waited. What runs already is cancelled by others, if at all.
    mutating func revoke(_ device: NodeID, _ moment: Moment) {
        yieldLease(device)
        dropWork(of: device, code: .revoked, "the device was revoked", moment) { _ in true }
    }

    /// The same for what the device may ask for no more.
    mutating func lower(_ device: NodeID, to scope: Scope, _ moment: Moment) {
        if scope < ClientMessage.Kind.lease.neededScope { yieldLease(device) }
        dropWork(of: device, code: .scope, "the device may no longer do this", moment) { $0.neededScope > scope }
    }

    /// A command of the device that the agent carries out goes on.
    private mutating func dropWork(
        of device: NodeID, code: ErrorCode, _ sentence: String, _ moment: Moment,
        where isMeant: (PendingWork.Task) -> Bool
    ) {
        let running = isCommandRunning ? work.first?.number : nil
        dropWork(code: code, sentence, moment) { waiting in
            waiting.number != running && waiting.work.by.node == device && isMeant(waiting.work.task)
        }
    }

    /// Takes out what waits. A prompt that was acknowledged ends as cancelled, with the reason: its sender was promised an end.
    /// Other work is refused. Guidance has had its receipt.
    mutating func dropWork(
        code: ErrorCode, _ sentence: String, _ moment: Moment, where isMeant: (Waiting) -> Bool
    ) {
        for waiting in work.filter(isMeant) {
            forget(waiting)
            if waiting.work.task.prompt != nil {
                say("not run: \(sentence)", of: waiting, moment)
                settle(waiting, .done, moment, result: .cancelled, sentence: sentence)
            } else {
                settle(waiting, .refused, moment, code: code, sentence: sentence)
            }
        }
        for waiting in guidance.filter(isMeant) {
            forget(waiting)
            say("not heard by the agent: \(sentence)", of: waiting, moment)
        }
        work.removeAll(where: isMeant)
        guidance.removeAll(where: isMeant)
    }
}
