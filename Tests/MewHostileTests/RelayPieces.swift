import MewBase
import MewIdentity
import MewRelay
import MewWire

/// What the inputs of the relay's hostile runs are made of: keys, frames and requests as a good peer would write them.
enum RelayPieces {
    static let attackerKey = SecretKey(seed: Array(repeating: 0x61, count: 32))!
    static let witnessKey = SecretKey(seed: Array(repeating: 0x77, count: 32))!

    /// Always the same bytes: so a challenge, and the key of a WebSocket, are known before they are drawn.
    struct ConstantEntropy: Entropy {
        static let byte: UInt8 = 7

        func fill(_ buffer: UnsafeMutableRawBufferPointer) {
            for index in buffer.indices { buffer[index] = Self.byte }
        }
    }

    static var challenge: RelayChallenge { RelayChallenge(entropy: ConstantEntropy()) }

    static let upgrade = HTTPRequest(
        "GET", "/relay",
        [
            "Host": "relay.test", "Upgrade": "websocket", "Connection": "Upgrade",
            "Sec-WebSocket-Key": "iTRqp7qQPDwXDa+GsATcXA==", "Sec-WebSocket-Version": "13",
            "Sec-WebSocket-Protocol": "iroh-relay-v2, iroh-relay-v1",
        ]
    ).encoded

    /// The answer to the challenge of somebody who comes for the witness's node.
    static var guestAuth: RelayClientAuth {
        var auth = RelayClientAuth(answering: challenge, secret: attackerKey)
        auth.nodeProof = RelayNodeProof(
            witnessKey, as: attackerKey.node, answering: challenge, binding: .plain)
        return auth
    }

    /// One WebSocket frame: with a mask as a client writes it, without as a relay does.
    static func webSocket(_ first: UInt8, _ payload: [UInt8], mask: [UInt8]? = [9, 8, 7, 6]) -> [UInt8] {
        let length: [UInt8] =
            payload.count < 126
            ? [UInt8(payload.count)] : [126, UInt8(payload.count >> 8), UInt8(payload.count & 255)]
        let body = mask.map { key in payload.enumerated().map { $1 ^ key[$0 % 4] } } ?? payload
        return [first, length[0] | (mask == nil ? 0 : 0x80)] + length.dropFirst() + (mask ?? []) + body
    }

    static func sent(_ frame: RelayFrame) -> [UInt8] { webSocket(0x82, frame.encoded) }

    /// What an admitted client sends.
    static func clientFrames(to node: NodeID) -> [[UInt8]] {
        let packet = [UInt8](repeating: 0x2a, count: 40)
        let batch = RelayDatagrams(peer: node, segmentSize: 40, contents: (packet + packet + [1, 2])[...])
        let single = RelayDatagrams(peer: node, contents: packet[...])
        let lost = RelayDatagrams(peer: attackerKey.node, ecn: 2, contents: packet[...])
        let long = [0x40, 4] + RelayFrame.clientToRelay(single).encoded.dropFirst()
        let whole = RelayFrame.clientToRelay(single).encoded
        return [
            sent(.clientToRelay(single)), sent(.clientToRelay(batch)), sent(.clientToRelay(lost)), sent(.ping(1)),
            sent(.pong(0x0707_0707_0707_0707)), webSocket(0x82, Array(long)), webSocket(0x89, [1, 2]),
            webSocket(0x8a, []),
            webSocket(0x81, Array("text".utf8)), webSocket(0x88, [0x03, 0xe8]), sent(.serverConfirmsAuth),
            webSocket(0x02, Array(whole[..<20])) + webSocket(0x80, Array(whole[20...])),
        ]
    }

    /// Every frame a relay has.
    static func relayFrames(from node: NodeID) -> [RelayFrame] {
        let packet = [UInt8](repeating: 0x2a, count: 40)
        return [
            .serverChallenge(challenge), .serverConfirmsAuth, .serverDeniesAuth(reason: "not authorized"),
            .relayToClient(RelayDatagrams(peer: node, contents: packet[...])),
            .relayToClient(RelayDatagrams(peer: node, segmentSize: 40, contents: (packet + packet + [1])[...])),
            .endpointGone(node), .ping(1), .pong(0x0707_0707_0707_0707), .health("é is too fast"),
            .restarting(reconnectInMs: 10, tryForMs: 1_000), .status(.healthy), .status(.sameNodeConnectedElsewhere),
            .status(.unknown(9)),
        ]
    }

    static func record(timestamp: UInt64 = 1_700_000_000_000_000) -> SignedRecord {
        let relay = try? RelayURL("https://relay.example.com./")
        let address = SocketAddress("192.0.2.1:4433")
        return SignedRecord(
            AddressRecord(relays: relay.map { [$0] } ?? [], addresses: address.map { [$0] } ?? []),
            timestamp: timestamp, secret: attackerKey)
    }

    /// What else a relay is asked for.
    static var requests: [[UInt8]] {
        let body = record().body
        let put = HTTPRequest(
            "PUT", "/pkarr/\(attackerKey.node.z32)", ["Host": "relay.test", "Content-Length": "\(body.count)"])
        return [
            put.encoded + body, HTTPRequest("GET", "/pkarr/\(attackerKey.node.z32)", ["Host": "a"]).encoded,
            HTTPRequest("GET", "/generate_204", ["Host": "a", "X-Iroh-Challenge": "abc-1"]).encoded,
            HTTPRequest("GET", "/metrics?x=%41%zz", ["Host": "a"]).encoded,
            HTTPRequest("GET", "/ping", ["Host": "a"]).encoded,
            HTTPRequest("GET", "/ping").encoded,
        ]
    }
}
