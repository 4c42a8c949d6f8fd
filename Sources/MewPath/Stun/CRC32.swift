/// The checksum of ITU-T V.42, as FINGERPRINT uses it (RFC 8489 §14.7).
enum CRC32 {
    /// The polynomial with its lowest power in the highest bit.
    private static let polynomial: UInt32 = 0xedb8_8320

    private static let table: [UInt32] = (0..<256).map { byte in
        (0..<8).reduce(UInt32(byte)) { value, _ in value & 1 == 1 ? value >> 1 ^ polynomial : value >> 1 }
    }

    static func checksum(_ bytes: some Sequence<UInt8>) -> UInt32 {
        ~bytes.reduce(~0) { value, byte in value >> 8 ^ table[Int((value ^ UInt32(byte)) & 0xff)] }
    }
}
