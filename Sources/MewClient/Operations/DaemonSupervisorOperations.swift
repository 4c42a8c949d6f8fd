internal import MewBase
public import MewWire

// Operations: each is recorded before it is sent, and its receipts move it on. "Unknown" is left by a receipt or a query only,
// and nothing is ever sent again by itself (spec/native-wire.md §3).

extension DaemonSupervisor {
    // MARK: - What people do

    /// Sends a prompt; returns as soon as it is on its way. How far it gets comes as `ClientEvent.operation`.
    public func prompt(_ text: String, in session: SessionID) async throws(ClientError) -> OperationID {
        let isNative = connection?.ready.isNative ?? true
        if !isNative { view.attached[session]?.sent(text: text) }
        return try await perform(.prompt(ClientMessage.Prompt(text: text)), .prompt, in: session)
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
        let answer = Answer(requestID: request.id, content: content, shownDigest: isNative ? request.digest : nil)
        // The verdict may be here before the send returns.
        return try await perform(.answer(answer), .answer, in: session) { view, operation in
            view.attached[session]?.answering(request.id, with: operation)
        }
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
        guard let operation = view.operations[id] else { return ended[id] }
        let feed = Feed<Operation>(capacity: 8)
        operationWaiters[id, default: []].append(feed)
        defer { operationWaiters[id]?.removeAll { $0 === feed } }
        let last = await within(deadlines.reply, on: environment.clock) { () -> Operation? in
            for await next in feed where next.isOver || next.state == .unknown { return next }
            return nil
        }
        return (last ?? nil) ?? ended[id] ?? operation
    }

    // MARK: - Sending

    /// Records the operation, sends it and returns its ID.
    ///
    /// - Parameter begun: what the view shows of it before anything is sent.
    private func perform(
        _ message: ClientMessage, _ kind: Operation.Kind, in session: SessionID?,
        begun: (inout DaemonView, OperationID) -> Void = { _, _ in }
    ) async throws(ClientError) -> OperationID {
        guard let connection else { throw notReady }
        let operation = try await begin(kind, session: session)
        begun(&view, operation.id)
        do throws(ClientError) {
            if let session {
                try await send(message, on: session, operation: operation.id)
            } else {
                try await send(message, operation: operation.id)
            }
        } catch {
            await advance(operation.id) { $0.failedToSend(error) }
            throw error
        }
        // A stock daemon gives no receipts. A prompt is echoed; of everything else nobody will ever know more.
        if !connection.ready.isNative, kind != .prompt { await advance(operation.id) { $0.state = .settled(nil) } }
        return operation.id
    }

    func begin(_ kind: Operation.Kind, session: SessionID?) async throws(ClientError) -> Operation {
        let (node, wall, entropy) = (view.record.node, environment.wallClock(), environment.entropy)
        let instance = environment.store.instance
        let operation: Operation
        do throws(ClientStoreError) {
            operation = try await environment.store.update { records throws(ClientStoreError) in
                guard
                    let operation = records.begin(
                        kind, at: node, session: session, by: instance, wall: wall, entropy: entropy)
                else {
                    throw .tooManyOperations
                }
                return operation
            }
        } catch {
            throw ClientError(error)
        }
        view.operations[operation.id] = operation
        ownOperations.insert(operation.id)
        publish(operation)
        return operation
    }

    /// Moves an operation on, keeps it, and tells who waits for it.
    func advance(_ id: OperationID, _ change: (inout Operation) -> Void) async {
        guard var operation = view.operations[id] else { return }
        let before = operation.state
        change(&operation)
        guard operation.state != before else { return }
        view.operations[id] = operation.isOver ? nil : operation
        if operation.isOver { ended.insert(operation) }
        if operation.endedWithoutVerdict, let session = operation.session { view.attached[session]?.notAnswered(id) }
        for feed in operationWaiters[id] ?? [] { feed.offerNow(operation) }
        if operation.isOver { operationWaiters[id] = nil }
        let snapshot = operation
        do throws(ClientStoreError) {
            try await environment.store.update { $0.record(snapshot) }
        } catch {
            environment.diagnostics.record(
                Diagnostic(
                    .warning, "client", "operation_not_saved", "how far an operation got was not saved: \(error)"))
        }
        publish(operation)
    }

    // MARK: - Receipts

    /// - Parameter ref: names the query it answers, if it answers one.
    func received(_ receipt: DaemonMessage.Receipt, ref: String? = nil) async {
        let isSettled = ref.map { settlingQueries.contains($0) } ?? false
        await advance(receipt.operation) { $0.received(receipt, isSettled: isSettled) }
    }

    /// An `error` names an operation only when nothing could be stored.
    func received(_ error: DaemonMessage.ErrorReply) async {
        guard let id = error.operation else { return }
        await advance(id) { $0.refused(ClientError(error)) }
    }

    // MARK: - What stands for receipts at a stock daemon

