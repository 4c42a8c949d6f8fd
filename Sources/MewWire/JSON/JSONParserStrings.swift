extension JSONParser {
    /// Parses a string; `at` is on its opening quote. Plain text is copied in one go, text with escapes in runs.
    mutating func string(_ input: Span<UInt8>) throws(JSONError) -> String {
        at += 1
        let start = at
        var isASCII = true
        try skipPlain(input, &isASCII)
        if input[at] == UInt8(ascii: "\"") {
            defer { at += 1 }
            return try text(input.extracting(start..<at), isASCII: isASCII, from: start)
        }
        return try stringWithEscapes(input, start: start)
    }

    /// `at` is on the first backslash of the string that began at `start`.
    private mutating func stringWithEscapes(_ input: Span<UInt8>, start: Int) throws(JSONError) -> String {
        scratch.removeAll(keepingCapacity: true)
        var run = start
        var isASCII = true
        while true {
            append(input.extracting(run..<at))
            guard input[at] == UInt8(ascii: "\\") else { break }
            try escape(input)
            run = at
            try skipPlain(input, &isASCII)
        }
        at += 1
        return try text(scratch.span, isASCII: false, from: start)
    }

    private mutating func append(_ run: Span<UInt8>) {
        run.withUnsafeBufferPointer { scratch.append(contentsOf: $0) }
    }

    /// Moves to the next quote or backslash. There always is one, or this throws.
    private mutating func skipPlain(_ input: Span<UInt8>, _ isASCII: inout Bool) throws(JSONError) {
        let bytes = input.bytes
        while at &+ 8 <= bytes.byteCount {
            let word = UInt64(littleEndian: bytes.unsafeLoadUnaligned(fromByteOffset: at, as: UInt64.self))
            let special = Self.specialBytes(in: word)
            if word & 0x8080_8080_8080_8080 != 0 { isASCII = false }
            guard special == 0 else {
                at += special.trailingZeroBitCount / 8
                return try checkNotControl(input)
            }
            at += 8
        }
        while at < input.count {
            let byte = input[at]
            if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") || byte < 0x20 {
                return try checkNotControl(input)
            }
            if byte >= 0x80 { isASCII = false }
            at += 1
        }
        throw JSONError("the text ends inside a string", at: at)
    }

    private func checkNotControl(_ input: Span<UInt8>) throws(JSONError) {
        guard input[at] >= 0x20 else { throw JSONError("a control character in a string", at: at) }
    }

    /// The high bit of each byte that is a quote, a backslash or below 0x20. Exact up to and including the lowest such byte,
    /// the only one used: a subtraction borrows from the next byte only where it hits. `& ~x` drops bytes above 0x7f.
    static func specialBytes(in word: UInt64) -> UInt64 {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let highs: UInt64 = 0x8080_8080_8080_8080
        let quotes = word ^ (ones &* UInt64(UInt8(ascii: "\"")))
        let backslashes = word ^ (ones &* UInt64(UInt8(ascii: "\\")))
        let isQuote = (quotes &- ones) & ~quotes
        let isBackslash = (backslashes &- ones) & ~backslashes
        let isControl = (word &- ones &* 0x20) & ~word
        return (isQuote | isBackslash | isControl) & highs
    }

    private func text(_ bytes: Span<UInt8>, isASCII: Bool, from start: Int) throws(JSONError) -> String {
        if isASCII { return String(copying: UTF8Span(unchecked: bytes, isKnownASCII: true)) }
        do {
            return String(copying: try UTF8Span(validating: bytes))
        } catch {
            throw JSONError("a string is not UTF-8", at: start)
        }
    }

    // MARK: - Escapes

    /// Parses one escape into `scratch`; `at` is on the backslash.
    private mutating func escape(_ input: Span<UInt8>) throws(JSONError) {
        guard at + 1 < input.count else { throw JSONError("the text ends inside a string", at: input.count) }
        let letter = input[at + 1]
        if letter == UInt8(ascii: "u") {
            try unicodeEscape(input)
        } else if let byte = Self.shortEscape(letter) {
            scratch.append(byte)
            at += 2
        } else {
            throw JSONError("an unknown escape", at: at)
        }
    }

    private static func shortEscape(_ letter: UInt8) -> UInt8? {
        switch letter {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): letter
        case UInt8(ascii: "b"): 0x08
        case UInt8(ascii: "f"): 0x0c
        case UInt8(ascii: "n"): 0x0a
        case UInt8(ascii: "r"): 0x0d
        case UInt8(ascii: "t"): 0x09
        default: nil
        }
    }

    /// RFC 8259 §7: "a character that is not in the Basic Multilingual Plane" is "a 12-character sequence, encoding the
    /// UTF-16 surrogate pair". Half a pair is no character and is refused.
    private mutating func unicodeEscape(_ input: Span<UInt8>) throws(JSONError) {
        let start = at
        var value = try hexUnit(input)
        if value & 0xfc00 == 0xd800 {
            guard at + 1 < input.count, input[at] == UInt8(ascii: "\\"), input[at + 1] == UInt8(ascii: "u") else {
                throw JSONError("half a surrogate pair", at: start)
            }
            let low = try hexUnit(input)
            guard low & 0xfc00 == 0xdc00 else { throw JSONError("half a surrogate pair", at: start) }
            value = 0x10000 + (value & 0x3ff) << 10 + low & 0x3ff
        }
        guard let scalar = Unicode.Scalar(value) else { throw JSONError("half a surrogate pair", at: start) }
        scratch.append(contentsOf: UTF8.encode(scalar).unsafelyUnwrapped)
    }

    /// The four hexadecimal digits of `\uXXXX`; steps over all six characters.
    private mutating func hexUnit(_ input: Span<UInt8>) throws(JSONError) -> UInt32 {
        guard at + 6 <= input.count else { throw JSONError("the text ends inside a string", at: input.count) }
        var value: UInt32 = 0
        for index in (at + 2)..<(at + 6) {
            guard let digit = Self.hexDigit(input[index]) else { throw JSONError("a bad \\u escape", at: at) }
            value = value << 4 | digit
        }
        at += 6
        return value
    }

    private static func hexDigit(_ byte: UInt8) -> UInt32? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(byte - UInt8(ascii: "0"))
        case UInt8(ascii: "a")...UInt8(ascii: "f"): UInt32(byte - UInt8(ascii: "a") + 10)
        case UInt8(ascii: "A")...UInt8(ascii: "F"): UInt32(byte - UInt8(ascii: "A") + 10)
        default: nil
        }
    }
}
