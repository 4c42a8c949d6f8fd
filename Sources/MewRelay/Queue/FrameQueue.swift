internal import MewBase

/// What waits in several queues together.
final class FrameBacklog {
    /// Kept by the queues.
    var bytes = 0
}

/// What waits to leave by one connection to or from a relay: answers of ours before packets of others, packets no longer than
/// they are worth waiting for.
///
/// A party is who may fill the queue and nobody else's share of it: for a relay the sender of packets, for its client the
/// receiver. All frames lie in a row, as they go to the socket. Touched on the loop's thread only.
final class FrameQueue<Party: Hashable> {
    struct Limits {
        /// Packets of one party; a batch is taken whole as long as there are fewer.
        var packets: Int
        /// Bytes of all parties together.
        var bytes: Int
        /// Bytes of all queues with the same backlog.
        var bytesInAll = Int.max
        /// A packet that waited longer has been declared lost by its sender (DESIGN §7).
        var age: Duration = .milliseconds(200)
        /// Answers are ours, and few.
        var answers: Int
        /// Hints are about others.
        var hints = 0
    }

    private struct Item {
        let byteCount: Int
        let party: Party
        let packets: Int
        /// Packets of usual size that it takes the room of.
        let weight: Int
        let queued: Instant
    }

    private let limits: Limits
    private let backlog: FrameBacklog
    private var answers = PooledBytes()
    private var answerSizes: [Int] = []
    private var frames = PooledBytes()
    /// Those before `head` have left.
    private var items: [Item] = []
    private var head = 0
    /// How much of the first frame has left.
    private var begun = 0
    private var weightOfParty: [Party: Int] = [:]

    init(_ limits: Limits, _ backlog: FrameBacklog = FrameBacklog()) {
        self.limits = limits
        self.backlog = backlog
    }

    var isEmpty: Bool { answers.isEmpty && frames.isEmpty }
    /// Of packets; what is ours does not count.
    var waitingBytes: Int { frames.count }

    // MARK: - In

    /// False when too many wait already.
    func answer(_ bytes: [UInt8]) -> Bool {
        guard answerSizes.count < limits.answers else { return false }
        putAnswer(bytes)
        return true
    }

    /// What the other side can do without, and did not ask for: dropped when it reads too slowly.
    func hint(_ bytes: [UInt8]) {
        if answerSizes.count < limits.hints { putAnswer(bytes) }
    }

    private func putAnswer(_ bytes: [UInt8]) {
        guard !bytes.isEmpty else { return }
        answerSizes.append(bytes.count)
        answers.append(atLeast: bytes.count) {
            $0.copyBytes(from: bytes)
            return bytes.count
        }
    }

    /// True while a frame of this party would be taken.
    func hasRoom(for party: Party, byteCount: Int) -> Bool {
        weightOfParty[party, default: 0] < limits.packets && frames.count + byteCount <= limits.bytes
            && backlog.bytes + byteCount <= limits.bytesInAll
    }

    /// True while a burst of this party would be taken whole: it may write as long as this holds, and nothing is dropped.
    func hasRoomForBurst(of party: Party) -> Bool {
        weightOfParty[party, default: 0] <= limits.packets - Self.burstPackets
            && frames.count + Self.burstBytes <= limits.bytes
    }

    /// What QUIC writes at once (RFC 9002 §7.7): 64 KiB, in the smallest packets that are full: those of a path that has not
    /// found out yet what it carries (RFC 9000 §14.1).
    static var burstPackets: Int { (burstBytes + leastFullPacketBytes - 1) / leastFullPacketBytes }
    static var burstBytes: Int { 64 << 10 }
    private static var leastFullPacketBytes: Int { 1_200 }
    /// What a packet has that fits through the Internet. One that is larger counts as several, so that nobody takes the room
    /// of all others with few.
    static var packetBytes: Int { 1_500 }

