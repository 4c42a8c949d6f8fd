/// Why bytes are not the JSON we accept. `description` is a sentence fit for an answer to the peer; it quotes no content.
public struct JSONError: Error, Equatable, Sendable, CustomStringConvertible {
    /// Where it was noticed, counted from the first byte.
    public let offset: Int
    public let problem: String

    init(_ problem: String, at offset: Int) {
        (self.problem, self.offset) = (problem, offset)
    }

    public var description: String { "not valid JSON: \(problem) at byte \(offset)" }
}

extension JSON {
    /// Parses one value that fills all of `bytes`, apart from white space. Strict: RFC 8259 and nothing more.
    ///
    /// Duplicate keys: the last value wins. Lone surrogates, invalid UTF-8, control characters in strings, a byte order mark
    /// and integers beyond ±(2^53−1) are refused.
    public init(parsing bytes: [UInt8], limits: Limits = .wire) throws(JSONError) {
        try self.init(parsing: bytes.span, limits: limits)
    }

    public init(parsing text: String, limits: Limits = .wire) throws(JSONError) {
        try self.init(parsing: text.utf8.span, limits: limits)
    }

    public init(parsing bytes: Span<UInt8>, limits: Limits = .wire) throws(JSONError) {
        guard bytes.count <= limits.maxBytes else {
            throw JSONError("\(bytes.count) bytes are more than the \(limits.maxBytes) allowed", at: 0)
        }
        var parser = JSONParser(limits: limits)
        self = try parser.document(bytes)
    }
}

/// Walks the bytes once. The span is passed down instead of stored, because a stored one would need experimental features;
/// every read of it is bounds-checked. Recursion is bounded by `maxNesting`.
struct JSONParser {
    var at = 0
    /// Reused for strings with escapes, so that each costs one copy.
    var scratch: [UInt8] = []
    private var nestingLeft: Int
    private var valuesLeft: Int
    private let limits: JSON.Limits

    init(limits: JSON.Limits) {
        self.limits = limits
        nestingLeft = limits.maxNesting
        valuesLeft = limits.maxValues
    }

    mutating func document(_ input: Span<UInt8>) throws(JSONError) -> JSON {
        let value = try value(input)
        _ = peek(input)
        guard at == input.count else { throw JSONError("something follows the value", at: at) }
        return value
    }

    private mutating func value(_ input: Span<UInt8>) throws(JSONError) -> JSON {
        guard valuesLeft > 0 else { throw JSONError("more than \(limits.maxValues) values", at: at) }
        valuesLeft -= 1
        switch peek(input) {
        case UInt8(ascii: "\""): return .string(try string(input))
        case UInt8(ascii: "{"): return .object(try object(input))
        case UInt8(ascii: "["): return .array(try array(input))
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return try number(input)
        case UInt8(ascii: "t"): return try literal("true", .bool(true), input)
        case UInt8(ascii: "f"): return try literal("false", .bool(false), input)
        case UInt8(ascii: "n"): return try literal("null", .null, input)
        default: throw unexpected(input, wanted: "a value")
        }
    }

    private mutating func array(_ input: Span<UInt8>) throws(JSONError) -> [JSON] {
        try descend()
        defer { nestingLeft += 1 }
        var elements: [JSON] = []
        if peek(input) == UInt8(ascii: "]") {
            at += 1
            return elements
        }
        while true {
            elements.append(try value(input))
            if try isClosed(by: UInt8(ascii: "]"), input) { return elements }
        }
    }

    private mutating func object(_ input: Span<UInt8>) throws(JSONError) -> JSONObject {
        try descend()
        defer { nestingLeft += 1 }
        var object = JSONObject()
        if peek(input) == UInt8(ascii: "}") {
            at += 1
            return object
        }
        var seen: UInt64 = 0
        while true {
            guard peek(input) == UInt8(ascii: "\"") else { throw unexpected(input, wanted: "a key") }
            let key = try string(input)
            guard peek(input) == UInt8(ascii: ":") else { throw unexpected(input, wanted: "a colon") }
            at += 1
            let value = try value(input)
            let bit = Self.bit(of: key)
            if seen & bit == 0 {
                object.append(JSONObject.Entry(key: key, value: value))
            } else {
                object[key] = value
            }
            seen |= bit
            if try isClosed(by: UInt8(ascii: "}"), input) { return object }
        }
    }

    /// One bit out of 64 by length and first byte: two keys with different bits differ, so that most need no search for a
    /// duplicate.
    private static func bit(of key: String) -> UInt64 {
        1 << UInt64((key.utf8.count &* 11 &+ Int(key.utf8.first ?? 0)) & 63)
    }

    /// Steps over the opening bracket.
    private mutating func descend() throws(JSONError) {
        guard nestingLeft > 0 else { throw JSONError("nested deeper than \(limits.maxNesting) levels", at: at) }
        nestingLeft -= 1
        at += 1
    }

    /// Steps over a comma (false) or the closing bracket (true).
    private mutating func isClosed(by bracket: UInt8, _ input: Span<UInt8>) throws(JSONError) -> Bool {
        let byte = peek(input)
        guard byte == bracket || byte == UInt8(ascii: ",") else {
            throw unexpected(input, wanted: "a comma or a closing bracket")
        }
        at += 1
        return byte == bracket
    }

    private mutating func literal(
        _ word: StaticString, _ value: JSON, _ input: Span<UInt8>
    ) throws(JSONError) -> JSON {
        let end = at + word.utf8CodeUnitCount
        guard end <= input.count else { throw unexpected(input, wanted: "\(word)") }
        for index in at..<end where input[index] != word.utf8Start[index - at] {
            throw unexpected(input, wanted: "\(word)")
        }
        at = end
        return value
    }

    /// The next byte that is not white space, without stepping over it; 0, which is no JSON either, at the end.
    private mutating func peek(_ input: Span<UInt8>) -> UInt8 {
        while at < input.count {
            switch input[at] {
            case 0x20, 0x09, 0x0a, 0x0d: at += 1
            case let byte: return byte
            }
        }
        return 0
    }

    func unexpected(_ input: Span<UInt8>, wanted: String) -> JSONError {
        at < input.count
            ? JSONError("\(wanted) was expected", at: at)
            : JSONError("the text ends where \(wanted) was expected", at: at)
    }
}
