internal import MewBase
internal import MewWire

// Operations: each is recorded before it is sent, and its receipts move it on. "Unknown" is left by a receipt or a query only,
// and nothing is ever sent again by itself (spec/native-wire.md §3).

extension DaemonState {
    mutating func begun(_ operation: Operation, _ intent: Intent) -> [ClientEffect] {
        view.operations[operation.id] = operation
        own.insert(operation.id)
        if let session = operation.session {
            switch intent {
            case .prompt(let text):
                if !isNative { view.attached[session]?.sent(text: text) }
            case .answer(let request):
                // The verdict may be here before the send returns.
                view.attached[session]?.answering(request, with: operation.id)
            case .other: break
            }
        }
        return [.keep(operation)]
    }

    /// Moves an operation on; it leaves the view when it is over.
    mutating func advance(_ id: OperationID, _ change: (inout Operation) -> Void) -> [ClientEffect] {
        guard var operation = view.operations[id] else { return [] }
        let before = operation.state
        change(&operation)
        guard operation.state != before else { return [] }
        view.operations[id] = operation.isOver ? nil : operation
        if operation.isOver { ended.insert(operation) }
        // The text it was made from, not what was written since.
        if let session = operation.session, operation.hasArrived, let draft = operation.draft,
            view.drafts[session]?.revision == draft
        {
            view.drafts[session] = nil
        }
        if operation.endedWithoutVerdict, let session = operation.session { view.attached[session]?.notAnswered(id) }
        return [.keep(operation)]
    }

    mutating func found(_ operation: Operation) -> [ClientEffect] {
        guard view.operations[operation.id] == nil, ended[operation.id] == nil else { return [] }
        view.operations[operation.id] = operation
        return [.keep(operation)]
    }

    // MARK: - Drafts

    mutating func show(_ drafts: [Draft], asOf change: DraftRevision) {
        if let shown = draftsAsOf, change < shown { return }
        draftsAsOf = change
        // A receipt is told to the records after it is known here.
        let waiting = drafts.filter { !hasArrived($0.revision) }
        view.drafts = Dictionary(waiting.map { ($0.session, $0) }) { _, newer in newer }
    }

    private func hasArrived(_ draft: DraftRevision) -> Bool {
        let isIt = { (operation: Operation) in operation.draft == draft && operation.hasArrived }
        return view.operations.values.contains(where: isIt) || ended.contains(where: isIt)
    }

    // MARK: - Receipts

    /// - Parameter ref: names the query it answers, if it answers one.
    mutating func received(_ receipt: DaemonMessage.Receipt, ref: String?) -> [ClientEffect] {
        let isSettled = ref.map { settlingQueries.contains($0) } ?? false
        return advance(receipt.operation) { $0.received(receipt, isSettled: isSettled) }
    }

    /// An `error` names an operation when nothing of it was stored, as far as the daemon knows. What is left open is asked about; a
    /// daemon that cannot say yet is asked again when it is saving again.
    mutating func refused(_ error: DaemonMessage.ErrorReply) -> [ClientEffect] {
        guard let id = error.operation else { return [] }
        let effects = advance(id) { $0.failed(ClientError(error)) }
        guard !effects.isEmpty, isNative, let operation = view.operations[id], operation.state == .unknown else {
            return effects
        }
        return effects + query([operation], settle: true)
    }

    /// No receipt will come on the channel of the session any more.
    mutating func loseSending(in session: SessionID) -> [ClientEffect] {
        let ids = view.operations.values.filter { $0.session == session }.map(\.id).sorted()
        return ids.flatMap { advance($0) { $0.channelLost() } }
    }

    // MARK: - What stands for receipts at a stock daemon

    /// The echo of a prompt of ours: the oldest one that waits for it has arrived.
    mutating func echoed(in session: SessionID) -> [ClientEffect] {
        let waiting = view.operations.values.filter {
            $0.session == session && $0.kind == .prompt && $0.state == .sending
        }
        guard let oldest = waiting.map(\.id).min() else { return [] }
        return advance(oldest) { $0.state = .delivered(nil) }
    }

    mutating func turnEnded(in session: SessionID) -> [ClientEffect] {
        isNative ? queries(of: session) : settleDelivered(in: session)
    }

    /// What arrived is all that can be known of it, once its turn or the connection is over.
    mutating func settleDelivered(in session: SessionID?) -> [ClientEffect] {
        let arrived = view.operations.values.filter {
            (session == nil || $0.session == session) && $0.state == .delivered(nil)
        }
        return arrived.map(\.id).sorted().flatMap { advance($0) { $0.state = .settled(nil) } }
    }

    // MARK: - Asking

    /// Asks the daemon about what is not over: after a reconnect, when a turn or a channel ended.
    ///
    /// What is being sent on a living channel is not asked about: the question goes another way, and may be there first.
    ///
    /// - Parameters:
    ///   - session: only about prompts of this one.
    ///   - settlesUnknown: whether unknown ones that the daemon does not have are made impossible, which ends them.
    mutating func queries(of session: SessionID? = nil, settlesUnknown: Bool = true) -> [ClientEffect] {
        let unknown = asked(of: session).filter { $0.state == .unknown }
        return query(unknown, settle: settlesUnknown) + queriesOfKnown(of: session)
    }

    /// Asks how those went on that the daemon has.
    mutating func queriesOfKnown(of session: SessionID?) -> [ClientEffect] {
        query(asked(of: session).filter { $0.state != .unknown && $0.state != .sending }, settle: false)
    }

    /// The same about everything that was said in a session, not prompts alone.
    mutating func queriesOfKnown(in session: SessionID) -> [ClientEffect] {
        query(said(in: session).filter { $0.state != .unknown && $0.state != .sending }, settle: false)
    }

    /// Asks about what was said in a session and has no answer; what the daemon does not have is made impossible.
    mutating func queriesOfUnknown(in session: SessionID) -> [ClientEffect] {
        query(said(in: session).filter { $0.state == .unknown }, settle: true)
    }

    private func said(in session: SessionID) -> [Operation] { asked(of: nil).filter { $0.session == session } }

    private func asked(of session: SessionID?) -> [Operation] {
        guard link?.isNative == true else { return [] }
        return view.operations.values.filter { session == nil || ($0.session == session && $0.kind == .prompt) }
    }

    private mutating func query(_ operations: [Operation], settle: Bool) -> [ClientEffect] {
        let (ids, size) = (operations.map(\.id).sorted(), ClientMessage.ReceiptQuery.maxOperations)
        return stride(from: 0, to: ids.count, by: size).map { start in
            .query(
                Array(ids[start..<min(start + size, ids.count)]), settle: settle,
                ref: settlingQueries.next(settle: settle))
        }
    }
}

extension Operation {
    /// No verdict will come for it as an answer, so that the request it answered is open again here.
    fileprivate var endedWithoutVerdict: Bool {
        switch state {
        case .refused, .unknown, .absent: kind == .answer
        case .sending, .stored, .delivered, .settled: false
        }
    }
}
