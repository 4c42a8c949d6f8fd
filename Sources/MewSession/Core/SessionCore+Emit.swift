import MewWire

// How decisions become writes and effects.

extension SessionCore {
    /// Puts an event into the journal, applies it to the transcript and sends it to whom it concerns.
    ///
    /// Returns its number.
    @discardableResult
    mutating func emit(_ message: DaemonMessage, _ moment: Moment) -> SequenceNumber {
        let frame = DaemonFrame(message, sessionID: id, sequence: journal.next)
        guard let body = frame.encoded(for: .native) else {
            preconditionFailure("\(message.kind.rawValue) has no native form")
        }
        let event = journal.append(body)
        step.writes.append(.appendEvent(id, event))
        transcript.apply(message, sequence: event.sequence, at: moment.wall)
        noteTranscriptChange(by: message, bytes: body.count)
        let audience: Audience = message.kind.isForEveryone ? .everyone : .attached
        step.effects.append(.send(SessionMessage(message, event: event), to: audience))
        return event.sequence
    }

    private mutating func noteTranscriptChange(by message: DaemonMessage, bytes: Int) {
        switch message {
        case .provider(let provider):
            if case .partDelta = provider.event { noteDelta(bytes) } else { mustWriteMessages = true }
        case .toolProgress: noteDelta(bytes)
        case .userMessage, .partUpdated: mustWriteMessages = true
        default: break
        }
    }

    private mutating func noteDelta(_ bytes: Int) {
        pendingDeltas += 1
        pendingDeltaBytes += bytes
    }

    /// A message that is in no journal: presence, attention, alerts.
    mutating func tell(_ message: DaemonMessage, _ audience: Audience) {
        step.effects.append(.send(SessionMessage(message), to: audience))
    }

    /// A direct answer.
    mutating func reply(_ message: DaemonMessage, to request: ClientRequest) {
        step.effects.append(
            .send(SessionMessage(message, ref: request.ref, isReply: true), to: .client(request.client)))
    }

    mutating func answer(_ call: AgentCallID, _ reply: AgentReply) {
        step.effects.append(.answer(call, reply))
    }

    // MARK: - Receipts

    /// The first receipt of an operation. On stock links there is none.
    mutating func receive(
        _ request: ClientRequest, _ state: ReceiptState, _ moment: Moment, sequence: SequenceNumber? = nil,
        turn: TurnID? = nil, staysWithSession: Bool = false
    ) {
        guard let key = request.operation else { return }
        let receipt = DaemonMessage.Receipt(
            operation: key.id, state: state, isRepeat: false, sessionID: id, sequence: sequence, turnID: turn,
            at: moment.wall)
        record(receipt, of: request, key, staysWithSession: staysWithSession)
    }

    /// Refuses an operation: natively with a receipt, on stock links, and where there is no operation, with `error`.
    mutating func refuse(_ request: ClientRequest, _ code: ErrorCode, _ sentence: String, _ moment: Moment) {
        guard let key = request.operation else {
            reply(.error(DaemonMessage.ErrorReply(message: sentence, code: code)), to: request)
            return
        }
        let receipt = DaemonMessage.Receipt(
            operation: key.id, state: .refused, isRepeat: false, sessionID: id, code: code, message: sentence,
            at: moment.wall)
        record(receipt, of: request, key, staysWithSession: false)
    }

    private mutating func record(
        _ receipt: DaemonMessage.Receipt, of request: ClientRequest, _ key: OperationKey, staysWithSession: Bool
    ) {
        step.writes.append(
            .putReceipt(
                ReceiptRow(
                    device: key.device, operation: key.id, staysWithSession: staysWithSession ? id : nil,
                    at: receipt.at, content: request.content, body: receipt.encoded())))
        step.effects.append(.receipt(receipt, key, client: request.client))
    }

    /// A later receipt of an operation that was stored before.
    mutating func advance(_ key: OperationKey?, _ receipt: DaemonMessage.Receipt, client: ClientID? = nil) {
        guard let key else { return }
        step.writes.append(.advanceReceipt(key, at: receipt.at, body: receipt.encoded()))
        step.effects.append(.receipt(receipt, key, client: client))
    }

    // MARK: - Attention

    /// How many requests are open now.
    mutating func tellAttention() {
        tell(
            .sessionAttentionChanged(
                DaemonMessage.SessionAttentionChanged(
                    sessionID: id, pendingPermissions: desk.pendingPermissions,
                    pendingQuestions: desk.pendingQuestions)), .everyone)
        step.effects.append(.listingChanged)
    }

    mutating func alert(_ kind: AlertKind, detail: String? = nil, _ moment: Moment) {
        tell(
            .sessionAlert(
                DaemonMessage.SessionAlert(
                    sessionID: id, title: record.displayTitle(id), kind: kind, detail: detail,
                    alertID: AlertID(moment.newID()), at: moment.wall)), .everyone)
    }
}
