/// The streams of one connection and the order in which they get to send.
struct StreamTable {
    private(set) var byID: [Int64: StreamCore] = [:]
    private var blocked: [StreamCore] = []
    private var sendQueue = RingQueue<StreamCore>()

    /// Streams that the peer opened and that have ended; credited to the peer once it is authorized.
    var uncreditedBidirectional: UInt64 = 0
    var uncreditedUnidirectional: UInt64 = 0

    subscript(id: Int64) -> StreamCore? { byID[id] }

    mutating func insert(_ stream: StreamCore) {
        byID[stream.id] = stream
    }

    mutating func remove(_ stream: StreamCore) {
        byID[stream.id] = nil
        if stream.isBlocked { blocked.removeAll { $0 === stream } }
    }

    /// The peer's window for the stream is used up.
    mutating func block(_ stream: StreamCore) {
        guard !stream.isBlocked else { return }
        stream.isBlocked = true
        blocked.append(stream)
    }

    mutating func unblock(_ stream: StreamCore) {
        guard stream.isBlocked else { return }
        stream.isBlocked = false
        blocked.removeAll { $0 === stream }
        enqueue(stream)
    }

    /// Lets all blocked streams try again. The peer may have asked us to stop, and the library says so only then.
    mutating func retryBlocked() {
        guard !blocked.isEmpty else { return }
        let waiting = blocked
        blocked.removeAll(keepingCapacity: true)
        for stream in waiting {
            stream.isBlocked = false
            enqueue(stream)
        }
    }

    /// The stream whose turn it is; those that have nothing to send or may not send fall out of the queue.
    mutating func nextSender() -> StreamCore? {
        while let stream = sendQueue.first {
            if stream.hasSomethingToSend, !stream.isBlocked, !stream.isClosed { return stream }
            _ = sendQueue.popFirst()
            stream.isQueued = false
        }
        return nil
    }

    /// Puts a stream with something to send at the end of the queue; harmless when it is queued already.
    mutating func enqueue(_ stream: StreamCore) {
        guard !stream.isQueued, !stream.isBlocked, stream.hasSomethingToSend else { return }
        stream.isQueued = true
        sendQueue.append(stream)
    }

    /// After each packet the next stream has its turn, so that one large transfer does not starve the others.
    mutating func rotate() {
        guard sendQueue.count > 1, let stream = sendQueue.popFirst() else { return }
        sendQueue.append(stream)
    }
}
