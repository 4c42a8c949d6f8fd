/// The head of a response.
package struct HTTPResponse: Hashable, Sendable {
    package let status: Int
    package let fields: HTTPFields

    package init(_ status: Int, _ fields: HTTPFields = [:]) {
        self.status = status
        self.fields = fields
    }

    /// With one field more.
    func with(_ name: String, _ value: String) -> HTTPResponse {
        var fields = fields
        fields.append(name, value)
        return HTTPResponse(status, fields)
    }

    /// - Parameter bytes: everything the connection gave so far.
    package static func parse(_ bytes: [UInt8]) -> HTTPHead.Step<HTTPResponse> {
        HTTPHead.parse(bytes) { start, fields in
            // RFC 9112 §4: status-line = HTTP-version SP status-code SP [ reason-phrase ]
            let parts = start.split(separator: 0x20, maxSplits: 2, omittingEmptySubsequences: false)
            guard parts.count >= 2, parts[0].elementsEqual("HTTP/1.1".utf8) || parts[0].elementsEqual("HTTP/1.0".utf8),
                parts[1].count == 3, let status = Int(HTTPHead.text(parts[1])), (100...599).contains(status)
            else { return .failure(HTTPHead.Malformed(reason: "the first line is no answer of HTTP/1.1")) }
            return .success(HTTPResponse(status, fields))
        }
    }

    /// The bytes of the head.
    package var encoded: [UInt8] { HTTPHead.encode("HTTP/1.1 \(status) \(Self.reason(status))", fields) }

    /// Of the statuses we send (RFC 9110 §15); clients do not look at it.
    private static func reason(_ status: Int) -> String {
        switch status {
        case 101: "Switching Protocols"
        case 200: "OK"
        case 204: "No Content"
        case 400: "Bad Request"
        case 404: "Not Found"
        case 405: "Method Not Allowed"
        case 411: "Length Required"
        case 408: "Request Timeout"
        case 413: "Content Too Large"
        case 429: "Too Many Requests"
        case 500: "Internal Server Error"
        case 503: "Service Unavailable"
        default: "Status"
        }
    }
}
