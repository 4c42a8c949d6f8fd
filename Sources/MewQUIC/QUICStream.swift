internal import MewLoop
package import MewQUICCore

/// One stream of a connection: ordered bytes in one or both directions.
///
/// A stream is given up when the last reference to it goes: what was not finished is reset, what was not read is dropped.
///
/// All calls may come from any task. A task of the connection's loop is where the connection is: what it asks for is done
/// at once, without a look at actors and executors, which would cost more than the rest of a short read or write.
package final class QUICStream: Sendable {
    package let id: Int64
    package let connection: Connection
    private let record: LoopBound<StreamRecord>
    private let driver: LoopBound<ConnectionDriver>

    init(_ record: LoopBound<StreamRecord>, of connection: Connection, by driver: LoopBound<ConnectionDriver>) {
        id = record.value.stream.id
        self.connection = connection
        self.record = record
        self.driver = driver
    }

    deinit {
        connection.loop.post { [driver, record] in driver.value.abandon(record.value) }
    }

    /// What belongs to the loop, when the caller is there.
    private var here: (driver: ConnectionDriver, record: StreamRecord)? {
        connection.loop.isCurrent ? (driver.value, record.value) : nil
    }

    private func perform<Value: Sendable, Failure: Error>(
        _ body: @Sendable (ConnectionDriver, StreamRecord) throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        if let (driver, record) = here { return try body(driver, record) }
        return try await connection.perform { [driver, record] () throws(Failure) in
            try body(driver.value, record.value)
        }
    }

    // MARK: - Reading

    /// The next bytes, as many as have arrived (at most 64 KiB); nil at the end of the stream. One reader at a time.
    ///
    /// Reading is what allows the peer to send more: who stops reading stops the writer.
    package func read() async throws(QUICError) -> [UInt8]? {
        while let (driver, record) = here {
            switch try driver.read(record) {
            case .chunk(let chunk): return chunk
            case .ended: return nil
            case .wait: break
            }
            if Task.isCancelled { throw .cancelled }
            await driver.waiters.wait(in: record.reader, unless: { driver.isReadable(record.stream) })
        }
        return try await connection.read(self)
    }

    /// Asks the peer to stop sending and drops what is unread. Idempotent.
    package func stop(code: UInt64) async {
        await perform { $0.stop($1, code: code) }
    }

    // MARK: - Writing

    /// Suspends while the peer takes nothing in; returns when all bytes are queued. Writes of several tasks are not mixed.
    ///
    /// When it throws, some of the bytes may have been sent: the stream is good for `reset` only.
    package func write(_ bytes: [UInt8]) async throws(QUICError) {
        if let (driver, record) = here, try driver.writeAtOnce(bytes, to: record) { return }
        try await connection.write(bytes, to: record)
    }

    /// Queues as many of `bytes` from `start` on as there is room for and says how many that were, at least one. Suspends
    /// while there is no room; a call that throws `cancelled` has queued nothing.
    ///
    /// For an owner that keeps the rest itself and lets in one writer at a time.
    package func writeSome(_ bytes: [UInt8], from start: Int) async throws(QUICError) -> Int {
        while let (driver, record) = here {
            let count = try driver.write(bytes, from: start, to: record.stream)
            if count > 0 { return count }
            if Task.isCancelled { throw .cancelled }
            await driver.waiters.wait(in: record.writer, unless: { driver.mayWrite(record.stream) })
        }
        return try await connection.writeSome(bytes, from: start, to: self)
    }

    /// `writeSome` that returns 0 instead of waiting.
    package func writeNow(_ bytes: [UInt8], from start: Int) async throws(QUICError) -> Int {
        try await perform { (driver, record) throws(QUICError) in
            try driver.write(bytes, from: start, to: record.stream)
        }
    }

    /// Ends our direction behind what was written, which still arrives. Idempotent.
    package func finish() async {
        await perform { $0.finish($1) }
    }

    /// Gives up our direction: what was not delivered is lost. Idempotent.
    package func reset(code: UInt64) async {
        await perform { $0.reset($1, code: code) }
    }
}

// The same for callers that have to come to the loop first.
extension Connection {
    fileprivate func perform<Value: Sendable, Failure: Error>(
        _ body: @Sendable () throws(Failure) -> Value
    ) throws(Failure) -> Value {
        try body()
    }

    fileprivate func read(_ stream: QUICStream) async throws(QUICError) -> [UInt8]? {
        try await stream.read()
    }

    fileprivate func writeSome(
        _ bytes: [UInt8], from start: Int, to stream: QUICStream
    ) async throws(QUICError) -> Int {
        try await stream.writeSome(bytes, from: start)
    }

    fileprivate func write(_ bytes: [UInt8], to record: LoopBound<StreamRecord>) async throws(QUICError) {
        let record = record.value
        try await startWriting(record)
        defer { stopWriting(record) }
        var written = 0
        while true {
            written += try driver.write(bytes, from: written, to: record.stream)
            if written == bytes.count { return }
            if Task.isCancelled { throw .cancelled }
            await driver.waiters.wait(in: record.writer, unless: { driver.mayWrite(record.stream) })
        }
    }

    /// Waits until no other task writes to the stream.
    private func startWriting(_ record: StreamRecord) async throws(QUICError) {
        while record.isWriting {
            if Task.isCancelled { throw .cancelled }
            await driver.waiters.wait(in: record.writersInLine, unless: { !record.isWriting })
        }
        record.isWriting = true
    }

    private func stopWriting(_ record: StreamRecord) {
        record.isWriting = false
        driver.waiters.resumeAll(record.writersInLine)
    }
}
