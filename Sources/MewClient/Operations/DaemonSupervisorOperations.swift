internal import MewBase
public import MewWire

// What people do. Each operation is recorded before it is sent; how it goes on, `DaemonState` decides.

extension DaemonSupervisor {
    // MARK: - What people do

    /// Sends a prompt; returns as soon as it is on its way. How far it gets comes as `ClientEvent.operation`.
    ///
    /// - Throws: `busy` while nobody knows whether the same words to the same session arrived before: `unknownPrompt` is that one,
    ///   and `check` asks.
    public func prompt(_ text: String, in session: SessionID) async throws(ClientError) -> OperationID {
        try await perform(.prompt(ClientMessage.Prompt(text: text)), .prompt, in: session, .prompt(text))
    }

    /// Sends what was written to the session. The draft stays until the daemon has it, and longer when it is changed meanwhile.
    ///
    /// - Throws: `busy` while nobody knows whether this draft arrived before, and when it is not what is kept any more: another
    ///   program has changed or sent it. `view` shows then what is kept.
    public func promptDraft(in session: SessionID) async throws(ClientError) -> OperationID {
        guard let draft = view.drafts[session] else {
            throw ClientError(.badInput, "nothing is written", isLocal: true)
        }
        return try await perform(
            .prompt(ClientMessage.Prompt(text: draft.text)), .prompt, in: session, .prompt(draft.text),
            from: draft.revision)
    }

    /// Keeps what a person is writing to a session; an empty text is no draft.
    public func write(_ text: String, to session: SessionID) async throws(ClientError) {
        let node = view.record.node
        let drafts: Drafts
        do throws(ClientStoreError) {
            drafts = try await environment.store.update { records throws(ClientStoreError) in
                guard records.drafts.write(text, to: session, of: node) != nil else { throw .draftTooLong }
                return records.drafts
            }
        } catch {
            throw ClientError(error)
        }
        await show(drafts)
    }

    private func show(_ drafts: Drafts) async {
        let node = view.record.node
        await handle(.drafts(drafts.all.filter { $0.daemon == node }, asOf: drafts.last))
    }

    /// The same words to the same session, of which nobody knows whether they arrived; also of earlier programs.
    public func unknownPrompt(_ text: String, in session: SessionID) async throws(ClientError) -> Operation? {
        guard let content = OperationContent(.prompt(ClientMessage.Prompt(text: text))) else { return nil }
        do throws(ClientStoreError) {
            return try await environment.store.records().unknown(
                content, to: session, of: view.record.node, as: asKnown)
        } catch {
            throw ClientError(error)
        }
    }

    /// Sends an unknown operation once more, as it was and under its own ID: a daemon that has it only says so again. Its session
    /// must be attached.
    ///
    /// - Returns: how it stands after the daemon's answer, or `deadlines.reply` later.
    public func resend(_ operation: Operation) async throws(ClientError) -> Operation {
        let (id, known) = (operation.id, environment.store.asKnown(operation))
        await handle(.found([known]))
        guard let unknown = view.operations[id], unknown.state == .unknown else {
            throw ClientError(.busy, "only what nobody knows about can be sent again", isLocal: true)
        }
        guard let session = unknown.session, let message = unknown.content?.message else {
            throw ClientError(.badInput, "what it said was not kept", isLocal: true)
        }
        guard channels[session] != nil else { throw ClientError(.unreachable, "its session is not attached") }
        await handle(.sentAgain(id, by: environment.store.instance))
        do throws(ClientError) {
            try await send(message, on: session, operation: id)
        } catch {
            await handle(.notSent(id, error))
            throw ClientError(.deliveryUnknown, error.message)
        }
        return await answered(id) ?? unknown
    }

    /// Steers the running turn.
    public func guide(_ text: String, in session: SessionID) async throws(ClientError) -> OperationID {
        try await perform(.guide(ClientMessage.Guide(text: text)), .guide, in: session)
    }

    /// Ends the running turn, or the one named.
    public func cancel(turn: TurnID? = nil, in session: SessionID) async throws(ClientError) -> OperationID {
        let named = turn ?? view.attached[session]?.turn
        return try await perform(.cancel(ClientMessage.Cancel(turnID: named)), .cancel, in: session)
    }

    /// Answers a request with the digest of what was displayed. The request stays in the view until the daemon's verdict, which
    /// comes as an `answer_verdict` of the session; stock daemons give none.
    public func answer(
        _ request: PendingRequest, _ content: Answer.Content, in session: SessionID
    ) async throws(ClientError) -> OperationID {
        let isNative = connection?.ready.isNative ?? true
        let digest = isNative ? request.digest : nil
        let answer = Answer(requestID: request.id, content: content, shownDigest: digest)
        return try await perform(.answer(answer), .answer, in: session, .answer(request.id))
    }

