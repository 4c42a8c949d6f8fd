/// The head of an HTTP/1.1 message (RFC 9112 §2.1): a start line and fields, ended by an empty line.
///
/// Strict, because whoever stands between us and the peer must read the same message (RFC 9112 §11): lines end with CRLF, no
/// blank before a colon, no folded lines, no control characters. Bounded, because it comes from strangers.
package enum HTTPHead {
    /// The request of a real relay client has about 400 bytes.
    package static let maxBytes = 8 << 10
    package static let maxFields = 64

    package enum Step<Head: Sendable & Equatable>: Sendable, Equatable {
        case needMore
        /// The head, and how many bytes it took: what follows is the body, or belongs to the upgraded protocol.
        case head(Head, byteCount: Int)
        /// Half a sentence for the log; the peer's bytes are not in it.
        case malformed(String)
    }

    typealias Lines = (start: ArraySlice<UInt8>, fields: HTTPFields)

    /// - Parameter read: makes the head of its start line and fields, or says what is wrong.
    static func parse<Head>(
        _ bytes: [UInt8], _ read: (Lines) -> Result<Head, Malformed>
    ) -> Step<Head> {
        let window = bytes.prefix(maxBytes)
        // Whoever speaks TLS to a port without it sends no line at all, and waits for an answer. No start line begins so.
        if let first = window.first, TLSEngine.recordTypes.contains(first) {
            return .malformed("what comes is TLS, not HTTP")
        }
        guard let end = endOfHead(window) else {
            return window.count < maxBytes ? .needMore : .malformed("the HTTP head is larger than 8 KiB")
        }
        let lines = split(window[..<(end - 4)])
        return split(lines).flatMap(read).step(byteCount: end)
    }

    struct Malformed: Error {
        let reason: String
    }

    /// The index after the first CRLF CRLF.
    private static func endOfHead(_ bytes: ArraySlice<UInt8>) -> Int? {
        var matched = 0
        for (index, byte) in bytes.enumerated() {
            let wanted: UInt8 = matched % 2 == 0 ? 13 : 10
            matched = byte == wanted ? matched + 1 : (byte == 13 ? 1 : 0)
            if matched == 4 { return index + 1 }
        }
        return nil
    }

    private static func split(_ bytes: ArraySlice<UInt8>) -> [ArraySlice<UInt8>] {
        var lines: [ArraySlice<UInt8>] = []
        var start = bytes.startIndex
        for index in bytes.indices.dropLast() where bytes[index] == 13 && bytes[index + 1] == 10 {
            lines.append(bytes[start..<index])
            start = index + 2
        }
        return lines + [bytes[start...]]
    }

    private static func split(_ lines: [ArraySlice<UInt8>]) -> Result<Lines, Malformed> {
        guard lines.count - 1 <= maxFields else { return .failure(Malformed(reason: "more than 64 HTTP fields")) }
        var fields = HTTPFields()
        for line in lines.dropFirst() {
            guard let colon = line.firstIndex(of: UInt8(ascii: ":")), HTTPText.isToken(line[..<colon]),
                HTTPText.isFieldValue(line[(colon + 1)...])
            else { return .failure(Malformed(reason: "a line of the HTTP head is no field")) }
            fields.append(text(line[..<colon]), HTTPText.trimmed(text(line[(colon + 1)...])))
        }
        return .success((lines[0], fields))
    }

    static func text(_ bytes: ArraySlice<UInt8>) -> String {
        String(decoding: bytes, as: UTF8.self)
    }

    /// What we write ourselves is checked as well: no value of ours can add a field. Control characters become blanks, as RFC
    /// 9110 §5.5 has readers do; a field without a proper name is left out.
    static func encode(_ start: String, _ fields: HTTPFields) -> [UInt8] {
        var bytes = HTTPText.withoutControls(start) + Array("\r\n".utf8)
        for field in fields.all where HTTPText.isToken(Array(field.name.utf8)[...]) {
            bytes += Array("\(field.name): ".utf8) + HTTPText.withoutControls(field.value) + Array("\r\n".utf8)
        }
        return bytes + Array("\r\n".utf8)
    }
}

extension Result where Success: Sendable & Equatable, Failure == HTTPHead.Malformed {
    fileprivate func step(byteCount: Int) -> HTTPHead.Step<Success> {
        switch self {
        case .success(let head): .head(head, byteCount: byteCount)
        case .failure(let malformed): .malformed(malformed.reason)
        }
    }
}
