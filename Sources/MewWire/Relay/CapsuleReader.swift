internal import MewBase

/// Cuts a stream into capsules (RFC 9297 §3.2). A value; holds at most one capsule that is not whole.
///
/// "Endpoints MUST silently drop capsules with unknown types": those are passed over however long they are, and nothing of them
/// is kept.
package struct CapsuleReader: Sendable {
    /// Not yet a whole capsule, or not looked at yet.
    private var unread: [UInt8] = []
    /// How much of a capsule that is passed over is still to come.
    private var skipping: UInt64 = 0

    /// A known capsule; packets are the largest.
    package static let maxBytes = 2_048

    package init() {}

    package mutating func append(_ bytes: [UInt8]) {
        guard skipping == 0 else {
            let count = Int(min(skipping, UInt64(bytes.count)))
            skipping -= UInt64(count)
            unread += bytes[count...]
            return
        }
        if unread.isEmpty { unread = bytes } else { unread += bytes }
    }

    /// Hands over each capsule that is whole, until `deliver` wants no more.
    package mutating func read(
        _ deliver: (RelayCapsule) -> Bool
    ) throws(RelayCapsuleError) {
        var start = 0
        defer { if start > 0 { unread.removeFirst(min(start, unread.count)) } }
        while let head = head(at: start) {
            guard head.isKnown else {
                let present = min(head.length, UInt64(unread.count - start - head.byteCount))
                skipping = head.length - present
                start += head.byteCount + Int(present)
                continue
            }
            guard head.length <= Self.maxBytes else { throw .tooLarge(type: head.type, Int(clamping: head.length)) }
            let end = start + head.byteCount + Int(head.length)
            guard unread.count >= end else { return }
            let payload = Array(unread[(start + head.byteCount)..<end])
            start = end
            guard let capsule = try RelayCapsule.decode(head.type, payload) else { continue }
            guard deliver(capsule) else { return }
        }
    }

    private struct Head {
        let type: UInt64
        let length: UInt64
        let byteCount: Int

        var isKnown: Bool { type == 0 || (type >= RelayCapsule.base && type <= RelayCapsule.base + 9) }
    }

    private func head(at start: Int) -> Head? {
        unread.withUnsafeBytes { bytes in
            let rest = UnsafeRawBufferPointer(rebasing: bytes[start...])
            guard let (type, typeBytes) = QUICInteger.read(rest),
                let (length, lengthBytes) = QUICInteger.read(UnsafeRawBufferPointer(rebasing: rest[typeBytes...]))
            else { return nil }
            return Head(type: type, length: length, byteCount: typeBytes + lengthBytes)
        }
    }
}
