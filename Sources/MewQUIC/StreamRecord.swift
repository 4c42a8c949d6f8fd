internal import MewQUICCore

/// One stream of a connection and the tasks that wait on it.
final class StreamRecord {
    let stream: StreamCore
    /// The one task that reads.
    var reader: Waiters.ID?
    /// The one task whose bytes are being written and that waits for room.
    var writer: Waiters.ID?
    /// A write is under way: others wait in line, so that two writes are never mixed.
    var isWriting = false
    var writersInLine: [Waiters.ID] = []

    init(_ stream: StreamCore) {
        self.stream = stream
    }
}
