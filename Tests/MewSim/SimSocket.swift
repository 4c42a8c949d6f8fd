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
final class SimSocket: DatagramSocket {
    private unowned let node: SimNode
    private unowned let loop: SimLoop
    private let scratch = UnsafeMutableRawBufferPointer.allocate(byteCount: 65_536, alignment: 16)
    /// Received, not yet delivered.
    private var arrivals: [Flight] = []
    private var arrivedBytes = 0
    /// Committed, not yet flushed.
    private var departures: [Flight] = []
    private var isClosed = false

    let localAddress: SocketAddress
    var onReceive: ((ReceivedDatagrams) -> Void)?
    var onUnreachable: ((SocketAddress) -> Void)?

    /// What the real socket asks the kernel for.
    private static let bufferBytes = 4 << 20

    init(node: SimNode, loop: SimLoop, address: SocketAddress) {
        self.node = node
        self.loop = loop
        localAddress = address
    }

    deinit {
        scratch.deallocate()
    }

    private var internet: SimInternet { node.world.internet }

    // MARK: - Receiving

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
        arrivals.removeAll(keepingCapacity: true)
        arrivedBytes = 0
        var index = 0
        while index < flights.count {
            let end = endOfBatch(flights, from: index)
            if !isClosed { deliver(flights[index..<end]) }
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

    private func deliver(_ batch: ArraySlice<Flight>) {
        guard let first = batch.first else { return }
        guard first.kind == .packet else {
            onUnreachable?(first.from)
            return
        }
        var used = 0
        for flight in batch {
            let bytes = UnsafeRawBufferPointer(start: flight.bytes, count: flight.count)
            UnsafeMutableRawBufferPointer(rebasing: scratch[used...]).copyMemory(from: bytes)
            used += flight.count
        }
        let received = ReceivedDatagrams(
            bytes: UnsafeRawBufferPointer(rebasing: scratch[..<used]), segmentSize: first.count, from: first.from,
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
        guard let host = node.source(source ?? localAddress, for: to) else { return }
        let from = host.with(port: localAddress.port)
        for start in stride(from: 0, to: byteCount, by: segmentSize) {
            let count = min(segmentSize, byteCount - start)
            let bytes = internet.pool.take(count)
            bytes.copyMemory(from: scratch.baseAddress! + start, byteCount: count)
            departures.append(Flight(kind: .packet, from: from, to: to, ecn: ecn, count: count, bytes: bytes))
        }
    }

    func flush() {
        for flight in departures {
            // A node that was killed after the commit: the packet never left.
            if node.isAlive, !isClosed {
                internet.send(flight, now: node.world.now)
            } else {
                internet.pool.give(flight.bytes, flight.count)
            }
        }
        departures.removeAll(keepingCapacity: true)
    }

    // MARK: - Closing

    func close() {
        guard !isClosed else { return }
        flush()
        isClosed = true
        onReceive = nil
        onUnreachable = nil
        node.close(self)
    }
}
