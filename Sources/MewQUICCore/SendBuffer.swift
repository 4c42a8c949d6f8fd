internal import CQuic

/// The bytes of one stream's sending side, kept until they are acknowledged.
///
/// ngtcp2 keeps pointers into this memory and reads it again when a packet is lost, so bytes never move: they are appended
/// to slabs, and a slab is freed when everything in it is acknowledged.
///
///     acknowledged ≤ sent ≤ end        (offsets in the stream)
struct SendBuffer: ~Copyable {
    private struct Slab {
        let base: UnsafeMutablePointer<UInt8>
        let capacity: Int
        /// Stream offset of the first byte.
        let offset: UInt64
        var count = 0

        var end: UInt64 { offset + UInt64(count) }
    }

    /// What an idle stream gets for a small message: most streams carry little.
    private static let smallSlabBytes = 4 << 10
    private static let slabBytes = 64 << 10

    private var slabs: [Slab] = []
    /// The slab that holds the byte at `sent`, or the count of slabs when everything is sent.
    private var sendingSlab = 0

    private(set) var acknowledged: UInt64 = 0
    private(set) var sent: UInt64 = 0
    private(set) var end: UInt64 = 0

    var unsentBytes: Int { Int(end - sent) }
    var retainedBytes: Int { Int(end - acknowledged) }

    deinit {
        for slab in slabs { slab.base.deallocate() }
    }

    mutating func append(_ bytes: UnsafeRawBufferPointer) {
        var rest = bytes
        while let source = rest.baseAddress, !rest.isEmpty {
            let last = slabWithRoom(for: rest.count)
            let room = slabs[last].capacity - slabs[last].count
            let count = min(room, rest.count)
            UnsafeMutableRawPointer(slabs[last].base + slabs[last].count).copyMemory(from: source, byteCount: count)
            slabs[last].count += count
            end += UInt64(count)
            rest = UnsafeRawBufferPointer(rebasing: rest[count...])
        }
    }

    private mutating func slabWithRoom(for byteCount: Int) -> Int {
        if let last = slabs.last, last.count < last.capacity { return slabs.count - 1 }
        let capacity = slabs.isEmpty && byteCount <= Self.smallSlabBytes ? Self.smallSlabBytes : Self.slabBytes
        slabs.append(Slab(base: .allocate(capacity: capacity), capacity: capacity, offset: end))
        return slabs.count - 1
    }

    /// Describes the next unsent bytes, at most two pieces: enough to fill a packet across the border of two slabs.
    func nextPieces(_ pieces: UnsafeMutablePointer<ngtcp2_vec>) -> Int {
        var index = sendingSlab
        var position = sent
        var count = 0
        while count < 2, index < slabs.count {
            let slab = slabs[index]
            let skip = Int(position - slab.offset)
            if skip < slab.count {
                pieces[count] = ngtcp2_vec(base: slab.base + skip, len: slab.count - skip)
                count += 1
            }
            position = slab.end
            index += 1
        }
        return count
    }

    mutating func advance(_ byteCount: Int) {
        sent += UInt64(byteCount)
        precondition(sent <= end, "ngtcp2 sent more than it was given")
        while sendingSlab < slabs.count, slabs[sendingSlab].end <= sent,
            slabs[sendingSlab].count == slabs[sendingSlab].capacity
        {
            sendingSlab += 1
        }
    }

    /// Everything before `offset` is acknowledged: full slabs before it are freed.
    mutating func acknowledge(through offset: UInt64) {
        acknowledged = max(acknowledged, min(offset, sent))
        var freed = 0
        while freed < slabs.count, slabs[freed].end <= acknowledged, isDone(slabs[freed]) {
            slabs[freed].base.deallocate()
            freed += 1
        }
        slabs.removeFirst(freed)
        sendingSlab = max(0, sendingSlab - freed)
    }

    /// A slab with room is still appended to, unless the stream is idle: then its memory goes too.
    private func isDone(_ slab: Slab) -> Bool {
        slab.count == slab.capacity || acknowledged == end
    }

    /// Frees everything: the library no longer knows the stream.
    mutating func discard() {
        for slab in slabs { slab.base.deallocate() }
        slabs.removeAll()
        sendingSlab = 0
        sent = end
        acknowledged = end
    }
}
