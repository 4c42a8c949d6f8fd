internal import MewQUICCore

// Streams: what can be done at once. Whoever has to wait does so in `Connection` or `QUICStream`.

extension ConnectionDriver {
    /// Nil while the peer allows no more.
    func openStream(_ direction: ConnectionCore.Direction) throws(QUICError) -> StreamRecord? {
        guard let stream = try requireCore().openStream(direction) else { return nil }
        let record = StreamRecord(stream)
        streams[stream.id] = record
        touched()
        return record
    }

    enum ReadOutcome {
        case chunk([UInt8])
        case ended
        /// Nothing is there yet.
        case wait
    }

    func read(_ record: StreamRecord) throws(QUICError) -> ReadOutcome {
        if let chunk = takeChunk(record.stream) { return .chunk(chunk) }
        switch record.stream.receiving {
        case .ended: return .ended
        case .reset(let code): throw .reset(code: code)
        case .stopped: throw .finished
        case .open: if let closure { throw .closed(closure) }
        }
        guard record.reader.isEmpty else { throw .alreadyReading }
        return .wait
    }

    private func takeChunk(_ stream: StreamCore) -> [UInt8]? {
        guard let core else { return stream.takeUnread() }
        guard let chunk = core.read(stream) else { return nil }
        touched()
        return chunk
    }

    func isReadable(_ stream: StreamCore) -> Bool {
        stream.unreadBytes > 0 || stream.receiving != .open || closure != nil
    }

    /// Nothing keeps a writer waiting that was told to wait.
    func mayWrite(_ stream: StreamCore) -> Bool { !stream.hasWaitingWriter || closure != nil }

    /// Queues as many of `bytes` from `start` on as there is room for.
    func write(_ bytes: [UInt8], from start: Int, to stream: StreamCore) throws(QUICError) -> Int {
        let core = try requireCore()
        let count = try bytes.withUnsafeBufferPointer { (bytes) throws(QUICError) -> Int in
            try core.write(UnsafeRawBufferPointer(UnsafeBufferPointer(rebasing: bytes[start...])), to: stream)
        }
        if count > 0 { touched() }
        return count
    }

    /// Queues all of `bytes`, or nothing when that would mean to wait: for room, or for another writer.
    func writeAtOnce(_ bytes: [UInt8], to record: StreamRecord) throws(QUICError) -> Bool {
        guard !record.isWriting, try requireCore().room(in: record.stream) >= bytes.count else { return false }
        return try write(bytes, from: 0, to: record.stream) == bytes.count
    }

    func finish(_ record: StreamRecord) {
        guard let core else { return }
        core.finish(record.stream)
        touched()
    }

    func reset(_ record: StreamRecord, code: UInt64) {
        guard let core else { return }
        core.reset(record.stream, code: code)
        takeEvents()
        touched()
    }

    func stop(_ record: StreamRecord, code: UInt64) {
        guard let core else { return }
        core.stop(record.stream, code: code)
        waiters.resumeAll(record.reader)
        touched()
    }

    /// Nobody holds the stream any more: what is not over is given up, so that it cannot use up the peer's streams and
    /// our window.
    func abandon(_ record: StreamRecord) {
        streams[record.stream.id] = nil
        guard let core else { return }
        core.stop(record.stream, code: 0)
        if record.stream.sending == .open { core.reset(record.stream, code: 0) }
        core.release(record.stream)
        touched()
    }
}
