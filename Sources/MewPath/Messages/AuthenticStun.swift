internal import MewBase
internal import MewIdentity

// Messages of one connection: they end in MESSAGE-INTEGRITY-SHA256 and FINGERPRINT, and nothing else is one.

extension StunMessage {
    func encoded(key: [UInt8]) -> [UInt8] {
        var bytes = encoded
        // "the Length field in the STUN header [points] to the end of the MESSAGE-INTEGRITY-SHA256 attribute" (§14.6).
        Self.setLength(bytes.count - Self.headerBytes + 4 + StunAttribute.integrityBytes, in: &bytes)
        Self.append(StunAttribute.messageIntegritySHA256, HMACSHA256.tag(of: bytes, key: key), to: &bytes)
        Self.appendFingerprint(to: &bytes)
        return bytes
    }

    /// Bytes of the whole message with `attributes` as they are.
    var encodedBytes: Int {
        let proofs = 4 + StunAttribute.integrityBytes + StunAttribute.fingerprintBytes
        return attributes.reduce(Self.headerBytes + proofs) { sum, attribute in
            sum + 4 + (attribute.value.count + 3) & ~3
        }
    }

    /// Reads a message whose integrity `key` proves. Nil for anything else: nobody is told why.
    ///
    /// What stands after MESSAGE-INTEGRITY-SHA256 is ignored (RFC 8489 §14.6), except FINGERPRINT, which must be last and
    /// right. Padding may have any value.
    static func read(_ bytes: [UInt8], key: [UInt8]) -> StunMessage? {
        guard let header = header(of: bytes), fingerprint(of: bytes) == .right else { return nil }
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

    private static func isAuthentic(_ bytes: [UInt8], _ found: AttributeReader.Found, key: [UInt8]) -> Bool {
        guard found.attribute.value.count == StunAttribute.integrityBytes else { return false }
        var covered = Array(bytes[..<found.start])
        setLength(found.start - headerBytes + 4 + StunAttribute.integrityBytes, in: &covered)
        return ConstantTime.areEqual(HMACSHA256.tag(of: covered, key: key), found.attribute.value)
    }
}
