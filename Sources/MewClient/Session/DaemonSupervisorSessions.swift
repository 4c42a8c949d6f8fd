internal import MewBase
public import MewWire

// Sessions: attaching, attaching again after a loss, and what arrives on their channels. Natively each has a stream of its own;
// a stock connection is attached to one session at a time and has one channel for everything.

extension DaemonSupervisor {
    // MARK: - Opening

    /// Attaches and returns when the session is live here: nothing before it is missing. Attached again by itself after a loss.
    public func attach(_ id: SessionID) async throws(ClientError) {
        guard let connection else { throw notReady }
        // A stock daemon would not answer at all (spec/mew-wire.md §3.1.1).
        if channels[id] != nil, view.attached[id]?.phase == .live { return }
        if view.attached[id] == nil { view.attached[id] = AttachedSession(id: id) }
        let opening = Opening(.attach(id))
        do throws(ClientError) {
            try await open(opening, attachMessage(id, connection.ready), operation: nil)
            _ = try await live(opening)
        } catch {
            if channels[id] == nil { view.attached[id] = nil }
            throw error
        }
    }

    /// Makes a session and attaches to it.
    ///
    /// - Parameter cwd: on the daemon's machine; nil is the home of its user.
    public func newSession(cwd: String?, agent: String? = nil) async throws(ClientError) -> SessionID {
        guard let connection else { throw notReady }
        let message = ClientMessage.NewSession(cwd: cwd, clientKind: connection.ready.clientKind, agent: agent)
        let operation = try await begin(.newSession, session: nil)
        let opening = Opening(.new(operation.id))
        do throws(ClientError) {
            try await open(opening, .newSession(message), operation: operation.id)
            let id = try await live(opening)
            if !connection.ready.isNative { await advance(operation.id) { $0.state = .settled(nil) } }
            return id
        } catch {
            await advance(operation.id) { $0.failedToSend(error) }
            throw error
        }
    }

    /// Stops hearing the session; it goes on at the daemon.
    public func detach(_ id: SessionID) async {
        let channel = channels.removeValue(forKey: id)
        view.attached[id] = nil
        guard connection?.ready.isNative == true else { return }
        await channel?.channel.finish()
        // What was sent last may be in the channel still: it is not to be killed.
        await loseSending(in: id)
        await queryUnsettled(of: id, settlesUnknown: false)
    }

    /// No receipt will come on the channel of the session any more.
    private func loseSending(in id: SessionID) async {
        for operation in view.operations.keys.sorted() where view.operations[operation]?.session == id {
            await advance(operation) { $0.channelLost() }
        }
    }

    private func attachMessage(_ id: SessionID, _ ready: ReadyLink) -> ClientMessage {
        let known = view.attached[id]
        let canResume = ready.isNative && known?.epoch != nil
        return .attachSession(
            ClientMessage.AttachSession(
                sessionID: id, clientKind: ready.clientKind,
                afterSequence: canResume ? known?.lastSequence : nil, epoch: canResume ? known?.epoch : nil))
    }

    private func open(
        _ opening: Opening, _ message: ClientMessage, operation: OperationID?
    ) async throws(ClientError) {
        guard let connection else { throw notReady }
        guard connection.ready.isNative else { return try await openOnStock(opening, message, operation) }
        guard let bytes = ClientFrame(message, operation: operation).encoded(for: .native) else {
            preconditionFailure("a session is opened by a native message")
        }
        // A daemon may allow no more channels for now, or take nothing in.
        let limit = deadlines.attach
        let opened = await within(limit, on: environment.clock) { try? await connection.link.openChannel() }
        guard let opened else { throw ClientError(.timedOut, notShown) }
        guard let channel = opened else { throw ClientError(.unreachable, "the connection was lost") }
        let sent = await within(limit, on: environment.clock) { (try? await channel.send(bytes)) != nil }
        guard sent == true else {
            // It may have left all the same.
            if operation != nil { throw ClientError(.deliveryUnknown, "the connection was lost") }
            throw sent == nil ? ClientError(.timedOut, notShown) : ClientError(.unreachable, "the connection was lost")
        }
        await connection.jobs.send { await self.readSession(channel, opening) }
    }

    private var notShown: String {
        "the daemon did not show the session in \(deadlines.attach.components.seconds) s"
    }

