/// The public name of a node: an ed25519 public key.
///
/// Two `NodeID`s are equal exactly when the keys are. A `NodeID` is never a secret and never a credential: knowing one lets
/// you dial, not enter. The key is held in four words, which makes it a cheap dictionary key.
public struct NodeID: Hashable, Sendable {
    private let words: (UInt64, UInt64, UInt64, UInt64)

    /// Nil unless there are exactly 32 bytes. Whether they are a curve point is checked where a signature is.
    public init?(bytes: some Collection<UInt8>) {
        guard bytes.count == 32 else { return nil }
        var rest = bytes.makeIterator()
        func word() -> UInt64 {
            (0..<8).reduce(0) { value, _ in value << 8 | UInt64(rest.next() ?? 0) }
        }
        words = (word(), word(), word(), word())
    }

    /// Always 32 bytes, the compressed point of RFC 8032 §5.1.2.
    public var bytes: [UInt8] {
        [words.0, words.1, words.2, words.3].flatMap { word in
            (0..<8).map { UInt8(truncatingIfNeeded: word >> UInt64(56 - 8 * $0)) }
        }
    }

    /// The same from the first 32 bytes of a packet, for what is done once per packet; nil when there are fewer.
    package init?(packet: UnsafeRawBufferPointer) {
        guard packet.count >= Self.byteCount else { return nil }
        func word(_ index: Int) -> UInt64 {
            UInt64(bigEndian: packet.loadUnaligned(fromByteOffset: 8 * index, as: UInt64.self))
        }
        words = (word(0), word(1), word(2), word(3))
    }

    package static let byteCount = 32

    /// Overwrites the first 32 bytes of `packet`.
    package func copy(to packet: UnsafeMutableRawBufferPointer) {
        precondition(packet.count >= Self.byteCount, "a node ID has 32 bytes")
        packet.storeBytes(of: words.0.bigEndian, toByteOffset: 0, as: UInt64.self)
        packet.storeBytes(of: words.1.bigEndian, toByteOffset: 8, as: UInt64.self)
        packet.storeBytes(of: words.2.bigEndian, toByteOffset: 16, as: UInt64.self)
        packet.storeBytes(of: words.3.bigEndian, toByteOffset: 24, as: UInt64.self)
    }

    public static func == (left: NodeID, right: NodeID) -> Bool {
        left.words == right.words
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(words.0)
        hasher.combine(words.1)
        hasher.combine(words.2)
        hasher.combine(words.3)
    }
}
