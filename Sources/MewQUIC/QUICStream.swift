internal import MewLoop
package import MewQUICCore

/// One stream of a connection: ordered bytes in one or both directions.
///
/// A stream is given up when the last reference to it goes: what was not finished is reset, what was not read is dropped.
/// All calls may come from any task; from tasks of the connection's loop they cost no thread hop.
package final class QUICStream: Sendable {
    package let id: Int64
    package let connection: Connection

    init(id: Int64, of connection: Connection) {
        self.id = id
        self.connection = connection
    }

    deinit {
        connection.loop.post { [connection, id] in connection.assumeIsolated { $0.abandonStream(id) } }
    }

    /// The next bytes, as many as have arrived (at most 64 KiB); nil at the end of the stream. One reader at a time.
    ///
    /// Reading is what allows the peer to send more: who stops reading stops the writer.
    package func read() async throws(QUICError) -> [UInt8]? {
        try await connection.read(id)
    }

    /// Suspends while the peer takes nothing in; returns when all bytes are queued. Writes of several tasks are not mixed.
    ///
    /// When it throws, some of the bytes may have been sent: the stream is good for `reset` only.
    package func write(_ bytes: [UInt8]) async throws(QUICError) {
        try await connection.write(bytes, to: id)
    }

    /// Ends our direction behind what was written, which still arrives. Idempotent.
    package func finish() async {
        await connection.finish(id)
    }

    /// Gives up our direction: what was not delivered is lost. Idempotent.
    package func reset(code: UInt64) async {
        await connection.reset(id, code: code)
    }

    /// Asks the peer to stop sending and drops what is unread. Idempotent.
    package func stop(code: UInt64) async {
        await connection.stop(id, code: code)
    }
}
