/// The base32 alphabets a node ID is written in, all unpadded and with one bit order: the bytes are one bit string, most
/// significant bit first, five bits a symbol (spec/iroh-wire.md §1.1).
package enum Base32: Sendable {
    /// z-base-32, our canonical text. Lower case.
    case zBase32
    /// RFC 4648 §6, accepted in both cases, written in lower case.
    case rfc4648
    /// RFC 4648 §7 ("extended hex") in lower case: the name iroh ≤ 1.0.3 sends as SNI.
    case extendedHex

    private static let zBase32Symbols = Array("ybndrfg8ejkmcpqxot1uwisza345h769".utf8)
    private static let rfc4648Symbols = Array("abcdefghijklmnopqrstuvwxyz234567".utf8)
    private static let extendedHexSymbols = Array("0123456789abcdefghijklmnopqrstuv".utf8)

    private static let zBase32Values = values(zBase32Symbols, bothCases: false)
    private static let rfc4648Values = values(rfc4648Symbols, bothCases: true)
    private static let extendedHexValues = values(extendedHexSymbols, bothCases: false)

    private var symbols: [UInt8] {
        switch self {
        case .zBase32: Self.zBase32Symbols
        case .rfc4648: Self.rfc4648Symbols
        case .extendedHex: Self.extendedHexSymbols
        }
    }

    private var values: [UInt8?] {
        switch self {
        case .zBase32: Self.zBase32Values
        case .rfc4648: Self.rfc4648Values
        case .extendedHex: Self.extendedHexValues
        }
    }

    private static func values(_ symbols: [UInt8], bothCases: Bool) -> [UInt8?] {
        var table = [UInt8?](repeating: nil, count: 256)
        for (value, symbol) in symbols.enumerated() {
            table[Int(symbol)] = UInt8(value)
            let isLetter = (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(symbol)
            if bothCases, isLetter { table[Int(symbol - 32)] = UInt8(value) }
        }
        return table
    }

    /// The five bits `character` stands for; nil when the alphabet lacks it.
    package func value(of character: UInt8) -> UInt8? { values[Int(character)] }

    package func encode(_ bytes: some Collection<UInt8>) -> String {
        let symbols = symbols
        let length = (bytes.count * 8 + 4) / 5
        return String(unsafeUninitializedCapacity: length) { text in
            var end = 0
            var held: UInt16 = 0
            var bits = 0
            for byte in bytes {
                held = held << 8 | UInt16(byte)
                bits += 8
                while bits >= 5 {
                    bits -= 5
                    text[end] = symbols[Int(held >> UInt16(bits) & 31)]
                    end += 1
                }
            }
            if bits > 0 {
                text[end] = symbols[Int(held << UInt16(5 - bits) & 31)]
                end += 1
            }
            return end
        }
    }

    /// Nil for symbols outside the alphabet, for a length no byte string has, and for pad bits that are not zero: each
    /// byte string has exactly one text.
    package func decode(_ text: some StringProtocol) -> [UInt8]? {
        let values = values
        var bytes: [UInt8] = []
        var held: UInt16 = 0
        var bits = 0
        for character in text.utf8 {
            guard let value = values[Int(character)] else { return nil }
            held = held << 5 | UInt16(value)
            bits += 5
            if bits >= 8 {
                bits -= 8
                bytes.append(UInt8(truncatingIfNeeded: held >> UInt16(bits)))
            }
        }
        let pad = held & (1 << UInt16(bits) - 1)
        return bits < 5 && pad == 0 ? bytes : nil
    }
}
