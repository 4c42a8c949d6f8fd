/// The head of an HTTP/1.1 message (RFC 9112 §2.1): a start line and fields, ended by an empty line.
struct HTTPHead: Equatable {
    enum Step: Equatable {
        case needMore
        /// The head, and how many bytes it took: what follows belongs to the upgraded protocol.
        case head(HTTPHead, byteCount: Int)
        case malformed(String)
    }

    struct Field: Equatable {
        /// Lower case: names are compared without case.
        let name: String
        let value: String
    }

    let startLine: String
    let fields: [Field]

    /// The stock phone's request has about 200 bytes; a peer that sends more than this without an end is not one.
    static let maxBytes = 16 << 10
    static let maxFields = 64

    /// Lines end with CRLF; a single LF is accepted as RFC 9112 §2.2 allows.
    static func parse(_ bytes: [UInt8]) -> Step {
        guard let end = endOfHead(bytes.prefix(maxBytes)) else {
            return bytes.count < maxBytes ? .needMore : .malformed("the HTTP head is larger than 16 KiB")
        }
        let lines = bytes[..<end].split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
            .map { $0.last == UInt8(ascii: "\r") ? $0.dropLast() : $0 }
            .filter { !$0.isEmpty }
        guard let start = lines.first else { return .malformed("the HTTP head is empty") }
        guard lines.count - 1 <= maxFields else { return .malformed("more than 64 HTTP fields") }
        var fields: [Field] = []
        for line in lines.dropFirst() {
            guard let field = field(line) else { return .malformed("an HTTP line without a field name") }
            fields.append(field)
        }
        return .head(HTTPHead(startLine: text(start), fields: fields), byteCount: end)
    }

    /// The index after the first empty line.
    private static func endOfHead(_ bytes: ArraySlice<UInt8>) -> Int? {
        var lineIsEmpty = true
        var sawLine = false
        for (index, byte) in bytes.enumerated() {
            switch byte {
            case UInt8(ascii: "\n"):
                // RFC 9112 §2.2: empty lines before the start line are ignored.
                if lineIsEmpty, sawLine { return index + 1 }
                lineIsEmpty = true
            case UInt8(ascii: "\r"):
                continue
            default:
                lineIsEmpty = false
                sawLine = true
            }
        }
        return nil
    }

    private static func field(_ line: ArraySlice<UInt8>) -> Field? {
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")), colon > line.startIndex else { return nil }
        return Field(name: text(line[..<colon]).lowercased(), value: trimmed(text(line[(colon + 1)...])))
    }

    private static func text(_ bytes: ArraySlice<UInt8>) -> String {
        String(decoding: bytes, as: UTF8.self)
    }

    fileprivate static func trimmed(_ text: some StringProtocol) -> String {
        let isBlank = { (character: Character) in character == " " || character == "\t" }
        let start = text.drop(while: isBlank)
        return String(start[..<(start.lastIndex { !isBlank($0) }.map(start.index(after:)) ?? start.startIndex)])
    }

    /// The first field of this name; the stock phone writes some of them twice.
    func value(_ name: String) -> String? {
        fields.first { $0.name == name }?.value
    }

    /// True when one of the comma-separated lists under `name` holds `token`, compared without case (RFC 9110 §5.6.1).
    func contains(_ token: String, in name: String) -> Bool {
        fields.filter { $0.name == name }
            .flatMap { $0.value.split(separator: ",") }
            .contains { Self.trimmed($0).lowercased() == token }
    }
}
