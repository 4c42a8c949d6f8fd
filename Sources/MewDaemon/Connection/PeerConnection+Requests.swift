import MewBase
import MewIdentity
import MewSession
import MewWire

// One request: checked, handled, answered.

extension PeerConnection {
    func handle(_ decoded: Decoded<ClientFrame, ClientFrame.Envelope>, from client: SessionClient) async {
        guard let request = check(decoded, from: client) else { return }
        let kind = request.message.kind
        guard !SessionMessages.contains(kind) else {
            return await daemon.sessions.handle(request, from: client)
        }
        guard client.role != .session else {
            return refuse(.wrongChannel, "\(kind.rawValue) belongs on the first channel", request.envelope, client)
        }
        switch request.message {
        case .remoteHello: sendReady()
        case .ping: client.reply(.pong(.init(version: daemon.version)), ref: request.ref)
        case .listDir(let message): await daemon.listDirectory(message, ref: request.ref, for: client)
        default: preconditionFailure("\(kind.rawValue) is served and nobody serves it")
        }
    }

    // MARK: Checking

    /// The request, if it may be handled; otherwise it is refused and nil comes back.
    private func check(
        _ decoded: Decoded<ClientFrame, ClientFrame.Envelope>, from client: SessionClient
    ) -> ClientFrame? {
        switch decoded {
        case .unknownType(let name, let envelope):
            refuse(.unknownType, "this daemon does not know \(name.printable(limit: 64))", envelope, client)
            return nil
        case .invalid(let sentence, let envelope):
            // The beginning of the stock sentence (spec/mew-wire.md §4.1).
            refuse(.badInput, "invalid message: \(sentence)", envelope, client)
            return nil
        case .decoded(let frame):
            guard let device else { return nil }
            do throws(RequestRules.Refusal) {
                try RequestRules.check(
                    frame.message.kind, on: client.link, scope: device.scope, hasOperation: frame.operation != nil)
                return frame
            } catch {
                refuse(error.code, error.sentence, frame.envelope, client)
                return nil
            }
        }
    }

    /// "A valid `op_id` is always answered by receipts, never by `error`", except where nothing can be stored at all.
    private func refuse(
        _ code: ErrorCode, _ sentence: String, _ envelope: ClientFrame.Envelope, _ client: SessionClient
    ) {
        guard let operation = envelope.operation, code != .scope, code != .unknownType else {
            let error = DaemonMessage.ErrorReply(message: sentence, code: code, operation: envelope.operation)
            return client.reply(.error(error), ref: envelope.ref)
        }
        client.reply(
            .receipt(
                .init(
                    operation: operation, state: .refused, isRepeat: false, sessionID: envelope.sessionID, code: code,
                    message: sentence, at: daemon.wallTime)))
    }
}

extension SessionClient {
    /// The answer to a request of this channel.
    func reply(_ message: DaemonMessage, ref: String? = nil) {
        push(DaemonFrame(message, ref: ref), .reply)
    }
}
