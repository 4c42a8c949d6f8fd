/// Datagrams on their way out and in (RFC 9221): bounded, and the oldest gives way, because they are for data that is
/// worthless when late.
struct DatagramQueues {
    private var outgoing = RingQueue<[UInt8]>()
    private var incoming = RingQueue<[UInt8]>()
    private let limit: Int

    /// How many gave way, in both directions.
    private(set) var dropped: UInt64 = 0

    init(limit: Int) {
        self.limit = limit
    }

    var nextOutgoing: [UInt8]? { outgoing.first }

    mutating func enqueueOutgoing(_ datagram: [UInt8]) {
        Self.append(datagram, to: &outgoing, limit: limit, dropped: &dropped)
    }

    mutating func removeOutgoing() {
        _ = outgoing.popFirst()
    }

    mutating func enqueueIncoming(_ datagram: [UInt8]) {
        Self.append(datagram, to: &incoming, limit: limit, dropped: &dropped)
    }

    mutating func takeIncoming() -> [UInt8]? {
        incoming.popFirst()
    }

    private static func append(
        _ datagram: [UInt8], to queue: inout RingQueue<[UInt8]>, limit: Int, dropped: inout UInt64
    ) {
        if queue.count >= limit {
            _ = queue.popFirst()
            dropped += 1
        }
        queue.append(datagram)
    }
}
