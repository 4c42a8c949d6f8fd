public import MewBase
public import MewWire

/// Why a daemon cannot be talked to just now, although it might be in a moment: worth another dial.
public enum ConnectionTrouble: Error, Hashable, Sendable {
    /// No address and no relay is known: dialling again helps only once the user has named one.
    case noRoute
    /// Each route with what happened there.
    case unreachable([DialError.Attempt])
    /// The daemon said that it would be back (DESIGN §11, planned absence).
    case restarting(Duration)
    /// It was there and went silent or was cut off; half a sentence.
    case lost(String)
}

extension ConnectionTrouble {
    /// The same, with nothing decided by `relays`: what failed there still stands in the words, but is neither the code nor what
    /// has to be looked after. For relays that were asked only in case the daemon is known there.
    ///
    /// - Parameter relays: URLs, as dials name them.
    public func notDecided(by relays: Set<String>) -> ConnectionTrouble {
        guard case .unreachable(let attempts) = self else { return self }
        return .unreachable(
            attempts.map { attempt in
                guard case .relay(let url) = attempt.route, relays.contains(url) else { return attempt }
                return DialError.Attempt(route: attempt.route, outcome: attempt.outcome)
            })
    }
}

/// Why a daemon will not talk to this device: dialling again cannot help, only a person can (NEEDS N-15).
public enum ConnectionRefusal: Error, Hashable, Sendable {
    /// This device is not paired there (any more); the peer's sentence.
    case unauthorized(String)
    case revoked(at: WallTime?, reason: String)
    /// The pairing code was wrong, spent or too late, or the device could not be saved there; the peer's sentence, which says
    /// what to do when there is something to do.
    case pairingRefused(String, ErrorCode = .unauthorized)
    /// Something answered at the known address with another key.
    case wrongNode(SocketAddress)
    /// The two versions have no common ground, or one of them broke the rules; a sentence.
    case incompatible(String)
}

/// How a connection, or the attempt to have one, ended.
public enum ConnectionEnd: Error, Hashable, Sendable {
    case trouble(ConnectionTrouble)
    case refusal(ConnectionRefusal)
    /// The owner ended it.
    case stopped
}

extension ConnectionEnd {
    init(_ error: DialError) {
        self =
            switch error {
            case .noRoute: .trouble(.noRoute)
            case .unreachable(let attempts): .trouble(.unreachable(attempts))
            case .wrongNode(let address): .refusal(.wrongNode(address))
            case .refused(let closure): ConnectionEnd(closure)
            case .cancelled: .stopped
            }
    }

    init(_ closure: LinkClosure) {
        self =
            switch closure {
            case .local(.done): .stopped
            case .local(let code): .trouble(.lost("this side closed the connection with code \(code.rawValue)"))
            case .idle: .trouble(.lost("nothing was heard from it for too long"))
            case .reset: .trouble(.lost("it was restarted"))
            case .transport(let sentence): .trouble(.lost(sentence))
            case .peer(let code, let reason): ConnectionEnd(closedWith: code, reason: reason.printable(limit: 200))
            }
    }

    private init(closedWith code: CloseCode, reason: String) {
        self =
            switch code {
            case .unauthorized: .refusal(.unauthorized(reason))
            case .revoked: .refusal(.revoked(at: nil, reason: reason))
            case .pairingRefused: .refusal(.pairingRefused(reason))
            case .protocolViolation: .refusal(.incompatible(reason))
            case .shuttingDown: .trouble(Self.absence(reason))
            default: .trouble(.lost(reason.isEmpty ? "it closed the connection" : reason))
            }
    }

    /// `restarting, back in 5 s` means: dial then, without back-off. Without a time it is an ordinary loss.
    private static func absence(_ reason: String) -> ConnectionTrouble {
        guard let seconds = secondsOfAbsence(reason) else {
            return .lost(reason.isEmpty ? "it was shut down" : reason)
        }
        return .restarting(.seconds(seconds))
    }

    /// Longest announced absence that is believed; beyond it the back-off is the better guess.
    package static let longestAbsence = 600

    static func secondsOfAbsence(_ reason: String) -> Int? {
        let words = reason.split(separator: " ")
        guard let back = words.firstIndex(of: "back"), words.count > back + 3, words[back + 1] == "in",
            words[back + 3].hasPrefix("s"), let seconds = Int(words[back + 2]), (0...longestAbsence).contains(seconds)
        else { return nil }
        return seconds
    }
}
