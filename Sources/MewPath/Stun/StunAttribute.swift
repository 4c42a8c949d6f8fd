/// Attribute types of RFC 8489 §18.3 and RFC 5780 §7.
enum StunAttribute {
    static let changeRequest: UInt16 = 0x0003
    static let errorCode: UInt16 = 0x0009
    static let unknownAttributes: UInt16 = 0x000a
    static let messageIntegritySHA256: UInt16 = 0x001c
    static let xorMappedAddress: UInt16 = 0x0020
    static let fingerprint: UInt16 = 0x8028
    static let responseOrigin: UInt16 = 0x802b
    static let otherAddress: UInt16 = 0x802c

    static let integrityBytes = 32
    /// With its head.
    static let fingerprintBytes = 8
    /// RFC 8489 §14.7.
    static let fingerprintMask: UInt32 = 0x5354_554e

    /// "Attributes with type values between 0x0000 and 0x7FFF are comprehension-required" (§14).
    static func isRequired(_ type: UInt16) -> Bool { type < 0x8000 }
}
