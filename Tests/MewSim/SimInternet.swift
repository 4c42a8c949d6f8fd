internal import MewBase

/// One address of the world: who has it now, and its links to the others.
///
/// Touched on the world's thread only.
final class SimHost {
    let address: SocketAddress
    let number: Int
    let realm: SimRealm
    /// The last one to claim it: a restarted machine takes over.
    var node: SimNode?
    /// Of an address that a box answers for.
    var router: SimRouter?
    /// By the number of the target; those further on were never touched.
    fileprivate var links: [Link] = []

    fileprivate init(_ address: SocketAddress, number: Int, in realm: SimRealm) {
        self.address = address
        self.number = number
        self.realm = realm
    }

    fileprivate func makeLinks(upTo number: Int) {
        while links.count <= number { links.append(Link()) }
    }
}

/// Addresses that reach each other with no box between: the network outside, or what is behind one box.
///
/// Touched on the world's thread only.
final class SimRealm {
    let number: Int
    /// What its links do that were not changed one by one.
    var profile: LinkProfile
    /// Where packets to other addresses go; nil outside.
    weak var gateway: SimRouter?
    private var nextHost: UInt32 = 1

    fileprivate init(number: Int, _ profile: LinkProfile) {
        self.number = number
        self.profile = profile
    }

    /// `192.168.N.host`, of which every realm has its own.
    func address(_ host: UInt32) -> SocketAddress {
        SocketAddress(ipv4: 0xc0a8_0000 + UInt32(number) << 8 + host, port: 0)
    }

    func freeAddress() -> SocketAddress {
        nextHost += 1
        return address(nextHost)
    }
}

/// The wires between the nodes: who has which address, what each link does to packets, what is on its way.
///
/// Touched on the world's thread only.
final class SimInternet {
    private struct Place: Hashable {
        let realm: Int
        let address: SocketAddress
    }

    private var random: SeededGenerator
    private var hosts: [SimHost] = []
    private var byPlace: [Place: SimHost] = [:]
    private var realmCount = 1
    /// The network that everybody is in who is behind no box.
    let outside = SimRealm(number: 0, LinkProfile())
    private(set) var routers: [SimRouter] = []
    private var flights = FlightQueue()
    var pool = PacketPool()
    var trace = Trace()
    /// Sees every datagram that leaves a machine.
    var tap: ((Trace.Entry, UnsafeRawBufferPointer) -> Void)?
    /// Sees every datagram when it comes to a machine.
    var arrivalTap: ((Trace.Entry, UnsafeRawBufferPointer) -> Void)?
    /// A kernel answers a packet to a port nobody has with an ICMP error.
    var reportsClosedPorts = true
    /// Counts the changes of who has which address: what was looked up before is to be looked up again.
    private(set) var topology = 0

    init(seed: UInt64) {
        random = SeededGenerator(seed: seed)
    }

    deinit {
        while let flight = flights.pop(dueAt: .max) { pool.give(flight.bytes, flight.count) }
        pool.deallocate()
    }

    // MARK: - Addresses and links

    func makeRealm() -> SimRealm {
        defer { realmCount += 1 }
        // A cable inside one house.
        return SimRealm(number: realmCount, LinkProfile(latency: .microseconds(500)))
    }

    func addRouter(
        _ name: String, _ behaviour: SimRouter.Behaviour, address: SocketAddress, in realm: SimRealm
    ) -> SimRouter {
        let router = SimRouter(name, behaviour, address: address, in: realm, self)
        routers.append(router)
        topologyChanged()
        return router
    }

    func topologyChanged() { topology += 1 }

    func randomPort() -> UInt16 { UInt16(truncatingIfNeeded: random.below(64_000)) }

    /// The host at `address`, whether anybody has it or not.
    func host(at address: SocketAddress, in realm: SimRealm) -> SimHost {
        let place = Place(realm: realm.number, address: address.with(port: 0))
        if let host = byPlace[place] { return host }
        let host = SimHost(place.address, number: hosts.count, in: realm)
        hosts.append(host)
        byPlace[place] = host
        return host
    }

    func claim(_ address: SocketAddress, in realm: SimRealm, for node: SimNode) {
        host(at: address, in: realm).node = node
        // A firewall stands in the way of those outside.
        showOutside(address, in: realm, isThere: true)
        topologyChanged()
    }

    func abandon(_ address: SocketAddress, in realm: SimRealm, by node: SimNode) {
        let host = host(at: address, in: realm)
        guard host.node === node else { return }
        host.node = nil
        showOutside(address, in: realm, isThere: false)
        topologyChanged()
    }

