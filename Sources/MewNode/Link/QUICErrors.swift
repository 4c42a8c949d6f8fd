import MewQUIC
import MewQUICCore
import MewWire

// How the ends and failures of QUIC look above the links.

extension LinkClosure {
    init(_ closure: QUICClosure) {
        switch closure {
        case .local(let code, _): self = .local(CloseCode(rawValue: code))
        case .peer(let code, let reason): self = .peer(CloseCode(rawValue: code), reason: reason)
        case .idle: self = .idle
        case .reset: self = .reset
        case .handshakeTimeout: self = .transport("the handshake did not finish in time")
        case .wrongPeer(let node): self = .transport("another node answered: \(node)")
        case .noPeerKey: self = .transport("the peer showed no ed25519 key")
        case .noProtocol: self = .transport("no application protocol in common")
        case .transport(let code, let byPeer, let reason):
            let number = "QUIC error 0x" + String(code, radix: 16) + (byPeer ? " from the peer" : "")
            self = .transport(reason.isEmpty ? number : "\(number): \(reason)")
        }
    }
}

extension ChannelError {
    init(_ error: QUICError) {
        switch error {
        case .closed(let closure): self = .linkClosed(LinkClosure(closure))
        case .reset(let code): self = .reset(code: code)
        // The library does not tell the code of STOP_SENDING.
        case .stopped: self = .reset(code: 0)
        case .finished: self = .finished
        case .cancelled: self = .cancelled
        case .refused(let reason): self = .linkClosed(.transport(reason))
        case .noConnectionID: preconditionFailure("channels move no connection")
        case .alreadyReading: preconditionFailure("a channel has one reader")
        case .datagramTooLarge: preconditionFailure("channels send no datagrams")
        }
    }
}

extension DialError {
    init(_ failure: DialFailure, _ names: CarrierNames) {
        switch failure {
        case .noRoute(let attempts):
            self = attempts.isEmpty ? .noRoute : .unreachable(attempts.map { Attempt($0, names) })
        case .unreachable(let attempts): self = .unreachable(attempts.map { Attempt($0, names) })
        case .wrongNode(.direct(let address), _): self = .wrongNode(at: address)
        case .wrongNode(.carried, _): self = .refused(.transport("another node answered through the relay"))
        case .refused(let closure): self = .refused(LinkClosure(closure))
        case .cancelled: self = .cancelled
        case .endpointClosed: self = .refused(.local(.shuttingDown))
        }
    }
}

extension DialError.Attempt {
    init(_ attempt: DialFailure.Attempt, _ names: CarrierNames) {
        self.init(route: LinkPath(attempt.route, names), outcome: attempt.outcome)
    }
}
