/// Packets of one size for one path, written back to back: what one UDP_SEGMENT send takes.
package struct PacketBatch: Sendable {
    package let byteCount: Int
    /// All packets have this size; the last one may be shorter.
    package let segmentSize: Int
    package let path: CorePath
    package let ecn: UInt8

    var packetCount: Int { (byteCount + segmentSize - 1) / segmentSize }
}

/// A packet that was written for a batch it does not belong to.
struct HeldPacket {
    let bytes: [UInt8]
    let path: CorePath
    let ecn: UInt8
    let isAlone: Bool
}

/// Decides which packets leave together (spec/swift-notes.md §2): they are appended while each is exactly as large as the
/// first one, and a shorter one ends the batch. One that is larger, goes elsewhere, or may be too large for the path (a
/// probe of path MTU discovery: the kernel may refuse it, and would refuse its neighbours with it) leaves on its own.
struct BatchBuilder {
    /// What Linux takes at once: UDP_MAX_SEGMENTS of older kernels, and a little less than the largest UDP payload.
    static let maxSegments = 64
    static let maxBytes = 65_000

    private let target: UnsafeMutableRawBufferPointer
    private let maxPacketBytes: Int
    private var byteCount = 0
    private var segmentSize = 0
    private var segments = 0
    private var path: CorePath?
    private var ecn: UInt8 = 0
    private var isComplete = false

    init(target: UnsafeMutableRawBufferPointer, maxPacketBytes: Int) {
        self.target = target
        self.maxPacketBytes = maxPacketBytes
    }

    var isEmpty: Bool { segments == 0 }

    var hasRoom: Bool {
        !isComplete && segments < Self.maxSegments && byteCount + maxPacketBytes <= min(target.count, Self.maxBytes)
    }

    /// Where the next packet is to be written.
    var next: UnsafeMutableRawBufferPointer {
        UnsafeMutableRawBufferPointer(rebasing: target[byteCount..<(byteCount + maxPacketBytes)])
    }

    /// Takes the `count` bytes that were written to `next`, or returns them when they cannot leave with the others.
    mutating func append(_ count: Int, path: CorePath, ecn: UInt8, isAlone: Bool) -> HeldPacket? {
        guard isEmpty || (path == self.path && ecn == self.ecn && count <= segmentSize && !isAlone) else {
            isComplete = true
            return HeldPacket(bytes: Array(next[..<count]), path: path, ecn: ecn, isAlone: isAlone)
        }
        if isEmpty {
            self.path = path
            self.ecn = ecn
            segmentSize = count
        }
        isComplete = isAlone || count < segmentSize
        byteCount += count
        segments += 1
        return nil
    }

    /// Begins the batch with a packet that was held back before.
    mutating func start(with held: HeldPacket) {
        next.copyBytes(from: held.bytes)
        _ = append(held.bytes.count, path: held.path, ecn: held.ecn, isAlone: held.isAlone)
    }

    var batch: PacketBatch? {
        guard let path, segments > 0 else { return nil }
        return PacketBatch(byteCount: byteCount, segmentSize: segmentSize, path: path, ecn: ecn)
    }
}
