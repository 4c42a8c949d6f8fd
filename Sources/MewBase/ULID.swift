/// A 128-bit identifier that sorts by time: 48 bits of milliseconds, 80 random bits.
///
/// Text: 26 characters of Crockford base32, upper case, first character `0`…`7`
/// (github.com/ulid/spec). Time and randomness are passed in.
public struct ULID: Hashable, Comparable, Sendable, CustomStringConvertible {
    public let high: UInt64
    public let low: UInt64

    public init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// - Parameter milliseconds: since the Unix epoch; only the low 48 bits count.
    public init(milliseconds: UInt64, entropy: some Entropy) {
        high = milliseconds << 16 | entropy.uint64() & 0xffff
        low = entropy.uint64()
    }

    /// Milliseconds since the Unix epoch.
    public var milliseconds: UInt64 { high >> 16 }

    /// The next identifier in order; the same one at the very end of the space.
    public var successor: ULID { advanced(by: 1) }

    /// The identifier that many places further in order; the last one of all at the very end of the space.
    public func advanced(by distance: UInt64) -> ULID {
        let (next, isCarried) = low.addingReportingOverflow(distance)
        guard isCarried else { return ULID(high: high, low: next) }
        return high == .max ? ULID(high: .max, low: .max) : ULID(high: high + 1, low: next)
    }

    public static func < (left: ULID, right: ULID) -> Bool {
        (left.high, left.low) < (right.high, right.low)
    }

    private static let alphabet = Array("0123456789ABCDEFGHJKMNPQRSTVWXYZ".utf8)

    public var description: String {
        let alphabet = Self.alphabet
        return String(unsafeUninitializedCapacity: 26) { text in
            // Five bits a character, the last ones first; the first character is left with three.
            var rest = UInt128(high) << 64 | UInt128(low)
            var index = 26
            while index > 0 {
                index -= 1
                text[index] = alphabet[Int(truncatingIfNeeded: rest & 31)]
                rest >>= 5
            }
            return 26
        }
    }

    /// Accepts exactly 26 upper-case characters of the alphabet whose first is at most `7`.
    public init?(_ text: some StringProtocol) {
        self.init(String(text))
    }

    /// The same without a copy; every message carries a few of them.
    public init?(_ text: String) {
        let characters = text.utf8.span
        guard characters.count == 26 else { return nil }
        var high: UInt64 = 0
        var low: UInt64 = 0
        for index in 0..<26 {
            guard let value = Self.value(of: characters[index]), index > 0 || value < 8 else { return nil }
            high = high << 5 | low >> 59
            low = low << 5 | value
        }
        self.init(high: high, low: low)
    }

    /// The five bits that a character stands for. I, L, O and U are no characters of the alphabet.
    private static func value(of character: UInt8) -> UInt64? {
        switch character {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt64(character - UInt8(ascii: "0"))
        case UInt8(ascii: "A")...UInt8(ascii: "H"): UInt64(character - UInt8(ascii: "A") + 10)
        case UInt8(ascii: "J"), UInt8(ascii: "K"): UInt64(character - UInt8(ascii: "J") + 18)
        case UInt8(ascii: "M"), UInt8(ascii: "N"): UInt64(character - UInt8(ascii: "M") + 20)
        case UInt8(ascii: "P")...UInt8(ascii: "T"): UInt64(character - UInt8(ascii: "P") + 22)
        case UInt8(ascii: "V")...UInt8(ascii: "Z"): UInt64(character - UInt8(ascii: "V") + 27)
        default: nil
        }
    }
}
