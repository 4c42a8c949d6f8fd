internal import CQuic

/// The bytes of one stream's sending side, kept until they are acknowledged.
///
/// ngtcp2 keeps pointers into this memory and reads it again when a packet is lost, so bytes never move: they are appended
/// to slabs, and a slab is freed when everything in it is acknowledged.
///
///     acknowledged ≤ sent ≤ end        (offsets in the stream)
///
/// A class for the same reason as `StreamTable`.
final class SendBuffer {
    private struct Slab {
        let base: UnsafeMutablePointer<UInt8>
        let capacity: Int
        /// Stream offset of the first byte.
        let offset: UInt64
        var count = 0

        var end: UInt64 { offset + UInt64(count) }
        var isFull: Bool { count == capacity }
    }

    /// What an idle stream gets for a small message: most streams carry little.
    private static let smallSlabBytes = 4 << 10
    private static let slabBytes = 64 << 10

    /// A packet never takes more from one stream.
    private static let packetBytes = 1_500

    private var slabs: [Slab] = []
    /// Which slab holds the byte at `sent`; the count of slabs when none does yet.
    private var sendingIndex = 0
    /// The rest of that slab, kept beside it: looked at for every packet.
    private var unsentStart: UnsafeMutablePointer<UInt8>?
    private var unsentInSlab = 0
    /// Nothing can be freed before this much is acknowledged.
    private var nextToFree: UInt64 = 0

    private(set) var acknowledged: UInt64 = 0
    private(set) var sent: UInt64 = 0
    private(set) var end: UInt64 = 0

    var unsentBytes: Int { Int(end - sent) }
    var retainedBytes: Int { Int(end - acknowledged) }

    deinit {
        for slab in slabs { slab.base.deallocate() }
    }

    func append(_ bytes: UnsafeRawBufferPointer) {
        var rest = bytes
        while let source = rest.baseAddress, !rest.isEmpty {
            let last = slabWithRoom(for: rest.count)
            let count = min(slabs[last].capacity - slabs[last].count, rest.count)
            UnsafeMutableRawPointer(slabs[last].base + slabs[last].count).copyMemory(from: source, byteCount: count)
            slabs[last].count += count
            end += UInt64(count)
            rest = UnsafeRawBufferPointer(rebasing: rest[count...])
        }
        lookAtSlabs()
    }

    private func slabWithRoom(for byteCount: Int) -> Int {
        if let last = slabs.last, !last.isFull { return slabs.count - 1 }
        let capacity = slabs.isEmpty && byteCount <= Self.smallSlabBytes ? Self.smallSlabBytes : Self.slabBytes
        slabs.append(Slab(base: .allocate(capacity: capacity), capacity: capacity, offset: end))
        return slabs.count - 1
    }

    /// Finds the slab to send from and the one to free next, after anything about them has changed.
    private func lookAtSlabs() {
        while sendingIndex < slabs.count, slabs[sendingIndex].isFull, slabs[sendingIndex].end <= sent {
            sendingIndex += 1
        }
        if sendingIndex < slabs.count {
            let slab = slabs[sendingIndex]
            unsentStart = slab.base + Int(sent - slab.offset)
            unsentInSlab = Int(slab.end - sent)
        } else {
            unsentStart = nil
            unsentInSlab = 0
        }
        // A slab with room is still appended to, unless the stream is idle: then its memory goes too.
        nextToFree = slabs.first.map { $0.isFull ? $0.end : end } ?? .max
    }

    /// Describes the next unsent bytes, at most two pieces: enough to fill a packet across the border of two slabs.
    func nextPieces(_ pieces: UnsafeMutablePointer<ngtcp2_vec>) -> Int {
        guard unsentInSlab > 0 else { return 0 }
        pieces[0] = ngtcp2_vec(base: unsentStart, len: unsentInSlab)
        guard unsentInSlab < Self.packetBytes, unsentInSlab < unsentBytes else { return 1 }
        let next = slabs[sendingIndex + 1]
        pieces[1] = ngtcp2_vec(base: next.base, len: next.count)
        return 2
    }

    func advance(_ byteCount: Int) {
        sent += UInt64(byteCount)
        precondition(sent <= end, "ngtcp2 sent more than it was given")
        guard byteCount < unsentInSlab, let start = unsentStart else { return lookAtSlabs() }
        unsentStart = start + byteCount
        unsentInSlab -= byteCount
    }

    /// Everything before `offset` is acknowledged: slabs before it are freed.
    func acknowledge(through offset: UInt64) {
        acknowledged = max(acknowledged, min(offset, sent))
        guard acknowledged >= nextToFree else { return }
        var freed = 0
        while freed < slabs.count, slabs[freed].end <= acknowledged, slabs[freed].isFull || acknowledged == end {
            slabs[freed].base.deallocate()
            freed += 1
        }
        slabs.removeFirst(freed)
        sendingIndex = max(0, sendingIndex - freed)
        lookAtSlabs()
    }

    /// Frees everything: the library no longer knows the stream.
    func discard() {
        for slab in slabs { slab.base.deallocate() }
        slabs.removeAll()
        sendingIndex = 0
        sent = end
        acknowledged = end
        lookAtSlabs()
    }
}
