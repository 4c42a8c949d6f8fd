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
    public let relay: RelayTrouble?

    /// A relay that carried nothing.
    public struct RelayTrouble: Hashable, Sendable {
        public let url: String
        public let failure: DialError.RelayFailure

        public init(url: String, failure: DialError.RelayFailure) {
            (self.url, self.failure) = (url, failure)
        }
    }

    public init(_ code: ErrorCode, _ message: String, isLocal: Bool = false, relay: RelayTrouble? = nil) {
        self.code = code
        self.message = message
        self.isLocal = isLocal
        self.relay = relay
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
            self.init(
                Self.code(attempts), words.isEmpty ? "it did not answer" : words.joined(separator: "; "),
                relay: Self.toLookAfter(attempts))
        case .restarting(let wait):
            self.init(.daemonRestarting, "it is restarting and expects to be back in \(wait.components.seconds) s")
        case .lost(let how):
            self.init(.unreachable, how.printable(limit: 200))
        }
    }

    /// A refusal is the answer whatever failed beside it: it is what has to be mended (`toLookAfter`), and an address that no
    /// packet reaches is as good as none.
    private static func code(_ attempts: [DialError.Attempt]) -> ErrorCode {
        attempts.contains { $0.relayFailure == .notAdmitted } ? .unauthorized : .unreachable
    }

    /// What can be mended from here comes before what cannot.
    private static func toLookAfter(_ attempts: [DialError.Attempt]) -> RelayTrouble? {
        for failure in DialError.RelayFailure.allCases {
            for attempt in attempts where attempt.relayFailure == failure {
                if case .relay(let url) = attempt.route { return RelayTrouble(url: url, failure: failure) }
            }
        }
        return nil
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
