// The frames of the iroh relay protocol (spec/iroh-wire.md §4.3 and §4.4). Each is one binary WebSocket message:
//
//     type (QUIC varint; all known ones have one byte) | payload

package import MewIdentity

/// One frame of the relay protocol.
package enum RelayFrame: Equatable, Sendable {
    /// 0, relay: the first frame, unless the keying material of TLS was proof enough.
    case serverChallenge(RelayChallenge)
    /// 1, client: the answer to a challenge.
    case clientAuth(RelayClientAuth)
    /// 2, relay: the client is in.
    case serverConfirmsAuth
    /// 3, relay: the client is not; the connection ends.
    case serverDeniesAuth(reason: String)
    /// 4 and 5, client: datagrams for `peer`.
    case clientToRelay(RelayDatagrams)
    /// 6 and 7, relay: datagrams of `peer`.
    case relayToClient(RelayDatagrams)
    /// 8, relay, to whoever has heard from that node, or (ours only) sends to it: it is not here. A hint.
    case endpointGone(NodeID)
    /// 9, both: the receiver owes a pong with the same bytes, at once.
    case ping(UInt64)
    /// 10, both.
    case pong(UInt64)
    /// 11, relay, protocol 1 only: something is wrong, in words.
    case health(String)
    /// 12, relay: it goes away; come back after `reconnectInMs`, and try for `tryForMs`. Milliseconds.
    case restarting(reconnectInMs: UInt32, tryForMs: UInt32)
    /// 13, relay, protocol 2 only.
    case status(RelayHealth)

    /// What a peer is allowed behind the type, and what a whole frame of ours may have.
    package static let maxBytes = 65_536
    /// Type, node ID, ECN: what stands before the datagram of a single one.
    package static let datagramHeadBytes = 1 + NodeID.byteCount + 1
    /// The largest datagram that fits into a single frame.
    package static let maxDatagramBytes = maxBytes - datagramHeadBytes
}

/// What a relay says about a client's connection (protocol 2).
package enum RelayHealth: Equatable, Sendable {
    case healthy
    /// The same node ID is connected once more, and that connection gets the packets.
    case sameNodeConnectedElsewhere
    /// The client sends more than it may: the relay reads slowly.
    case rateLimited
    /// From a newer relay.
    case unknown(UInt8)

    package init(code: UInt8) {
        switch code {
        case 0: self = .healthy
        case 1: self = .sameNodeConnectedElsewhere
        case 2: self = .rateLimited
        default: self = .unknown(code)
        }
    }

    package var code: UInt8 {
        switch self {
        case .healthy: 0
        case .sameNodeConnectedElsewhere: 1
        case .rateLimited: 2
        case .unknown(let code): code
        }
    }
}

/// One datagram, or several of one size, with the node they go to or come from.
package struct RelayDatagrams: Equatable, Sendable {
    package let peer: NodeID
    /// The two ECN bits of IP. Ours is 0 (spec/iroh-wire.md §4.4).
    package let ecn: UInt8
    /// Set in a batch: each datagram but the last has so many bytes. Zero means one datagram.
    package let segmentSize: UInt16?
    package let contents: ArraySlice<UInt8>

    package init(peer: NodeID, ecn: UInt8 = 0, segmentSize: UInt16? = nil, contents: ArraySlice<UInt8>) {
        self.peer = peer
        self.ecn = ecn
        self.segmentSize = segmentSize
        self.contents = contents
    }
}

/// Why a frame is none. Whoever sent it does not speak the protocol: the connection ends (spec/iroh-wire.md §4.4).
package enum RelayFrameError: Error, Equatable, CustomStringConvertible {
    case unknownType(UInt64)
    case malformed(RelayFrameType)
    case empty
    case tooLarge(Int)

    package var description: String {
        switch self {
        case .unknownType(let type): "a relay frame of unknown type \(type)"
        case .malformed(let type): "a malformed relay frame of type \(type.rawValue)"
        case .empty: "an empty relay frame"
        case .tooLarge(let count): "a relay frame of \(count) bytes"
        }
    }
}

/// The number before a frame's payload.
package enum RelayFrameType: UInt8, Sendable, CaseIterable {
    case serverChallenge = 0
    case clientAuth = 1
    case serverConfirmsAuth = 2
    case serverDeniesAuth = 3
    case clientToRelayDatagram = 4
    case clientToRelayBatch = 5
    case relayToClientDatagram = 6
    case relayToClientBatch = 7
    case endpointGone = 8
    case ping = 9
    case pong = 10
    case health = 11
    case restarting = 12
    case status = 13
}

/// Which of the two versions of the protocol both sides agreed on: the subprotocol of the WebSocket.
package enum RelayVersion: String, Sendable, CaseIterable {
    /// Tells problems in words (`health`), knows no `status`.
    case v1 = "iroh-relay-v1"
    /// Tells them as `status`, knows no `health`.
    case v2 = "iroh-relay-v2"

    /// Best first, as they are offered.
    package static let preferred: [RelayVersion] = [.v2, .v1]
}
