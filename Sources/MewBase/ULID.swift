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
    public var successor: ULID {
        guard low == .max else { return ULID(high: high, low: low + 1) }
        return high == .max ? self : ULID(high: high + 1, low: 0)
    }

    public static func < (left: ULID, right: ULID) -> Bool {
        (left.high, left.low) < (right.high, right.low)
    }

    private static let alphabet = Array("0123456789ABCDEFGHJKMNPQRSTVWXYZ".utf8)

    public var description: String {
        String(unsafeUninitializedCapacity: 26) { text in
            for index in 0..<26 { text[index] = Self.alphabet[symbol(at: index)] }
            return 26
        }
    }

    /// The five bits of text position `index`; the first position holds only three.
    private func symbol(at index: Int) -> Int {
        let shift = 5 * (25 - index)
        let bits =
            switch shift {
            case 64...: high >> UInt64(shift - 64)
            case 60..<64: high << UInt64(64 - shift) | low >> UInt64(shift)
            default: low >> UInt64(shift)
            }
        return Int(bits & 31)
    }

    /// Accepts exactly 26 upper-case characters of the alphabet whose first is at most `7`.
    public init?(_ text: some StringProtocol) {
        var high: UInt64 = 0
        var low: UInt64 = 0
        var count = 0
        for character in text.utf8 {
            guard count < 26, let value = Self.alphabet.firstIndex(of: character) else { return nil }
            guard count > 0 || value < 8 else { return nil }
            high = high << 5 | low >> 59
            low = low << 5 | UInt64(value)
            count += 1
        }
        guard count == 26 else { return nil }
        self.init(high: high, low: low)
    }
}