    private func openOnStock(
        _ opening: Opening, _ message: ClientMessage, _ operation: OperationID?
    ) async throws(ClientError) {
        guard stockOpening == nil else { throw ClientError(.busy, "another session is being opened") }
        stockOpening = opening
        do throws(ClientError) {
            try await send(message, operation: operation)
        } catch {
            stockOpening = nil
            throw error
        }
    }

    private func live(_ opening: Opening) async throws(ClientError) -> SessionID {
        let result = await within(deadlines.attach, on: environment.clock) { await opening.feed.next() }
        switch result {
        case .success(let id)??: return id
        case .failure(let error)??: throw error
        case .some(nil): throw ClientError(.deliveryUnknown, "the connection was lost")
        case nil:
            if stockOpening?.feed === opening.feed { stockOpening = nil }
            // A session may have been made by now.
            throw ClientError(opening.ask.changesSomething ? .deliveryUnknown : .timedOut, notShown)
        }
    }

    // MARK: - Losing and attaching again

    func lostChannel(of id: SessionID) async {
        channels[id] = nil
        await loseSending(in: id)
        guard let effects = view.attached[id]?.channelLost() else { return }
        await perform(effects, of: id)
    }

    /// After a reconnect: every session that was attached, each from the event it has.
    func reattachAll() async {
        guard let connection else { return }
        for id in view.attached.keys.sorted(by: { $0.text < $1.text }) where channels[id] == nil {
            guard view.attached[id]?.phase != .gone else { continue }
            await perform(view.attached[id]?.attachingAgain() ?? [], of: id)
            do throws(ClientError) {
                try await open(Opening(.attach(id)), attachMessage(id, connection.ready), operation: nil)
            } catch {
                return  // the link is gone again; the next one does it
            }
        }
    }

    // MARK: - Reading

    /// Reads one native session channel to its end.
    private func readSession(_ channel: any MessageChannel, _ opening: Opening) async {
        var bound: SessionID?
        let generation = newGeneration()
        while let bytes = try? await channel.receive() {
            guard let frame = decode(bytes, from: .native) else { continue }
            if bound == nil {
                if case .sessionReady(let ready) = frame.message {
                    bound = ready.sessionID
                    bind(ready.sessionID, channel, generation)
                } else if await failedToOpen(opening, frame) {
                    await channel.finish()
                    return
                }
            }
            if let id = bound {
                guard channels[id]?.generation == generation else { return }  // detached, or opened anew
                await receivedOnSession(frame, id, isNative: true)
                reportLive(opening, id)
            } else if case .receipt(let receipt) = frame.message {
                await received(receipt)
            }
        }
        opening.feed.offerLast(.failure(ClientError(.deliveryUnknown, "the daemon ended the channel of the session")))
        guard let bound, channels[bound]?.generation == generation else { return }
        await lostChannel(of: bound)
        await queryUnsettled()
        await reattach(bound)
    }

    /// The daemon ended the channel while the link lives: the session is gone, or it only lost patience. Asking tells.
    private func reattach(_ id: SessionID) async {
        guard let connection, view.attached[id]?.mayReattach() == true else { return }
        await perform(view.attached[id]?.attachingAgain() ?? [], of: id)
        try? await open(Opening(.attach(id)), attachMessage(id, connection.ready), operation: nil)
    }

    private func newGeneration() -> UInt64 {
        generations += 1
        return generations
    }

    private func bind(_ id: SessionID, _ channel: any MessageChannel, _ generation: UInt64) {
        if view.attached[id] == nil { view.attached[id] = AttachedSession(id: id) }
        channels[id] = SessionChannel(channel: channel, generation: generation)
    }

    /// True when the frame says that the session cannot be opened.
    private func failedToOpen(_ opening: Opening, _ frame: DaemonFrame) async -> Bool {
        let error: ClientError
        switch frame.message {
        case .error(let reply): error = ClientError(reply)
        case .receipt(let receipt) where receipt.state == .refused: error = ClientError(refused: receipt)
        default: return false
        }
        if case .attach(let id) = opening.ask, error.code == .unknownSession {
            await perform(view.attached[id]?.sessionGone() ?? [], of: id)
        }
        if case .receipt(let receipt) = frame.message { await received(receipt) }
        opening.feed.offerLast(.failure(error))
        return true
    }

    private func reportLive(_ opening: Opening, _ id: SessionID) {
        guard let session = view.attached[id], session.phase == .live else { return }
        opening.feed.offerLast(.success(id))
    }

