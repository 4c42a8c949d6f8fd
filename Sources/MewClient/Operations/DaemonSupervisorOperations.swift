internal import MewBase
public import MewWire

// What people do. Each operation is recorded before it is sent; how it goes on, `DaemonState` decides.

extension DaemonSupervisor {
    // MARK: - What people do

    /// Sends a prompt; returns as soon as it is on its way. How far it gets comes as `ClientEvent.operation`.
    public func prompt(_ text: String, in session: SessionID) async throws(ClientError) -> OperationID {
        try await perform(.prompt(ClientMessage.Prompt(text: text)), .prompt, in: session, .prompt(text))
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
        case .sending, .unknown: throw ClientError(.deliveryUnknown, "the connection was lost before the receipt came")
        }
    }

    private func over(_ id: OperationID) async -> Operation? {
        guard let operation = view.operations[id] else { return state.ended[id] }
        let feed = Feed<Operation>(capacity: 8)
        operationWaiters[id, default: []].append(feed)
        defer { operationWaiters[id]?.removeAll { $0 === feed } }
        let last = await within(deadlines.reply, on: environment.clock) { () -> Operation? in
            for await next in feed where next.isOver || next.state == .unknown { return next }
            return nil
        }
        return (last ?? nil) ?? state.ended[id] ?? operation
    }

    // MARK: - Sending

    /// Records the operation, sends it and returns its ID.
    private func perform(
        _ message: ClientMessage, _ kind: Operation.Kind, in session: SessionID?, _ intent: Intent = .other
    ) async throws(ClientError) -> OperationID {
        guard let connection else { throw notReady }
        let operation = try await begin(kind, session: session, intent)
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
        _ kind: Operation.Kind, session: SessionID?, _ intent: Intent = .other
    ) async throws(ClientError) -> Operation {
        let (node, wall, entropy) = (view.record.node, environment.wallClock(), environment.entropy)
        let instance = environment.store.instance
        let operation: Operation
        do throws(ClientStoreError) {
            operation = try await environment.store.update { records throws(ClientStoreError) in
                let begun = records.begin(
                    kind, at: node, session: session, by: instance, wall: wall, entropy: entropy)
                guard let begun else { throw .tooManyOperations }
                return begun
            }
        } catch {
            throw ClientError(error)
        }
        // It is kept already: only told.
        for case .keep(let begun) in state.apply(.begun(operation, intent), at: wall) { publish(begun) }
        return operation
    }

    /// Keeps how far an operation got, and tells who waits for it.
    func keep(_ operation: Operation) async {
        let id = operation.id
        for feed in operationWaiters[id] ?? [] { feed.offerNow(operation) }
        if operation.isOver { operationWaiters[id] = nil }
        do throws(ClientStoreError) {
            try await environment.store.update { $0.record(operation) }
        } catch {
            environment.diagnostics.record(
                Diagnostic(
                    .warning, "client", "operation_not_saved", "how far an operation got was not saved: \(error)"))
        }
        publish(operation)
    }

    // MARK: - What earlier programs asked

    /// Takes over what programs that have ended asked of this daemon: nobody else would ask how it went.
    func adoptOrphans() async {
        guard adopts else { return }
        let kept: [Operation]
        do throws(ClientStoreError) {
            kept = try await environment.store.records().operations
        } catch {
            return environment.diagnostics.record(
                Diagnostic(.warning, "client", "operations_not_read", "what was asked before was not read: \(error)"))
        }
        let (store, node) = (environment.store, view.record.node)
        let orphans = kept.filter { operation in
            // What this very program is sending is about to be seen here; the rest of its own an earlier supervisor left.
            let isOurs = operation.instance == store.instance && operation.state != .sending
            return operation.daemon == node && (isOurs || operation.instance.map(store.isRunning) != true)
        }
        await handle(.found(orphans.map(store.asKnown)))
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

extension ClientError {
    /// Nothing was sent: it is recorded first.
    init(_ error: ClientStoreError) {
        let code: ErrorCode =
            switch error {
            case .readOnly: .directoryReadOnly
            case .notSaved: .notSaved
            case .unreadable, .damaged: .internal
            case .refused: .badInput
            case .tooManyOperations: .busy
            }
        self.init(code, error.description, isLocal: true)
    }
}
