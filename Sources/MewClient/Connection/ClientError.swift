internal import MewBase
public import MewWire

/// Why something asked of a daemon did not happen, or why nobody knows whether it did.
///
/// Match on `code` (spec/native-wire.md §4); print `message`. Whether the daemon can have acted on it says
/// `code.definitelyNotDone`.
public struct ClientError: Error, Hashable, Sendable, CustomStringConvertible {
    public let code: ErrorCode
    /// Half a sentence for people. Text from the peer in it is cleaned.
    public let message: String
    /// The state of this device failed, not the daemon: which of two disks is full.
    public let isLocal: Bool
    /// Set when a relay on the way is what has to be looked after.
    public let relayFailure: DialError.RelayFailure?

    public init(
        _ code: ErrorCode, _ message: String, isLocal: Bool = false, relayFailure: DialError.RelayFailure? = nil
    ) {
        self.code = code
        self.message = message
        self.isLocal = isLocal
        self.relayFailure = relayFailure
    }

    public var description: String { "\(code.rawValue): \(message)" }
}

extension ClientError {
    /// An `error` of the daemon. Stock daemons send only its text.
    init(_ error: DaemonMessage.ErrorReply) {
        let text = error.message.printable(limit: 300)
        self.init(error.code ?? Self.code(ofStock: text), text)
    }

    /// Texts of stock daemons that mean something to a program (spec/mew-wire.md §4).
    private static func code(ofStock text: String) -> ErrorCode {
        if text.hasPrefix("session not found") { return .unknownSession }
        if text.hasPrefix("session cwd") { return .badCwd }
        if text.hasPrefix("remote access scope") { return .scope }
        if text.hasPrefix("remote connection must authenticate") { return .unauthorized }
        if text.hasPrefix("unknown permission mode") || text.hasPrefix("unknown persona") { return .badInput }
        return .internal
    }

    /// An operation that was refused with a receipt.
    init(refused receipt: DaemonMessage.Receipt) {
        let code = receipt.code ?? .internal
        self.init(code, receipt.message?.printable(limit: 300) ?? "the daemon refused it (\(code.rawValue))")
    }

    /// What the end of a connection means for whoever waited for it.
    public init(_ end: ConnectionEnd) {
        switch end {
        case .stopped: self.init(.unreachable, "the connection was closed here")
        case .trouble(let trouble): self.init(trouble)
        case .refusal(let refusal): self.init(refusal)
        }
    }

    public init(_ trouble: ConnectionTrouble) {
        switch trouble {
        case .noRoute:
            self.init(.unreachable, "no address of it is known")
        case .unreachable(let attempts):
            let words = attempts.map { "\(Self.words($0.route)): \($0.outcome.printable(limit: 120))" }
            let failure = Self.toLookAfter(attempts.compactMap(\.relayFailure))
            self.init(
                failure == .notAdmitted ? .unauthorized : .unreachable,
                words.isEmpty ? "it did not answer" : words.joined(separator: "; "), relayFailure: failure)
        case .restarting(let wait):
            self.init(.daemonRestarting, "it is restarting and expects to be back in \(wait.components.seconds) s")
        case .lost(let how):
            self.init(.unreachable, how.printable(limit: 200))
        }
    }

    /// What can be mended from here comes before what cannot.
    private static func toLookAfter(_ failures: [DialError.RelayFailure]) -> DialError.RelayFailure? {
        [.notAdmitted, .notBelieved, .outOfReach].first(where: failures.contains)
    }

    public init(_ refusal: ConnectionRefusal) {
        switch refusal {
        case .unauthorized(let reason):
            self.init(.unauthorized, Self.sentence("it does not know this device", reason))
        case .revoked(_, let reason):
            self.init(.revoked, Self.sentence("it has revoked this device", reason))
        case .pairingRefused(let reason, let code):
            self.init(code, Self.sentence("it refused to pair", reason))
        case .wrongNode(let address):
            self.init(.wrongNode, "another node answered at \(address)")
        case .incompatible(let sentence):
            self.init(.protocol, sentence.printable(limit: 200))
        }
    }

    /// The bare word of stock daemons says no more than we do (spec/mew-wire.md §1.6).
    private static func sentence(_ ours: String, _ peers: String) -> String {
        peers.isEmpty || peers == "unauthorized" ? ours : "\(ours) (it says: \(peers.printable(limit: 200)))"
    }

    private static func words(_ route: LinkPath) -> String {
        switch route {
        case .direct(let address): address.description
        case .relay(let url): url.printable(limit: 80)
        }
    }
}
