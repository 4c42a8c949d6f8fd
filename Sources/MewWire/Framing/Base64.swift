/// RFC 4648 §4, and its URL form without padding (§5), for the short values of handshakes.
enum Base64 {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
    private static let urlAlphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

    static func encode(_ bytes: [UInt8]) -> String {
        let padding = [UInt8](repeating: UInt8(ascii: "="), count: (3 - bytes.count % 3) % 3)
        return String(decoding: symbols(bytes, alphabet) + padding, as: UTF8.self)
    }

    static func encodeURL(_ bytes: [UInt8]) -> String {
        String(decoding: symbols(bytes, urlAlphabet), as: UTF8.self)
    }

    private static func symbols(_ bytes: [UInt8], _ alphabet: [UInt8]) -> [UInt8] {
        var text: [UInt8] = []
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let group = bytes[start..<min(start + 3, bytes.count)]
            let bits = group.reduce(0) { $0 << 8 | Int($1) } << (8 * (3 - group.count))
            for position in 0...group.count { text.append(alphabet[bits >> (18 - 6 * position) & 63]) }
        }
        return text
    }

    /// Nil for symbols outside the alphabet, for a length no byte string has, and for spare bits that are not zero.
    static func decodeURL(_ text: String) -> [UInt8]? {
        var bytes: [UInt8] = []
        var (held, bits) = (0, 0)
        for symbol in text.utf8 {
            guard let value = urlAlphabet.firstIndex(of: symbol) else { return nil }
            held = (held << 6 | value) & 0xffff
            bits += 6
            guard bits >= 8 else { continue }
            bits -= 8
            bytes.append(UInt8(truncatingIfNeeded: held >> bits))
        }
        return bits < 6 && held & (1 << bits - 1) == 0 ? bytes : nil
    }
}
