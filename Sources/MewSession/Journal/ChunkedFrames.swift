/// Frames, oldest first, in chunks: where two copies have most in common, as a session's state before and after an event does, a
/// change of one of them copies a chunk or two, not all.
///
/// Pure value.
struct ChunkedFrames: Sendable {
    /// Of a queue of 2,000 frames, the list of chunks and a chunk are about equally long.
    private static let chunkFrames = 48

    /// All but the last one are full; the first `dropped` frames of the first one are no longer there.
    private var chunks: [[[UInt8]]] = []
    private var dropped = 0
    private(set) var count = 0

    mutating func append(_ frame: [UInt8]) {
        if chunks.last.map({ $0.count == Self.chunkFrames }) ?? true {
            chunks.append([])
            chunks[chunks.count - 1].reserveCapacity(Self.chunkFrames)
        }
        chunks[chunks.count - 1].append(frame)
        count += 1
    }

    /// The oldest one. There must be one.
    mutating func removeFirst() -> [UInt8] {
        let frame = chunks[0][dropped]
        dropped += 1
        count -= 1
        if dropped == chunks[0].count {
            chunks.removeFirst()
            dropped = 0
        } else {
            chunks[0][dropped - 1] = []
        }
        return frame
    }

    /// The newest ones, oldest first.
    func suffix(_ length: Int) -> [[UInt8]] {
        var result: [[UInt8]] = []
        result.reserveCapacity(length)
        var first = dropped + count - min(length, count)
        for chunk in chunks {
            if first < chunk.count { result += chunk[first...] }
            first = max(0, first - chunk.count)
        }
        return result
    }
}