    /// The echo of a prompt of ours: the oldest one that waits for it has arrived.
    func echoed(in session: SessionID) async {
        let waiting = view.operations.values.filter {
            $0.session == session && $0.kind == .prompt && $0.state == .sending
        }
        guard let oldest = waiting.map(\.id).min() else { return }
        await advance(oldest) { $0.state = .delivered(nil) }
    }

    func turnEnded(in session: SessionID) async {
        guard connection?.ready.isNative == false else { return await queryUnsettled(of: session) }
        await settleDelivered(in: session)
    }

    /// What arrived is all that can be known of it, once its turn or the connection is over.
    func settleDelivered(in session: SessionID?) async {
        for operation in view.operations.values.sorted(by: { $0.id < $1.id })
        where (session == nil || operation.session == session) && operation.state == .delivered(nil) {
            await advance(operation.id) { $0.state = .settled(nil) }
        }
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
        let store = environment.store
        for operation in kept where operation.daemon == view.record.node && ended[operation.id] == nil {
            // What this very program is sending is about to be seen here; the rest of its own an earlier supervisor left.
            let isOurs = operation.instance == store.instance && operation.state != .sending
            guard isOurs || operation.instance.map(store.isRunning) != true else { continue }
            if view.operations[operation.id] == nil { await adopt(operation) }
        }
    }

    private func adopt(_ operation: Operation) async {
        view.operations[operation.id] = operation
        publish(operation)
        let known = environment.store.asKnown(operation).state
        await advance(operation.id) { $0.state = known }
    }

    // MARK: - Asking

    /// Asks the daemon about what is not over: after a reconnect, when a turn or a channel ended.
    ///
    /// What is being sent on a living channel is not asked about: the question goes another way, and may be there first.
    ///
    /// - Parameter settlesUnknown: whether unknown ones that the daemon does not have are made impossible, which ends them.
    func queryUnsettled(of session: SessionID? = nil, settlesUnknown: Bool = true) async {
        guard connection?.ready.isNative == true else { return }
        let asked = view.operations.values.filter { session == nil || ($0.session == session && $0.kind == .prompt) }
        let (unknown, known) = (
            asked.filter { $0.state == .unknown }, asked.filter { $0.state != .unknown && $0.state != .sending }
        )
        await query(unknown, settle: settlesUnknown)
        await query(known, settle: false)
    }

    private func query(_ operations: [Operation], settle: Bool) async {
        for batch in Self.batches(operations.map(\.id).sorted()) {
            let ref = settlingQueries.next(settle: settle)
            try? await send(.receiptQuery(ClientMessage.ReceiptQuery(operations: batch, settle: settle)), ref: ref)
        }
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
            if view.operations[operation.id] == nil { await adopt(operation) }
            let settles = settle && view.operations[operation.id]?.state != .sending
            let query = ClientMessage.ReceiptQuery(operations: [operation.id], settle: settles)
            let receipt = try await request(.receiptQuery(query)) { message in
                if case .receipt(let receipt) = message, receipt.operation == operation.id { receipt } else { nil }
            }
            await advance(operation.id) { $0.received(receipt, isSettled: settles) }
            results.append(ended[operation.id] ?? view.operations[operation.id] ?? operation)
        }
        return results
    }

    private static func batches(_ ids: [OperationID]) -> [[OperationID]] {
        let size = ClientMessage.ReceiptQuery.maxOperations
        return stride(from: 0, to: ids.count, by: size).map { Array(ids[$0..<min($0 + size, ids.count)]) }
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

/// The last operations that ended, so that whoever asks a moment later still hears how.
struct EndedOperations {
    private static let capacity = 64
    private var recent: [Operation] = []

    subscript(id: OperationID) -> Operation? { recent.last { $0.id == id } }

    mutating func insert(_ operation: Operation) {
        recent.append(operation)
        if recent.count > Self.capacity { recent.removeFirst() }
    }
}

/// Which of our queries settle: only their answers say that something will never happen. Bounded: an answer comes soon, and
/// an absence whose question is forgotten is asked about again.
struct SettlingQueries {
    private static let capacity = 64
    private var recent: [String] = []
    private var number: UInt64 = 0

    func contains(_ ref: String) -> Bool { recent.contains(ref) }

    /// The `ref` of the next query.
    mutating func next(settle: Bool) -> String {
        number += 1
        let ref = "q\(number)"
        guard settle else { return ref }
        recent.append(ref)
        if recent.count > Self.capacity { recent.removeFirst() }
        return ref
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

/// Operations this process sent, by which it knows its own echoes. Bounded: an echo comes within the turn.
struct OwnOperations {
    private static let capacity = 256
    private var recent: [OperationID] = []

    func contains(_ id: OperationID) -> Bool { recent.contains(id) }

    mutating func insert(_ id: OperationID) {
        recent.append(id)
        if recent.count > Self.capacity { recent.removeFirst() }
    }
}
