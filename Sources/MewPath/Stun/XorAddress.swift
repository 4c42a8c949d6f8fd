internal import MewBase

/// An address as XOR-MAPPED-ADDRESS writes it (RFC 8489 §14.2): hidden from routers that rewrite addresses they find.
///
///     0 | family: 1 or 2 | port xor 0x2112 (2) | address xor (cookie and transaction) (4 or 16)
enum XorAddress {
    static func encode(_ address: SocketAddress, _ transaction: TransactionID) -> [UInt8] {
        let port = address.port ^ UInt16(StunMessage.cookie >> 16)
        switch address.family {
        case .ipv4: return [0, 1] + port.bigEndianBytes + (address.ipv4 ^ StunMessage.cookie).bigEndianBytes
        case .ipv6:
            let (high, low) = mask(transaction)
            return [0, 2] + port.bigEndianBytes + (address.high ^ high).bigEndianBytes
                + (address.low ^ low).bigEndianBytes
        }
    }

    /// Nil for another family or length.
    static func decode(_ value: [UInt8], _ transaction: TransactionID) -> SocketAddress? {
        guard value.count >= 8 else { return nil }
        let port = StunMessage.word(value, at: 2) ^ UInt16(StunMessage.cookie >> 16)
        switch (value[1], value.count) {
        case (1, 8): return SocketAddress(ipv4: UInt32(number(value[4..<8])) ^ StunMessage.cookie, port: port)
        case (2, 20):
            let (high, low) = mask(transaction)
            return SocketAddress(
                ipv6High: number(value[4..<12]) ^ high, low: number(value[12..<20]) ^ low, port: port)
        default: return nil
        }
    }

    private static func mask(_ transaction: TransactionID) -> (high: UInt64, low: UInt64) {
        let bytes = StunMessage.cookie.bigEndianBytes + transaction.bytes
        return (number(bytes[..<8]), number(bytes[8...]))
    }

    private static func number(_ bytes: ArraySlice<UInt8>) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }
}
