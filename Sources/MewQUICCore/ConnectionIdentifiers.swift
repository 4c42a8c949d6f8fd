internal import CQuic
internal import MewBase

/// A connection ID that we issued: eight random bytes, held as a number so that it is a cheap dictionary key.
///
/// It embeds nothing: neither a node ID nor a counter may be read or guessed from it.
package struct LocalConnectionID: Hashable, Sendable {
    package let value: UInt64

    package static let byteCount = 8

    package init(value: UInt64) {
        self.value = value
    }

    /// As they stand in packets.
    package var bytes: [UInt8] { withUnsafeBytes(of: value) { Array($0) } }

    init(random entropy: some Entropy) {
        value = entropy.uint64()
    }

    /// Nil unless there are exactly eight bytes.
    init?(_ bytes: UnsafeRawBufferPointer) {
        guard bytes.count == Self.byteCount else { return nil }
        value = bytes.loadUnaligned(as: UInt64.self)
    }

    init?(_ cid: ngtcp2_cid) {
        guard cid.datalen == Self.byteCount else { return nil }
        value = withUnsafeBytes(of: cid.data) { $0.loadUnaligned(as: UInt64.self) }
    }

    var cid: ngtcp2_cid {
        var cid = ngtcp2_cid()
        withUnsafeBytes(of: value) { bytes in
            ngtcp2_cid_init(&cid, bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), bytes.count)
        }
        return cid
    }
}

/// A connection ID of any length that the peer chose: up to 20 bytes (RFC 9000 §17.2), in three words.
package struct ForeignConnectionID: Hashable, Sendable {
    private let words: (UInt64, UInt64, UInt32)
    package let byteCount: Int

    var firstWord: UInt64 { words.0 }

    package static let maxByteCount = 20

    /// Nil for more than 20 bytes.
    package init?(_ bytes: UnsafeRawBufferPointer) {
        guard bytes.count <= Self.maxByteCount else { return nil }
        var words: (UInt64, UInt64, UInt32) = (0, 0, 0)
        withUnsafeMutableBytes(of: &words) { $0.copyMemory(from: bytes) }
        self.words = words
        byteCount = bytes.count
    }

    init(_ cid: ngtcp2_cid) {
        var words: (UInt64, UInt64, UInt32) = (0, 0, 0)
        let count = min(cid.datalen, Self.maxByteCount)
        withUnsafeMutableBytes(of: &words) { target in
            withUnsafeBytes(of: cid.data) { target.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[..<count])) }
        }
        self.words = words
        byteCount = count
    }

    init(random entropy: some Entropy, byteCount: Int) {
        precondition(byteCount <= Self.maxByteCount, "a connection ID has at most 20 bytes")
        var words: (UInt64, UInt64, UInt32) = (0, 0, 0)
        withUnsafeMutableBytes(of: &words) { target in
            entropy.fill(UnsafeMutableRawBufferPointer(rebasing: target[..<byteCount]))
        }
        self.words = words
        self.byteCount = byteCount
    }

    var cid: ngtcp2_cid {
        var cid = ngtcp2_cid()
        withUnsafeBytes(of: words) { bytes in
            ngtcp2_cid_init(&cid, bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), byteCount)
        }
        return cid
    }

    package static func == (left: ForeignConnectionID, right: ForeignConnectionID) -> Bool {
        left.words == right.words && left.byteCount == right.byteCount
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(words.0)
        hasher.combine(words.1)
        hasher.combine(words.2)
        hasher.combine(byteCount)
    }
}

/// A stateless reset token (RFC 9000 §10.3): whoever shows it ends the connection.
package struct ResetToken: Hashable, Sendable {
    private let words: (UInt64, UInt64)

    package static let byteCount = 16

    /// Nil unless there are exactly 16 bytes.
    package init?(_ bytes: UnsafeRawBufferPointer) {
        guard bytes.count == Self.byteCount else { return nil }
        words = (bytes.loadUnaligned(as: UInt64.self), bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
    }

    func copy(to target: UnsafeMutablePointer<UInt8>) {
        withUnsafeBytes(of: words) { bytes in
            UnsafeMutableRawBufferPointer(start: target, count: Self.byteCount).copyMemory(from: bytes)
        }
    }

    /// No early exit: the time must not tell how much of a guess was right (RFC 9000 §10.3.1).
    package static func == (left: ResetToken, right: ResetToken) -> Bool {
        (left.words.0 ^ right.words.0) | (left.words.1 ^ right.words.1) == 0
    }

    /// The standard library's hash is keyed at random per process, so that the table lookup tells nothing either.
    package func hash(into hasher: inout Hasher) {
        hasher.combine(words.0)
        hasher.combine(words.1)
    }
}
