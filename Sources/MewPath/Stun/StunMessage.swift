package import MewBase

/// A STUN message (RFC 8489 §5): those of connections, which end in MESSAGE-INTEGRITY-SHA256 and FINGERPRINT
/// (`AuthenticStun.swift`), and those by which a relay tells anybody where it sees them (`StunRequest`, `StunReply`).
///
///     type (2) | length (2) | 21 12 a4 42 | transaction (12) | attributes: type (2) | length (2) | value | 0…3 zeros
///
/// Numbers are big endian; the length counts the attributes with their padding.
struct StunMessage: Hashable {
    enum Class: UInt16, CaseIterable {
        case request = 0x000
        case indication = 0x010
        case success = 0x100
        case failure = 0x110
    }

    struct Attribute: Hashable {
        let type: UInt16
        let value: [UInt8]
    }

    /// At most 0x0ff: larger ones would not begin with a byte that says "STUN" beside QUIC (RFC 7983 §5).
    let method: UInt16
    let messageClass: Class
    let transaction: TransactionID
    /// Without those that prove the others, in their order.
    var attributes: [Attribute] = []

    static let cookie: UInt32 = 0x2112_a442
    static let headerBytes = 20
    /// Our packets fit every path (RFC 9000 §14), through relays as well.
    static let maxBytes = 1_200

    /// The first attribute of that type: later ones of the same type are ignored (RFC 8489 §14), unless theirs is a list.
    func value(_ type: UInt16) -> [UInt8]? { attributes.first { $0.type == type }?.value }

    func values(_ type: UInt16) -> [[UInt8]] { attributes.filter { $0.type == type }.map(\.value) }

    // MARK: - Type

    /// The bits of the class stand between those of the method (RFC 8489 §5, figure 3).
    static func type(method: UInt16, _ messageClass: Class) -> UInt16 {
        (method & 0xf80) << 2 | (method & 0x70) << 1 | method & 0xf | messageClass.rawValue
    }

    static func method(of type: UInt16) -> UInt16 { (type & 0x3e00) >> 2 | (type & 0xe0) >> 1 | type & 0xf }

    // MARK: - Writing

    /// The header and the attributes.
    var encoded: [UInt8] {
        var bytes = Self.type(method: method, messageClass).bigEndianBytes + [0, 0] + Self.cookie.bigEndianBytes
        bytes += transaction.bytes
        for attribute in attributes { Self.append(attribute.type, attribute.value, to: &bytes) }
        Self.setLength(bytes.count - Self.headerBytes, in: &bytes)
        return bytes
    }

    /// Every other reader would take a message without it as well; it tells STUN from what only looks like it.
    static func appendFingerprint(to bytes: inout [UInt8]) {
        setLength(bytes.count - headerBytes + StunAttribute.fingerprintBytes, in: &bytes)
        append(
            StunAttribute.fingerprint, (CRC32.checksum(bytes) ^ StunAttribute.fingerprintMask).bigEndianBytes,
            to: &bytes)
    }

    static func append(_ type: UInt16, _ value: [UInt8], to bytes: inout [UInt8]) {
        bytes += type.bigEndianBytes + UInt16(value.count).bigEndianBytes + value
        bytes += [UInt8](repeating: 0, count: (4 - value.count % 4) % 4)
    }

    static func setLength(_ length: Int, in bytes: inout [UInt8]) {
        bytes[2] = UInt8(length >> 8)
        bytes[3] = UInt8(length & 0xff)
    }
}

/// Pairs an answer with its request: 96 random bits (RFC 8489 §5).
package struct TransactionID: Hashable, Sendable {
    private let high: UInt64
    private let low: UInt32

    static let byteCount = 12

    package init(random entropy: some Entropy) {
        high = entropy.uint64()
        low = UInt32(truncatingIfNeeded: entropy.uint64())
    }

    init(_ bytes: ArraySlice<UInt8>) {
        high = bytes.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
        low = bytes.dropFirst(8).prefix(4).reduce(0) { $0 << 8 | UInt32($1) }
    }

    /// Most significant byte first.
    var bytes: [UInt8] { high.bigEndianBytes + low.bigEndianBytes }
}
