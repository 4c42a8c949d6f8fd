package import MewBase
package import MewIdentity

/// By what number one side calls a node in the datagrams that it sends over HTTP/3. One or two bytes (RFC 9000 §16).
package struct RelayHandle: Hashable, Sendable, Comparable {
    package let number: UInt16

    /// Two bytes of a variable-length integer hold fourteen bits.
    package static let max: UInt16 = 1 << 14 - 1

    package init?(_ number: UInt64) {
        guard number <= Self.max else { return nil }
        self.number = UInt16(number)
    }

    package var byteCount: Int { number < 64 ? 1 : 2 }

    package static func < (left: RelayHandle, right: RelayHandle) -> Bool { left.number < right.number }
}

/// What a relay tells a client first (ARCHITECTURE.md, "Relay over HTTP/3").
package struct RelayWelcome: Hashable, Sendable {
    /// Bytes of a packet, without its handle, that the relay forwards; larger ones it drops.
    package var maxPacketBytes: UInt64
    /// How many handles each side may have bound at a time.
    package var handles: UInt64
    /// How long a packet may wait for its receiver, milliseconds.
    package var queueMs: UInt64
    /// Packets that may wait from one sender to one receiver.
    package var queuedPackets: UInt64
    /// What one client may send; zero: as much as it can.
    package var bytesPerSecond: UInt64
    /// Where the relay sees the client.
    package var observed: SocketAddress

    package init(
        maxPacketBytes: UInt64, handles: UInt64, queueMs: UInt64, queuedPackets: UInt64, bytesPerSecond: UInt64,
        observed: SocketAddress
    ) {
        self.maxPacketBytes = maxPacketBytes
        self.handles = handles
        self.queueMs = queueMs
        self.queuedPackets = queuedPackets
        self.bytesPerSecond = bytesPerSecond
        self.observed = observed
    }
}

/// Why a relay or a client ends the conversation.
package enum RelayCloseCode: UInt64, Sendable, CaseIterable {
    /// Nothing is wrong.
    case done = 0
    /// The relay stops, or restarts.
    case goingAway = 1
    /// The other side broke the protocol.
    case violation = 2
    /// The client may not use the relay any more.
    case denied = 3
    /// Its node has newer connections.
    case replaced = 4
    /// It has no place here.
    case crowded = 5
}

/// One capsule of a relay's request stream (RFC 9297 §3.2): type and length as variable-length integers, then what stands here.
/// All integers are such integers unless a size is named. What stands behind the last part belongs to a newer version and is ignored.
package enum RelayCapsule: Equatable, Sendable {
    /// 0, both: an HTTP datagram that did not fit into a packet: handle | packet.
    case datagram([UInt8])
    /// `base`, relay, first of all: packet size | handles | queue time | queued packets | bytes a second | 4 or 6 (1 byte) |
    /// address (4 or 16 bytes) | port (2 bytes).
    case welcome(RelayWelcome)
    /// 1: the sender's datagrams with this handle are, from a client, for the node; from a relay, of the node:
    /// handle | node ID (32).
    case bind(RelayHandle, NodeID)
    /// 2, whoever got `bind`: datagrams with this handle are understood: handle.
    case bound(RelayHandle)
    /// 3, whoever sent `bind`: it will not use the handle any more: handle.
    case release(RelayHandle)
    /// 4, both: the receiver owes a pong with the same 8 bytes, at once.
    case ping(UInt64)
    /// 5, both.
    case pong(UInt64)
    /// 6, relay, to whoever has heard from that node: it is not here any more. A hint: node ID (32).
    case gone(NodeID)
    /// 7, relay: what is wrong with the client's connection: code (1 byte, as in iroh's `status`).
    case health(RelayHealth)
    /// 8, relay: it will end the conversation in so many milliseconds, and can be had again after so many more:
    /// cut | return | a sentence (UTF-8).
    case warning(cutInMs: UInt64, returnInMs: UInt64, reason: String)
    /// 9, both, the last: code | a sentence (UTF-8).
    case close(code: UInt64, reason: String)

    /// Of type 0 of ours. Not one of those that mean nothing (0x29 · N + 0x17, RFC 9297 §5.4).
    package static let base: UInt64 = 0x16d6_5700
    /// The `:protocol` of the request.
    package static let protocolName = "mew-relay-1"
    /// The largest of ours but for datagrams: a sentence.
    package static let maxReasonBytes = 256
    /// What a packet may have, other than a relay says otherwise (DESIGN §7).
    package static let maxPacketBytes = 1_200
}

/// Why what came is no capsule. Whoever sent it does not speak the protocol: the conversation ends.
package enum RelayCapsuleError: Error, Equatable, CustomStringConvertible {
    case tooLarge(type: UInt64, Int)
    case malformed(type: UInt64)
    /// Binds handles, and does not read what is answered.
    case unread

    package var description: String {
        switch self {
        case .tooLarge(let type, let count): "a capsule of type \(type) and \(count) bytes"
        case .malformed(let type): "a malformed capsule of type \(type)"
        case .unread: "capsules whose answers it does not read"
        }
    }
}
