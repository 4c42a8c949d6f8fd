/// The streams of one connection and the order in which they get to send.
///
/// A class: its queue is touched for every packet, and a value inside the connection would be checked for overlapping
/// access each time.
final class StreamTable {
    private(set) var byID: [Int64: StreamCore] = [:]
    private var blocked: [StreamCore] = []
    /// The stream whose turn it is, and those that wait for theirs.
    private var current: StreamCore?
    private var sendQueue = RingQueue<StreamCore>()
    /// How many wait: kept beside the queue, asked for every packet.
    private var waiting = 0

    /// Bytes of all streams that were never sent.
    var unsentBytes = 0
    /// The same until they are acknowledged.
    var retainedBytes = 0
    /// Streams whose writers may wait because others have used up what all may hold together; a stream stands here once.
    private var crowded: [StreamCore] = []

    /// Streams that the peer opened and that have ended; credited to the peer once it is authorized.
    var uncreditedBidirectional: UInt64 = 0
    var uncreditedUnidirectional: UInt64 = 0
    /// Bytes that were read before the peer was authorized.
    var uncreditedBytes: UInt64 = 0

    subscript(id: Int64) -> StreamCore? { byID[id] }

    func insert(_ stream: StreamCore) {
        byID[stream.id] = stream
    }

    func remove(_ stream: StreamCore) {
        byID[stream.id] = nil
        if stream.isBlocked { blocked.removeAll { $0 === stream } }
        crowded.removeAll { $0 === stream }
    }

    var isCrowded: Bool { !crowded.isEmpty }

    func crowd(_ stream: StreamCore) {
        guard !crowded.contains(where: { $0 === stream }) else { return }
        crowded.append(stream)
    }

    func takeCrowded() -> [StreamCore] {
        defer { crowded.removeAll(keepingCapacity: true) }
        return crowded
    }

    /// The peer's window for the stream is used up.
    func block(_ stream: StreamCore) {
        guard !stream.isBlocked else { return }
        stream.isBlocked = true
        blocked.append(stream)
    }

    func unblock(_ stream: StreamCore) {
        guard stream.isBlocked else { return }
        stream.isBlocked = false
        blocked.removeAll { $0 === stream }
        enqueue(stream)
    }

    /// Lets all blocked streams try again. The peer may have asked us to stop, and the library says so only then.
    func retryBlocked() {
        guard !blocked.isEmpty else { return }
        let waiting = blocked
        blocked.removeAll(keepingCapacity: true)
        for stream in waiting {
            stream.isBlocked = false
            enqueue(stream)
        }
    }

    /// A stream may have something to send; it was not looked at since it sent, or the burst was over before.
    var hasSender: Bool { current != nil || waiting > 0 }

    /// The stream whose turn it is; those that have nothing to send or may not send fall out.
    func nextSender() -> StreamCore? {
        while let stream = current ?? takeNext() {
            if stream.hasSomethingToSend, !stream.isBlocked, !stream.isClosed { return stream }
            current = nil
            stream.isQueued = false
        }
        return nil
    }

    private func takeNext() -> StreamCore? {
        guard waiting > 0 else { return nil }
        waiting -= 1
        current = sendQueue.popFirst()
        return current
    }

    /// Puts a stream with something to send at the end of the queue; harmless when it is queued already.
    func enqueue(_ stream: StreamCore) {
        guard !stream.isQueued, !stream.isBlocked, stream.hasSomethingToSend else { return }
        stream.isQueued = true
        append(stream)
    }

    private func append(_ stream: StreamCore) {
        sendQueue.append(stream)
        waiting += 1
    }

    /// After each packet the next stream has its turn, so that one large transfer does not starve the others.
    func rotate() {
        guard waiting > 0, let stream = current else { return }
        current = nil
        append(stream)
    }
}
