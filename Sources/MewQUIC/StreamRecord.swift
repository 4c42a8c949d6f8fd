internal import MewQUICCore

/// One stream of a connection and the tasks that wait on it.
final class StreamRecord {
    let stream: StreamCore
    /// The one task that reads.
    let reader = WaitList()
    /// The one task whose bytes are being written and that waits for room.
    let writer = WaitList()
    /// A write is under way: others wait in line, so that two writes are never mixed.
    var isWriting = false
    let writersInLine = WaitList()

    init(_ stream: StreamCore) {
        self.stream = stream
    }
}
