package import MewQUICCore

// Streams as tasks see them: calls that suspend.

extension Connection {
    /// Opens a stream; suspends while the peer allows no more.
    package func openStream(
        _ direction: ConnectionCore.Direction = .bidirectional
    ) async throws(QUICError) -> QUICStream {
        while true {
            guard let core else { throw .closed(endOrUnknown) }
            if let stream = try core.openStream(direction) {
                streams[stream.id] = StreamRecord(stream)
                touched()
                return QUICStream(id: stream.id, of: self)
            }
            if Task.isCancelled { throw .cancelled }
            await wait(in: openers, unless: { self.core?.mayOpenStream(direction) ?? true })
        }
    }

    /// The next stream that the peer opened; nil once the connection is gone or the task is cancelled.
    package func acceptStream() async -> QUICStream? {
        while true {
            if let stream = incomingStreams.popFirst() { return stream }
            if closure != nil || Task.isCancelled { return nil }
            await wait(in: acceptors, unless: { !incomingStreams.isEmpty || closure != nil })
        }
    }

    func read(_ id: Int64) async throws(QUICError) -> [UInt8]? {
        guard let record = streams[id] else { throw .finished }
        while true {
            if let chunk = takeChunk(record.stream) { return chunk }
            switch record.stream.receiving {
            case .ended: return nil
            case .reset(let code): throw .reset(code: code)
            case .stopped: throw .finished
            case .open: if let closure { throw .closed(closure) }
            }
            if Task.isCancelled { throw .cancelled }
            guard record.reader.isEmpty else { throw .alreadyReading }
            await wait(in: record.reader, unless: { isReadable(record.stream) })
        }
    }

    private func takeChunk(_ stream: StreamCore) -> [UInt8]? {
        guard let core else { return stream.takeUnread() }
        guard let chunk = core.read(stream) else { return nil }
        touched()
        return chunk
    }

    private func isReadable(_ stream: StreamCore) -> Bool {
        stream.unreadBytes > 0 || stream.receiving != .open || closure != nil
    }

    func write(_ bytes: [UInt8], to id: Int64) async throws(QUICError) {
        guard let record = streams[id] else { throw .finished }
        try await startWriting(record)
        defer { stopWriting(record) }
        var written = 0
        while true {
            written += try writeSome(bytes, from: written, to: record.stream)
            if written == bytes.count { return }
            if Task.isCancelled { throw .cancelled }
            await wait(in: record.writer, unless: { !record.stream.hasWaitingWriter || closure != nil })
        }
    }

    func writeSome(
        _ bytes: [UInt8], from start: Int, to stream: StreamCore
    ) throws(QUICError) -> Int {
        guard let core else { throw .closed(endOrUnknown) }
        let count = try bytes.withUnsafeBufferPointer { (bytes) throws(QUICError) -> Int in
            try core.write(UnsafeRawBufferPointer(UnsafeBufferPointer(rebasing: bytes[start...])), to: stream)
        }
        if count > 0 { touched() }
        return count
    }

    /// Waits until no other task writes to the stream.
    private func startWriting(_ record: StreamRecord) async throws(QUICError) {
        while record.isWriting {
            if Task.isCancelled { throw .cancelled }
            await wait(in: record.writersInLine, unless: { !record.isWriting })
        }
        record.isWriting = true
    }

    private func stopWriting(_ record: StreamRecord) {
        record.isWriting = false
        waiters.resumeAll(record.writersInLine)
    }

    func finish(_ id: Int64) {
        guard let core, let record = streams[id] else { return }
        core.finish(record.stream)
        touched()
    }

    func reset(_ id: Int64, code: UInt64) {
        guard let core, let record = streams[id] else { return }
        core.reset(record.stream, code: code)
        takeEvents()
        touched()
    }

    func stop(_ id: Int64, code: UInt64) {
        guard let core, let record = streams[id] else { return }
        core.stop(record.stream, code: code)
        waiters.resumeAll(record.reader)
        touched()
    }

    /// Nobody holds the stream any more: what is not over is given up, so that it cannot use up the peer's streams and
    /// our window.
    func abandonStream(_ id: Int64) {
        guard let record = streams.removeValue(forKey: id), let core else { return }
        core.stop(record.stream, code: 0)
        if record.stream.sending == .open { core.reset(record.stream, code: 0) }
        core.release(record.stream)
        touched()
    }
}

extension Connection {
    /// Queues a datagram (RFC 9221). It may be lost, and the oldest gives way when too many wait.
    package func sendDatagram(_ bytes: [UInt8]) throws(QUICError) {
        guard let core else { throw .closed(endOrUnknown) }
        try core.sendDatagram(bytes)
        touched()
    }

    /// The next datagram of the peer.
    package func receiveDatagram() async throws(QUICError) -> [UInt8] {
        while true {
            if let datagram = core?.takeDatagram() ?? takeLeftDatagram() { return datagram }
            if let closure { throw .closed(closure) }
            if Task.isCancelled { throw .cancelled }
            await wait(in: datagramReaders, unless: { core?.hasDatagram ?? true })
        }
    }

    /// The largest datagram the present path takes; zero when the peer accepts none.
    package var maxDatagramBytes: Int { core?.maxDatagramBytes ?? 0 }
}