    /// - Parameter write: writes the frame, all of it.
    func append(
        of party: Party, packets: Int, byteCount: Int, now: Instant, _ write: (UnsafeMutableRawBufferPointer) -> Void
    ) {
        let weight = max(packets, byteCount / Self.packetBytes)
        items.append(Item(byteCount: byteCount, party: party, packets: packets, weight: weight, queued: now))
        weightOfParty[party, default: 0] += weight
        backlog.bytes += byteCount
        frames.append(atLeast: byteCount) {
            write(UnsafeMutableRawBufferPointer(rebasing: $0[..<byteCount]))
            return byteCount
        }
    }

    // MARK: - Out

    /// When the packet that has waited longest is no longer worth it.
    var nextExpiry: Instant? {
        let first = begun > 0 ? head + 1 : head
        return first < items.count ? items[first].queued.advanced(by: limits.age + .nanoseconds(1)) : nil
    }

    /// Drops what has waited too long and has not begun to leave.
    ///
    /// - Returns: how many packets.
    func expire(now: Instant) -> Int {
        let first = begun > 0 ? head + 1 : head
        var (end, packets, byteCount) = (first, 0, 0)
        while end < items.count, items[end].queued.duration(to: now) > limits.age {
            packets += items[end].packets
            byteCount += items[end].byteCount
            forget(items[end])
            end += 1
        }
        guard end > first else { return 0 }
        backlog.bytes -= byteCount
        frames.remove(byteCount, behind: begun > 0 ? items[head].byteCount - begun : 0)
        if begun > 0 { items[end - 1] = items[head] }
        advance(to: begun > 0 ? end - 1 : end)
        return packets
    }

    /// What leaves next, whole frames: at least one, or its rest, and no more than `limit` bytes if that is more. Valid until
    /// the next change.
    func next(atMost limit: Int) -> UnsafeRawBufferPointer {
        if begun == 0, !answers.isEmpty {
            return UnsafeRawBufferPointer(rebasing: answers.bytes.prefix(limit))
        }
        let bytes = UnsafeRawBufferPointer(frames.bytes)
        // What has begun to leave must go on before anything else.
        if !answers.isEmpty { return UnsafeRawBufferPointer(rebasing: bytes[..<(items[head].byteCount - begun)]) }
        guard bytes.count > limit else { return bytes }
        var byteCount = items[head].byteCount - begun
        for item in items[(head + 1)...] {
            guard byteCount + item.byteCount <= limit else { break }
            byteCount += item.byteCount
        }
        return UnsafeRawBufferPointer(rebasing: bytes[..<byteCount])
    }

    /// The first `byteCount` bytes of the last `next` have left.
    func left(_ byteCount: Int) {
        if begun == 0, !answers.isEmpty { return answersLeft(byteCount) }
        backlog.bytes -= byteCount
        frames.removeFirst(byteCount)
        begun += byteCount
        var gone = head
        while gone < items.count, begun >= items[gone].byteCount {
            begun -= items[gone].byteCount
            forget(items[gone])
            gone += 1
        }
        advance(to: gone)
    }

    private func answersLeft(_ byteCount: Int) {
        answers.removeFirst(byteCount)
        guard !answers.isEmpty else { return answerSizes = [] }
        var left = byteCount
        while let first = answerSizes.first {
            guard left >= first else { return answerSizes[0] = first - left }
            left -= first
            answerSizes.removeFirst()
        }
    }

    /// The connection is gone, and with it the worth of all that waits.
    ///
    /// - Returns: how many packets that were.
    func removeAll() -> Int {
        let packets = items[head...].reduce(0) { $0 + $1.packets }
        answers.removeFirst(answers.count)
        backlog.bytes -= frames.count
        frames.removeFirst(frames.count)
        (answerSizes, begun) = ([], 0)
        advance(to: items.count)
        return packets
    }

    private func forget(_ item: Item) {
        let left = weightOfParty[item.party, default: 0] - item.weight
        weightOfParty[item.party] = left > 0 ? left : nil
    }

    private func advance(to index: Int) {
        head = index
        if head == items.count {
            // Who is idle holds nothing.
            (items, head, weightOfParty) = ([], 0, [:])
        } else if head > 64, head > items.count / 2 {
            items.removeSubrange(..<head)
            head = 0
        }
    }
}
