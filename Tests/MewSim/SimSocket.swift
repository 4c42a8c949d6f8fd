package import MewBase
package import MewLoop

/// The sockets of one simulated node.
package struct SimNetwork: DatagramNetwork {
    let node: SimNode

    package func bind(_ address: SocketAddress, on loop: any Loop) throws(SocketError) -> any DatagramSocket {
        guard let loop = loop as? SimLoop else { preconditionFailure("simulated sockets need a simulated loop") }
        return try node.bind(address, on: loop)
    }
}

/// A UDP socket of a simulated node.
final class SimSocket: DatagramSocket, SimReadable {
    private let node: SimNode
    private let loop: SimLoop
    private let internet: SimInternet
    /// Where packets are built before they are committed.
    private let scratch = UnsafeMutableRawBufferPointer.allocate(byteCount: 65_536, alignment: 16)
    /// Where a batch is put together for its receiver, who may answer one packet before reading the next.
    private let batch = UnsafeMutableRawBufferPointer.allocate(byteCount: 65_536, alignment: 16)
    /// Received, not yet delivered.
    private var arrivals: [Flight] = []
    private var arrivedBytes = 0
    /// Committed, not yet flushed.
    private var departures: [(Flight, SimHost)] = []
    private var isClosed = false
    /// The last address something was sent to and from, looked up: it is nearly always the next one too.
    private var target: (address: SocketAddress, host: SimHost?)
    private var source: (wanted: SocketAddress, host: SimHost?)
    /// Of the internet when that was looked up.
    private var topology: Int

    let localAddress: SocketAddress
    var onReceive: ((ReceivedDatagrams) -> Void)?
    var onUnreachable: ((SocketAddress) -> Void)?

    /// What the real socket asks the kernel for.
    private static let bufferBytes = 4 << 20

    init(node: SimNode, loop: SimLoop, address: SocketAddress) {
        self.node = node
        self.loop = loop
        internet = node.world.internet
        localAddress = address
        target = (address, nil)
        source = (address, nil)
        topology = -1
    }

    deinit {
        scratch.deallocate()
        batch.deallocate()
    }

    // MARK: - Receiving

    func takes(_ address: SocketAddress) -> Bool {
        localAddress.port == address.port && localAddress.family == address.family
            && (localAddress.isUnspecified || localAddress == address)
    }

    /// False when the buffer is full.
    func queue(_ flight: Flight) -> Bool {
        // The kernel charges small packets for their buffer, or a flood of them would be endless.
        let charge = max(flight.count, 768)
        guard arrivedBytes + charge <= Self.bufferBytes else { return false }
        arrivedBytes += charge
        arrivals.append(flight)
        if arrivals.count == 1 { loop.becameReadable(self) }
        return true
    }

    /// Hands over everything that arrived, coalesced as a kernel would (UDP_GRO): packets of one sender and one size back
    /// to back, a shorter one ends the batch.
    func deliver() {
        let flights = arrivals
        arrivals = []
        arrivedBytes = 0
        var index = 0
        while index < flights.count {
            let end = endOfBatch(flights, from: index)
            if !isClosed { hand(over: flights[index..<end]) }
            for flight in flights[index..<end] { internet.pool.give(flight.bytes, flight.count) }
            index = end
        }
    }

    private func endOfBatch(_ flights: [Flight], from start: Int) -> Int {
        let first = flights[start]
        var end = start + 1
        guard first.kind == .packet else { return end }
        while end < flights.count, end - start < 64, (end - start + 1) * first.count <= 65_000 {
            let next = flights[end]
            guard next.kind == .packet, next.from == first.from, next.to == first.to, next.ecn == first.ecn,
                next.count <= first.count
            else { break }
            end += 1
            if next.count < first.count { break }
        }
        return end
    }

    private func hand(over flights: ArraySlice<Flight>) {
        guard let first = flights.first else { return }
        guard first.kind == .packet else {
            onUnreachable?(first.from)
            return
        }
        var used = 0
        for flight in flights {
            let bytes = UnsafeRawBufferPointer(start: flight.bytes, count: flight.count)
            UnsafeMutableRawBufferPointer(rebasing: batch[used...]).copyMemory(from: bytes)
            used += flight.count
        }
        let received = ReceivedDatagrams(
            bytes: UnsafeRawBufferPointer(rebasing: batch[..<used]), segmentSize: first.count, from: first.from,
            to: first.to, ecn: first.ecn)
        onReceive?(received)
    }

    // MARK: - Sending

    func reserve(_ byteCount: Int) -> UnsafeMutableRawBufferPointer {
        precondition((0...65_535).contains(byteCount), "no datagram is that large")
        return UnsafeMutableRawBufferPointer(rebasing: scratch[..<byteCount])
    }

    func commit(_ byteCount: Int, segmentSize: Int, to: SocketAddress, from source: SocketAddress?, ecn: UInt8) {
        loop.checkIsolated()
        precondition(byteCount <= segmentSize * 64, "more than 64 packets in one batch")
        lookAgainIfChanged()
        guard node.isAlive, !isClosed, let start = scratch.baseAddress, let source = sourceHost(source, for: to) else {
            return
        }
        let from = source.address.with(port: localAddress.port)
        let target = targetHost(to)?.number ?? Flight.nowhere
        for offset in stride(from: 0, to: byteCount, by: segmentSize) {
            let count = min(segmentSize, byteCount - offset)
            let bytes = internet.pool.take(count)
            bytes.copyMemory(from: start + offset, byteCount: count)
            let flight = Flight(
                kind: .packet, from: from, to: to, target: target, ecn: ecn, count: count, bytes: bytes)
            departures.append((flight, source))
        }
    }

    private func lookAgainIfChanged() {
        guard topology != internet.topology else { return }
        topology = internet.topology
        // An address no packet goes to, so that both are looked up.
        target = (.anyIPv4, nil)
        source = (.anyIPv4, nil)
    }

    private func targetHost(_ address: SocketAddress) -> SimHost? {
        if target.address != address { target = (address, internet.nextHop(to: address, in: node.realm)) }
        return target.host
    }

    /// The address packets leave from: what was asked for, what the socket is bound to, or the first of the family.
    private func sourceHost(_ asked: SocketAddress?, for to: SocketAddress) -> SimHost? {
        let wanted = asked ?? localAddress
        if source.wanted != wanted || source.host?.address.family != to.family {
            source = (wanted, node.source(wanted, for: to).map { internet.host(at: $0, in: node.realm) })
        }
        return source.host
    }

    func flush() {
        for (flight, source) in departures { internet.send(flight, from: source, now: node.world.now.nanoseconds) }
        departures.removeAll(keepingCapacity: true)
    }

    // MARK: - Closing

    func close() {
        guard !isClosed else { return }
        flush()
        cut()
        node.close(self)
    }

    /// From now on nothing comes out and nothing goes in. Its owner is let go of.
    func cut() {
        isClosed = true
        onReceive = nil
        onUnreachable = nil
        for flight in arrivals + departures.map(\.0) { internet.pool.give(flight.bytes, flight.count) }
        arrivals = []
        departures = []
    }
}