    /// Anything else that changes something, natively until its receipt says that it is done.
    ///
    /// - Parameter session: the session whose channel it must go on; nil for control.
    public func change(_ message: ClientMessage, on session: SessionID? = nil) async throws(ClientError) {
        let isNative = connection?.ready.isNative ?? true
        let operation = try await perform(message, session == nil ? .session : .setting, in: session)
        guard isNative else { return }
        try await settle(operation)
    }

    /// Waits until the operation is over, at most `deadlines.reply`.
    func settle(_ id: OperationID) async throws(ClientError) {
        guard let last = await over(id) else {
            throw ClientError(.deliveryUnknown, "the daemon gave no receipt in \(deadlines.reply.components.seconds) s")
        }
        switch last.state {
        case .settled, .stored, .delivered: return
        case .refused(let code, let message): throw ClientError(code, message)
        case .absent: throw ClientError(.unreachable, "the daemon never got it")
        case .sending:
            throw ClientError(.deliveryUnknown, "the daemon gave no receipt in \(deadlines.reply.components.seconds) s")
        case .unknown: throw ClientError(.deliveryUnknown, "the connection was lost before the receipt came")
        }
    }

    private func over(_ id: OperationID) async -> Operation? {
        await operation(id) { $0.isOver || $0.state == .unknown }
    }

    /// As soon as the daemon has said anything about it.
    private func answered(_ id: OperationID) async -> Operation? {
        await operation(id) { $0.state != .sending }
    }

    /// As it stands when it is as wanted and that is kept, or after `deadlines.reply`.
    private func operation(
        _ id: OperationID, when isWanted: @escaping @Sendable (Operation) -> Bool
    ) async -> Operation? {
        guard let now = view.operations[id] ?? state.ended[id] else { return nil }
        guard !isWanted(now) || beingKept[id] != nil else { return now }
        let feed = Feed<Operation>(capacity: 8)
        operationWaiters[id, default: []].append(feed)
        defer { operationWaiters[id]?.removeAll { $0 === feed } }
        let last = await within(deadlines.reply, on: environment.clock) { () -> Operation? in
            for await next in feed where isWanted(next) { return next }
            return nil
        }
        return (last ?? nil) ?? view.operations[id] ?? state.ended[id] ?? now
    }

    /// What is known here comes before what was kept, which may have failed.
    private var asKnown: @Sendable (Operation) -> Operation {
        let (here, store) = (view.operations, environment.store)
        return { here[$0.id] ?? store.asKnown($0) }
    }

    // MARK: - Sending

    /// Records the operation, sends it and returns its ID.
    private func perform(
        _ message: ClientMessage, _ kind: Operation.Kind, in session: SessionID?, _ intent: Intent = .other,
        from draft: DraftRevision? = nil
    ) async throws(ClientError) -> OperationID {
        guard let connection else { throw notReady }
        let content = session == nil ? nil : OperationContent(message)
        let operation = try await begin(kind, session: session, saying: content, from: draft, intent)
        do throws(ClientError) {
            if let session {
                try await send(message, on: session, operation: operation.id)
            } else {
                try await send(message, operation: operation.id)
            }
        } catch {
            await handle(.notSent(operation.id, error))
            throw error
        }
        // A stock daemon gives no receipts. A prompt is echoed; of everything else nobody will ever know more.
        if !connection.ready.isNative, kind != .prompt { await handle(.unreceipted(operation.id)) }
        return operation.id
    }

    func begin(
        _ kind: Operation.Kind, session: SessionID?, saying content: OperationContent? = nil,
        from draft: DraftRevision? = nil, _ intent: Intent = .other
    ) async throws(ClientError) -> Operation {
        let (node, wall, entropy) = (view.record.node, environment.wallClock(), environment.entropy)
        let (store, asKnown) = (environment.store, asKnown)
        let operation: Operation
        do throws(ClientStoreError) {
            operation = try await store.update { records throws(ClientStoreError) in
                if kind.runsWords, let content, let session,
                    let twin = records.unknown(content, to: session, of: node, as: asKnown)
                {
                    throw .unknownDelivery(twin.id)
                }
                if let draft, let session { try records.checkUnsent(draft, to: session, of: node) }
                let begun = records.begin(
                    kind, at: node, session: session, by: store.instance, saying: content, from: draft, wall: wall,
                    entropy: entropy)
                guard let begun else { throw .tooManyOperations }
                return begun
            }
        } catch {
            if error == .draftChanged { _ = await readRecords() }
            throw ClientError(error)
        }
        // It is kept already: only told.
        for case .keep(let begun) in state.apply(.begun(operation, intent), at: wall) { publish(begun) }
        return operation
    }

