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
    /// Those of `relays` that the user named when it was added. They stay, whatever the daemon says: it may know them by other
    /// names than this device has to use.
    public private(set) var namedRelays: [String]
    /// Those of `relays` that are of an earlier life of the daemon, or were known before it was added anew. They go once it says
    /// where it is without them. Others that it does not name stay: it uses other relays after a restart only, and one that is
    /// down for a minute may be all that is left later.
    public private(set) var formerRelays: [String]
    /// What some of them want, the newest first; at most `maxRelays`.
    public private(set) var relayAccess: [RelayAccess]
    /// What it allows this device; nil before the first `remote_ready`.
    public var scope: Scope?
    /// The pairing token, until the first `remote_ready`: it is single use, and a spent one only confuses (spec/mew-wire.md
    /// §2.5, D1).
    public var token: String?
    /// What it called its version last; for people.
    public var version: String?
    /// When it last proved to be there.
    public var lastProof: WallTime?
    /// The counter of the last `reach` that was learnt.
    public private(set) var reachCounter: UInt64?
    /// The last few starts of it that answered us, the newest last.
    public private(set) var boots: [BootID]
    /// What its sessions are called here.
    public var sessionNumbers: SessionNumbers
    public let addedAt: WallTime

    /// More addresses than this are tried too late to matter: a dial has ten seconds.
    public static let maxAddresses = 8
    /// A daemon keeps two legs (DESIGN §7); the rest are memory of earlier ones.
    public static let maxRelays = 4
    /// Two lives of one identity take turns; more are no more interesting.
    static let maxBoots = 4

    public init(
        node: NodeID, name: String, addresses: [SocketAddress] = [], relays: [String] = [], scope: Scope? = nil,
        token: String? = nil, version: String? = nil, lastProof: WallTime? = nil, reachCounter: UInt64? = nil,
        boots: [BootID] = [], namedRelays: [String] = [], formerRelays: [String] = [], relayAccess: [RelayAccess] = [],
        sessionNumbers: SessionNumbers = SessionNumbers(), addedAt: WallTime
    ) {
        (self.node, self.name, self.scope, self.token) = (node, name, scope, token)
        (self.version, self.lastProof, self.addedAt) = (version, lastProof, addedAt)
        self.sessionNumbers = sessionNumbers
        (self.reachCounter, self.boots) = (reachCounter, boots.suffix(Self.maxBoots))
        self.addresses = Array(addresses.prefix(Self.maxAddresses))
        self.relays = Array(relays.prefix(Self.maxRelays))
        self.namedRelays = Array(namedRelays.prefix(Self.maxRelays))
        self.formerRelays = Array(formerRelays.prefix(Self.maxRelays))
        self.relayAccess = Array(relayAccess.prefix(Self.maxRelays))
    }

    public var target: DialTarget { DialTarget(node: node, addresses: addresses, relays: relays) }

    /// Puts `address` first: it answered, or the user named it.
    public mutating func prefer(_ address: SocketAddress) {
        addresses = Array(([address] + addresses.filter { $0 != address }).prefix(Self.maxAddresses))
    }

    /// Puts `relay` first: it carried a connection, or the daemon or the user named it.
    public mutating func prefer(relay: String) {
        formerRelays.removeAll { $0 == relay }
        relays = Array(([relay] + relays.filter { $0 != relay }).prefix(Self.maxRelays))
    }

    /// The user named them when it was added. One that did not lead there, and that nobody else names, is a mistake of his.
    public mutating func keep(named: [String]) {
        namedRelays = Array(named.filter(relays.contains).prefix(Self.maxRelays))
    }

    /// It was added anew, at these relays.
    mutating func addedAgain(relays told: [String], named: [String]) {
        if !told.isEmpty { formerRelays = relays }
        for relay in told.reversed() { prefer(relay: relay) }
        if !named.isEmpty { namedRelays = named }
    }

    /// Remembers what a relay wants.
    public mutating func keep(_ access: RelayAccess) {
        let former = relayAccess.first { $0.isForSameRelay(as: access) }
        let others = relayAccess.filter { !$0.isForSameRelay(as: access) }
        relayAccess = Array(([former?.updated(by: access) ?? access] + others).prefix(Self.maxRelays))
    }

    /// The daemon says where it can be found from now on; an older word than the last one is not heard. The address that works
    /// now stays first; of relays the daemon's home is first, because only the daemon knows which one it has left.
    public mutating func learn(_ reach: DaemonMessage.Reach) {
        if let reachCounter, reach.counter < reachCounter { return }
        reachCounter = reach.counter
        let address = addresses.first
        for address in reach.usableAddresses.prefix(Self.maxAddresses).reversed() { prefer(address) }
        if let address { prefer(address) }
        let told = reach.relays.filter { (try? RelayURL($0)) != nil }.prefix(Self.maxRelays)
        for relay in told.reversed() { prefer(relay: relay) }
        // A daemon that names none may have lost all of them for a moment.
        if !told.isEmpty { dropFormerRelays() }
    }

    private mutating func dropFormerRelays() {
        relays.removeAll { formerRelays.contains($0) && !namedRelays.contains($0) }
        formerRelays = []
    }

    /// A connection to the life of the daemon that calls itself `boot`.
    ///
    /// - Returns: true when an earlier life answers again although a later one has answered since: both live, so the identity is
    ///   in use in two places (NEEDS N-18). A restart always has a new one.
    public mutating func answered(from boot: BootID) -> Bool {
        let isFormer = boots.dropLast().contains(boot)
        if !boots.isEmpty, !boots.contains(boot) { formerRelays = relays }
        boots = (boots.filter { $0 != boot } + [boot]).suffix(Self.maxBoots)
        return isFormer
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

extension DaemonMessage.Reach {
    /// Those at which something can be reached.
    var usableAddresses: [SocketAddress] {
        addresses.compactMap { SocketAddress($0) }.filter { $0.port != 0 && !$0.isUnspecified }
    }
}
