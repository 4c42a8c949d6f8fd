import MewBase
import MewLoop
import MewSession
import MewWire

// What a stored step leads to. Nothing here waits: frames go into the clients' queues, agents run in tasks of their own.

extension SessionRunner {
    /// - Parameter origin: the channel that the step's request came on; it need not be attached.
    func perform(_ effect: SessionEffect, for origin: SessionClient?) {
        switch effect {
        case .send(let message, let audience): send(message, audience, origin)
        case .replay(let events, let from, let client): replay(events, from, to: client)
        case .admit(let client, let after):
            handles[client] = origin
            origin?.startStream(after: after)
        case .restart(let client): handles[client]?.resumeStream()
        case .release(let client):
            handles[client]?.wake()
            handles[client] = nil
        case .receipt(let receipt, let key, let client):
            services.ledger.record(receipt, for: key)
            tell(receipt, key, client.flatMap { find($0, origin) })
        case .loadPage(let page): loadPage(page, origin)
        case .startTurn(let turn): start(turn)
        case .cancelTurn: agentTask?.cancel()
        case .answer(let call, let reply): answer(call, reply)
        case .runCommand(let command): run(command)
        case .listingChanged: services.listingChanged(info)
        case .note(let diagnostic): environment.diagnostics.record(diagnostic)
        }
    }

    /// The session's line in lists: what is stored, because nobody may hear of anything else.
    var info: SessionInfo { committed.info }

    /// The verdict of an answer that came before.
    func verdict(repeated answer: Answer, _ receipt: DaemonMessage.Receipt) -> DaemonMessage.AnswerVerdict {
        committed.verdict(repeated: answer, receipt)
    }

    private func find(_ client: ClientID, _ origin: SessionClient?) -> SessionClient? {
        if origin?.id == client { return origin }
        return handles[client] ?? services.directory[client]
    }

    // MARK: - Messages

    private func send(_ message: SessionMessage, _ audience: Audience, _ origin: SessionClient?) {
        var forms = forms(of: message)
        switch audience {
        case .client(let client):
            guard let client = find(client, origin) else { return }
            deliver(&forms, message, to: client)
            if let key = message.screen { lastScreen = (key, forms) }
        case .attached:
            for client in attached { deliver(&forms, message, to: client, isQuiet: true) }
            pace.told(bytes: message.event?.body.count ?? Self.unnumberedBytes)
        case .everyone:
            // Attached native channels get the numbered event; what is not numbered goes on control only.
            if message.event != nil {
                for client in attached where client.role == .session {
                    deliver(&forms, message, to: client, isQuiet: true)
                }
                pace.told(bytes: message.event?.body.count ?? Self.unnumberedBytes)
            }
            services.directory.broadcast(&forms, attached: Set(handles.keys), upTo: message.upTo)
            for client in attached where client.role == .stock { watchForGap(client) }
        }
    }

    private func forms(of message: SessionMessage) -> FrameForms {
        if let lastScreen, lastScreen.key == message.screen { return lastScreen.forms }
        return FrameForms(message.message, session: id, event: message.event, ref: message.ref)
    }

    private func deliver(
        _ forms: inout FrameForms, _ message: SessionMessage, to client: SessionClient, isQuiet: Bool = false
    ) {
        guard let bytes = forms.bytes(for: client, isAttached: handles[client.id] != nil) else { return }
        let push = client.push(bytes, message.isReply ? .reply : .stream(upTo: message.upTo), isQuiet: isQuiet)
        if case .overflowed(let after) = push { overflowed(client, after) }
    }

    /// About as much as a message has that is no event.
    private static let unnumberedBytes = 256

    /// What those who hear the session were told quietly is sent, now or when it is time.
    func wakeAttached() {
        guard let due = pace.due(now: environment.loop.now) else { return }
        guard due > environment.loop.now else { return wakeNow() }
        guard wakeTimer == nil else { return }
        wakeTimer = environment.loop.schedule(at: due) { [self] in assumeIsolated { $0.wakeNow() } }
    }

    private func wakeNow() {
        if let wakeTimer { environment.loop.cancel(wakeTimer) }
        wakeTimer = nil
        pace.woke(now: environment.loop.now)
        for client in attached { client.wake() }
    }

    private func replay(_ events: [[UInt8]], _ from: SequenceNumber, to client: ClientID) {
        guard let client = handles[client] else { return }
        var sequence = from
        for event in events {
            if case .overflowed(let after) = client.push(event, .stream(upTo: sequence)) {
                return overflowed(client, after)
            }
            sequence = sequence.next
        }
    }

