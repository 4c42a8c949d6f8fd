internal import MewBase

/// What waits to leave through a leg: answers of ours first, then packets, each no longer than it is worth waiting for.
struct LegQueue {
    private struct Item {
        let frame: [UInt8]
        let peer: UInt64
        let packets: Int
        let queued: Instant
    }

    private var answers: [[UInt8]] = []
    private var items: [Item] = []
    /// Those before it have left.
    private var head = 0
    private var packetsOfPeer: [UInt64: Int] = [:]
    private(set) var dropped: UInt64 = 0

    /// A packet that waited longer has been declared lost by its sender (DESIGN §7).
    static let maxAge: Duration = .milliseconds(200)
    /// For one peer; more is dropped, and QUIC slows down.
    static let maxPacketsPerPeer = 64
    /// For all peers together: some megabytes. More is dropped.
    static let maxPackets = 2_048
    /// Pongs and the like; a relay that asks for more without reading them is not answered.
    static let maxAnswers = 64

    var isEmpty: Bool { answers.isEmpty && head == items.count }

    mutating func answer(_ frame: [UInt8]) {
        if answers.count < Self.maxAnswers { answers.append(frame) }
    }

    /// How many packets for `peer` are taken now, at most `wanted`.
    func room(for peer: UInt64, wanted: Int) -> Int {
        guard items.count - head < Self.maxPackets else { return 0 }
        return min(wanted, Self.maxPacketsPerPeer - packetsOfPeer[peer, default: 0])
    }

    mutating func append(_ frame: [UInt8], packets: Int, to peer: UInt64, now: Instant) {
        items.append(Item(frame: frame, peer: peer, packets: packets, queued: now))
        packetsOfPeer[peer, default: 0] += packets
    }

    mutating func noteDropped(_ packets: Int) {
        dropped += UInt64(packets)
    }

    /// The next frames, whole ones, `maxBytes` together or one that is larger. What is too old is dropped on the way.
    mutating func take(maxBytes: Int, now: Instant) -> [[UInt8]] {
        var taken = answers
        answers = []
        var byteCount = taken.reduce(0) { $0 + $1.count }
        while head < items.count {
            let item = items[head]
            if item.queued.duration(to: now) > Self.maxAge {
                dropped += UInt64(item.packets)
                forgetFirst()
                continue
            }
            guard taken.isEmpty || byteCount + item.frame.count <= maxBytes else { break }
            taken.append(item.frame)
            byteCount += item.frame.count
            forgetFirst()
        }
        return taken
    }

    private mutating func forgetFirst() {
        let item = items[head]
        let left = packetsOfPeer[item.peer, default: 0] - item.packets
        packetsOfPeer[item.peer] = left > 0 ? left : nil
        head += 1
        guard head == items.count || head > 256 else { return }
        items.removeSubrange(..<head)
        head = 0
    }

    /// The connection is gone, and with it the worth of all that waits.
    mutating func removeAll() {
        dropped += UInt64(items[head...].reduce(0) { $0 + $1.packets })
        self = LegQueue(dropped: dropped)
    }

    init() {}

    private init(dropped: UInt64) {
        self.dropped = dropped
    }
}
