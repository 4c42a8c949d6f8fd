public import MewBase

public enum LinkPath: Hashable, Sendable {
    case direct(SocketAddress)
    case relay(url: String)
}

/// What is known about a link at one moment, for people and programs that show it.
public struct LinkStatus: Sendable {
    public let path: LinkPath
    /// Smoothed round-trip time; nil before the first sample.
    public let roundTrip: Duration?
    /// Since when this path carries the connection.
    public let since: Instant
    /// When the peer last proved that it is there.
    public let lastProof: Instant
    /// Why a relay carries the link; nil while it is direct.
    public var whyNotDirect: WhyNotDirect?
    /// The addresses of the peer that we know of, best first. Empty on the listening side, which cannot choose.
    public var candidates: [PathCandidate] = []
    /// The relays by which the peer can be reached, the one that carries or would carry the link first; the next connected one
    /// is the standby.
    public var relays: [RelayCandidate] = []

    public init(path: LinkPath, roundTrip: Duration?, since: Instant, lastProof: Instant) {
        self.path = path
        self.roundTrip = roundTrip
        self.since = since
        self.lastProof = lastProof
    }

    /// The relay that takes over when the one in use fails; nil when there is none that is connected.
    public var standbyRelay: RelayCandidate? {
        relays.dropFirst().first { $0.isConnected }
    }
}

/// Why a link goes through a relay.
public struct WhyNotDirect: Hashable, Sendable {
    /// Stable: programs match on the raw value.
    public enum Code: String, Sendable, CaseIterable {
        /// No address of the peer is known.
        case noAddress = "no_address"
        /// All that are known are of a family that this machine has no network for.
        case noSuchFamily = "no_such_family"
        /// They are being tried right now, or are about to be.
        case checking
        /// None answers.
        case noAnswer = "no_answer"
        /// One answered and then fell silent; it is left alone for a while.
        case fellSilent = "fell_silent"
        /// One passes small packets only.
        case largePacketsLost = "large_packets_lost"
        /// The peer said that it does not hear us there.
        case notHeard = "not_heard"
        /// The network of this machine lets no UDP out.
        case udpBlockedHere = "udp_blocked_here"
        /// The network of the peer lets no UDP out.
        case udpBlockedThere = "udp_blocked_there"
        /// The router of one side gives each destination another port, and the other side's firewall forbids to guess it.
        case portPerDestination = "port_per_destination"
        /// The other side dialled, and only it can move the connection.
        case otherSideDecides = "other_side_decides"
    }

    public let code: Code
    /// One sentence: what was tried and what came of it.
    public let text: String
    /// One sentence: what a person could change; nil when waiting is all there is to do.
    public let help: String?

    public init(_ code: Code, text: String, help: String? = nil) {
        self.code = code
        self.text = text
        self.help = help
    }
}

/// One address of the peer and what is known about it.
public struct PathCandidate: Hashable, Sendable {
    public enum State: Hashable, Sendable {
        case untried
        /// Being tried right now.
        case checking
        /// Carries the link.
        case inUse
        /// Answered, and is not in use.
        case works
        /// Left alone until `nextTry`.
        case quarantined(WhyNotDirect.Code)
    }

    public let address: SocketAddress
    public let state: State
    /// Tries in a row that came to nothing.
    public let failures: Int
    /// When it is tried next; nil when nothing is planned.
    public let nextTry: Instant?

    public init(address: SocketAddress, state: State, failures: Int = 0, nextTry: Instant? = nil) {
        self.address = address
        self.state = state
        self.failures = failures
        self.nextTry = nextTry
    }
}

/// One relay by which the peer can be reached.
public struct RelayCandidate: Hashable, Sendable {
    public enum State: Hashable, Sendable {
        /// The relay forwards for us; with what it complains about, half a sentence.
        case connected(complaint: String?)
        /// For the first time.
        case connecting
        /// The last try failed, or the connection broke; half a sentence says why. It is tried again.
        case failed(String)
        /// No connection is kept at present: others are better.
        case notWanted
    }

    public let url: String
    public let state: State

    public init(url: String, _ state: State) {
        self.url = url
        self.state = state
    }

    public var isConnected: Bool {
        if case .connected = state { true } else { false }
    }
}
