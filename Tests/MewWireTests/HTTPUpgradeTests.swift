import MewBase
import Testing

@testable import MewWire

/// Bytes that count up: enough randomness for a test, the same each time.
struct CountingEntropy: Entropy {
    func fill(_ buffer: UnsafeMutableRawBufferPointer) {
        for index in buffer.indices { buffer[index] = UInt8(truncatingIfNeeded: index + 1) }
    }
}

@Suite("WebSocket upgrade")
struct HTTPUpgradeTests {
    static func request(
        _ start: String = "GET / HTTP/1.1", dropping: String? = nil, adding: [String] = [], lineEnd: String = "\r\n"
    ) -> [UInt8] {
        let fields = [
            "Host: daemon.mew", "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13",
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
        ]
        let kept = fields.filter { field in dropping.map { !field.hasPrefix($0) } ?? true }
        return Array(([start] + kept + adding + ["", ""]).joined(separator: lineEnd).utf8)
    }

    static let sampleResponse = Array(
        ("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            + "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n").utf8)

    @Test("the stock phone's request gets exactly the answer its strict client wants")
    func stockPhone() {
        let request = Self.request()
        #expect(
            WebSocketUpgradeServer.step(request)
                == .accepted(response: Self.sampleResponse, consumed: request.count))
    }

    @Test("every cut of the request needs more, and what follows it is left to the frames")
    func truncation() {
        let request = Self.request()
        for count in 0..<request.count {
            #expect(WebSocketUpgradeServer.step(Array(request[..<count])) == .needMore)
        }
        #expect(
            WebSocketUpgradeServer.step(request + [0x81, 0x80])
                == .accepted(response: Self.sampleResponse, consumed: request.count))
    }

