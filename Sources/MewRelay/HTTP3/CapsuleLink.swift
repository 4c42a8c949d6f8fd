internal import MewBase
internal import MewHTTP3
internal import MewIdentity
internal import MewLoop
internal import MewQUIC
internal import MewQUICCore
internal import MewWire

/// One conversation between a client and a relay over HTTP/3, as both ends have it: capsules on the request's stream, packets in
/// datagrams or, when they do not fit, in capsules.
///
/// Packets wait here until QUIC can send them, never longer than they are worth; nothing else queues them. Touched on the
/// loop's thread only.
final class CapsuleLink: DatagramSource {
    let stream: Int64
    private let pump: HTTP3Pump
    private let loop: any Loop
    private let began: Instant
    private var reader = CapsuleReader()
    private var outgoing: OutgoingHandles
    private(set) var incoming: IncomingHandles
    let queue: PacketLanes
    /// Packets that have left, by the numbers of their datagrams, until it is known whether they arrived.
    private var flying: [UInt64: PacketLanes.Packet] = [:]
    private var lastNumber: UInt64 = 0
    private let datagramHead: [UInt8]
    /// The peer has said that it takes HTTP datagrams.
    var takesDatagrams = false
    /// Packets that were dropped: too old, or with no place on the stream.
    private(set) var expired = 0
    private(set) var refused = 0
    /// Packets that were lost and sent once more.
    private(set) var repeated = 0
    /// Called when something has left: there may be room again.
    var onLeft: (() -> Void)?

    init(
        on stream: Int64, of pump: HTTP3Pump, handles: Int, accepts: Int, queue: PacketLanes, loop: any Loop
    ) {
        self.stream = stream
        self.pump = pump
        self.loop = loop
        began = loop.now
        self.queue = queue
        outgoing = OutgoingHandles(limit: handles)
        incoming = IncomingHandles(limit: accepts)
        datagramHead = HTTPDatagram.head(of: stream)
        pump.connection.takeDatagrams(from: self)
    }

    deinit {
        for packet in flying.values { packet.memory.deallocate() }
    }

    // MARK: - Capsules

    /// Queues a capsule; false when the stream has no room for it, or is over.
    @discardableResult
    func say(_ capsule: RelayCapsule) -> Bool {
        var isTaken = false
        pump.perform { () throws(HTTP3Failure) in isTaken = try pump.core.send(capsule.encoded, on: stream) }
        pump.flush()
        return isTaken
    }

    /// Room for an answer of ours stays free of packets.
    private static var reservedBytes: Int { 16 << 10 }

    /// Takes what has come on the stream. What binds and releases handles is done here.
    func receive(_ bytes: [UInt8], _ deliver: (RelayCapsule) -> Bool) throws(RelayCapsuleError) {
        reader.append(bytes)
        var violation: RelayCapsuleError?
        try reader.read { capsule in
            switch capsule {
            case .bind(let handle, let node):
                guard incoming.bind(handle, to: node) else {
                    violation = .malformed(type: RelayCapsule.base + 1)
                    return false
                }
                guard say(.bound(handle)) else {
                    violation = .unread
                    return false
                }
                return true
            case .bound(let handle):
                outgoing.understood(handle)
                return true
            case .release(let handle):
                incoming.release(handle)
                return true
            case .datagram, .welcome, .ping, .pong, .gone, .health, .warning, .close: return deliver(capsule)
            }
        }
        if let violation { throw violation }
    }

    // MARK: - Packets out

    enum Fate {
        case queued
        /// Nobody will get it: no room, too large, or no handle is free.
        case dropped
    }

    /// Queues a packet for, or of, `node`.
    func send(_ packet: UnsafeRawBufferPointer, about node: NodeID, of party: PacketLanes.Party) -> Fate {
        guard let answer = outgoing.find(node, now: loop.now) else { return .dropped }
        switch answer {
        case .bound(let handle):
            let byteCount = datagramHead.count + handle.byteCount + packet.count
            guard takesDatagrams, byteCount <= pump.connection.maxDatagramBytes else {
                return sendCapsule(packet, handle)
            }
            return enqueue(packet, handle, byteCount, of: party)
        case .binding(let handle):
            return sendCapsule(packet, handle)
        case .new(let handle, let released):
            if let released { say(.release(released)) }
            guard say(.bind(handle, node)) else { return .dropped }
            return sendCapsule(packet, handle)
        }
    }

