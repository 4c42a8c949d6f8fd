extension JSONParser {
    /// More digits than this say nothing that a `Double` could hold; it bounds what one number may cost.
    private static let maxNumberBytes = 512

    /// Parses a number; `at` is on its minus or first digit. `number = [ minus ] int [ frac ] [ exp ]` (RFC 8259 §6).
    mutating func number(_ input: Span<UInt8>) throws(JSONError) -> JSON {
        let start = at
        let isNegative = input[at] == UInt8(ascii: "-")
        if isNegative { at += 1 }
        let magnitude = try integerPart(input)
        let fraction = try fractionPart(input)
        let exponent = try exponentPart(input)
        // Minus zero is no integer: it would come back as plain zero.
        if !fraction, !exponent, !(isNegative && magnitude == 0) {
            guard let magnitude else { throw JSONError("an integer beyond 2^53-1", at: start) }
            return .integer(isNegative ? -magnitude : magnitude)
        }
        return .number(try double(input.extracting(start..<at), from: start))
    }

    /// Nil when it is beyond 2^53−1, which only a number with fraction or exponent may be.
    private mutating func integerPart(_ input: Span<UInt8>) throws(JSONError) -> Int64? {
        let start = at
        var value: Int64 = 0
        while let digit = digit(input) {
            // Stops growing once it is too large; it never overflows.
            if value <= JSON.maxInteger { value = value * 10 + digit }
            at += 1
        }
        guard at > start else { throw unexpected(input, wanted: "a digit") }
        guard at == start + 1 || input[start] != UInt8(ascii: "0") else {
            throw JSONError("a number with a leading zero", at: start)
        }
        return value <= JSON.maxInteger ? value : nil
    }

    private mutating func fractionPart(_ input: Span<UInt8>) throws(JSONError) -> Bool {
        guard at < input.count, input[at] == UInt8(ascii: ".") else { return false }
        at += 1
        try digits(input)
        return true
    }

    private mutating func exponentPart(_ input: Span<UInt8>) throws(JSONError) -> Bool {
        guard at < input.count, input[at] | 0x20 == UInt8(ascii: "e") else { return false }
        at += 1
        if at < input.count, input[at] == UInt8(ascii: "+") || input[at] == UInt8(ascii: "-") { at += 1 }
        try digits(input)
        return true
    }

    /// At least one.
    private mutating func digits(_ input: Span<UInt8>) throws(JSONError) {
        guard digit(input) != nil else { throw unexpected(input, wanted: "a digit") }
        while digit(input) != nil { at += 1 }
    }

    private func digit(_ input: Span<UInt8>) -> Int64? {
        guard at < input.count, case let digit = input[at] &- UInt8(ascii: "0"), digit < 10 else { return nil }
        return Int64(digit)
    }

    private func double(_ literal: Span<UInt8>, from start: Int) throws(JSONError) -> Double {
        guard literal.count <= Self.maxNumberBytes else { throw JSONError("a number with too many digits", at: start) }
        // Only ASCII digits, signs, the point and `e` got here.
        let text = String(copying: UTF8Span(unchecked: literal, isKnownASCII: true))
        guard let value = Double(text), value.isFinite else { throw JSONError("a number out of range", at: start) }
        return value
    }
}
