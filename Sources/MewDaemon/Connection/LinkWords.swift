import MewBase
import MewWire

// What the log says of links.

extension PeerConnection {
    /// A line for each move of the link.
    func noteMoves(of device: String) async {
        await link.observeMoves { [weak self] move in
            guard let self else { return }
            let link = "\(daemon.description.name)'s link to \(device)"
            daemon.note(.info, "link_moved", "\(link) moved from \(move.sentence)", of: self)
        }
    }
}

extension LinkMove {
    /// `A to B: reason`. The device moves it, and knows more.
    var sentence: String {
        "\(Self.words(from)) to \(Self.words(to)): \(reason)"
    }

    private var reason: String {
        switch (from, to) {
        case _ where wasUnheard: "it was not heard there any more"
        case (.relay, .direct): "an address answers"
        case (.direct, .relay): "the device gave the address up"
        case (.direct, .direct), (.relay, .relay): "the device chose so, or its network has changed"
        }
    }

    private static func words(_ path: LinkPath) -> String {
        switch path {
        case .direct(let address): "\(address)"
        case .relay(let url): "the relay \(url.printable(limit: 100))"
        }
    }
}

extension LinkClosure {
    /// For the log. A peer's reason is cleaned.
    var sentence: String {
        switch self {
        case .local(let code): "this daemon closed the connection, because \(code.reason)"
        case .peer(.done, ""): "it ended the connection"
        case .peer(let code, ""): "it closed the connection, because \(code.reason)"
        case .peer(_, let reason): "it closed the connection (\(reason.printable(limit: 120)))"
        case .idle: "nothing was heard any more"
        case .reset: "it had lost the connection"
        case .transport(let reason): reason.printable(limit: 200)
        }
    }
}

extension CloseCode {
    /// As in "because …".
    fileprivate var reason: String {
        switch self {
        case .done: "nothing is left to do"
        case .unauthorized: "this device is not let in"
        case .revoked: "this device was revoked"
        case .pairingRefused: "the pairing was refused"
        case .protocolViolation: "the protocol was broken"
        case .shuttingDown: "the program is stopping"
        default: "of the unknown code \(rawValue)"
        }
    }
}
