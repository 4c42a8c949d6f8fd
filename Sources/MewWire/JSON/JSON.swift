/// A JSON value (RFC 8259), as it travels in every message.
///
/// Parsed with bounds (`JSON.Limits`) and written compactly. A literal without fraction and exponent is an `integer`, every
/// other one a `number`; the two are never equal. Strings compare as Swift strings; keys compare byte by byte.
///
/// A value built in code may nest deeper than a peer accepts: whoever embeds foreign JSON in a message uses `flattened()`.
public enum JSON: Sendable, Equatable {
    case null
    case bool(Bool)
    /// Within ±(2^53−1), the range in which every JSON implementation is exact (RFC 8259 §6).
    case integer(Int64)
    /// Finite. JSON cannot write anything else; a non-finite number is written as `null`.
    case number(Double)
    case string(String)
    case array([JSON])
    case object(JSONObject)
}

extension JSON {
    /// The largest integer that may stand in a message, 2^53−1.
    public static let maxInteger: Int64 = 9_007_199_254_740_991

    /// What a parser accepts. Everything beyond is refused, nothing is cut.
    public struct Limits: Sendable {
        public var maxBytes: Int
        /// Arrays and objects within each other. Also bounds the recursion of parser and writer.
        public var maxNesting: Int
        /// Values of every kind, keys not counted: bounds memory, since a value of seven bytes may take two hundred.
        public var maxValues: Int

        public init(maxBytes: Int, maxNesting: Int, maxValues: Int) {
            (self.maxBytes, self.maxNesting, self.maxValues) = (maxBytes, maxNesting, maxValues)
        }

        /// The bounds of spec/native-wire.md §1: 8 MiB and 64 levels. 2^18 values are one in 32 bytes of the largest frame;
        /// real messages have fewer, and the worst that fits in was measured to take 40 MiB while it is parsed.
        public static let wire = Limits(maxBytes: 8 << 20, maxNesting: 64, maxValues: 1 << 18)
    }

    /// Levels of arrays and objects: 0 for a scalar, 1 for `[]`, 2 for `[[]]`.
    public var nesting: Int {
        switch self {
        case .array(let elements): 1 + (elements.map(\.nesting).max() ?? 0)
        case .object(let object): 1 + (object.entries.map(\.value.nesting).max() ?? 0)
        case .null, .bool, .integer, .number, .string: 0
        }
    }

    /// How deep foreign JSON, such as the input of a tool, may nest inside a message: 64 less the levels around it, of which
    /// there are at most six, and two for those to come.
    public static let embeddedNesting = 56

    /// The same value with everything below `levels` as JSON text, so that it can be embedded and nothing is hidden.
    public func flattened(below levels: Int = embeddedNesting) -> JSON {
        switch self {
        case .null, .bool, .integer, .number, .string: self
        case _ where levels <= 0: .string(text)
        case .array(let elements): .array(elements.map { $0.flattened(below: levels - 1) })
        case .object(let object): .object(object.mapValues { $0.flattened(below: levels - 1) })
        }
    }

    /// What it is, for error sentences: `a string`, `null`, …
    public var kindName: String {
        switch self {
        case .null: "null"
        case .bool: "a boolean"
        case .integer: "an integer"
        case .number: "a number with a fraction or exponent"
        case .string: "a string"
        case .array: "an array"
        case .object: "an object"
        }
    }
}

// MARK: - Looking inside

extension JSON {
    public var asString: String? { if case .string(let value) = self { value } else { nil } }
    public var asBool: Bool? { if case .bool(let value) = self { value } else { nil } }
    public var asInteger: Int64? { if case .integer(let value) = self { value } else { nil } }
    public var asArray: [JSON]? { if case .array(let value) = self { value } else { nil } }
    public var asObject: JSONObject? { if case .object(let value) = self { value } else { nil } }
    public var isNull: Bool { if case .null = self { true } else { false } }

    /// The value of an integer or a number.
    public var asDouble: Double? {
        switch self {
        case .integer(let value): Double(value)
        case .number(let value): value
        case .null, .bool, .string, .array, .object: nil
        }
    }

    /// The value of `key` when this is an object that has it.
    public subscript(key: String) -> JSON? { asObject?[key] }
}

// MARK: - Literals

extension JSON: ExpressibleByNilLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByFloatLiteral, ExpressibleByStringLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    public init(nilLiteral: ()) { self = .null }
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    public init(integerLiteral value: Int64) { self = .integer(value) }
    public init(floatLiteral value: Double) { self = .number(value) }
    public init(stringLiteral value: String) { self = .string(value) }
    public init(arrayLiteral elements: JSON...) { self = .array(elements) }
    public init(dictionaryLiteral elements: (String, JSON)...) {
        self = .object(JSONObject(elements.map { (key: $0.0, value: $0.1) }))
    }
}
