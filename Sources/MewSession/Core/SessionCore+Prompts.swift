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
        let sequence = say(prompt.text, prompt.attachments, request, turn: turn, moment)
        receive(request, .stored, moment, sequence: sequence, turn: turn, staysWithSession: true)
        let waiting = WaitingPrompt(
            turn: turn, text: prompt.text, attachments: prompt.attachments, sequence: sequence,
            wantsTitle: request.namesSessions)
        add(.prompt(waiting), request)
        startNext(moment)
    }

    /// Shows words of a person in the conversation, at once. The identifiers after the message's own are those of its parts.
    private mutating func say(
        _ text: String, _ attachments: [Attachment], _ request: ClientRequest, turn: TurnID?, _ moment: Moment
    ) -> SequenceNumber {
        if record.firstMessage == nil {
            let line = text.singleLine
            record.firstMessage = line.beginning.utf8.count < line.utf8.count ? line.beginning + "…" : line
        }
        record.lastMessageAt = moment.wall
        mustSave = true
        let message = DaemonMessage.UserMessage(
            text: text, operation: request.operation?.id, by: request.by, turnID: turn, attachments: attachments)
        return emit(.userMessage(message.named(moment.newIDs(message.identifiers))), moment)
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
        let sequence = say(guide.text, [], request, turn: record.turn?.id, moment)
        let number = nextWorkNumber()
        let work = PendingWork(task: .guide(guide.text), operation: nil, by: request.by)
        guidance.append(Waiting(number: number, work: work))
        step.writes.append(.putWork(id, WorkRow(number: number, body: work.encoded())))
        receive(request, .done, moment, sequence: sequence, turn: record.turn?.id)
    }

    /// Hands the guidance out, once.
    mutating func takeGuidance() -> [String] {
        step.writes += guidance.map { .removeWork(id, number: $0.number) }
        defer { guidance = [] }
        return guidance.compactMap(\.work.task.guidance)
    }

    // MARK: - Cancel

    mutating func take(_ cancel: ClientMessage.Cancel, _ request: ClientRequest, _ moment: Moment) {
        if let turn = cancel.turnID, cancelWaiting(turn, moment) {
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
    private mutating func cancelWaiting(_ turn: TurnID, _ moment: Moment) -> Bool {
        guard let index = work.firstIndex(where: { $0.work.task.prompt?.turn == turn }) else { return false }
        let waiting = work.remove(at: index)
        forget(waiting)
        settle(waiting, .done, moment, result: .cancelled)
        return true
    }

    /// Prompts that wait for an agent that cannot work end as failed, with the reason. Other work needs no agent, or nobody waits
    /// for its answer.
    mutating func failPrompts(_ sentence: String, _ moment: Moment) {
        for waiting in work where waiting.work.task.prompt != nil {
            forget(waiting)
            settle(waiting, .done, moment, result: .failed, sentence: sentence)
        }
        work.removeAll { $0.work.task.prompt != nil }
    }

    // MARK: - Revocation

    /// Nothing more is done for a device that was revoked while it waited. What runs already is cancelled by others, if at all.
    mutating func revoke(_ device: NodeID, _ moment: Moment) {
        yieldLease(device)
        dropWork(of: device, code: .revoked, "the device was revoked", moment)
        for waiting in guidance where waiting.work.by.node == device { forget(waiting) }
        guidance.removeAll { $0.work.by.node == device }
    }

    /// Takes out what waits, of one device or of all. A prompt that was acknowledged ends as cancelled, with the reason: its
    /// sender was promised an end. Other work is refused. A command of a device that the agent carries out goes on.
    mutating func dropWork(of device: NodeID?, code: ErrorCode, _ sentence: String, _ moment: Moment) {
        let running = isCommandRunning && device != nil ? work.first?.number : nil
        let dropped = work.filter { $0.number != running && (device == nil || $0.work.by.node == device) }
        for waiting in dropped {
            forget(waiting)
            if waiting.work.task.prompt != nil {
                settle(waiting, .done, moment, result: .cancelled, sentence: sentence)
            } else {
                settle(waiting, .refused, moment, code: code, sentence: sentence)
            }
        }
        work.removeAll { waiting in dropped.contains { $0.number == waiting.number } }
    }
}
