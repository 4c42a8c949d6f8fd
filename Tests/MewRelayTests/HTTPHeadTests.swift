import MewRelay
import Testing

@Suite("HTTP/1.1 heads")
struct HTTPHeadTests {
    private static let upgrade = """
        GET /relay?token=a%20b&x HTTP/1.1\r
        Host: 127.0.0.1:3340\r
        Upgrade: websocket\r
        Connection: Upgrade\r
        sec-websocket-protocol: iroh-relay-v2, iroh-relay-v1\r
        \r

        """

    @Test("a real client's request is read, whatever follows it")
    func request() throws {
        let bytes = Array(Self.upgrade.utf8)
        guard case .head(let request, let byteCount) = HTTPRequest.parse(bytes + [0x82, 0x80]) else {
            Issue.record("no head")
            return
        }
        #expect(byteCount == bytes.count)
        #expect(request.method == "GET")
        #expect(request.path == "/relay")
        #expect(request.query("token") == "a b")
        #expect(request.query("x") == "")
        #expect(request.query("y") == nil)
        #expect(request.fields["host"] == "127.0.0.1:3340")
        #expect(request.fields.contains("upgrade", in: "connection"))
        #expect(request.fields.list("sec-websocket-protocol") == ["iroh-relay-v2", "iroh-relay-v1"])
    }

    @Test("every shorter piece of a request needs more, and none is refused")
    func truncation() {
        let bytes = Array(Self.upgrade.utf8)
        for length in 0..<bytes.count {
            #expect(HTTPRequest.parse(Array(bytes[..<length])) == .needMore, "\(length) bytes")
        }
    }

    @Test(
        "what two readers could read differently is refused",
        arguments: [
            "GET / HTTP/1.0\r\n\r\n", "GET  / HTTP/1.1\r\n\r\n", "GET x HTTP/1.1\r\n\r\n", "GET / HTTP/1.1 \r\n\r\n",
            "G@T / HTTP/1.1\r\n\r\n", "GET / HTTP/1.1\r\nno colon\r\n\r\n", "GET / HTTP/1.1\r\nname : blank\r\n\r\n",
            "GET / HTTP/1.1\r\n folded: x\r\n\r\n", "GET / HTTP/1.1\r\na: b\nc: d\r\n\r\n",
            "GET / HTTP/1.1\r\na: b\0\r\n\r\n", "GET / HTTP/1.1\r\n: empty\r\n\r\n", "\r\n\r\n",
            "GET / HTTP/1.1\na: b\r\n\r\n",
        ])
    func malformed(text: String) {
        guard case .malformed = HTTPRequest.parse(Array(text.utf8)) else {
            Issue.record("accepted: \(text)")
            return
        }
    }

    @Test(
        "TLS that comes to a port without it is told by its first byte, and not waited for",
        arguments: [21, 22] as [UInt8])
    func notHTTP(type: UInt8) {
        #expect(HTTPRequest.parse([type]) == .malformed("what comes is TLS, not HTTP"))
        #expect(HTTPResponse.parse([type, 3, 3, 0, 2, 2, 40]) == .malformed("what comes is TLS, not HTTP"))
    }

    @Test(
        "no text that we write makes a head that its reader takes for another, or stops the program",
        arguments: ["a\tb", "abc\n", "a\r\nx: y", "\0", "a\u{7f}b", "\u{1b}[2J", " blank ", "é", ""])
    func written(_ text: String) throws {
        let request = HTTPRequest("GET", "/a?b=\(text)", ["host": "a.test", "authorization": text, "x\(text)": "1"])
        guard case .head(let read, let byteCount) = HTTPRequest.parse(request.encoded) else {
            Issue.record("no head: \(request.encoded)")
            return
        }
        #expect(byteCount == request.encoded.count)
        #expect(read.path == "/a")
        #expect(read.fields["host"] == "a.test")
        #expect(read.fields.all.count <= 3)
        if text == "a\tb" { #expect(read.fields["authorization"] == text) }
        #expect(read.fields["x"] == nil || text.isEmpty)
    }

    @Test("a head of 8 KiB is read, one byte more is refused, and 64 fields are read, one more is not")
    func bounds() {
        func head(_ byteCount: Int) -> [UInt8] {
            let frame = "GET / HTTP/1.1\r\na: \r\n\r\n".utf8.count
            return Array("GET / HTTP/1.1\r\na: \(String(repeating: "x", count: byteCount - frame))\r\n\r\n".utf8)
        }
        guard case .head(_, HTTPHead.maxBytes) = HTTPRequest.parse(head(HTTPHead.maxBytes)) else {
            Issue.record("8 KiB refused")
            return
        }
        guard case .malformed = HTTPRequest.parse(head(HTTPHead.maxBytes + 1)) else {
            Issue.record("8 KiB and one byte accepted")
            return
        }
        func fields(_ count: Int) -> [UInt8] {
            Array(("GET / HTTP/1.1\r\n" + String(repeating: "a: b\r\n", count: count) + "\r\n").utf8)
        }
        guard case .head(let full, _) = HTTPRequest.parse(fields(64)), case .malformed = HTTPRequest.parse(fields(65))
        else {
            Issue.record("the bound of 64 fields")
            return
        }
        #expect(full.fields.values("a").count == 64)
    }

    @Test("what is written is read back")
    func roundTrip() {
        let request = HTTPRequest("GET", "/relay", ["Host": "a", "Sec-WebSocket-Protocol": "x, y"])
        #expect(HTTPRequest.parse(request.encoded) == .head(request, byteCount: request.encoded.count))
        let response = HTTPResponse(101, ["upgrade": "websocket"])
        #expect(HTTPResponse.parse(response.encoded) == .head(response, byteCount: response.encoded.count))
    }

    @Test("an answer without a reason phrase is one, and one with a wrong status is none")
    func statusLines() {
        #expect(HTTPResponse.parse(Array("HTTP/1.1 204\r\n\r\n".utf8)) == .head(HTTPResponse(204), byteCount: 16))
        for line in ["HTTP/1.1 20", "HTTP/1.1 600", "HTTP/2 200", "HTTP/1.1  200", "HTTP/1.1 +20"] {
            guard case .malformed = HTTPResponse.parse(Array("\(line)\r\n\r\n".utf8)) else {
                Issue.record("accepted: \(line)")
                continue
            }
        }
    }
}
