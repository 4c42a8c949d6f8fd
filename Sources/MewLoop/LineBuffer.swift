internal import Glibc

/// Bytes that were read and not yet taken, as lines or as they come.
struct LineBuffer {
    private var bytes: [UInt8] = []
    private var head = 0
    /// No line feed stands before this index.
    private var scanned = 0

    var isEmpty: Bool { head == bytes.count }

    enum Fill {
        /// Nothing is there yet.
        case nothing
        case bytes
        case end
    }

    /// Reads a block of at most `byteCount` bytes.
    ///
    /// - Parameter read: gives the count that was read, 0 at the end, or minus an errno value; EAGAIN when nothing waits.
    mutating func fill(
        _ byteCount: Int, doing: @autoclosure () -> String, _ read: (UnsafeMutablePointer<UInt8>?, Int) -> Int64
    ) throws(StreamError) -> Fill {
        var count: Int64 = 0
        let block = [UInt8](unsafeUninitializedCapacity: byteCount) { target, length in
            count = read(target.baseAddress, target.count)
            length = max(0, Int(count))
        }
        guard count != -Int64(EAGAIN) else { return .nothing }
        guard count >= 0 else { throw .system(SystemError(errno: Int32(-count), doing: doing())) }
        append(block)
        return count == 0 ? .end : .bytes
    }

    private mutating func append(_ more: [UInt8]) {
        if head > 0, head >= bytes.count / 2 { dropTaken() }
        bytes += more
    }

    private mutating func dropTaken() {
        bytes.removeSubrange(..<head)
        scanned -= head
        head = 0
    }

    enum Line: Equatable {
        /// Without its line feed.
        case line([UInt8])
        case needMore
        /// More than the limit without a line feed; nothing was taken.
        case tooLong
    }

    /// - Parameter maxBytes: of a line, its line feed not counted.
    mutating func line(maxBytes: Int) -> Line {
        guard let end = bytes[scanned...].firstIndex(of: UInt8(ascii: "\n")) else {
            scanned = bytes.count
            return bytes.count - head > maxBytes ? .tooLong : .needMore
        }
        guard end - head <= maxBytes else { return .tooLong }
        defer {
            head = end + 1
            scanned = head
        }
        return .line(Array(bytes[head..<end]))
    }

    /// What is there, at most `maxBytes`.
    mutating func take(maxBytes: Int) -> [UInt8] {
        let end = min(bytes.count, head + maxBytes)
        defer {
            head = end
            scanned = max(scanned, head)
        }
        return Array(bytes[head..<end])
    }
}
