internal import MewBase

/// The wires between the nodes: who has which address, what each link does to packets, what is on its way.
///
/// Touched on the world's thread only.
final class SimInternet {
    private var random: SeededGenerator
    private var owners: [SocketAddress: SimNode] = [:]
    private var numbers: [SocketAddress: UInt64] = [:]
    private var links: [UInt64: Link] = [:]
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

    /// The last one to claim an address has it: a restarted machine.
    func claim(_ host: SocketAddress, for node: SimNode) {
        owners[host] = node
        if numbers[host] == nil { numbers[host] = UInt64(numbers.count) }
    }

    func owner(of address: SocketAddress) -> SimNode? { owners[address.with(port: 0)] }

    private func key(_ from: SocketAddress, _ to: SocketAddress) -> UInt64? {
        guard let source = numbers[from.with(port: 0)], let target = numbers[to.with(port: 0)] else { return nil }
        return source << 32 | target
    }

    func change(_ from: SocketAddress, _ to: SocketAddress, _ body: (inout LinkProfile) -> Void) {
        guard let key = key(from, to) else { preconditionFailure("no node has \(from) or \(to)") }
        body(&links[key, default: Link()].own[default: defaultProfile])
    }

    // MARK: - Packets

    var nextArrival: Instant? { flights.nextTime.map { Instant(nanoseconds: $0) } }

    /// Takes over `flight.bytes`.
    func send(_ flight: Flight, now: Instant) {
        trace.record(Trace.Entry(time: now, from: flight.from, to: flight.to, size: flight.count))
        guard let key = key(flight.from, flight.to) else { return pool.give(flight.bytes, flight.count) }
        let headers = flight.to.family == .ipv4 ? 28 : 48
        var link = links[key] ?? Link()
        let profile = link.own ?? defaultProfile
        func arrival() -> UInt64? {
            link.arrival(of: flight.count, headerBytes: headers, profile, now: now.nanoseconds, &random)
        }
        let first = arrival()
        if let first, random.happens(profile.duplicates) { flights.push(copy(flight), at: arrival() ?? first) }
        links[key] = link
        guard let first else { return pool.give(flight.bytes, flight.count) }
        flights.push(profile.marksCongestion ? flight.marked : flight, at: first)
    }

    private func copy(_ flight: Flight) -> Flight {
        let bytes = pool.take(flight.count)
        if let source = flight.bytes { bytes.copyMemory(from: source, byteCount: flight.count) }
        return Flight(
            kind: flight.kind, from: flight.from, to: flight.to, ecn: flight.ecn, count: flight.count, bytes: bytes)
    }

    /// Hands everything that arrives until `now` to its socket.
    func deliver(now: Instant) {
        while let flight = flights.pop(dueAt: now.nanoseconds) {
            let fate = owner(of: flight.to)?.arrived(flight) ?? .dropped
            guard fate != .queued else { continue }
            if fate == .portClosed, flight.kind == .packet, reportsClosedPorts {
                flights.push(flight.refusal, at: now.nanoseconds + returnTime(flight))
            }
            pool.give(flight.bytes, flight.count)
        }
    }

    private func returnTime(_ flight: Flight) -> UInt64 {
        let profile = key(flight.to, flight.from).flatMap { links[$0]?.own } ?? defaultProfile
        return UInt64(profile.latency.saturatingNanoseconds)
    }
}

extension Flight {
    /// With the mark of a congested router, if the sender can read it (RFC 3168 §5).
    fileprivate var marked: Flight {
        Flight(kind: kind, from: from, to: to, ecn: ecn == 0 ? 0 : 3, count: count, bytes: bytes)
    }

    fileprivate var refusal: Flight {
        Flight(kind: .unreachable, from: to, to: from, ecn: 0, count: 0, bytes: nil)
    }
}

extension Optional {
    /// The value, set to `fallback` first when there is none.
    fileprivate subscript(default fallback: Wrapped) -> Wrapped {
        get { self ?? fallback }
        set { self = newValue }
    }
}