    // MARK: - Gaps

    /// Natively the client is told and asks to go on; others get what they missed when they have read the rest.
    private func overflowed(_ client: SessionClient, _ after: SequenceNumber) {
        environment.diagnostics.record(
            .init(
                .info, "session", "gap", "a client is too slow and got a gap",
                ["session_id": .text(id.text), "client": .text(client.name)]))
        guard client.role == .session else { return watchForGap(client) }
        let gap = DaemonFrame(.gap(.init(sessionID: id, afterSequence: after)))
        if let bytes = gap.encoded(for: .native) { _ = client.push(bytes, .reply) }
    }

    private func watchForGap(_ client: SessionClient) {
        guard client.isSilent else { return }
        let loop = environment.loop
        client.whenDrained { [self] in loop.spawn { await self.submit(.drained(client.id)) } }
    }

    // MARK: - Receipts

    /// To every native channel of the device that hears the session, and to the one that asked; if there is none, to the
    /// device's control channels: it may have left while its prompt ran.
    private func tell(_ receipt: DaemonMessage.Receipt, _ key: OperationKey, _ client: SessionClient?) {
        var forms = FrameForms(.receipt(receipt), session: id)
        var receivers = attached.filter { $0.role == .session && $0.node == key.device && !$0.isEnded }
        if let client, !client.isEnded, !receivers.contains(where: { $0.id == client.id }) { receivers.append(client) }
        if receivers.isEmpty { receivers = services.directory.controls(of: key.device) }
        for receiver in receivers {
            guard let bytes = forms.bytes(for: receiver, isAttached: false) else { continue }
            // Only what a channel asks for is bounded by its own reading.
            let push = receiver.push(bytes, receiver.id == client?.id ? .reply : .stream(upTo: nil))
            if case .overflowed(let after) = push, receiver.role == .session { overflowed(receiver, after) }
        }
    }

    // MARK: - Pages

    /// Of the store, and of the frame around it.
    private static let pageBytes = PageRequest.maxBytes + (64 << 10)

    private func loadPage(_ page: PageRequest, _ origin: SessionClient?) {
        guard let client = find(page.client, origin) else { return }
        guard client.promise(Self.pageBytes) else {
            return reply(.error(.init(message: Self.tooMuchWaits, code: .busy)), page, to: client)
        }
        environment.loop.spawn { [self] in
            let rows: [MessageRow]
            do throws(StoreError) {
                rows = try await environment.store.messages(
                    of: id, before: page.before, limit: page.limit, maxBytes: PageRequest.maxBytes)
            } catch {
                return await fail(page, client, error)
            }
            await send(rows, page, to: client)
        }
    }

    /// While the rows were read, the list that the cursor belongs to may have gone.
    private func send(_ rows: [MessageRow], _ page: PageRequest, to client: SessionClient) {
        guard page.history == committed.record.history else { return replaceList(of: page, to: client) }
        let first = rows.first?.position ?? 0
        let message = DaemonMessage.sessionHistoryPage(
            .init(
                sessionID: id, messages: rows.compactMap { SessionCore.message(in: $0) },
                nextCursor: first == 0 ? nil : first, replaces: false, asOfSequence: page.asOf,
                historyID: page.history))
        keep(page, message, to: client)
    }

    private func replaceList(of page: PageRequest, to client: SessionClient) {
        let screen = committed.newestScreen
        keep(page, screen.page, to: client)
        guard let part = screen.openPart else { return }
        var forms = FrameForms(part, session: id)
        if let bytes = forms.bytes(for: client, isAttached: false) { _ = client.push(bytes, .reply) }
    }

    private func fail(_ page: PageRequest, _ client: SessionClient, _ error: StoreError) {
        keep(page, .error(.init(message: error.description, code: .internal)), to: client)
    }

    private func keep(_ page: PageRequest, _ message: DaemonMessage, to client: SessionClient) {
        var forms = FrameForms(message, session: id, ref: page.ref)
        client.keep(promise: Self.pageBytes, with: forms.bytes(for: client, isAttached: false))
    }

    private func reply(_ message: DaemonMessage, _ page: PageRequest, to client: SessionClient) {
        var forms = FrameForms(message, session: id, ref: page.ref)
        if let bytes = forms.bytes(for: client, isAttached: false) { _ = client.push(bytes, .reply) }
    }

    private static let tooMuchWaits = "too much waits for this device already; read it first"
}