    private func enqueue(
        _ packet: UnsafeRawBufferPointer, _ handle: RelayHandle, _ byteCount: Int, of party: PacketLanes.Party
    ) -> Fate {
        if !queue.hasRoom(for: party, byteCount: byteCount) { expired += queue.expire(for: party, now: loop.now) }
        guard queue.hasRoom(for: party, byteCount: byteCount) else { return .dropped }
        let (head, headBytes) = (datagramHead, datagramHead.count)
        queue.append(of: party, byteCount: byteCount, now: loop.now) { target in
            for (index, byte) in head.enumerated() { target[index] = byte }
            handle.write(to: target, at: headBytes)
            UnsafeMutableRawBufferPointer(rebasing: target[(headBytes + handle.byteCount)...]).copyMemory(from: packet)
        }
        pump.connection.touched()
        return .queued
    }

    /// Until then the path may not have been found to carry what it does carry.
    private static var sizingTime: Duration { .seconds(3) }

    /// A connection whose larger packets arrived in capsules would take that for the size of its path, and would then send everything
    /// in an order that a single loss holds up. Those that every path of QUIC carries are no such promise (RFC 9000 §14).
    private func mayLeaveInCapsule(_ byteCount: Int) -> Bool {
        byteCount <= RelayCapsule.maxPacketBytes || began.duration(to: loop.now) < Self.sizingTime
    }

    private func sendCapsule(_ packet: UnsafeRawBufferPointer, _ handle: RelayHandle) -> Fate {
        guard mayLeaveInCapsule(packet.count), pump.core.room(on: stream) >= packet.count + Self.reservedBytes else {
            refused += 1
            return .dropped
        }
        var payload: [UInt8] = []
        QUICInteger.append(UInt64(handle.number), to: &payload)
        payload += packet
        return say(.datagram(payload)) ? .queued : .dropped
    }

    // MARK: - What QUIC takes

    var hasDatagram: Bool { !queue.isEmpty }

    func nextDatagram() -> (bytes: UnsafeMutableRawBufferPointer, number: UInt64)? {
        queue.next(now: loop.now, dropped: &expired).map { ($0, lastNumber + 1) }
    }

    func datagramLeft(wasSent: Bool) {
        guard let packet = queue.take() else { return }
        if wasSent { lastNumber += 1 } else { expired += 1 }
        if wasSent, !packet.isRepeated, flying.count < Self.maxFlying {
            flying[lastNumber] = packet
        } else {
            packet.memory.deallocate()
        }
        onLeft?()
    }

    /// Some 350 KiB: at a round trip of 40 ms more than 70 Mbit/s. What flies beyond it is not sent again.
    private static var maxFlying: Int { 256 }

    /// The legs of a path are shorter than the path, and a leg that carries much learns of a loss by what follows: it repairs that before
    /// the connection inside has missed anything. Once: what is lost twice, or late, is the connection's own affair.
    func datagramSettled(_ number: UInt64, wasLost: Bool) {
        guard let packet = flying.removeValue(forKey: number) else { return }
        guard wasLost else { return packet.memory.deallocate() }
        if queue.append(lost: packet, now: loop.now) { repeated += 1 }
    }

    func takeExpired() -> Int {
        defer { expired = 0 }
        return expired
    }

    func takeRepeated() -> Int {
        defer { repeated = 0 }
        return repeated
    }
}

extension RelayHandle {
    /// In the shortest form (RFC 9000 §16).
    func write(to target: UnsafeMutableRawBufferPointer, at offset: Int) {
        if byteCount == 1 {
            target[offset] = UInt8(number)
        } else {
            target[offset] = UInt8(number >> 8) | 0x40
            target[offset + 1] = UInt8(truncatingIfNeeded: number)
        }
    }
}
