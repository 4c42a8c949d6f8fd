/// Bytes of one stream that arrived in order and were not read yet. The flow-control window bounds it.
///
/// A class for the same reason as `StreamTable`.
final class ReceiveBuffer {
    /// Largest piece handed to a reader at once.
    private static let maxChunkBytes = 64 << 10

    private var full = RingQueue<[UInt8]>()
    private var tail: [UInt8] = []
    /// Room for a new tail: what the reader took last, so that a busy stream does not grow its array step by step.
    private var expectedBytes = 0

    private(set) var byteCount = 0

    func append(_ bytes: UnsafeRawBufferPointer) {
        if !tail.isEmpty, tail.count + bytes.count > Self.maxChunkBytes {
            full.append(tail)
            tail = []
        }
        grow(by: bytes.count)
        tail.append(contentsOf: bytes)
        byteCount += bytes.count
    }

    /// Fewer and larger steps than doubling: what is not used is freed when the piece is read.
    private func grow(by byteCount: Int) {
        let needed = tail.count + byteCount
        guard needed > tail.capacity else { return }
        let wanted = tail.isEmpty ? expectedBytes : min(Self.maxChunkBytes, 4 * needed)
        if wanted > needed { tail.reserveCapacity(wanted) }
    }

    /// The oldest piece; nil when there is none.
    func take() -> [UInt8]? {
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
    func discard() -> Int {
        defer {
            full.removeAll()
            tail = []
            byteCount = 0
        }
        return byteCount
    }
}
