/// Turns bytes that arrive in pieces into text: a character split between two pieces stays whole.
///
/// Bytes that are no UTF-8 become U+FFFD, and a zero byte becomes `␀`, because some readers of our JSON end at one. The text
/// is the same however the bytes were cut.
struct TextAssembler {
    /// The start of a character whose rest has not arrived; at most three bytes.
    private var pending: [UInt8] = []

    mutating func append(_ bytes: some Collection<UInt8>) -> String {
        var all = pending
        all.append(contentsOf: bytes)
        let complete = all.count - Self.incompleteSuffix(of: all)
        pending = Array(all[complete...])
        return Self.text(all[..<complete])
    }

    /// The end of the bytes: what is still incomplete stays so.
    mutating func finish() -> String {
        defer { pending = [] }
        return Self.text(pending[...])
    }

    private static func text(_ bytes: ArraySlice<UInt8>) -> String {
        let text = String(decoding: bytes, as: UTF8.self)
        guard bytes.contains(0) else { return text }
        return String(String.UnicodeScalarView(text.unicodeScalars.map { $0 == "\0" ? "␀" : $0 }))
    }

    /// How many bytes at the end may be the start of a character. Cutting before a lead byte never changes the decoding, so
    /// that it does no harm when the bytes turn out to be none.
    private static func incompleteSuffix(of bytes: [UInt8]) -> Int {
        for length in 1...3 where length <= bytes.count {
            let byte = bytes[bytes.count - length]
            switch byte {
            case 0x80...0xbf: continue
            case 0xc2...0xdf: return length < 2 ? length : 0
            case 0xe0...0xef: return length < 3 ? length : 0
            case 0xf0...0xf4: return length
            default: return 0
            }
        }
        return 0
    }
}
