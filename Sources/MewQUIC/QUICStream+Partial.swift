package import MewQUICCore

// Writing as much as there is room for: for an owner that keeps the rest itself and lets in one writer at a time.

extension QUICStream {
    /// Queues as many of `bytes` from `start` on as there is room for and says how many that were, at least one. Suspends
    /// while there is no room; a call that throws `cancelled` has queued nothing.
    package func writeSome(_ bytes: [UInt8], from start: Int) async throws(QUICError) -> Int {
        try await connection.writeSome(bytes, from: start, to: id)
    }

    /// `writeSome` that returns 0 instead of waiting.
    package func writeNow(_ bytes: [UInt8], from start: Int) async throws(QUICError) -> Int {
        try await connection.writeNow(bytes, from: start, to: id)
    }
}

extension Connection {
    func writeSome(_ bytes: [UInt8], from start: Int, to id: Int64) async throws(QUICError) -> Int {
        while true {
            let count = try writeNow(bytes, from: start, to: id)
            if count > 0 { return count }
            guard let record = streams[id] else { throw .finished }
            if Task.isCancelled { throw .cancelled }
            await wait(in: record.writer, unless: { !record.stream.hasWaitingWriter || closure != nil })
        }
    }

    func writeNow(_ bytes: [UInt8], from start: Int, to id: Int64) throws(QUICError) -> Int {
        guard let record = streams[id] else { throw .finished }
        return try writeSome(bytes, from: start, to: record.stream)
    }
}
