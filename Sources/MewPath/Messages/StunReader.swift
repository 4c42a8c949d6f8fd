internal import MewIdentity

extension StunMessage {
    /// Reads a message whose integrity `key` proves. Nil for anything else: nobody is told why.
    ///
    /// What stands after MESSAGE-INTEGRITY-SHA256 is ignored (RFC 8489 §14.6), except FINGERPRINT, which must be last and
    /// right. Padding may have any value.
    static func read(_ bytes: [UInt8], key: [UInt8]) -> StunMessage? {
        guard let header = header(of: bytes), hasFingerprint(bytes) else { return nil }
        var message = header
        var reader = AttributeReader(bytes: bytes)
        while let found = reader.next() {
            guard found.attribute.type != StunAttribute.messageIntegritySHA256 else {
                return isAuthentic(bytes, found, key: key) ? message : nil
            }
            message.attributes.append(found.attribute)
        }
        return nil
    }

    private static func header(of bytes: [UInt8]) -> StunMessage? {
        guard bytes.count >= headerBytes, bytes.count <= maxBytes, bytes[0] & 0xc0 == 0 else { return nil }
        let type = word(bytes, at: 0)
        guard let messageClass = Class(rawValue: type & 0x110), word(bytes, at: 4) == UInt16(cookie >> 16),
            word(bytes, at: 6) == UInt16(truncatingIfNeeded: cookie),
            Int(word(bytes, at: 2)) == bytes.count - headerBytes, bytes.count % 4 == 0
        else { return nil }
        return StunMessage(
            method: method(of: type), messageClass: messageClass, transaction: TransactionID(bytes[8..<20]))
    }

    private static func isAuthentic(_ bytes: [UInt8], _ found: AttributeReader.Found, key: [UInt8]) -> Bool {
        guard found.attribute.value.count == StunAttribute.integrityBytes else { return false }
        var covered = Array(bytes[..<found.start])
        let length = found.start - headerBytes + 4 + StunAttribute.integrityBytes
        covered[2] = UInt8(length >> 8)
        covered[3] = UInt8(length & 0xff)
        return ConstantTime.areEqual(HMACSHA256.tag(of: covered, key: key), found.attribute.value)
    }

    private static func hasFingerprint(_ bytes: [UInt8]) -> Bool {
        let start = bytes.count - 8
        guard start >= headerBytes, word(bytes, at: start) == StunAttribute.fingerprint, word(bytes, at: start + 2) == 4
        else { return false }
        let value = UInt32(word(bytes, at: start + 4)) << 16 | UInt32(word(bytes, at: start + 6))
        return CRC32.checksum(bytes[..<start]) ^ StunAttribute.fingerprintMask == value
    }

    static func word(_ bytes: [UInt8], at index: Int) -> UInt16 {
        UInt16(bytes[index]) << 8 | UInt16(bytes[index + 1])
    }
}

/// Walks over the attributes of a message whose length is right.
private struct AttributeReader {
    struct Found {
        let attribute: StunMessage.Attribute
        /// Of its type field.
        let start: Int
    }

    let bytes: [UInt8]
    var position = StunMessage.headerBytes

    init(bytes: [UInt8]) {
        self.bytes = bytes
    }

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
