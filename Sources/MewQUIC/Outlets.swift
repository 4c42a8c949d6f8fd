internal import MewBase
internal import MewLoop

/// One way out: where to, from which socket, and from which of our addresses.
struct Outlet: Hashable {
    let route: Route
    /// Index of the socket; of no meaning for a carrier.
    var socket = 0
    /// The address to leave from; nil lets the kernel choose.
    var source: SocketAddress?

    var isCarried: Bool {
        switch route {
        case .direct: false
        case .carried: true
        }
    }
}

/// The sockets and carriers of one endpoint: what its connections write to. Touched on the loop only.
final class Outlets {
    private(set) var sockets: [any DatagramSocket] = []
    private var carriers: [CarrierID: any DatagramCarrier] = [:]
    private var nextCarrier: UInt32 = 0
    /// Where a packet is written that no socket has room reserved for: a carrier's, or one for several addresses.
    private let scratch = UnsafeMutableRawBufferPointer.allocate(byteCount: 65_535, alignment: 16)
    private(set) var isClosed = false

    deinit {
        scratch.deallocate()
    }

    func add(_ socket: any DatagramSocket) {
        sockets.append(socket)
    }

    func add(_ carrier: any DatagramCarrier) -> CarrierID {
        nextCarrier += 1
        let id = CarrierID(number: nextCarrier)
        carriers[id] = carrier
        return id
    }

    func remove(_ id: CarrierID) {
        carriers[id]?.onReceive = nil
        carriers[id]?.onReturn = nil
        carriers[id]?.onRoom = nil
        carriers[id]?.onAbsent = nil
        carriers[id] = nil
    }

    /// The way to `route`; nil when there is no socket of that family or no such carrier.
    func outlet(to route: Route) -> Outlet? {
        switch route {
        case .direct(let remote):
            sockets.firstIndex { $0.localAddress.family == remote.family }.map { Outlet(route: route, socket: $0) }
        case .carried(let id, _):
            carriers[id] == nil ? nil : Outlet(route: route)
        }
    }

    /// Room for a batch that will probably leave by the one outlet in `expected`.
    func reserve(for expected: [Outlet]) -> UnsafeMutableRawBufferPointer {
        guard expected.count == 1, case .direct = expected[0].route, !isClosed else { return scratch }
        return sockets[expected[0].socket].reserve(65_535)
    }

    /// False while a carrier is full that is the only way of `expected`. Our sockets drop what the kernel does not take.
    func hasRoom(for expected: [Outlet]) -> Bool {
        guard expected.count == 1, case .carried(let id, let peer) = expected[0].route else { return true }
        return carriers[id]?.hasRoom(for: peer) ?? true
    }

    struct Outgoing {
        let byteCount: Int
        let segmentSize: Int
        let ecn: UInt8
    }

    /// Sends what was written to the room that `reserve(for: expected)` gave, by all of `outlets`.
    func commit(
        _ batch: Outgoing, in memory: UnsafeMutableRawBufferPointer, expected: [Outlet], to outlets: [Outlet]
    ) {
        guard !isClosed else { return }
        if outlets == expected, outlets.count == 1, case .direct(let remote) = outlets[0].route {
            commit(batch, to: remote, by: outlets[0])
            return
        }
        if memory.baseAddress != scratch.baseAddress {
            // Another path than expected: the socket's room is good only until its next call.
            scratch.copyMemory(from: UnsafeRawBufferPointer(rebasing: memory[..<batch.byteCount]))
        }
        for outlet in outlets { sendFromScratch(batch, by: outlet) }
    }

    private func commit(_ batch: Outgoing, to remote: SocketAddress, by outlet: Outlet) {
        sockets[outlet.socket].commit(
            batch.byteCount, segmentSize: batch.segmentSize, to: remote, from: outlet.source, ecn: batch.ecn)
    }

    private func sendFromScratch(_ batch: Outgoing, by outlet: Outlet) {
        switch outlet.route {
        case .direct(let remote):
            let bytes = UnsafeRawBufferPointer(rebasing: scratch[..<batch.byteCount])
            sockets[outlet.socket].reserve(batch.byteCount).copyMemory(from: bytes)
            commit(batch, to: remote, by: outlet)
        case .carried(let id, let peer):
            carriers[id]?.send(
                UnsafeRawBufferPointer(rebasing: scratch[..<batch.byteCount]), segmentSize: batch.segmentSize, to: peer)
        }
    }

    /// Sends one packet that stands by itself.
    func send(_ packet: [UInt8], by outlet: Outlet) {
        send(packet, Outgoing(byteCount: packet.count, segmentSize: packet.count, ecn: 0), by: outlet)
    }

    /// Sends a copy of a batch.
    func send(_ packets: [UInt8], _ batch: Outgoing, by outlet: Outlet) {
        guard !packets.isEmpty, !isClosed else { return }
        scratch.copyBytes(from: packets)
        sendFromScratch(batch, by: outlet)
    }

    func flush() {
        for socket in sockets { socket.flush() }
    }

    func close() {
        guard !isClosed else { return }
        isClosed = true
        for socket in sockets { socket.close() }
        for id in Array(carriers.keys) { remove(id) }
    }
}
