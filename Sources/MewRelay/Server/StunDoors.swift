internal import MewBase
internal import MewLoop
internal import MewPath

/// Where a relay answers STUN (ARCHITECTURE.md, "STUN on the relay"): at each address on two ports, so that who asks learns
/// whether its routers tell them apart. Touched on the loop's thread only.
///
/// A door is a socket of its own, or one that something else reads as well and gives what begins like STUN (`hear`).
final class StunDoors {
    enum Port {
        /// With the number of the TCP port.
        case main
        case alternate
    }

    /// One socket, and how a packet leaves by it: bytes, to whom, from which of the machine's addresses. What is sent need not
    /// leave before `flush`.
    struct Door {
        let port: Port
        let address: SocketAddress
        let send: ([UInt8], SocketAddress, SocketAddress) -> Void
        let flush: () -> Void

        /// What was sent to `local` can be answered from here, with the port of this door.
        fileprivate func serves(_ local: SocketAddress) -> Bool {
            address.family == local.family && (address.isUnspecified || address.with(port: 0) == local.with(port: 0))
        }
    }

    private(set) var doors: [Door] = []
    private var service: StunService
    private let count: (WritableKeyPath<RelayMetrics, Int>) -> Void

    /// - Parameter count: adds one to what the relay counts.
    init(_ limits: StunService.Limits, count: @escaping (WritableKeyPath<RelayMetrics, Int>) -> Void) {
        service = StunService(limits)
        self.count = count
    }

    func add(_ door: Door) { doors.append(door) }

    /// Clients find it behind the number of the TCP port.
    var isOpen: Bool { doors.contains { $0.port == .main } }

    func remove(_ address: SocketAddress) { doors.removeAll { $0.address == address } }

    func removeAll() { doors = [] }

    /// RFC 9443 §3: "0-3: STUN".
    static func isMeant(_ packet: UnsafeRawBufferPointer) -> Bool { packet.first.map { $0 < 4 } ?? false }

    /// Answers one packet that came to `local` at `port`; the caller flushes when it has read all it has.
    func hear(
        _ packet: UnsafeRawBufferPointer, at port: Port, from: SocketAddress, to local: SocketAddress, now: Instant
    ) {
        let other = doors.first { $0.port != port && $0.serves(local) }
        let arrival = StunService.Arrival(from: from, to: local, otherPort: other?.address.port)
        switch service.hear(Array(packet), arrival, now: now) {
        case .answer(let bytes, let fromOtherPort):
            count(\.stunAnswers)
            let door = fromOtherPort ? other : doors.first { $0.port == port && $0.serves(local) }
            door?.send(bytes, from, local)
        case .refuse(let bytes):
            count(\.stunRefusals)
            doors.first { $0.port == port && $0.serves(local) }?.send(bytes, from, local)
        case .overBudget: count(\.stunOverBudget)
        case .noise: break
        }
    }

    func flush() {
        for door in doors { door.flush() }
    }
}

extension StunDoors.Door {
    /// A door at a socket of its own. It keeps the socket.
    init(_ port: StunDoors.Port, _ socket: any DatagramSocket) {
        self.init(
            port: port, address: socket.localAddress,
            send: { bytes, to, from in
                socket.reserve(bytes.count).copyBytes(from: bytes)
                socket.commit(bytes.count, segmentSize: bytes.count, to: to, from: from, ecn: 0)
            }, flush: { socket.flush() })
    }
}

extension ReceivedDatagrams {
    /// Each packet by itself.
    func forEachPacket(_ body: (UnsafeRawBufferPointer) -> Void) {
        let size = max(1, segmentSize)
        for start in stride(from: 0, to: bytes.count, by: size) {
            body(UnsafeRawBufferPointer(rebasing: bytes[start..<min(start + size, bytes.count)]))
        }
    }
}
