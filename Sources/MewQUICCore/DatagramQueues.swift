/// Datagrams on their way out and in (RFC 9221): bounded, and the oldest gives way, because they are for data that is
/// worthless when late.
///
/// A class for the same reason as `StreamTable`.
final class DatagramQueues {
    private var outgoing = RingQueue<[UInt8]>()
    private var incoming = RingQueue<[UInt8]>()
    private let limit: Int

    /// How many gave way, in both directions, or fitted the path no more when their turn came.
    private(set) var dropped: UInt64 = 0

    init(limit: Int) {
        self.limit = limit
    }

    /// Kept beside the queue: asked for every packet.
    private(set) var hasOutgoing = false

    var nextOutgoing: [UInt8]? { outgoing.first }

    func enqueueOutgoing(_ datagram: [UInt8]) {
        if append(datagram, to: &outgoing) { dropped += 1 }
        hasOutgoing = true
    }

    func removeOutgoing() {
        _ = outgoing.popFirst()
        hasOutgoing = !outgoing.isEmpty
    }

    /// The next one cannot be sent, now or later.
    func dropOutgoing() {
        removeOutgoing()
        dropped += 1
    }

    var hasIncoming: Bool { !incoming.isEmpty }

    func enqueueIncoming(_ datagram: [UInt8]) {
        if append(datagram, to: &incoming) { dropped += 1 }
    }

    func takeIncoming() -> [UInt8]? {
        incoming.popFirst()
    }

    /// True when the oldest had to go.
    private func append(_ datagram: [UInt8], to queue: inout RingQueue<[UInt8]>) -> Bool {
        let isFull = queue.count >= limit
        if isFull { _ = queue.popFirst() }
        queue.append(datagram)
        return isFull
    }
}
