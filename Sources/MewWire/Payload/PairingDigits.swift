/// The six digits that both screens show while a person confirms a new device (spec/native-wire.md §1). Each side computes them
/// from its end of the connection; they never travel.
public enum PairingDigits {
    /// Of the TLS exporter, with an empty context.
    public static let label = "EXPORTER-mew-pair-1"
    /// How much of it.
    public static let byteCount = 8

    /// "8 bytes big endian, modulo 10^6, zero padded".
    public static func text(_ exported: [UInt8]) -> String {
        let number = exported.prefix(byteCount).reduce(UInt64(0)) { $0 << 8 | UInt64($1) } % 1_000_000
        let digits = String(number)
        return String(repeating: "0", count: 6 - digits.count) + digits
    }
}
