internal import CSys
internal import Glibc
internal import MewBase

extension StreamSocket {
    /// Read at once at most: by a reader of lines, and by one of bytes.
    private static let blockBytes = 16 << 10
    private static let largestBlockBytes = 64 << 10

    /// The next bytes, at most `maxBytes`; nil at the end.
    package func read(maxBytes: Int) async throws(StreamError) -> [UInt8]? {
        precondition(maxBytes > 0, "reading nothing looks like an end")
        guard buffer.isEmpty else { return buffer.take(maxBytes: maxBytes) }
        while true {
            guard try isGoingOn() else { return nil }
            var count: Int64 = 0
            let block = [UInt8](unsafeUninitializedCapacity: min(maxBytes, Self.largestBlockBytes)) { target, length in
                count = csys_stream_read(descriptor, target.baseAddress, target.count)
                length = max(0, Int(count))
            }
            if count > 0 { return block }
            if count == 0 {
                isAtEnd = true
            } else if count == -Int64(EAGAIN) {
                await readable()
            } else {
                throw .system(SystemError(errno: Int32(-count), doing: "reading from a socket"))
            }
        }
    }

    /// Reads once into `input`, waiting until there is something; false at the end. Between two reads other descriptors of
    /// the loop have their turn, and what the bytes lead to leaves. Not to be mixed with `readLine`.
    package func read(into input: any StreamInput) async throws(StreamError) -> Bool {
        while true {
            guard try isGoingOn() else { return false }
            await readable()
            guard try isGoingOn() else { return false }
            var count: Int64 = 0
            input.fill { room in
                count = csys_stream_read(descriptor, room.baseAddress, room.count)
                return max(0, Int(count))
            }
            if count > 0 { return true }
            if count == 0 {
                isAtEnd = true
            } else if count != -Int64(EAGAIN) {
                throw .system(SystemError(errno: Int32(-count), doing: "reading from a socket"))
            }
        }
    }

    /// False at the end; throws when nothing more can be read for another reason.
    private func isGoingOn() throws(StreamError) -> Bool {
        guard descriptor >= 0 else { throw .closed }
        guard !isAtEnd else { return false }
        if let failure { throw failure }
        guard !Task.isCancelled else { throw .cancelled }
        return true
    }

    /// The next line without its line feed; nil at the end. What stands after the last line feed is a line too.
    package func readLine(maxBytes: Int) async throws(StreamError) -> [UInt8]? {
        while true {
            switch buffer.line(maxBytes: maxBytes) {
            case .line(let line): return line
            case .tooLong: throw .lineTooLong(maxBytes: maxBytes)
            case .needMore: break
            }
            guard try await fill() else { return buffer.isEmpty ? nil : buffer.take(maxBytes: maxBytes) }
        }
    }

    /// Reads one block, waiting for it; false at the end.
    private func fill() async throws(StreamError) -> Bool {
        while true {
            guard try isGoingOn() else { return false }
            let filled = try buffer.fill(Self.blockBytes, doing: "reading from a socket") {
                csys_stream_read(descriptor, $0, $1)
            }
            switch filled {
            case .nothing: await readable()
            case .bytes: return true
            case .end: isAtEnd = true
            }
        }
    }

    /// Returns when it is worth trying again: readable, closed or cancelled.
    private func readable() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                precondition(reader == nil, "a stream has one reader at a time")
                guard descriptor >= 0, !Task.isCancelled else { return continuation.resume() }
                reader = continuation
                updateWatch()
            }
        } onCancel: {
            loop.perform { self.assumeIsolated { $0.wakeReader() } }
        }
    }

    func wakeReader() {
        let waiting = reader
        reader = nil
        waiting?.resume()
    }
}
