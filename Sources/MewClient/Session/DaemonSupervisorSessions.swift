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
        do throws(OpeningFailure) {
            try await attach(id, over: connection)
        } catch {
            if !attempts.isUnderWay(id) { await handle(.notOpened(id)) }
            throw error.error
        }
    }

    /// Joins an attempt that is under way: two channels of one session would tell everything twice.
    private func attach(_ id: SessionID, over connection: Connection) async throws(OpeningFailure) {
        let feed: OpeningFeed
        if let joined = attempts.joins(id) {
            feed = joined
        } else {
            let opening = Opening(.attach(id), newGeneration())
            feed = opening.feed
            attempts.begins(id, opening)
            await handle(.opening(id))
            do throws(ClientError) {
                try await open(opening, attachMessage(id, connection.ready), operation: nil)
            } catch {
                attempts.ends(opening, with: .failure(OpeningFailure(error: error)))
            }
        }
        do throws(OpeningFailure) {
            _ = try await live(.attach(id), feed)
        } catch {
            await stopWaiting(id, feed, error.error)
            throw error
        }
    }

    private func stopWaiting(_ id: SessionID, _ feed: OpeningFeed, _ reason: ClientError) async {
        guard let withdrawn = attempts.stopsWaiting(id, feed) else { return }
        if stockOpening?.generation == withdrawn.generation { stockOpening = nil }
        let isBound = channels[id]?.generation == withdrawn.generation
        if isBound { channels[id] = nil }
        await withdrawn.channel?.finish()
        if isBound { await handle(.channelLost(id, reason)) }
    }

    /// Makes a session and attaches to it.
    ///
    /// - Parameter cwd: on the daemon's machine; nil is the home of its user.
    public func newSession(cwd: String?, agent: String? = nil) async throws(ClientError) -> SessionID {
        guard let connection else { throw notReady }
        let message = ClientMessage.NewSession(cwd: cwd, clientKind: connection.ready.clientKind, agent: agent)
        let operation = try await begin(.newSession, session: nil)
        let opening = Opening(.new(operation.id), newGeneration())
        do throws(ClientError) {
            try await open(opening, .newSession(message), operation: operation.id)
            let id = try await shown(opening)
            if !connection.ready.isNative { await handle(.unreceipted(operation.id)) }
            return id
        } catch {
            await handle(.notSent(operation.id, error))
            throw error
        }
    }

    /// Stops hearing the session; it goes on at the daemon.
    public func detach(_ id: SessionID) async {
        let channel = channels.removeValue(forKey: id)
        let attempted = attempts.left(id)
        if connection?.ready.isNative == true { await channel?.channel.finish() }
        await attempted?.finish()
        await handle(.left(id))
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
        let channel = try await openNatively(message, operation, on: connection)
        attempts.opened(channel, for: opening)
        if await connection.jobs.send({ await self.readSession(channel, opening) }) { return }
        throw lost(opening.ask)
    }

    private func lost(_ ask: Opening.Ask) -> ClientError {
        ClientError(ask.changesSomething ? .deliveryUnknown : .unreachable, "the connection was lost")
    }

    private func openNatively(
        _ message: ClientMessage, _ operation: OperationID?, on connection: Connection
    ) async throws(ClientError) -> any MessageChannel {
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
        return channel
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

    private func live(_ ask: Opening.Ask, _ feed: OpeningFeed) async throws(OpeningFailure) -> SessionID {
        switch await within(deadlines.attach, on: environment.clock, { await feed.next() }) {
        case .success(let id)??: return id
        case .failure(let failure)??: throw failure
        case .some(nil): throw OpeningFailure(error: lost(ask))
        case nil:
            // A session may have been made by now.
            throw OpeningFailure(error: ClientError(ask.changesSomething ? .deliveryUnknown : .timedOut, notShown))
        }
    }

    private func shown(_ opening: Opening) async throws(ClientError) -> SessionID {
        do throws(OpeningFailure) {
            return try await live(opening.ask, opening.feed)
        } catch {
            if stockOpening?.generation == opening.generation { stockOpening = nil }
            throw error.error
        }
    }

    /// After a loss, from the event we have. Beside whatever else is done on the connection: a daemon may hold one session back.
    func reattach(_ id: SessionID) { _ = connection?.jobs.post { await self.attachAgain(id) } }

    /// Until the session is shown, or its link is gone: the next one begins anew.
    private func attachAgain(_ id: SessionID) async {
        var backOff = BackOff()
        while let connection, view.attached[id]?.phase == .attaching, channels[id] == nil {
            let failure: OpeningFailure
            do throws(OpeningFailure) {
                return try await attach(id, over: connection)
            } catch {
                failure = error
            }
            guard failure.mayBeTriedAgain, isDetached(id) else { return }
            await handle(.channelLost(id, failure.error))
            guard isLost(id) else { return }
            // A stock daemon shows one session at a time: whoever asks again takes the place of another.
            guard connection.ready.isNative else { return }
            let wait = backOff.failed(entropy: environment.entropy)
            let isOver = await within(wait, on: environment.clock) { await connection.link.closed() } != nil
            guard !isOver, !Task.isCancelled, isDetached(id), isLost(id) else { return }
            await handle(.attaching(id))
        }
    }

    private func isLost(_ id: SessionID) -> Bool {
        if case .lost = view.attached[id]?.phase { true } else { false }
    }

    /// Nobody has attached it or is about to.
    private func isDetached(_ id: SessionID) -> Bool { channels[id] == nil && !attempts.isUnderWay(id) }

    // MARK: - Reading

    /// Reads one native session channel to its end.
    private func readSession(_ channel: any MessageChannel, _ opening: Opening) async {
        let generation = opening.generation
        var bound: SessionID?
        var end: ChannelEnd?
        while end == nil {
            switch await Self.next(on: channel) {
            case .success(let bytes):
                guard let frame = decode(bytes, from: .native) else { continue }
                guard await take(frame, on: channel, opening, &bound) else { return }
            case .failure(let how): end = how
            }
        }
        let how = end == .withLink ? "the connection was lost" : "the daemon ended the channel of the session"
        let error = ClientError(opening.ask.changesSomething ? .deliveryUnknown : .unreachable, how)
        attempts.ends(opening, with: .failure(OpeningFailure(error: error, mayBeTriedAgain: bound == nil)))
        // What a link that is gone means for its sessions, whoever serves it says.
        guard end == .byDaemon, let bound else { return }
        guard channels[bound]?.generation == generation else { return await handle(.drained(bound)) }
        channels[bound] = nil
        await handle(.channelEnded(bound))
    }

    private enum ChannelEnd: Error { case byDaemon, withLink }

    private static func next(on channel: any MessageChannel) async -> Result<[UInt8], ChannelEnd> {
        do throws(ChannelError) {
            return try await channel.receive().map { .success($0) } ?? .failure(.byDaemon)
        } catch {
            switch error {
            case .linkClosed, .cancelled: return .failure(.withLink)
            case .protocolViolation, .tooLarge, .reset, .finished: return .failure(.byDaemon)
            }
        }
    }

    /// False when the channel is not to be read any more.
    private func take(
        _ frame: DaemonFrame, on channel: any MessageChannel, _ opening: Opening, _ bound: inout SessionID?
    ) async -> Bool {
        if bound == nil {
            if case .sessionReady(let ready) = frame.message {
                guard attempts.isWanted(opening) else {
                    await channel.finish()
                    return false
                }
                bound = ready.sessionID
                await bind(ready.sessionID, channel, opening.generation)
            } else if await failedToOpen(opening, frame) {
                await channel.finish()
                return false
            }
        }
        if let id = bound {
            guard channels[id]?.generation == opening.generation else {
                // Detached, or opened anew: read to its end, because what was said on it may still have to be done.
                if case .receipt(let receipt) = frame.message { await handle(.answered(receipt, isSettled: false)) }
                return true
            }
            await handle(.session(frame, id))
            reportLive(opening, id)
        } else if case .receipt(let receipt) = frame.message {
            await handle(.answered(receipt, isSettled: false))
        }
        return true
    }

    private func newGeneration() -> UInt64 {
        generations += 1
        return generations
    }

    private func bind(_ id: SessionID, _ channel: any MessageChannel, _ generation: UInt64) async {
        let replaced = channels.updateValue(SessionChannel(channel: channel, generation: generation), forKey: id)
        if connection?.ready.isNative == true { await replaced?.channel.finish() }
        await handle(.bound(id))
    }

    /// True when the frame says that the session cannot be opened.
    private func failedToOpen(_ opening: Opening, _ frame: DaemonFrame) async -> Bool {
        let error: ClientError
        switch frame.message {
        case .error(let reply): error = ClientError(reply)
        case .receipt(let receipt) where receipt.state == .refused: error = ClientError(refused: receipt)
        default: return false
        }
        if case .attach(let id) = opening.ask, error.code == .unknownSession { await handle(.gone(id)) }
        if case .receipt(let receipt) = frame.message { await handle(.answered(receipt, isSettled: false)) }
        attempts.ends(opening, with: .failure(OpeningFailure(error: error)))
        return true
    }

    private func reportLive(_ opening: Opening, _ id: SessionID) {
        guard let session = view.attached[id], session.phase == .live else { return }
        attempts.ends(opening, with: .success(id))
    }

    /// A frame of a stock connection; true when it belonged to the attached session alone.
    func receivedOnStockSession(_ frame: DaemonFrame) async -> Bool {
        if case .sessionReady(let ready) = frame.message, let connection {
            for id in channels.keys where id != ready.sessionID {
                channels[id] = nil
                let reason = ClientError(.unreachable, "another session was opened on the connection")
                await handle(.channelLost(id, reason))
            }
            await bind(ready.sessionID, connection.control, newGeneration())
        } else if let opening = stockOpening, case .error = frame.message {
            stockOpening = nil
            _ = await failedToOpen(opening, frame)
            return true
        }
        guard let id = channels.keys.first, frame.message.kind.concernsAttachedSession else { return false }
        if let named = frame.message.sessionID, named != id { return false }
        await handle(.session(frame, id))
        if let opening = stockOpening {
            if case .new = opening.ask { await handle(.startedOnStock(id)) }
            reportLive(opening, id)
            if view.attached[id]?.phase == .live { stockOpening = nil }
        }
        // What everyone is told also belongs into the list.
        return !frame.message.kind.isForEveryone
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
