/// Appends compact JSON to a byte buffer: no white space, members in their order, nothing escaped that need not be.
struct JSONWriter {
    private(set) var bytes: [UInt8] = []

    init() {
        // Most messages fit.
        bytes.reserveCapacity(256)
    }

    mutating func write(_ json: JSON) {
        switch json {
        case .null: raw("null")
        case .bool(let value): write(value)
        case .integer(let value): write(value)
        case .number(let value): write(value)
        case .string(let value): write(value)
        case .array(let elements): write(elements)
        case .object(let object): write(object)
        }
    }

    mutating func write(_ value: Bool) {
        raw(value ? "true" : "false")
    }

    /// Decimal digits. What would be unreadable for the peer, beyond ±(2^53−1), is cut to that bound.
    mutating func write(_ value: Int64) {
        let bounded = max(-JSON.maxInteger, min(JSON.maxInteger, value))
        if bounded < 0 { bytes.append(UInt8(ascii: "-")) }
        var digits = InlineArray<16, UInt8>(repeating: UInt8(ascii: "0"))
        var rest = bounded.magnitude
        var first = 15
        while rest >= 10 {
            digits[first] += UInt8(truncatingIfNeeded: rest % 10)
            rest /= 10
            first -= 1
        }
        digits[first] += UInt8(truncatingIfNeeded: rest)
        append(digits.span.extracting(first...))
    }

    /// The shortest text that reads back as the same double, always with a fraction or exponent: `0.0`, `0.0142`, `1e+16`.
    mutating func write(_ value: Double) {
        raw(value.isFinite ? value.description : "null")
    }

    mutating func write(_ elements: [JSON]) {
        byte("[")
        for (index, element) in elements.enumerated() {
            if index > 0 { byte(",") }
            write(element)
        }
        byte("]")
    }

    mutating func write(_ object: JSONObject) {
        byte("{")
        for (index, entry) in object.entries.enumerated() {
            if index > 0 { byte(",") }
            write(entry.key)
            byte(":")
            write(entry.value)
        }
        byte("}")
    }

    /// Escapes what RFC 8259 §7 says "MUST be escaped": "quotation mark, reverse solidus, and the control characters".
    mutating func write(_ text: String) {
        byte("\"")
        let start = bytes.count
        bytes.append(contentsOf: text.utf8)
        if let special = firstSpecial(from: start) {
            bytes.removeSubrange(special...)
            writeEscaped(text.utf8.span, from: special - start)
        }
        byte("\"")
    }

    /// Where the first byte from `start` on is that must be escaped.
    private func firstSpecial(from start: Int) -> Int? {
        let written = bytes.span.bytes
        var at = start
        while at &+ 8 <= written.byteCount {
            let word = UInt64(littleEndian: written.unsafeLoadUnaligned(fromByteOffset: at, as: UInt64.self))
            let special = JSONParser.specialBytes(in: word)
            guard special == 0 else { return at + special.trailingZeroBitCount / 8 }
            at += 8
        }
        while at < written.byteCount {
            if Self.mustEscape(bytes[at]) { return at }
            at += 1
        }
        return nil
    }

    private static func mustEscape(_ byte: UInt8) -> Bool {
        byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
    }

    private mutating func writeEscaped(_ utf8: Span<UInt8>, from start: Int) {
        var run = start
        for index in start..<utf8.count where Self.mustEscape(utf8[index]) {
            append(utf8.extracting(run..<index))
            escape(utf8[index])
            run = index + 1
        }
        append(utf8.extracting(run..<utf8.count))
    }

    private mutating func escape(_ value: UInt8) {
        switch value {
        case 0x08: raw("\\b")
        case 0x09: raw("\\t")
        case 0x0a: raw("\\n")
        case 0x0c: raw("\\f")
        case 0x0d: raw("\\r")
        case 0x20...: bytes.append(contentsOf: [UInt8(ascii: "\\"), value])
        default:
            raw("\\u00")
            bytes.append(UInt8(ascii: "0") + value >> 4)
            bytes.append("0123456789abcdef".utf8.span[Int(value & 15)])
        }
    }

    mutating func byte(_ character: Unicode.Scalar) {
        bytes.append(UInt8(ascii: character))
    }

    mutating func raw(_ text: String) {
        append(text.utf8.span)
    }

    private mutating func append(_ run: Span<UInt8>) {
        run.withUnsafeBufferPointer { bytes.append(contentsOf: $0) }
    }
}

extension JSON {
    /// Compact UTF-8.
    public var utf8: [UInt8] {
        var writer = JSONWriter()
        writer.write(self)
        return writer.bytes
    }

    /// Compact text.
    public var text: String { String(decoding: utf8, as: UTF8.self) }
}
