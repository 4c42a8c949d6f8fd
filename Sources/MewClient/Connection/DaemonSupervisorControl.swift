internal import MewBase
public import MewWire

// The control channel: hello, reading requests, and what the daemon tells everyone.

extension DaemonSupervisor {
    // MARK: - Hello

    /// Opens the control channel and says hello; returns when the daemon has accepted this device.
    func greet(_ link: any Link) async throws(ConnectionEnd) -> (any MessageChannel, ReadyLink) {
        await handle(.phase(.greeting))
        let control: any MessageChannel
        do throws(ChannelError) {
            control = try await link.openChannel()
        } catch {
            throw await endOfGreeting(link, error, heard: nil)
        }
        var limit = deadlines.hello
        var greeting = Greeting(
            applicationProtocol: link.applicationProtocol, clientKind: environment.clientKind,
            hasToken: view.record.token != nil, pairs: pairs)
        try await sayHello(on: control, of: link)
        while true {
            let frame = try await nextFrame(on: control, of: link, within: limit, greeting)
            guard let frame else { continue }
            switch greeting.receive(frame.message) {
            case .wait: await handle(.greeted(frame.message))
            case .ready(let ready): return (control, ready)
            case .refused(let refusal):
                await link.close(code: refusal.closeCode, reason: refusal.closeReason)
                throw .refusal(refusal)
            case .pairPending(let seconds):
                limit = .seconds(Int64(seconds)) + deadlines.pairingGrace
                await handle(.phase(.pairing(digits: await pairingDigits(of: link), expiresInSeconds: seconds)))
            }
        }
    }

    private func sayHello(on control: any MessageChannel, of link: any Link) async throws(ConnectionEnd) {
        let isNative = link.applicationProtocol == .native
        let hello = ClientMessage.RemoteHello(
            token: view.record.token, deviceName: environment.deviceName,
            capabilities: isNative ? Greeting.capabilities : nil, app: isNative ? environment.app : nil,
            pair: isNative && pairs ? true : nil)
        guard let bytes = ClientFrame(.remoteHello(hello)).encoded(for: link.applicationProtocol) else {
            preconditionFailure("every link has a hello")
        }
        do throws(ChannelError) {
            try await control.send(bytes)
        } catch {
            throw await endOfGreeting(link, error, heard: nil)
        }
    }

    /// The next message; nil for one that is to be skipped.
    private func nextFrame(
        on control: any MessageChannel, of link: any Link, within limit: Duration, _ greeting: Greeting
    ) async throws(ConnectionEnd) -> DaemonFrame? {
        let received = await within(limit, on: environment.clock) { () -> Result<[UInt8]?, ChannelError> in
            do throws(ChannelError) {
                return .success(try await control.receive())
            } catch {
                return .failure(error)
            }
        }
        switch received {
        case .success(let bytes?): return decode(bytes, from: link.applicationProtocol)
        case .success(nil): throw await endOfGreeting(link, nil, heard: greeting)
        case .failure(let error): throw await endOfGreeting(link, error, heard: greeting)
        case nil:
            throw .trouble(.lost("it did not answer the hello in \(limit.components.seconds) s"))
        }
    }

    /// The close code of the link says more than the channel that died with it, and what was said before says most.
    private func endOfGreeting(
        _ link: any Link, _ error: ChannelError?, heard greeting: Greeting?
    ) async -> ConnectionEnd {
        if case .linkClosed(let closure) = error {
            return greeting?.end(ConnectionEnd(closure)) ?? ConnectionEnd(closure)
        }
        if case .protocolViolation(let how) = error { return .refusal(.incompatible(how)) }
        // The daemon ended the channel; the close that tells why is right behind it.
        let closure = await within(.seconds(2), on: environment.clock) { await link.closed() }
        let end = (closure ?? nil).map { ConnectionEnd($0) } ?? .trouble(.lost("it ended the conversation"))
        return greeting?.end(end) ?? end
    }

    private func pairingDigits(of link: any Link) async -> String {
        guard let bytes = try? await link.export(label: PairingDigits.label, byteCount: PairingDigits.byteCount) else {
            return "??????"
        }
        return PairingDigits.text(bytes)
    }

    // MARK: - Sending and asking

    func send(_ message: ClientMessage, operation: OperationID? = nil, ref: String? = nil) async throws(ClientError) {
        guard let connection else { throw notReady }
        let frame = ClientFrame(message, operation: operation, ref: ref)
        guard let bytes = frame.encoded(for: connection.ready.applicationProtocol) else {
            throw ClientError(.unknownType, "this daemon does not know \(message.kind.rawValue)")
        }
        do throws(ChannelError) {
            try await connection.control.send(bytes)
        } catch .cancelled where operation != nil {
            // A message that was begun is completed behind us.
            throw ClientError(.deliveryUnknown, "sending it was broken off")
        } catch {
            throw ClientError(.unreachable, "the connection was lost")
        }
    }

    /// Why nothing can be asked just now.
    var notReady: ClientError {
        switch view.phase {
        case .parked(let refusal): ClientError(refusal)
        case .waiting(_, let trouble): ClientError(trouble)
        case .idle, .dialing, .greeting, .pairing, .ready: ClientError(.unreachable, "there is no connection to it yet")
        }
    }

