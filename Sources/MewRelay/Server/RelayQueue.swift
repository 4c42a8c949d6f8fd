internal import MewBase

/// What waits for all clients of a relay together.
final class RelayBacklog {
    fileprivate(set) var bytes = 0
}

/// What waits for one client: answers of ours before packets of others, packets no longer than they are worth waiting for.
struct RelayQueue {
    private struct Item {
        let bytes: [UInt8]
        let sender: ConnectionNumber
        let packets: Int
        /// Packets of usual size that it takes the room of.
        let weight: Int
        let queued: Instant
    }

    private let limits: RelayLimits
    private let backlog: RelayBacklog
    private var answers: [[UInt8]] = []
    /// Those before `head` have left.
    private var items: [Item?] = []
    private var head = 0
    private var weightOfSender: [ConnectionNumber: Int] = [:]
    private(set) var waitingBytes = 0 {
        didSet { backlog.bytes += waitingBytes - oldValue }
    }

    /// Answers are ours, and few: who asks for more than this without reading them is not served.
    static let maxAnswers = 256
    /// Hints are about others, who could send so many that no answer has room.
    static let maxHints = 64
    /// What a packet has that fits through the Internet. One that is larger counts as several, so that nobody takes the room of
    /// all others with few.
    static let packetBytes = 1_500

    init(_ limits: RelayLimits, _ backlog: RelayBacklog) {
        self.limits = limits
        self.backlog = backlog
    }

    var isEmpty: Bool { answers.isEmpty && head == items.count }

    /// Memory that an idle client need not keep.
    mutating func release() {
        guard isEmpty else { return }
        answers = []
        (items, head) = ([], 0)
        weightOfSender = [:]
    }

    /// The client is gone.
    mutating func removeAll() {
        (answers, items, head, waitingBytes) = ([], [], 0, 0)
        weightOfSender = [:]
    }

    /// False when the client reads nothing of what it asked for.
    mutating func answer(_ bytes: [UInt8]) -> Bool {
        guard answers.count < Self.maxAnswers else { return false }
        answers.append(bytes)
        return true
    }

    /// What the client can do without, and did not ask for: dropped when it reads too slowly.
    mutating func hint(_ bytes: [UInt8]) {
        if answers.count < Self.maxHints { answers.append(bytes) }
    }

    /// When the packet that has waited longest is no longer worth it.
    var nextExpiry: Instant? { first?.queued.advanced(by: limits.queueTime + .nanoseconds(1)) }

    /// True while a packet of this sender would be taken.
    func hasRoom(from sender: ConnectionNumber, byteCount: Int) -> Bool {
        // A batch is taken whole: as long as the pair is below its bound.
        return (weightOfSender[sender] ?? 0) < limits.queuedPacketsPerPair
            && waitingBytes + byteCount <= limits.queuedBytes && backlog.bytes + byteCount <= limits.queuedBytesInAll
    }

    mutating func append(_ bytes: [UInt8], from sender: ConnectionNumber, packets: Int, now: Instant) {
        let weight = max(packets, bytes.count / Self.packetBytes)
        items.append(Item(bytes: bytes, sender: sender, packets: packets, weight: weight, queued: now))
        weightOfSender[sender, default: 0] += weight
        waitingBytes += bytes.count
    }

    /// Drops what has waited too long.
    ///
    /// - Returns: how many packets.
    mutating func expire(now: Instant) -> Int {
        var dropped = 0
        while let first, first.queued.duration(to: now) > limits.queueTime {
            dropped += first.packets
            forgetFirst()
        }
        return dropped
    }

    private var first: Item? { head < items.count ? items[head] : nil }

    private mutating func forgetFirst() {
        guard let item = first else { return }
        items[head] = nil
        head += 1
        waitingBytes -= item.bytes.count
        let left = (weightOfSender[item.sender] ?? 0) - item.weight
        weightOfSender[item.sender] = left > 0 ? left : nil
        if head == items.count {
            items.removeAll(keepingCapacity: true)
            head = 0
        } else if head > 64, head > items.count / 2 {
            items.removeSubrange(..<head)
            head = 0
        }
    }

    /// Lays what is to leave next into `target`, whole frames only: at least one, and no more than `limit` bytes if that is
    /// more. `target` holds the largest frame there is.
    func fill(_ target: UnsafeMutableRawBufferPointer, atMost limit: Int) -> Filled {
        var filled = Filled()
        for answer in answers {
            guard filled.put(answer, into: target, limit) else { return filled }
        }
        for item in items[head...] {
            guard let item, filled.put(item.bytes, into: target, limit) else { break }
        }
        return filled
    }

    /// What one `fill` has laid out.
    struct Filled {
        private(set) var byteCount = 0

        fileprivate mutating func put(
            _ bytes: [UInt8], into target: UnsafeMutableRawBufferPointer, _ limit: Int
        ) -> Bool {
            guard byteCount == 0 || byteCount + bytes.count <= min(limit, target.count) else { return false }
            UnsafeMutableRawBufferPointer(rebasing: target[byteCount...]).copyBytes(from: bytes)
            byteCount += bytes.count
            return true
        }
    }

    /// The first `byteCount` bytes of the last `fill` have left; a frame that has begun to leave is no longer here, the caller
    /// keeps its rest.
    ///
    /// - Returns: how many bytes the frames have that are gone from here.
    mutating func consume(_ byteCount: Int) -> Int {
        var gone = 0
        while gone < byteCount, let answer = answers.first {
            gone += answer.count
            answers.removeFirst()
        }
        while gone < byteCount, let item = first {
            gone += item.bytes.count
            forgetFirst()
        }
        return gone
    }
}
