public import MewBase
public import MewIdentity
public import MewWire

/// What this device knows about one daemon.
public struct DaemonRecord: Hashable, Sendable {
    public let node: NodeID
    /// Unique in the registry, fit for a terminal and a command line (`DaemonName`).
    public internal(set) var name: String
    /// Where it was last reached first; at most `maxAddresses`.
    public private(set) var addresses: [SocketAddress]
    /// Its relays, home first; at most `maxRelays`.
    public private(set) var relays: [String]
    /// What it allows this device; nil before the first `remote_ready`.
    public var scope: Scope?
    /// The pairing token, until the first `remote_ready`: it is single use, and a spent one only confuses (spec/mew-wire.md
    /// §2.5, D1).
    public var token: String?
    /// What it called its version last; for people.
    public var version: String?
    /// When it last proved to be there.
    public var lastProof: WallTime?
    public let addedAt: WallTime

    /// More addresses than this are tried too late to matter: a dial has ten seconds.
    public static let maxAddresses = 8
    /// A daemon keeps two legs (DESIGN §7); the rest are memory of earlier ones.
    public static let maxRelays = 4

    public init(
        node: NodeID, name: String, addresses: [SocketAddress] = [], relays: [String] = [], scope: Scope? = nil,
        token: String? = nil, version: String? = nil, lastProof: WallTime? = nil, addedAt: WallTime
    ) {
        (self.node, self.name, self.scope, self.token) = (node, name, scope, token)
        (self.version, self.lastProof, self.addedAt) = (version, lastProof, addedAt)
        self.addresses = Array(addresses.prefix(Self.maxAddresses))
        self.relays = Array(relays.prefix(Self.maxRelays))
    }

    public var target: DialTarget { DialTarget(node: node, addresses: addresses, relays: relays) }

    /// Puts `address` first: it answered, or the user named it.
    public mutating func prefer(_ address: SocketAddress) {
        addresses = Array(([address] + addresses.filter { $0 != address }).prefix(Self.maxAddresses))
    }

    public mutating func prefer(relay: String) {
        relays = Array(([relay] + relays.filter { $0 != relay }).prefix(Self.maxRelays))
    }

    /// The daemon says where it can be found from now on. What works now stays first.
    public mutating func learn(_ reach: DaemonMessage.Reach) {
        let (address, relay) = (addresses.first, relays.first)
        for text in reach.addresses.prefix(Self.maxAddresses).reversed() {
            if let address = SocketAddress(text) { prefer(address) }
        }
        for relay in reach.relays.prefix(Self.maxRelays).reversed() { prefer(relay: relay) }
        if let address { prefer(address) }
        if let relay { prefer(relay: relay) }
    }

    /// The dial target with addresses and relays of this one command in front.
    public func target(addresses extra: [SocketAddress], relays extraRelays: [String]) -> DialTarget {
        var copy = self
        for address in extra.reversed() { copy.prefer(address) }
        for relay in extraRelays.reversed() { copy.prefer(relay: relay) }
        return copy.target
    }
}

/// Names as they may stand in a registry.
enum DaemonName {
    /// A name that prints, is not empty, is no option, and is neither a list number nor a node ID: `D` on a command line must
    /// not mean two things.
    static func usable(_ proposed: String, for node: NodeID) -> String {
        var name = proposed.printableName[...]
        while name.first == "-" { name = name.dropFirst() }
        if name.isEmpty { return String(node.z32.prefix(8)) }
        let looksLikeSomethingElse = name.allSatisfy(\.isNumber) || (try? NodeID(text: name)) != nil
        return String((looksLikeSomethingElse ? "node-" + name : name).prefix(64))
    }
}
