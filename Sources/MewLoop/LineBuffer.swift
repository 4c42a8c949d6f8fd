/// Bytes that were read and not yet taken, as lines or as they come.
struct LineBuffer {
    private var bytes: [UInt8] = []
    private var head = 0
    /// No line feed stands before this index.
    private var scanned = 0

    var isEmpty: Bool { head == bytes.count }

    mutating func append(_ more: ArraySlice<UInt8>) {
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
