internal import MewBase

/// An address as MAPPED-ADDRESS writes it (RFC 8489 §14.1), and with it RESPONSE-ORIGIN and OTHER-ADDRESS (RFC 5780 §7.3, §7.4).
///
///     0 | family: 1 or 2 | port (2) | address (4 or 16)
enum PlainAddress {
    static func encode(_ address: SocketAddress) -> [UInt8] {
        switch address.family {
        case .ipv4: [0, 1] + address.port.bigEndianBytes + address.ipv4.bigEndianBytes
        case .ipv6: [0, 2] + address.port.bigEndianBytes + address.high.bigEndianBytes + address.low.bigEndianBytes
        }
    }

    /// Nil for another family or length.
    static func decode(_ value: [UInt8]) -> SocketAddress? {
        guard value.count >= 8 else { return nil }
        let port = StunMessage.word(value, at: 2)
        switch (value[1], value.count) {
        case (1, 8): return SocketAddress(ipv4: UInt32(number(value[4..<8])), port: port)
        case (2, 20): return SocketAddress(ipv6High: number(value[4..<12]), low: number(value[12..<20]), port: port)
        default: return nil
        }
    }

    private static func number(_ bytes: ArraySlice<UInt8>) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }
}
