/// The head of a request.
package struct HTTPRequest: Hashable, Sendable {
    /// Case matters: `GET`.
    package let method: String
    /// As sent, always beginning with a slash: `/relay?token=x`.
    package let target: String
    package let fields: HTTPFields

    package init(_ method: String, _ target: String, _ fields: HTTPFields = [:]) {
        self.method = method
        self.target = target
        self.fields = fields
    }

    /// The target without its query.
    package var path: Substring { target.prefix { $0 != "?" } }

    /// The first value of a query parameter, percent-decoded; nil when it is absent or cannot be decoded to UTF-8.
    package func query(_ name: String) -> String? {
        guard let mark = target.firstIndex(of: "?") else { return nil }
        for pair in target[target.index(after: mark)...].split(separator: "&") {
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            if parts[0] == name { return Self.decoded(parts.count > 1 ? parts[1] : "") }
        }
        return nil
    }

    private static func decoded(_ text: Substring) -> String? {
        var bytes: [UInt8] = []
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte == UInt8(ascii: "+") ? 0x20 : byte)
                continue
            }
            let digits = rest.prefix(2)
            guard digits.count == 2, digits.allSatisfy({ $0 < 0x80 && Character(UnicodeScalar($0)).isHexDigit }),
                let value = UInt8(String(decoding: digits, as: UTF8.self), radix: 16)
            else { return nil }
            bytes.append(value)
            rest = rest.dropFirst(2)
        }
        return String(validating: bytes, as: UTF8.self)
    }

    /// - Parameter bytes: everything the connection gave so far.
    package static func parse(_ bytes: [UInt8]) -> HTTPHead.Step<HTTPRequest> {
        HTTPHead.parse(bytes) { start, fields in
            let parts = start.split(separator: 0x20, omittingEmptySubsequences: false)
            guard parts.count == 3, HTTPText.isToken(parts[0]), HTTPText.isVisible(parts[1]),
                parts[1].first == UInt8(ascii: "/"), parts[2].elementsEqual("HTTP/1.1".utf8)
            else { return .failure(HTTPHead.Malformed(reason: "the first line is no request of HTTP/1.1")) }
            return .success(HTTPRequest(HTTPHead.text(parts[0]), HTTPHead.text(parts[1]), fields))
        }
    }

    /// The bytes of the head.
    package var encoded: [UInt8] { HTTPHead.encode("\(method) \(HTTPText.target(target)) HTTP/1.1", fields) }
}
