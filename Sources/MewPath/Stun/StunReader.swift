extension StunMessage {
    /// The header of a message of exactly that length, without its attributes; nil for what is no STUN of RFC 8489.
    static func header(of bytes: [UInt8]) -> StunMessage? {
        guard bytes.count >= headerBytes, bytes.count <= maxBytes, bytes[0] & 0xc0 == 0 else { return nil }
        let type = word(bytes, at: 0)
        guard let messageClass = Class(rawValue: type & 0x110), word(bytes, at: 4) == UInt16(cookie >> 16),
            word(bytes, at: 6) == UInt16(truncatingIfNeeded: cookie),
            Int(word(bytes, at: 2)) == bytes.count - headerBytes, bytes.count % 4 == 0
        else { return nil }
        return StunMessage(
            method: method(of: type), messageClass: messageClass, transaction: TransactionID(bytes[8..<20]))
    }

    enum Fingerprint {
        case none, wrong, right
    }

    /// FINGERPRINT is always the last attribute (RFC 8489 §14.7): what stands where it would has to be one, or there is none.
    static func fingerprint(of bytes: [UInt8]) -> Fingerprint {
        let start = bytes.count - StunAttribute.fingerprintBytes
        guard start >= headerBytes, word(bytes, at: start) == StunAttribute.fingerprint, word(bytes, at: start + 2) == 4
        else { return .none }
        let value = UInt32(word(bytes, at: start + 4)) << 16 | UInt32(word(bytes, at: start + 6))
        return CRC32.checksum(bytes[..<start]) ^ StunAttribute.fingerprintMask == value ? .right : .wrong
    }

    static func word(_ bytes: [UInt8], at index: Int) -> UInt16 {
        UInt16(bytes[index]) << 8 | UInt16(bytes[index + 1])
    }
}

/// Walks over the attributes of a message whose length is right.
struct AttributeReader {
    struct Found {
        let attribute: StunMessage.Attribute
        /// Of its type field.
        let start: Int
    }

    let bytes: [UInt8]
    private var position = StunMessage.headerBytes

    init(bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// Everything was read, and nothing was cut off.
    var isAtEnd: Bool { position == bytes.count }

    /// Nil at the end, and where an attribute is cut off.
    mutating func next() -> Found? {
        guard position + 4 <= bytes.count else { return nil }
        let start = position
        let length = Int(StunMessage.word(bytes, at: start + 2))
        let end = start + 4 + length
        guard end <= bytes.count else { return nil }
        position = end + (4 - length % 4) % 4
        let value = Array(bytes[(start + 4)..<end])
        return Found(attribute: .init(type: StunMessage.word(bytes, at: start), value: value), start: start)
    }
}
