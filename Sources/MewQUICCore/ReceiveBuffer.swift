/// Bytes of one stream that arrived in order and were not read yet. The flow-control window bounds it.
struct ReceiveBuffer {
    /// Largest piece handed to a reader at once.
    private static let maxChunkBytes = 64 << 10

    private var full = RingQueue<[UInt8]>()
    private var tail: [UInt8] = []
    /// Room for a new tail: what the reader took last, so that a busy stream does not grow its array step by step.
    private var expectedBytes = 0

    private(set) var byteCount = 0

    mutating func append(_ bytes: UnsafeRawBufferPointer) {
        if !tail.isEmpty, tail.count + bytes.count > Self.maxChunkBytes {
            full.append(tail)
            tail = []
        }
        if tail.isEmpty, expectedBytes > bytes.count { tail.reserveCapacity(expectedBytes) }
        tail.append(contentsOf: bytes)
        byteCount += bytes.count
    }

    /// The oldest piece; nil when there is none.
    mutating func take() -> [UInt8]? {
        let chunk: [UInt8]
        if let oldest = full.popFirst() {
            chunk = oldest
        } else {
            guard !tail.isEmpty else { return nil }
            chunk = tail
            tail = []
        }
        byteCount -= chunk.count
        expectedBytes = min(Self.maxChunkBytes, chunk.count)
        return chunk
    }

    /// Drops everything and says how many bytes that were.
    mutating func discard() -> Int {
        defer { self = ReceiveBuffer() }
        return byteCount
    }
}
