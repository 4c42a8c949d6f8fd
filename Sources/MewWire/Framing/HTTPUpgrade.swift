// The WebSocket handshake (RFC 6455 §4) on the one stream of `mew/wire/0` (spec/mew-wire.md §1.3). The client writes its
// request first, because a QUIC stream is invisible to the peer until bytes flow.

package import MewBase

/// The daemon's side: lenient in what it takes, strict in what it answers.
package enum WebSocketUpgradeServer {
    package enum Step: Equatable, Sendable {
        case needMore
        /// Write `response`; the bytes from `consumed` on are frames.
        case accepted(response: [UInt8], consumed: Int)
        /// Write `response`, end the stream; the sentence is for the log.
        case refused(response: [UInt8], String)
    }

    /// - Parameter bytes: everything the stream gave so far. Host and path are never checked.
    package static func step(_ bytes: [UInt8]) -> Step {
        switch HTTPHead.parse(bytes) {
        case .needMore:
            return .needMore
        case .malformed(let reason):
            return refusal("400 Bad Request", reason)
        case .head(let head, let consumed):
            if let reason = objection(to: head) { return refusal(reason.status, reason.sentence) }
            let key = head.value("sec-websocket-key") ?? ""
            return .accepted(response: acceptance(of: key), consumed: consumed)
        }
    }

    private static func objection(to head: HTTPHead) -> (status: String, sentence: String)? {
        let parts = head.startLine.split(separator: " ")
        guard parts.count == 3, parts[0] == "GET", parts[2].hasPrefix("HTTP/1."), parts[2] != "HTTP/1.0" else {
            return ("400 Bad Request", "the request line is no GET of HTTP/1.1")
        }
        guard head.contains("upgrade", in: "connection"), head.contains("websocket", in: "upgrade") else {
            return ("426 Upgrade Required", "the request asks for no WebSocket upgrade")
        }
        guard head.value("sec-websocket-version") == "13" else {
            return ("426 Upgrade Required", "the WebSocket version is not 13")
        }
        guard let key = head.value("sec-websocket-key"), !key.isEmpty else {
            return ("400 Bad Request", "the request has no Sec-WebSocket-Key")
        }
        return nil
    }

    /// The stock client compares the whole value of `Connection`, and fails on a subprotocol or extension it did not offer.
    private static func acceptance(of key: String) -> [UInt8] {
        lines([
            "HTTP/1.1 101 Switching Protocols", "Upgrade: websocket", "Connection: Upgrade",
            "Sec-WebSocket-Accept: \(WebSocketKey.accept(key))",
        ])
    }

    private static func refusal(_ status: String, _ reason: String) -> Step {
        .refused(
            response: lines([
                "HTTP/1.1 \(status)", "Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13",
                "Content-Length: 0",
            ]), reason)
    }
}

/// The client's side, for daemons that speak only the stock protocol.
package struct WebSocketUpgradeClient: Sendable {
    package enum Step: Equatable, Sendable {
        case needMore
        /// The bytes from `consumed` on are frames.
        case accepted(consumed: Int)
        case refused(String)
    }

    private let key: String

    package init(entropy: some Entropy) {
        key = WebSocketKey.nonce(entropy: entropy)
    }

    /// To be written at once.
    package var request: [UInt8] {
        lines([
            "GET / HTTP/1.1", "Host: daemon.mew", "Connection: Upgrade", "Upgrade: websocket",
            "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: \(key)",
        ])
    }

    /// - Parameter bytes: everything the stream gave so far.
    package func step(_ bytes: [UInt8]) -> Step {
        switch HTTPHead.parse(bytes) {
        case .needMore: .needMore
        case .malformed(let reason): .refused(reason)
        case .head(let head, let consumed): objection(to: head).map(Step.refused) ?? .accepted(consumed: consumed)
        }
    }

    private func objection(to head: HTTPHead) -> String? {
        let parts = head.startLine.split(separator: " ", maxSplits: 2)
        guard parts.count >= 2, parts[0].hasPrefix("HTTP/1.") else { return "the answer is no HTTP/1.1 response" }
        guard parts[1] == "101" else { return "the daemon answered HTTP status \(parts[1].prefix(3)) instead of 101" }
        guard head.contains("websocket", in: "upgrade"), head.contains("upgrade", in: "connection") else {
            return "the daemon's 101 upgrades to something else"
        }
        guard head.value("sec-websocket-accept") == WebSocketKey.accept(key) else {
            return "the daemon's Sec-WebSocket-Accept does not fit our key"
        }
        guard head.value("sec-websocket-extensions") == nil, head.value("sec-websocket-protocol") == nil else {
            return "the daemon chose a WebSocket extension or subprotocol that was not offered"
        }
        return nil
    }
}

/// The client's nonce, and the proof that a server has read it.
package enum WebSocketKey {
    /// RFC 6455 §4.1: "a nonce consisting of a randomly selected 16-byte value that has been base64-encoded".
    package static func nonce(entropy: some Entropy) -> String {
        Base64.encode(entropy.bytes(16))
    }

    /// RFC 6455 §1.3: base64 of the SHA-1 of the key and a fixed text.
    package static func accept(_ key: String) -> String {
        Base64.encode(SHA1.digest(Array((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").utf8)))
    }
}

private func lines(_ lines: [String]) -> [UInt8] {
    Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8)
}
