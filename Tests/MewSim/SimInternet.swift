internal import MewBase

/// One address of the world: who has it now, and its links to the others.
///
/// Touched on the world's thread only.
final class SimHost {
    let address: SocketAddress
    let number: Int
    /// The last one to claim it: a restarted machine takes over.
    var node: SimNode?
    /// By the number of the target; those further on were never touched.
    fileprivate var links: [Link] = []

    init(_ address: SocketAddress, number: Int) {
        self.address = address
        self.number = number
    }

    fileprivate func makeLinks(upTo number: Int) {
        while links.count <= number { links.append(Link()) }
    }
}

/// The wires between the nodes: who has which address, what each link does to packets, what is on its way.
///
/// Touched on the world's thread only.
final class SimInternet {
    private var random: SeededGenerator
    private var hosts: [SimHost] = []
    private var byAddress: [SocketAddress: SimHost] = [:]
    private var flights = FlightQueue()
    var pool = PacketPool()
    var trace = Trace()
    var defaultProfile = LinkProfile()
    /// A kernel answers a packet to a port nobody has with an ICMP error.
    var reportsClosedPorts = true

    init(seed: UInt64) {
        random = SeededGenerator(seed: seed)
    }

    deinit {
        while let flight = flights.pop(dueAt: .max) { pool.give(flight.bytes, flight.count) }
        pool.deallocate()
    }

    // MARK: - Addresses and links

    func claim(_ address: SocketAddress, for node: SimNode) {
        let host = byAddress[address] ?? SimHost(address, number: hosts.count)
        if host.number == hosts.count { hosts.append(host) }
        byAddress[address] = host
        host.node = node
    }

    func abandonAll() {
        for host in hosts { host.node = nil }
    }

    func host(of address: SocketAddress) -> SimHost? { byAddress[address.with(port: 0)] }

    func change(_ from: SocketAddress, _ to: SocketAddress, _ body: (inout LinkProfile) -> Void) {
        guard let source = host(of: from), let target = host(of: to) else {
            preconditionFailure("no node has \(from) or \(to)")
        }
        source.makeLinks(upTo: target.number)
        body(&source.links[target.number].own[default: defaultProfile])
    }

    // MARK: - Packets

    var nextArrival: UInt64 { flights.nextTime ?? .max }

    /// Takes over `flight.bytes`.
    func send(_ flight: Flight, from source: SimHost, now: UInt64) {
        let time = Instant(nanoseconds: now)
        trace.record(Trace.Entry(time: time, from: flight.from, to: flight.to, size: flight.count))
        guard flight.target != Flight.nowhere else { return pool.give(flight.bytes, flight.count) }
        source.makeLinks(upTo: flight.target)
        let profile = source.links[flight.target].own ?? defaultProfile
        let headers = flight.to.family == .ipv4 ? 28 : 48
        let arrival = source.links[flight.target].arrival(
            of: flight.count, headerBytes: headers, profile, now: now, &random)
        guard let arrival else { return pool.give(flight.bytes, flight.count) }
        if random.happens(profile.duplicates) {
            let again = source.links[flight.target].arrival(
                of: flight.count, headerBytes: headers, profile, now: now, &random)
            flights.push(copy(flight), at: again ?? arrival)
        }
        flights.push(profile.marksCongestion ? flight.marked : flight, at: arrival)
    }

    private func copy(_ flight: Flight) -> Flight {
        let bytes = pool.take(flight.count)
        if let source = flight.bytes { bytes.copyMemory(from: source, byteCount: flight.count) }
        return Flight(
            kind: flight.kind, from: flight.from, to: flight.to, target: flight.target, ecn: flight.ecn,
            count: flight.count, bytes: bytes)
    }

    /// Hands everything that arrives until `now` to its socket.
    func deliver(now: UInt64) {
        while let flight = flights.pop(dueAt: now) {
            let fate = hosts[flight.target].node?.arrived(flight) ?? .dropped
            guard fate != .queued else { continue }
            if fate == .portClosed, flight.kind == .packet, reportsClosedPorts { refuse(flight, now: now) }
            pool.give(flight.bytes, flight.count)
        }
    }

    private func refuse(_ flight: Flight, now: UInt64) {
        guard let source = host(of: flight.from) else { return }
        let back = hosts[flight.target]
        back.makeLinks(upTo: source.number)
        let profile = back.links[source.number].own ?? defaultProfile
        let report = Flight(
            kind: .unreachable, from: flight.to, to: flight.from, target: source.number, ecn: 0, count: 0, bytes: nil)
        flights.push(report, at: now + profile.latencyNanoseconds)
    }
}

extension Flight {
    /// With the mark of a congested router, if the sender can read it (RFC 3168 §5).
    fileprivate var marked: Flight {
        Flight(kind: kind, from: from, to: to, target: target, ecn: ecn == 0 ? 0 : 3, count: count, bytes: bytes)
    }
}

extension Optional {
    /// The value, set to `fallback` first when there is none.
    fileprivate subscript(default fallback: Wrapped) -> Wrapped {
        get { self ?? fallback }
        set { self = newValue }
    }
}