    /// Keeps how far an operation got, then tells who waits for it: a program that ends when it has been told leaves nothing open.
    func keep(_ operation: Operation) async {
        beingKept[operation.id, default: 0] += 1
        var kept: Operation
        repeat {
            kept = latest(operation)
            await save(kept)
            // A store need not make changes in the order they were asked for: what is kept last must be the newest.
        } while latest(operation) != kept
        beingKept[operation.id] = beingKept[operation.id].flatMap { $0 > 1 ? $0 - 1 : nil }
        tell(operation)
    }

    private func save(_ operation: Operation) async {
        do throws(ClientStoreError) {
            try await environment.store.update { $0.record(operation) }
        } catch {
            environment.diagnostics.record(
                Diagnostic(
                    .warning, "client", "operation_not_saved", "how far an operation got was not saved: \(error)"))
        }
    }

    private func latest(_ operation: Operation) -> Operation {
        view.operations[operation.id] ?? state.ended[operation.id] ?? operation
    }

    /// What it has passed meanwhile is not told any more: whoever keeps what it passed to tells that.
    private func tell(_ operation: Operation) {
        let latest = latest(operation)
        let isPassed = latest.state != operation.state
        guard !isPassed || beingKept[operation.id] == nil else { return }
        let kept = isPassed ? latest : operation
        for feed in operationWaiters[operation.id] ?? [] { feed.offerNow(kept) }
        if kept.isOver { operationWaiters[operation.id] = nil }
        if !isPassed { publish(operation) }
    }

    // MARK: - What earlier programs asked

    /// Takes over what programs that have ended asked of this daemon: nobody else would ask how it went.
    func adoptOrphans() async {
        guard adopts, let records = await readRecords() else { return }
        let (store, node) = (environment.store, view.record.node)
        let orphans = records.operations.filter { operation in
            // What this very program is sending is about to be seen here; the rest of its own an earlier supervisor left.
            let isOurs = operation.instance == store.instance && operation.state != .sending
            return operation.daemon == node && (isOurs || operation.instance.map(store.isRunning) != true)
        }
        await handle(.found(orphans.map(store.asKnown)))
    }

    /// Reads what is kept, and shows what is written.
    private func readRecords() async -> ClientRecords? {
        let records: ClientRecords
        do throws(ClientStoreError) {
            records = try await environment.store.records()
        } catch {
            environment.diagnostics.record(
                Diagnostic(.warning, "client", "operations_not_read", "what was asked before was not read: \(error)"))
            return nil
        }
        await show(records.drafts)
        return records
    }

    /// Asks about operations, also of earlier processes; each answer comes as `ClientEvent.operation` and is kept.
    ///
    /// - Parameter settle: kills those the daemon never stored, so that a late original can do nothing: may it be sent again?
    ///   Not those that a running program is sending just now.
    public func check(_ operations: [Operation], settle: Bool) async throws(ClientError) -> [Operation] {
        guard connection?.ready.isNative == true else {
            throw ClientError(.unknownType, "this daemon keeps no receipts, so nobody can tell")
        }
        var results: [Operation] = []
        for operation in operations {
            await handle(.found([environment.store.asKnown(operation)]))
            let settles = settle && view.operations[operation.id]?.state != .sending
            let query = ClientMessage.ReceiptQuery(operations: [operation.id], settle: settles)
            let receipt = try await request(.receiptQuery(query)) { message in
                if case .receipt(let receipt) = message, receipt.operation == operation.id { receipt } else { nil }
            }
            await handle(.answered(receipt, isSettled: settles))
            results.append(state.ended[operation.id] ?? view.operations[operation.id] ?? operation)
        }
        return results
    }
}

extension Operation.Kind {
    /// What an agent would do twice when it is said twice.
    fileprivate var runsWords: Bool {
        switch self {
        case .prompt, .guide: true
        case .cancel, .answer, .newSession, .session, .setting: false
        }
    }
}

extension ClientError {
    /// Nothing was sent: it is recorded first.
    init(_ error: ClientStoreError) {
        let code: ErrorCode =
            switch error {
            case .readOnly: .directoryReadOnly
            case .notSaved: .notSaved
            case .unreadable, .notAFile, .damaged: .internal
            case .refused: .badInput
            case .tooManyOperations, .unknownDelivery, .draftChanged: .busy
            case .draftTooLong: .tooLarge
            }
        self.init(code, error.description, isLocal: true)
    }
}
