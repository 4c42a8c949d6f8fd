internal import MewBase
internal import MewQUICCore

/// Packets that wait for one connection that takes them one by one: each party has a lane of its own, and the lanes take turns, so
/// that one who sends much delays nobody else. Within a lane they keep their order.
///
/// A party is who may fill its lane and no other: for a relay the sender of packets (`ConnectionNumber.raw`), for its client the receiver
/// (as its carrier calls it). A number and no parameter of the type: QUIC calls this through a protocol, for each packet, and generic
/// code that is called so looks its types up again and again. All packets have
/// about the same size or less (a relay passes on no larger ones), so a turn is a packet. Touched on the loop's thread only.
final class PacketLanes {
    typealias Party = UInt64
    /// `answers` and `hints` are of no meaning here: what is ours goes another way.
    typealias Limits = FrameQueue<UInt64>.Limits

    struct Packet {
        /// Whoever has the packet gives it back.
        let memory: UnsafeMutableRawBufferPointer
        let queued: Instant
        /// It has left before, and was lost.
        var isRepeated = false
    }

    private let limits: Limits
    private let backlog: FrameBacklog
    /// None of them is empty.
    private var lanes: [Party: RingQueue<Packet>] = [:]
    /// Each party that has a lane, once; whose turn it is stands first.
    private var turns = RingQueue<Party>()
    /// What was lost goes before everything else: it is the oldest.
    private var again = RingQueue<Packet>()
    private(set) var waitingBytes = 0
    private var swept = Instant.zero

    /// Whoever floods must not make all lanes be looked through for each packet.
    private static var sweepEvery: Duration { .milliseconds(10) }

    init(_ limits: Limits, _ backlog: FrameBacklog = FrameBacklog()) {
        self.limits = limits
        self.backlog = backlog
    }

    deinit {
        _ = removeAll()
    }

    var isEmpty: Bool { lanes.isEmpty && again.isEmpty }

    // MARK: - In

    /// True while a packet of this party would be taken.
    func hasRoom(for party: Party, byteCount: Int) -> Bool {
        count(of: party) < limits.packets && waitingBytes + byteCount <= limits.bytes
            && backlog.bytes + byteCount <= limits.bytesInAll
    }

    /// True while a burst of this party would be taken whole: it may write as long as this holds, and nothing is dropped.
    func hasRoomForBurst(of party: Party) -> Bool {
        count(of: party) <= limits.packets - FrameQueue<UInt64>.burstPackets
            && waitingBytes + FrameQueue<UInt64>.burstBytes <= limits.bytes
    }

    private func count(of party: Party) -> Int { lanes[party]?.count ?? 0 }

    /// - Parameter write: writes the packet, all of it.
    func append(of party: Party, byteCount: Int, now: Instant, _ write: (UnsafeMutableRawBufferPointer) -> Void) {
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: byteCount, alignment: 1)
        write(memory)
        if lanes[party] == nil { turns.append(party) }
        lanes[party, default: RingQueue()].append(Packet(memory: memory, queued: now))
        count(byteCount)
    }

    /// Takes one back that has left once and was lost, if it is still worth it; false when it was given back to the allocator.
    func append(lost packet: Packet, now: Instant) -> Bool {
        guard !packet.isRepeated, !isOld(packet, now), backlog.bytes + packet.memory.count <= limits.bytesInAll else {
            packet.memory.deallocate()
            return false
        }
        var packet = packet
        packet.isRepeated = true
        again.append(packet)
        count(packet.memory.count)
        return true
    }

    private func count(_ byteCount: Int) {
        waitingBytes += byteCount
        backlog.bytes += byteCount
    }

    // MARK: - Out

    /// The packet that leaves next; nil when there is none that is fresh. Valid until the next call.
    ///
    /// - Parameter dropped: grows by those that would have been next and have waited too long.
    func next(now: Instant, dropped: inout Int) -> UnsafeMutableRawBufferPointer? {
        while let packet = again.first {
            guard isOld(packet, now) else { return packet.memory }
            free(again.popFirst())
            dropped += 1
        }
        while let party = turns.first, let packet = lanes[party]?.first {
            guard isOld(packet, now) else { return packet.memory }
            removeFirst(of: party)
            if lanes[party] == nil { _ = turns.popFirst() }
            dropped += 1
        }
        return nil
    }

    private func isOld(_ packet: Packet, _ now: Instant) -> Bool { packet.queued.duration(to: now) > limits.age }

    /// The next one has left: the turn is another party's.
    func left() {
        take()?.memory.deallocate()
    }

    /// The same; it belongs to the caller.
    func take() -> Packet? {
        if let packet = again.popFirst() {
            count(-packet.memory.count)
            return packet
        }
        guard let party = turns.popFirst(), let packet = takeFirst(of: party) else { return nil }
        if lanes[party] != nil { turns.append(party) }
        return packet
    }

    /// Makes room: drops what has waited too long, of the party at any time, of all of them now and then.
    ///
    /// - Returns: how many packets.
    func expire(for party: Party, now: Instant) -> Int {
        guard swept.duration(to: now) < Self.sweepEvery else { return expireAll(now: now) }
        var dropped = 0
        // The last of a lane stays: the lane has its turn.
        while let lane = lanes[party], lane.count > 1, let first = lane.first, isOld(first, now) {
            removeFirst(of: party)
            dropped += 1
        }
        return dropped
    }

    private func expireAll(now: Instant) -> Int {
        swept = now
        var dropped = 0
        // Once round, so that the order of the turns stays.
        for _ in 0..<turns.count {
            guard let party = turns.popFirst() else { break }
            while let first = lanes[party]?.first, isOld(first, now) {
                removeFirst(of: party)
                dropped += 1
            }
            if lanes[party] != nil { turns.append(party) }
        }
        return dropped
    }

    /// The connection is gone, and with it the worth of all that waits.
    ///
    /// - Returns: how many packets that were.
    func removeAll() -> Int {
        var dropped = 0
        while let party = turns.popFirst() {
            while lanes[party] != nil {
                removeFirst(of: party)
                dropped += 1
            }
        }
        while let packet = again.popFirst() {
            free(packet)
            dropped += 1
        }
        // Who is idle holds nothing.
        (turns, again) = (RingQueue(), RingQueue())
        return dropped
    }

    private func removeFirst(of party: Party) { takeFirst(of: party)?.memory.deallocate() }

    private func takeFirst(of party: Party) -> Packet? {
        guard let packet = lanes[party]?.popFirst() else { return nil }
        count(-packet.memory.count)
        if lanes[party]?.isEmpty == true { lanes[party] = nil }
        return packet
    }

    private func free(_ packet: Packet?) {
        guard let packet else { return }
        count(-packet.memory.count)
        packet.memory.deallocate()
    }
}