    /// A frame of a stock connection; true when it belonged to the attached session alone.
    func receivedOnStockSession(_ frame: DaemonFrame) async -> Bool {
        if case .sessionReady(let ready) = frame.message, let connection {
            for id in channels.keys where id != ready.sessionID { await lostChannel(of: id) }
            bind(ready.sessionID, connection.control, newGeneration())
        } else if let opening = stockOpening, case .error = frame.message {
            stockOpening = nil
            _ = await failedToOpen(opening, frame)
            return true
        }
        guard let id = channels.keys.first, frame.message.kind.concernsAttachedSession else { return false }
        if let named = frame.message.sessionID, named != id { return false }
        await receivedOnSession(frame, id, isNative: false)
        if let opening = stockOpening {
            if case .new = opening.ask { await perform(view.attached[id]?.startedOnStock() ?? [], of: id) }
            reportLive(opening, id)
            if view.attached[id]?.phase == .live { stockOpening = nil }
        }
        // What everyone is told also belongs into the list.
        return !frame.message.kind.isForEveryone
    }

    private func receivedOnSession(_ frame: DaemonFrame, _ id: SessionID, isNative: Bool) async {
        let isOwn = isOwnEcho(frame, id, isNative: isNative)
        if isOwn, !isNative { await echoed(in: id) }
        guard
            let effects = view.attached[id]?.receive(
                frame, isNative: isNative, now: environment.wallClock())
        else { return }
        waiters.take(frame, isNative: isNative)
        if isNative {
            switch frame.message {
            case .receipt(let receipt): await received(receipt)
            case .error(let error): await received(error)
            default: break
            }
        }
        await perform(effects, of: id, isOwn: isOwn)
    }

    private func isOwnEcho(_ frame: DaemonFrame, _ id: SessionID, isNative: Bool) -> Bool {
        guard case .userMessage(let message) = frame.message else { return false }
        guard isNative else { return view.attached[id]?.isEcho(message.text) ?? false }
        return message.operation.map { ownOperations.contains($0) } ?? false
    }

    func perform(_ effects: [AttachedSession.Effect], of id: SessionID, isOwn: Bool = false) async {
        for effect in effects {
            switch effect {
            case .accept(let frame):
                let isLive = view.attached[id]?.phase == .live
                await publish(
                    .session(SessionEvent(session: id, frame: frame, isLive: isLive, isOwnEcho: isOwn)))
            case .phaseChanged(let phase):
                await publish(.sessionPhase(id, phase))
            case .resume(let sequence):
                let message = ClientMessage.ResumeSession(sessionID: id, afterSequence: sequence)
                try? await send(.resumeSession(message), on: id)
            case .turnEnded:
                await turnEnded(in: id)
            }
        }
    }

    /// Sends on the channel of a session.
    func send(
        _ message: ClientMessage, on id: SessionID, operation: OperationID? = nil, ref: String? = nil
    ) async throws(ClientError) {
        guard let connection else { throw notReady }
        guard let channel = channels[id]?.channel else {
            throw ClientError(.unreachable, "this client is not attached to the session")
        }
        let frame = ClientFrame(
            message, operation: operation, ref: ref, sessionID: connection.ready.isNative ? id : nil)
        guard let bytes = frame.encoded(for: connection.ready.applicationProtocol) else {
            throw ClientError(.unknownType, "this daemon does not know \(message.kind.rawValue)")
        }
        do throws(ChannelError) {
            try await channel.send(bytes)
        } catch {
            throw ClientError(.deliveryUnknown, "the connection was lost")
        }
    }
}

extension DaemonMessage.Kind {
    /// On a stock connection: belongs to the session that is attached there, if it names no other.
    fileprivate var concernsAttachedSession: Bool {
        if isForEveryone { return true }
        switch self {
        case .sessionReady, .sessionHistoryPage, .sessionHistory, .sessionCleared, .sessionStatsChanged,
            .clientAttached,
            .clientDetached, .controlYielded, .userMessage, .provider, .partUpdated, .toolStart, .toolProgress,
            .toolEnd,
            .errorEvent, .todosUpdated, .flaggedFilesChanged, .personaSwitchRequested, .jobUpdate, .subagentStart,
            .subagentStatus, .subagentEnd, .slashResult, .permissionRequest, .workspacePermissionRequest,
            .subagentPermissionRequest, .askUserRequest, .planApprovalRequest, .goalProposed, .requestResolved,
            .modelSwitched, .thinkingVariantChanged, .permissionModeChanged, .personaSwitched:
            return true
        default:
            return false
        }
    }
}
