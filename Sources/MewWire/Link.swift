public import MewBase
public import MewIdentity

/// The application protocols we speak, in the order a dialler offers them.
public enum ApplicationProtocol: String, Sendable, CaseIterable, Hashable {
    case native = "mew/wire/1"
    case stock = "mew/wire/0"
}

/// One authenticated connection to a peer: its TLS key *is* the node ID.
public protocol Link: Sendable {
    var peer: NodeID { get }
    var applicationProtocol: ApplicationProtocol { get }

    /// Dialler: opens the next channel. The first one opened is control on native links; stock links have exactly one.
    func openChannel() async throws(ChannelError) -> any MessageChannel

    /// Listener: the next channel that the dialler opened; nil once the link is closed.
    func acceptChannel() async -> (any MessageChannel)?

    /// Keying material both sides can compute and nobody else (RFC 8446 §7.5), with an empty context. Listener: before
    /// `authorize`.
    func export(label: String, byteCount: Int) async throws(ChannelError) -> [UInt8]

    /// Tells the peer `code` and the sentence `reason`. Idempotent; the first call wins.
    func close(code: CloseCode, reason: String) async

    /// Suspends until the link is gone; nil when the waiting task was cancelled before that.
    func closed() async -> LinkClosure?

    /// What is known about it right now.
    func status() async -> LinkStatus

    /// Dialler: suspends until the status is one that `isEnough` says yes to, the link is over or the calling task is cancelled;
    /// returns the present one. `isEnough` is asked again each time that something about the path was decided, and by a listener
    /// once.
    func status(when isEnough: @escaping @Sendable (LinkStatus) -> Bool) async -> LinkStatus

    /// Dialler: the peer has told where it can be reached, relays home first. They are tried at once, and shown in `status`.
    func learned(addresses: [SocketAddress], relays: [String]) async
}

extension Link {
    /// For links that never change their path.
    public func status(when isEnough: @escaping @Sendable (LinkStatus) -> Bool) async -> LinkStatus { await status() }

    /// For links that never change their path.
    public func learned(addresses: [SocketAddress], relays: [String]) async {}
}

/// A link that a peer dialled. Until `authorize` it is a stranger and may cost little (DESIGN §5): one channel, 64 KiB, and
/// 10 s until it is closed.
public protocol IncomingLink: Link {
    /// The peer is known: lifts the limits on strangers. Idempotent.
    ///
    /// - Parameter budget: what its channels keep of messages that are not complete is charged there; a channel that would
    ///   exceed it fails with `protocolViolation`.
    func authorize(charging budget: ByteBudget) async

    /// The peer's key is one that may enter, although it has said nothing yet: it takes no stranger's place from now on, and
    /// its owner watches the time. The other limits stay. Idempotent.
    func recognize() async

    /// The peer has said who it is and a person must decide: the 10 s are over, the other limits stay. Idempotent.
    func keepWaiting() async

    /// Calls `observer` each time the peer has moved the link to another way; from the link's isolation, so that it has to return
    /// at once.
    func observeMoves(_ observer: @escaping @Sendable (LinkMove) -> Void) async
}

extension IncomingLink {
    /// For links that never change their path.
    public func observeMoves(_ observer: @escaping @Sendable (LinkMove) -> Void) async {}
}

/// A peer has moved the link that it dialled.
public struct LinkMove: Hashable, Sendable {
    public let from: LinkPath
    public let to: LinkPath
    /// It was not heard any more on the way before.
    public let wasUnheard: Bool

    public init(from: LinkPath, to: LinkPath, wasUnheard: Bool) {
        (self.from, self.to, self.wasUnheard) = (from, to, wasUnheard)
    }
}

/// Where peers arrive.
public protocol LinkListener: Sendable {
    /// The next link that a peer dialled, its handshake done and its node ID proven; nil once we listen no more. One caller
    /// at a time.
    func acceptLink() async -> (any IncomingLink)?
}

/// Application close codes (spec/native-wire.md §1).
public struct CloseCode: Hashable, Sendable, RawRepresentable {
    public let rawValue: UInt64

    public init(rawValue: UInt64) {
        self.rawValue = rawValue
    }

    public static let done = CloseCode(rawValue: 0)
    public static let unauthorized = CloseCode(rawValue: 1)
    public static let revoked = CloseCode(rawValue: 2)
    public static let pairingRefused = CloseCode(rawValue: 3)
    public static let protocolViolation = CloseCode(rawValue: 4)
    public static let shuttingDown = CloseCode(rawValue: 5)
}

/// How a link ended.
public enum LinkClosure: Error, Hashable, Sendable {
    /// We closed it.
    case local(CloseCode)
    /// The peer closed it and said why.
    case peer(CloseCode, reason: String)
    /// Nothing was heard for the idle time-out.
    case idle
    /// The peer lost its state and sent a stateless reset.
    case reset
    /// QUIC itself failed; the sentence says how.
    case transport(String)
}

/// Whom to dial, and where the peer was last seen.
public struct DialTarget: Hashable, Sendable {
    public let node: NodeID
    public let addresses: [SocketAddress]
    public let relays: [String]

    public init(node: NodeID, addresses: [SocketAddress], relays: [String] = []) {
        self.node = node
        self.addresses = addresses
        self.relays = relays
    }
}

/// Reaches peers by node ID.
public protocol Dialer: Sendable {
    /// Our own node ID: what a daemon will know us by.
    var node: NodeID { get }

    /// Returns the link whose peer proved to be `target.node`.
    func dial(_ target: DialTarget) async throws(DialError) -> any Link
}

/// Why a dial failed; each attempt is named so that a person can see what was tried.
public enum DialError: Error, Hashable, Sendable {
    public struct Attempt: Hashable, Sendable {
        public let route: LinkPath
        /// What happened there, as half a sentence: `no answer in 10 s`, `connection refused`.
        public let outcome: String
        /// Why a relay carried nothing; nil for addresses, and where the relay is all right.
        public let relayFailure: RelayFailure?

        public init(route: LinkPath, outcome: String, relayFailure: RelayFailure? = nil) {
            self.route = route
            self.outcome = outcome
            self.relayFailure = relayFailure
        }
    }

    /// What is wrong between a relay and this device. What can be mended from here comes first.
    public enum RelayFailure: Hashable, Sendable, CaseIterable {
        /// It does not serve this node, or wants a token.
        case notAdmitted
        /// Its certificate is not believed here.
        case notBelieved
        /// It wants a proof of our node key that it could pass on, which only relays get that this device itself names.
        case namedByOthers
        /// We speak TLS there and it does not.
        case otherScheme
        /// Its name has no address.
        case noSuchName
        /// What answers is no relay, or another one than its URL says.
        case noRelay
        /// It has no place now.
        case full
        /// It cannot be reached, or does not answer.
        case outOfReach
        /// This device has no network, or none that leads to the relay. Last: with a network, something else would be said.
        case noNetwork
    }

    /// No address and no relay is known.
    case noRoute
    case unreachable([Attempt])
    /// Something answered there with another key.
    case wrongNode(at: SocketAddress)
    /// The peer answered and closed at once, before the first stream.
    case refused(LinkClosure)
    case cancelled
}