    @Test(
        "lenient: host, path, letter case, list values, repeated fields, bare line feeds and later minor versions",
        arguments: [
            Self.request("GET /any?thing HTTP/1.1"), Self.request("GET ws://iroh/ HTTP/1.1"),
            Self.request("GET / HTTP/1.2"), Self.request(dropping: "Host"), Self.request(lineEnd: "\n"),
            Self.request(dropping: "Connection", adding: ["CONNECTION:keep-alive ,  uPgRaDe"]),
            Self.request(dropping: "Upgrade", adding: ["upgrade: WebSocket"]),
            Self.request(adding: ["Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==", "Connection: Upgrade"]),
            Self.request(adding: ["Origin: null", "Sec-WebSocket-Extensions: permessage-deflate"]),
            Array("\r\n".utf8) + Self.request(),
        ])
    func lenient(request: [UInt8]) {
        #expect(
            WebSocketUpgradeServer.step(request)
                == .accepted(response: Self.sampleResponse, consumed: request.count))
    }

    @Test(
        "what is no upgrade is refused with a status and a reason",
        arguments: [
            (Self.request("POST / HTTP/1.1"), "400"), (Self.request("GET / HTTP/1.0"), "400"),
            (Self.request("GET /"), "400"), (Self.request(dropping: "Connection"), "426"),
            (Self.request(dropping: "Upgrade"), "426"), (Self.request(dropping: "Sec-WebSocket-Version"), "426"),
            (Self.request(dropping: "Sec-WebSocket-Key"), "400"),
            (Self.request(adding: ["no colon here"]), "400"), (Self.request(adding: [": no name"]), "400"),
        ])
    func refused(request: [UInt8], status: String) throws {
        guard case .refused(let response, let reason) = WebSocketUpgradeServer.step(request) else {
            Issue.record("accepted")
            return
        }
        #expect(String(decoding: response, as: UTF8.self).hasPrefix("HTTP/1.1 \(status) "))
        #expect(!reason.isEmpty)
    }

    @Test("a head of 16 KiB is read, one byte more without an end is refused; so with 64 fields and 65")
    func bounds() {
        let bare = Self.request(adding: ["X: "]).count
        let filler = String(repeating: "x", count: HTTPHead.maxBytes - bare)
        guard case .accepted = WebSocketUpgradeServer.step(Self.request(adding: ["X: " + filler])) else {
            Issue.record("16 KiB refused")
            return
        }
        let endless = Array(Self.request(adding: ["X: " + filler + "x"]))
        #expect(WebSocketUpgradeServer.step(Array(endless.prefix(HTTPHead.maxBytes - 1))) == .needMore)
        guard case .refused = WebSocketUpgradeServer.step(Array(endless.prefix(HTTPHead.maxBytes))) else {
            Issue.record("an endless head was not refused")
            return
        }
        let fields = (0..<HTTPHead.maxFields - 5).map { "X-\($0): 1" }
        guard case .accepted = WebSocketUpgradeServer.step(Self.request(adding: fields)) else {
            Issue.record("64 fields refused")
            return
        }
        guard case .refused = WebSocketUpgradeServer.step(Self.request(adding: fields + ["Y: 1"])) else {
            Issue.record("65 fields accepted")
            return
        }
    }

    @Test("our client and our server agree, and the request is the stock phone's")
    func clientAgainstServer() {
        let client = WebSocketUpgradeClient(entropy: CountingEntropy())
        let request = String(decoding: client.request, as: UTF8.self)
        #expect(request.hasPrefix("GET / HTTP/1.1\r\nHost: daemon.mew\r\nConnection: Upgrade\r\n"))
        #expect(request.contains("Sec-WebSocket-Key: AQIDBAUGBwgJCgsMDQ4PEA==\r\n"))
        guard case .accepted(let response, let consumed) = WebSocketUpgradeServer.step(client.request) else {
            Issue.record("refused")
            return
        }
        #expect(consumed == client.request.count)
        #expect(client.step(response + [0x81]) == .accepted(consumed: response.count))
        for count in 0..<response.count { #expect(client.step(Array(response[..<count])) == .needMore) }
    }

    @Test(
        "the client refuses every answer that is no upgrade to what it asked for",
        arguments: [
            ("HTTP/1.1 101 ", "HTTP/1.1 403 "), ("HTTP/1.1 101 ", "SPDY/1.1 101 "),
            ("Upgrade: websocket", "Upgrade: h2c"), ("Connection: Upgrade", "Connection: close"),
            ("Accept: ", "Accept: x"), ("Connection: Upgrade", "Connection: Upgrade\r\nSec-WebSocket-Protocol: mew"),
            ("Connection: Upgrade", "Connection: Upgrade\r\nSec-WebSocket-Extensions: permessage-deflate"),
        ])
    func clientRefuses(part: String, replacement: String) throws {
        let client = WebSocketUpgradeClient(entropy: CountingEntropy())
        guard case .accepted(let response, _) = WebSocketUpgradeServer.step(client.request) else { return }
        let text = String(decoding: response, as: UTF8.self)
        let range = try #require(text.range(ofFirst: part))
        let spoiled = text[..<range.lowerBound] + replacement + text[range.upperBound...]
        guard case .refused(let reason) = client.step(Array(spoiled.utf8)) else {
            Issue.record("accepted \(spoiled)")
            return
        }
        #expect(!reason.isEmpty)
    }

    @Test(
        "SHA-1 of the FIPS 180-4 examples and at the padding boundaries",
        arguments: [
            ("", "da39a3ee5e6b4b0d3255bfef95601890afd80709"),
            ("abc", "a9993e364706816aba3e25717850c26c9cd0d89d"),
            (
                "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
                "84983e441c3bd26ebaae4aa1f95129e5e54670f1"
            ),
            (String(repeating: "a", count: 55), "c1c8bbdc22796e28c0e15163d20899b65621d65a"),
            (String(repeating: "a", count: 64), "0098ba824b5c16427bd7a1122a5a442a25ec644d"),
        ])
    func sha1(text: String, hex: String) {
        #expect(SHA1.digest(Array(text.utf8)).map(format).joined() == hex)
    }

    private func format(_ byte: UInt8) -> String {
        (byte < 16 ? "0" : "") + String(byte, radix: 16)
    }

    @Test("base64 of the RFC 4648 §10 examples")
    func base64() {
        let examples = ["": "", "f": "Zg==", "fo": "Zm8=", "foo": "Zm9v", "foob": "Zm9vYg==", "fooba": "Zm9vYmE="]
        for (plain, encoded) in examples { #expect(Base64.encode(Array(plain.utf8)) == encoded) }
    }
}

extension String {
    fileprivate func range(ofFirst part: String) -> Range<Index>? {
        indices.lazy.map { self[$0...] }.first { $0.hasPrefix(part) }
            .map { $0.startIndex..<self.index($0.startIndex, offsetBy: part.count) }
    }
}
