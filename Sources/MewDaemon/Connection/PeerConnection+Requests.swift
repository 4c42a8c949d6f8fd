import MewBase
import MewIdentity
import MewWire

// One request: checked, handled, answered.

extension PeerConnection {
    /// Nil before the peer is in.
    var requester: Requester? { requester(as: clientKind) }

    private func requester(as kind: ClientKind) -> Requester? {
        device.map {
            Requester(connection: number, node: node, name: $0.name, link: link.applicationProtocol, clientKind: kind)
        }
    }

    // MARK: Checking

    /// The request, if it is one that may be handled here; otherwise it is refused and nil comes back.
    func check(
        _ decoded: Decoded<ClientFrame, ClientFrame.Envelope>, at place: RequestRules.Place, _ outbox: Outbox
    ) -> ClientFrame? {
        switch decoded {
        case .unknownType(let name, let envelope):
            let sentence = "this daemon does not know \(name.printable(limit: 64))"
            outbox.reply(.error(.init(message: sentence, code: .unknownType)), ref: envelope.ref)
            return nil
        case .invalid(let sentence, let envelope):
            // The beginning of the stock sentence (spec/mew-wire.md §4.1).
            refuse(.badInput, "invalid message: \(sentence)", envelope, outbox)
            return nil
        case .decoded(let frame):
            guard let device else { return nil }
            do throws(RequestRules.Refusal) {
                try RequestRules.check(
                    frame.message.kind, at: place, scope: device.scope, hasOperation: frame.operation != nil)
                return frame
            } catch {
                refuse(error.code, error.sentence, frame.envelope, outbox)
                return nil
            }
        }
    }

    /// "A valid `op_id` is always answered by receipts, never by `error`", except where nothing could be stored at all.
    private func refuse(
        _ code: ErrorCode, _ sentence: String, _ envelope: ClientFrame.Envelope, _ outbox: Outbox
    ) {
        switch (envelope.operation, code) {
        case (let operation?, .scope), (let operation?, .opIDRequired), (let operation?, .notSaved),
            (let operation?, .unknownType):
            outbox.reply(.error(.init(message: sentence, code: code, operation: operation)), ref: envelope.ref)
        case (let operation?, _):
            outbox.reply(
                .receipt(
                    .init(
                        operation: operation, state: .refused, isRepeat: false, sessionID: envelope.sessionID,
                        code: code, message: sentence, at: daemon.wallTime)))
        case (nil, _):
            outbox.reply(.error(.init(message: sentence, code: code)), ref: envelope.ref)
        }
    }

    // MARK: The first channel

    func handle(_ decoded: Decoded<ClientFrame, ClientFrame.Envelope>, on outbox: Outbox) async {
        guard let request = check(decoded, at: firstPlace, outbox), let requester else { return }
        switch request.message {
        case .remoteHello: sendReady()
        case .ping: outbox.reply(.pong(.init(version: daemon.version)), ref: request.ref)
        case .newSession, .newSessionInGroup, .attachSession: await attachStock(request, outbox)
        default:
            if let attached = stockAttachment, belongs(request, to: attached) {
                await attached.receive(request)
            } else {
                await daemon.sessions.answer(request, from: requester, into: outbox)
                await tellPhone(after: request, outbox)
            }
        }
    }

    private var firstPlace: RequestRules.Place {
        guard link.applicationProtocol == .stock else { return .control }
        return stockAttachment == nil ? .stock : .stockAttached
    }

    /// Whether a request on a stock link is one for the attached session.
    private func belongs(_ request: ClientFrame, to attached: any SessionAttachment) -> Bool {
        request.message.kind.channel == .session
            && (request.message.sessionID == nil || request.message.sessionID == attached.sessionID)
    }

    /// A phone does not reload its list after these, and what tells the others has no effect on it (spec/mew-wire.md §5.8).
    private func tellPhone(after request: ClientFrame, _ outbox: Outbox) async {
        guard link.applicationProtocol == .stock, let requester else { return }
        switch request.message {
        case .archiveSession, .renameSession, .pinSession, .deleteSession:
            await daemon.sessions.answer(ClientFrame(.listSessions), from: requester, into: outbox)
        default: break
        }
    }

    // MARK: Attaching

    private func attachStock(_ request: ClientFrame, _ outbox: Outbox) async {
        if case .attachSession(let attach) = request.message, attach.sessionID == stockAttachment?.sessionID {
            // "No reply at all if this connection is already attached to that id" (spec/mew-wire.md §3.1.1).
            return
        }
        if let attached = await attach(request, outbox, replacing: stockAttachment) { stockAttachment = attached }
    }

    func attach(
        _ request: ClientFrame, _ outbox: Outbox, replacing former: (any SessionAttachment)?
    ) async -> (any SessionAttachment)? {
        let kind: ClientKind
        switch request.message {
        case .newSession(let message): kind = message.clientKind
        case .newSessionInGroup(let message): kind = message.clientKind
        case .attachSession(let message): kind = message.clientKind
        default: return nil
        }
        outbox.identify(as: kind)
        clientKind = kind
        guard let requester = requester(as: kind) else { return nil }
        return await daemon.sessions.attach(request, from: requester, into: outbox, replacing: former)
    }
}
