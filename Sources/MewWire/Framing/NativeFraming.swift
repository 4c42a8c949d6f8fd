/// The framing of `mew/wire/1` (spec/native-wire.md §1):
///
///     length (4, big endian, 1…8,388,608) | one JSON object as UTF-8 (length)
///
/// A length outside the range is a violation; the stream is then reset with `ChannelResetCode.violation`.
package struct NativeFraming: MessageFraming {
    private let maxMessageBytes: Int
    private var input: [UInt8] = []
    /// Read position in `input`.
    private var cursor = 0
    private var header: [UInt8] = []
    /// Length of the frame that is being collected; nil between frames.
    private var declared: Int?
    private var body: [UInt8] = []

    package init(maxMessageBytes: Int = FramingLimits.maxMessageBytes) {
        precondition(maxMessageBytes <= Int(UInt32.max), "the length field has four bytes")
        self.maxMessageBytes = maxMessageBytes
        header.reserveCapacity(4)
    }

    package mutating func receive(_ bytes: [UInt8]) {
        if cursor == input.count {
            input = bytes
        } else {
            input = input[cursor...] + bytes
        }
        cursor = 0
    }

    package mutating func next() throws(ChannelError) -> FramingStep {
        guard let length = try readHeader() else { return .needMore }
        // `body` grows with what arrives; the declared length reserves nothing.
        let count = min(length - body.count, input.count - cursor)
        body += input[cursor..<cursor + count]
        cursor += count
        guard body.count == length else { return .needMore }
        defer {
            body = []
            declared = nil
        }
        return .message(body)
    }

    private mutating func readHeader() throws(ChannelError) -> Int? {
        if let declared { return declared }
        let count = min(4 - header.count, input.count - cursor)
        header += input[cursor..<cursor + count]
        cursor += count
        guard header.count == 4 else { return nil }
        let length = header.reduce(0) { $0 << 8 | Int($1) }
        guard length > 0 else { throw .protocolViolation("a frame of length zero") }
        guard length <= maxMessageBytes else { throw .tooLarge(declaredBytes: length) }
        header.removeAll(keepingCapacity: true)
        declared = length
        return length
    }

    package mutating func receiveEnd() throws(ChannelError) {
        guard header.isEmpty, declared == nil, cursor == input.count else {
            throw .protocolViolation("the stream ended inside a frame")
        }
    }

    package var heldBytes: Int { body.count }

    package mutating func takeReplies() -> [UInt8] { [] }

    package mutating func encode(_ message: [UInt8]) throws(ChannelError) -> [UInt8] {
        precondition(!message.isEmpty, "a message is a JSON object, so it is never empty")
        guard message.count <= maxMessageBytes else { throw .tooLarge(declaredBytes: message.count) }
        return [UInt8](unsafeUninitializedCapacity: message.count + 4) { buffer, initialized in
            for index in 0..<4 { buffer[index] = UInt8(truncatingIfNeeded: message.count >> (24 - 8 * index)) }
            _ = UnsafeMutableBufferPointer(rebasing: buffer[4...]).update(fromContentsOf: message)
            initialized = message.count + 4
        }
    }

    package mutating func encodeEnd() -> [UInt8] { [] }
}
