/// The fields of an HTTP/1.1 head, in order. Names are compared without case (RFC 9110 §5.1) and kept in lower case.
package struct HTTPFields: Hashable, Sendable, ExpressibleByDictionaryLiteral {
    package struct Field: Hashable, Sendable {
        package let name: String
        package let value: String
    }

    package private(set) var all: [Field] = []

    package init() {}

    package init(dictionaryLiteral elements: (String, String)...) {
        for (name, value) in elements { append(name, value) }
    }

    package mutating func append(_ name: String, _ value: String) {
        all.append(Field(name: name.lowercased(), value: value))
    }

    /// The first field of this name (lower case).
    package subscript(name: String) -> String? {
        all.first { $0.name == name }?.value
    }

    package func values(_ name: String) -> [String] {
        all.filter { $0.name == name }.map(\.value)
    }

    /// What `Content-Length` says (RFC 9110 §8.6: digits). Twice the same, or with a sign, is malformed: whoever stands between
    /// might read another number (RFC 9112 §6.3).
    package var contentLength: ContentLength {
        let lengths = values("content-length")
        guard let text = lengths.first else { return .absent }
        guard lengths.count == 1, (1...9).contains(text.utf8.count), text.utf8.allSatisfy({ (48...57).contains($0) }),
            let byteCount = Int(text)
        else { return .malformed }
        return .bytes(byteCount)
    }

    package enum ContentLength: Equatable, Sendable {
        case absent, malformed
        /// Below a thousand million: nothing that we read is nearly as large.
        case bytes(Int)
    }

    /// The comma-separated lists under `name`, joined (RFC 9110 §5.6.1); empty elements are left out.
    package func list(_ name: String) -> [String] {
        values(name).flatMap { $0.split(separator: ",") }.map(HTTPText.trimmed).filter { !$0.isEmpty }
    }

    /// True when a list under `name` holds `token` (lower case), compared without case.
    package func contains(_ token: String, in name: String) -> Bool {
        list(name).contains { $0.lowercased() == token }
    }
}

/// The grammar that heads are made of (RFC 9110 §5.6.2, RFC 9112 §2–5).
enum HTTPText {
    /// `token`: what a method and a field name consist of.
    static func isToken(_ bytes: ArraySlice<UInt8>) -> Bool {
        !bytes.isEmpty && bytes.allSatisfy { isTokenByte[Int($0)] }
    }

    private static let isTokenByte: [Bool] = {
        var table = [Bool](repeating: false, count: 256)
        for byte in "!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz".utf8 {
            table[Int(byte)] = true
        }
        return table
    }()

    /// `field-content`: visible characters, blanks, and bytes above ASCII.
    static func isFieldValue(_ bytes: ArraySlice<UInt8>) -> Bool {
        bytes.allSatisfy { $0 >= 0x20 && $0 != 0x7f || $0 == 9 }
    }

    static func isVisible(_ bytes: ArraySlice<UInt8>) -> Bool {
        !bytes.isEmpty && bytes.allSatisfy { $0 > 0x20 && $0 < 0x7f }
    }

    /// A tab is no control character here (RFC 9110 §5.5).
    static func withoutControls(_ text: String) -> [UInt8] {
        text.utf8.map { ($0 < 0x20 && $0 != 9) || $0 == 0x7f ? 0x20 : $0 }
    }

    /// What stands between the method and the version of a request: visible ASCII, all else percent-encoded.
    static func target(_ text: String) -> String {
        guard !isVisible(Array(text.utf8)[...]) else { return text }
        return text.utf8.reduce(into: "") { result, byte in
            if byte > 0x20, byte < 0x7f {
                result.unicodeScalars.append(UnicodeScalar(byte))
            } else {
                result += "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
            }
        }
    }

    static func trimmed(_ text: some StringProtocol) -> String {
        let bytes = Array(text.utf8)
        let isBlank = { (byte: UInt8) in byte == 0x20 || byte == 9 }
        let rest = bytes.drop(while: isBlank)
        let end = rest.lastIndex { !isBlank($0) }.map { $0 + 1 } ?? rest.startIndex
        return String(decoding: rest[rest.startIndex..<end], as: UTF8.self)
    }
}
