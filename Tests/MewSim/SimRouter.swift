package import MewBase

/// A box between a network of its own and the one outside: a NAT with the behaviours of RFC 4787, or a stateful firewall.
///
/// Touched on the world's thread only.
package final class SimRouter {
    /// On what a mapping, or leave to enter, depends besides the inner address and port (RFC 4787 §4.1, §5).
    package enum Dependence: Sendable, CaseIterable {
        case endpointIndependent, addressDependent, addressAndPortDependent
    }

    package struct Behaviour: Sendable {
        package var mapping = Dependence.endpointIndependent
        package var filtering = Dependence.addressAndPortDependent
        /// False: a firewall, which leaves addresses as they are. In IPv6 every box is one.
        package var translates = true
        /// How long a UDP mapping lives that nothing leaves through. RFC 4787 REQ-5 asks for two minutes, homes have less.
        package var lifetime: Duration = .seconds(30)
        /// The same of TCP (RFC 5382 REQ-5).
        package var streamLifetime: Duration = .seconds(7_440)
        /// Mappings at a time; a packet that would need one more is dropped.
        package var capacity = 1_024
        /// The outer port is the inner one if that is free.
        package var preservesPorts = true
        /// Packets from inside to an outer address of a neighbour come back in (RFC 4787 REQ-9).
        package var hairpins = false
        package var passesUDP = true

        package init() {}
    }

    package let name: String
    package var behaviour: Behaviour
    /// Its address outside; of a firewall none that is used.
    package private(set) var address: SocketAddress
    /// Packets that found no mapping, no leave to enter, or no room for a mapping.
    package private(set) var dropped = 0

    let inside: SimRealm
    let outside: SimRealm
    /// Its own address inside.
    let inner: SimHost
    private unowned let internet: SimInternet
    private var table: MappingTable

    init(_ name: String, _ behaviour: Behaviour, address: SocketAddress, in outside: SimRealm, _ internet: SimInternet)
    {
        self.name = name
        self.behaviour = behaviour
        self.address = address.with(port: 0)
        self.outside = outside
        self.internet = internet
        inside = internet.makeRealm()
        inner = internet.host(at: inside.address(1), in: inside)
        table = MappingTable()
        inside.gateway = self
        inner.router = self
        internet.host(at: self.address, in: outside).router = self
    }

    /// What its inner network does to packets.
    package func changeLinks(_ body: (inout LinkProfile) -> Void) { body(&inside.profile) }

    /// It restarted: all mappings are gone.
    package func forgetMappings() { table = MappingTable() }

    /// It has another address outside, and with that no mappings.
    package func change(address: SocketAddress) {
        internet.host(at: self.address, in: outside).router = nil
        self.address = address.with(port: 0)
        internet.host(at: self.address, in: outside).router = self
        forgetMappings()
        internet.topologyChanged()
    }

    package var mappingCount: Int { table.count }

    // MARK: - Packets

    /// Passes on what arrived at one of its hosts; nil when it ends here.
    func forward(_ flight: Flight, at host: SimHost, now: UInt64) -> (Flight, from: SimHost)? {
        guard flight.kind == .segment || behaviour.passesUDP else { return drop() }
        return host === inner ? outward(flight, now: now) : inward(flight, now: now)
    }

    private func drop() -> (Flight, from: SimHost)? {
        dropped += 1
        return nil
    }

    private func outward(_ flight: Flight, now: UInt64) -> (Flight, from: SimHost)? {
        var flight = flight
        guard let outer = mapping(of: flight, now: now) else { return drop() }
        flight.from = outer
        if let own = table.inner(of: flight.to, flight.kind), translates(flight.to) {
            guard behaviour.hairpins else { return drop() }
            flight.to = own
            return toInside(flight)
        }
        let source = internet.host(at: outer.with(port: 0), in: outside)
        guard let next = internet.nextHop(to: flight.to, in: outside) else { return drop() }
        flight.target = next.number
        return (flight, source)
    }

    func translates(_ address: SocketAddress) -> Bool { behaviour.translates && address.family == .ipv4 }

    /// The outer end for a packet on its way out. An ICMP error makes no mapping.
    private func mapping(of flight: Flight, now: UInt64) -> SocketAddress? {
        let isStream = flight.kind == .segment
        let life = isStream ? behaviour.streamLifetime : behaviour.lifetime
        let key = MappingTable.Key(
            isStream: isStream, inner: flight.from,
            remote: isStream ? flight.to : translates(flight.from) ? behaviour.mapping.part(of: flight.to) : nil)
        if flight.kind == .unreachable { return table.outer(of: key, now: now) }
        return table.use(
            key, to: flight.to, now: now, until: now + UInt64(life.saturatingNanoseconds),
            capacity: behaviour.capacity
        ) { free in
            guard translates(flight.from) else { return flight.from }
            return freePort(wanted: flight.from.port, free)
        }
    }

    private func freePort(wanted: UInt16, _ isFree: (SocketAddress) -> Bool) -> SocketAddress? {
        if behaviour.preservesPorts, isFree(address.with(port: wanted)) { return address.with(port: wanted) }
        let start = internet.randomPort()
        for offset in 0..<UInt16(64) {
            let candidate = address.with(port: 1_024 + (start &+ offset) % 64_000)
            if isFree(candidate) { return candidate }
        }
        return nil
    }

    private func inward(_ flight: Flight, now: UInt64) -> (Flight, from: SimHost)? {
        let filtering = flight.kind == .packet ? behaviour.filtering : .addressAndPortDependent
        guard let own = table.enter(flight, filtering, now: now) else { return drop() }
        var flight = flight
        flight.to = own
        return toInside(flight)
    }

    private func toInside(_ flight: Flight) -> (Flight, from: SimHost)? {
        var flight = flight
        guard let next = internet.nextHop(to: flight.to, in: inside), next !== inner else { return drop() }
        flight.target = next.number
        return (flight, inner)
    }
}

