/// Where datagrams wait that nobody has copied for the connection: it asks when it can send. A class of the connection's owner.
package protocol DatagramSource: AnyObject {
    /// False when there is nothing to send.
    var hasDatagram: Bool { get }

    /// The datagram that leaves next; nil when what there was has grown too old. Valid until the next call.
    ///
    /// - Returns: also by which number its fate is to be told; never zero.
    func nextDatagram() -> (bytes: UnsafeMutableRawBufferPointer, number: UInt64)?

    /// The last one has left; or it fits into no packet, now or later.
    func datagramLeft(wasSent: Bool)

    /// The peer has acknowledged one that was sent; or it is believed to be lost, which may be wrong. Called while a packet is read or a
    /// timer runs: the source may queue, and nothing else.
    func datagramSettled(_ number: UInt64, wasLost: Bool)
}

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

    /// Asked behind what was queued here.
    weak var source: (any DatagramSource)?

    /// Kept beside the queue: asked for every packet.
    private var hasQueued = false
    var hasOutgoing: Bool { hasQueued || source?.hasDatagram ?? false }

    /// Lends the datagram that leaves next; nil when there is none.
    func withNextOutgoing<Result>(_ body: (UnsafeMutableRawBufferPointer, UInt64) -> Result) -> Result? {
        if var datagram = outgoing.first { return datagram.withUnsafeMutableBytes { body($0, 0) } }
        return source?.nextDatagram().map { body($0.bytes, $0.number) }
    }

    /// Of what was queued here nobody asks for the fate.
    func settled(_ number: UInt64, wasLost: Bool) {
        if number != 0 { source?.datagramSettled(number, wasLost: wasLost) }
    }

    func enqueueOutgoing(_ datagram: [UInt8]) {
        if append(datagram, to: &outgoing) { dropped += 1 }
        hasQueued = true
    }

    func removeOutgoing() {
        remove(wasSent: true)
    }

    /// The next one cannot be sent, now or later.
    func dropOutgoing() {
        remove(wasSent: false)
        dropped += 1
    }

    private func remove(wasSent: Bool) {
        guard hasQueued else { source?.datagramLeft(wasSent: wasSent); return }
        _ = outgoing.popFirst()
        hasQueued = !outgoing.isEmpty
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