    /// Each box that leaves the address as it is answers for it on its outer side.
    private func showOutside(_ address: SocketAddress, in realm: SimRealm, isThere: Bool) {
        var realm = realm
        while let box = realm.gateway, !box.translates(address) {
            host(at: address, in: box.outside).router = isThere ? box : nil
            realm = box.outside
        }
    }

    func abandonAll() {
        for host in hosts { (host.node, host.router) = (nil, nil) }
        (routers, tap, arrivalTap) = ([], nil, nil)
    }

    /// Who takes a packet to `address` that leaves from somewhere in `realm`; nil when nobody does.
    func nextHop(to address: SocketAddress, in realm: SimRealm) -> SimHost? {
        byPlace[Place(realm: realm.number, address: address.with(port: 0))] ?? realm.gateway?.inner
    }

    func change(_ from: SimHost, _ to: SimHost, _ body: (inout LinkProfile) -> Void) {
        precondition(from.realm === to.realm, "there is a box between \(from.address) and \(to.address)")
        from.makeLinks(upTo: to.number)
        body(&from.links[to.number].own[default: from.realm.profile])
    }

    // MARK: - Packets

    var nextArrival: UInt64 { flights.nextTime ?? .max }

    /// Takes over `flight.bytes`.
    func send(_ flight: Flight, from source: SimHost, now: UInt64) {
        let time = Instant(nanoseconds: now)
        let entry = Trace.Entry(time: time, from: flight.from, to: flight.to, size: flight.count)
        trace.record(entry)
        if flight.kind == .packet { tap?(entry, UnsafeRawBufferPointer(start: flight.bytes, count: flight.count)) }
        pass(flight, from: source, now: now)
    }

    private func pass(_ flight: Flight, from source: SimHost, now: UInt64) {
        guard flight.target != Flight.nowhere else { return pool.give(flight.bytes, flight.count) }
        source.makeLinks(upTo: flight.target)
        let profile = source.links[flight.target].own ?? source.realm.profile
        let headers = flight.to.family == .ipv4 ? 28 : 48
        guard !profile.drops(flight.kind),
            let arrival = source.links[flight.target].arrival(
                of: flight.count, headerBytes: headers, profile, now: now, &random)
        else { return pool.give(flight.bytes, flight.count) }
        if random.happens(profile.duplicates) {
            let again = source.links[flight.target].arrival(
                of: flight.count, headerBytes: headers, profile, now: now, &random)
            flights.push(copy(flight), at: again ?? arrival)
        }
        flights.push(profile.marksCongestion ? flight.marked : flight, at: arrival)
    }

    private func copy(_ flight: Flight) -> Flight {
        guard let source = flight.bytes else { return flight }
        var copy = flight
        let bytes = pool.take(flight.count)
        bytes.copyMemory(from: source, byteCount: flight.count)
        copy.bytes = bytes
        return copy
    }

    /// Hands everything that arrives until `now` to its socket, or to the next box.
    func deliver(now: UInt64) {
        while let flight = flights.pop(dueAt: now) {
            let host = hosts[flight.target]
            if let router = host.router {
                forward(flight, by: router, at: host, now: now)
                continue
            }
            if flight.kind == .packet, let arrivalTap {
                let time = Instant(nanoseconds: now)
                let entry = Trace.Entry(time: time, from: flight.from, to: flight.to, size: flight.count)
                arrivalTap(entry, UnsafeRawBufferPointer(start: flight.bytes, count: flight.count))
            }
            let fate = host.node?.arrived(flight) ?? .dropped
            guard fate != .queued else { continue }
            if fate == .portClosed, flight.kind == .packet, reportsClosedPorts { refuse(flight, now: now) }
            pool.give(flight.bytes, flight.count)
        }
    }

    private func forward(_ flight: Flight, by router: SimRouter, at host: SimHost, now: UInt64) {
        if let (next, source) = router.forward(flight, at: host, now: now) {
            pass(next, from: source, now: now)
        } else {
            pool.give(flight.bytes, flight.count)
        }
    }

    private func refuse(_ flight: Flight, now: UInt64) {
        let back = hosts[flight.target]
        guard let next = nextHop(to: flight.from, in: back.realm) else { return }
        back.makeLinks(upTo: next.number)
        let profile = back.links[next.number].own ?? back.realm.profile
        let report = Flight(kind: .unreachable, from: flight.to, to: flight.from, target: next.number)
        flights.push(report, at: now + profile.latencyNanoseconds)
    }
}

extension Optional {
    /// The value, set to `fallback` first when there is none.
    fileprivate subscript(default fallback: Wrapped) -> Wrapped {
        get { self ?? fallback }
        set { self = newValue }
    }
}