extension SimRouter.Dependence {
    /// The part of `remote` that counts.
    func part(of remote: SocketAddress) -> SocketAddress? {
        switch self {
        case .endpointIndependent: nil
        case .addressDependent: remote.with(port: 0)
        case .addressAndPortDependent: remote
        }
    }
}

/// Which inner ends have which outer ends, and who may enter there. A value.
private struct MappingTable {
    struct Key: Hashable {
        let isStream: Bool
        let inner: SocketAddress
        /// As much of the remote end as the mapping depends on.
        let remote: SocketAddress?
    }

    private struct Outer: Hashable {
        let isStream: Bool
        let address: SocketAddress
    }

    private struct Mapping {
        let outer: SocketAddress
        var expiry: UInt64
        /// Ends something was sent to, and until when they may answer.
        var remotes: [SocketAddress: UInt64] = [:]
    }

    private var mappings: [Key: Mapping] = [:]
    private var keys: [Outer: Key] = [:]

    var count: Int { mappings.count }

    func inner(of outer: SocketAddress, _ kind: Flight.Kind) -> SocketAddress? {
        keys[Outer(isStream: kind == .segment, address: outer)]?.inner
    }

    func outer(of key: Key, now: UInt64) -> SocketAddress? {
        mappings[key].flatMap { $0.expiry > now ? $0.outer : nil }
    }

    /// Refreshes or makes a mapping; nil when there is no room.
    mutating func use(
        _ key: Key, to remote: SocketAddress, now: UInt64, until expiry: UInt64, capacity: Int,
        _ choose: (_ isFree: (SocketAddress) -> Bool) -> SocketAddress?
    ) -> SocketAddress? {
        if let old = mappings[key], old.expiry <= now { forget(key, old) }
        if mappings[key] == nil {
            if mappings.count >= capacity { expire(now: now) }
            guard mappings.count < capacity,
                let outer = choose({ keys[Outer(isStream: key.isStream, address: $0)] == nil })
            else { return nil }
            mappings[key] = Mapping(outer: outer, expiry: expiry)
            keys[Outer(isStream: key.isStream, address: outer)] = key
        }
        mappings[key]?.expiry = expiry
        mappings[key]?.remotes[remote] = expiry
        return mappings[key]?.outer
    }

    private mutating func forget(_ key: Key, _ mapping: Mapping) {
        mappings[key] = nil
        keys[Outer(isStream: key.isStream, address: mapping.outer)] = nil
    }

    private mutating func expire(now: UInt64) {
        for (key, mapping) in mappings where mapping.expiry <= now { forget(key, mapping) }
    }

    /// The inner end that a packet from outside may enter to.
    func enter(_ flight: Flight, _ filtering: SimRouter.Dependence, now: UInt64) -> SocketAddress? {
        guard let key = keys[Outer(isStream: flight.kind == .segment, address: flight.to)], let mapping = mappings[key],
            mapping.expiry > now
        else { return nil }
        let isAllowed =
            switch filtering {
            case .endpointIndependent: true
            case .addressDependent:
                mapping.remotes.contains { $0.key.with(port: 0) == flight.from.with(port: 0) && $0.value > now }
            case .addressAndPortDependent: mapping.remotes[flight.from].map { $0 > now } ?? false
            }
        return isAllowed ? key.inner : nil
    }
}