    /// Asks and waits for the answer, at most `deadlines.reply`.
    ///
    /// - Parameters:
    ///   - session: the session whose channel it must go on; nil for control.
    ///   - answer: picks the answer out of the daemon's messages.
    public func request<Answer: Sendable>(
        _ message: ClientMessage, on session: SessionID? = nil,
        answer: @escaping @Sendable (DaemonMessage) -> Answer?
    ) async throws(ClientError) -> Answer {
        try await request(message, on: session, within: deadlines.reply, answer: answer)
    }

    private func request<Answer: Sendable>(
        _ message: ClientMessage, on session: SessionID?, within limit: Duration,
        answer: @escaping @Sendable (DaemonMessage) -> Answer?
    ) async throws(ClientError) -> Answer {
        guard let waiter = waiters.add({ answer($0) != nil }) else {
            throw ClientError(.busy, "too many requests are waiting for an answer")
        }
        if case .loadSessionHistory(let page) = message, let session {
            await handle(.pageAsked(session, before: page.before, ref: waiter.ref))
        }
        do throws(ClientError) {
            if let session {
                try await send(message, on: session, ref: waiter.ref)
            } else {
                try await send(message, ref: waiter.ref)
            }
        } catch {
            waiters.remove(waiter.ref)
            throw error
        }
        let result = await within(limit, on: environment.clock) { await waiter.answer.next() }
        waiters.remove(waiter.ref)
        switch result {
        case .success(let message)??:
            guard let answer = answer(message) else {
                throw ClientError(.protocol, "the daemon answered something else")
            }
            return answer
        case .failure(let error)??: throw error
        case .some(nil): throw ClientError(.unreachable, "the connection was lost")
        case nil:
            throw ClientError(.timedOut, "the daemon did not answer in \(limit.components.seconds) s")
        }
    }

    /// One ping over the control channel.
    public func ping() async throws(ClientError) { try await ping(within: deadlines.reply) }

    func ping(within limit: Duration) async throws(ClientError) {
        _ = try await request(.ping, on: nil, within: limit) { message in
            if case .pong(let pong) = message { pong.version } else { nil }
        }
    }

    public func listSessions() async throws(ClientError) -> [SessionInfo] {
        try await request(.listSessions) { if case .sessionList(let list) = $0 { list.sessions } else { nil } }
    }

    /// What is known about the path, right now; nil without a link.
    public func linkStatus() async -> LinkStatus? {
        await connection?.link.status()
    }

    /// The status once `isEnough` says yes to it or the calling task is cancelled; nil without a link, and when it ends meanwhile:
    /// what was under way at its end is not so any more.
    public func linkStatus(when isEnough: @escaping @Sendable (LinkStatus) -> Bool) async -> LinkStatus? {
        guard let status = await connection?.link.status(when: isEnough) else { return nil }
        return isEnough(status) || Task.isCancelled ? status : nil
    }

    /// How long ago the daemon last proved to be there: its acknowledgements count while there is a link, what it said after it.
    /// Nil before the first time.
    public func proof() async -> Duration? {
        // Links count by the loop's clock; by another one nothing can be said of theirs.
        if let status = await linkStatus(), let now = environment.clock.now as? Instant {
            return status.lastProof.duration(to: now)
        }
        guard let proof = view.lastProof else { return nil }
        let (age, overflow) = environment.wallClock().milliseconds.subtractingReportingOverflow(proof.milliseconds)
        return overflow ? nil : .milliseconds(max(0, age))
    }

    // MARK: - Reading

    func decode(_ bytes: [UInt8], from link: ApplicationProtocol) -> DaemonFrame? {
        switch DaemonFrame.decode(bytes, from: link) {
        case .decoded(let frame):
            return frame
        case .unknownType(let name, _):
            skip("a message of the unknown type \(name.printable(limit: 64))")
        case .invalid(let sentence, _):
            skip("a message that is wrong: \(sentence)")
        }
        return nil
    }

    /// "Never disconnect for content" (spec/mew-wire.md §5.3).
    private func skip(_ what: String) {
        // Counted at once: nothing follows from it.
        _ = state.apply(.skipped, at: environment.wallClock())
        environment.diagnostics.record(ifWanted: .debug) {
            Diagnostic(.debug, "client", "message_skipped", "skipped \(what)")
        }
    }

    /// Until the channel ends, however it ends: the link says why.
    func readControl(_ control: any MessageChannel, _ ready: ReadyLink) async {
        while let bytes = try? await control.receive() {
            guard let frame = decode(bytes, from: ready.applicationProtocol) else { continue }
            await received(frame, ready)
        }
    }

    private func received(_ frame: DaemonFrame, _ ready: ReadyLink) async {
        if !ready.isNative, await receivedOnStockSession(frame) { return }
        await handle(.control(frame))
    }
}

extension ConnectionRefusal {
    /// What we close with when it is us who cannot go on.
    fileprivate var closeCode: CloseCode {
        switch self {
        case .incompatible: .protocolViolation
        case .unauthorized, .revoked, .pairingRefused, .wrongNode: .done
        }
    }

    fileprivate var closeReason: String {
        switch self {
        case .incompatible(let sentence): sentence
        case .unauthorized, .revoked, .pairingRefused, .wrongNode: ""
        }
    }
}
