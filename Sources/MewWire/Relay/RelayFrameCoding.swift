// The bytes of relay frames. Lengths come from the WebSocket message alone, so nothing is reserved for what a peer declares.

internal import MewBase
internal import MewIdentity

extension RelayFrame {
    /// Reads the frame that one binary WebSocket message holds.
    package static func decode(_ message: [UInt8]) throws(RelayFrameError) -> RelayFrame {
        guard let first = message.first else { throw .empty }
        var payload = message[...].dropFirst()
        guard let number = varint(first, &payload) else { throw .empty }
        guard payload.count <= maxBytes else { throw .tooLarge(payload.count) }
        guard let type = UInt8(exactly: number).flatMap(RelayFrameType.init) else { throw .unknownType(number) }
        guard let frame = decode(type, payload) else { throw .malformed(type) }
        return frame
    }

    /// RFC 9000 §16; a longer form than needed is no offence there.
    private static func varint(_ first: UInt8, _ rest: inout ArraySlice<UInt8>) -> UInt64? {
        let count = 1 << Int(first >> 6) - 1
        guard rest.count >= count else { return nil }
        defer { rest = rest.dropFirst(count) }
        return rest.prefix(count).reduce(UInt64(first & 0x3f)) { $0 << 8 | UInt64($1) }
    }

    private static func decode(_ type: RelayFrameType, _ payload: ArraySlice<UInt8>) -> RelayFrame? {
        switch type {
        case .serverChallenge: RelayChallenge(bytes: payload).map(RelayFrame.serverChallenge)
        case .clientAuth: RelayClientAuth(encoded: payload).map(RelayFrame.clientAuth)
        case .serverConfirmsAuth: payload.isEmpty ? .serverConfirmsAuth : nil
        case .serverDeniesAuth: prefixedText(payload).map(RelayFrame.serverDeniesAuth)
        case .clientToRelayDatagram: datagrams(payload, isBatch: false).map(RelayFrame.clientToRelay)
        case .clientToRelayBatch: datagrams(payload, isBatch: true).map(RelayFrame.clientToRelay)
        case .relayToClientDatagram: datagrams(payload, isBatch: false).map(RelayFrame.relayToClient)
        case .relayToClientBatch: datagrams(payload, isBatch: true).map(RelayFrame.relayToClient)
        case .endpointGone: NodeID(bytes: payload).map(RelayFrame.endpointGone)
        case .ping: payload.count == 8 ? .ping(integer(payload)) : nil
        case .pong: payload.count == 8 ? .pong(integer(payload)) : nil
        case .health: String(validating: payload, as: UTF8.self).map(RelayFrame.health)
        case .restarting: payload.count == 8 ? restarting(integer(payload)) : nil
        case .status: payload.count == 1 ? payload.first.map { .status(RelayHealth(code: $0)) } : nil
        }
    }

    private static func restarting(_ both: UInt64) -> RelayFrame {
        .restarting(reconnectInMs: UInt32(both >> 32), tryForMs: UInt32(truncatingIfNeeded: both))
    }

    private static func integer(_ bytes: ArraySlice<UInt8>) -> UInt64 {
        bytes.reduce(0) { $0 << 8 | UInt64($1) }
    }

    /// node ID (32) | ECN (1) | in a batch: segment size (2, big endian) | datagrams
    private static func datagrams(_ payload: ArraySlice<UInt8>, isBatch: Bool) -> RelayDatagrams? {
        let head = NodeID.byteCount + 1 + (isBatch ? 2 : 0)
        guard payload.count >= head, let peer = payload.withUnsafeBytes({ NodeID(packet: $0) }) else { return nil }
        let ecn = payload[payload.startIndex + NodeID.byteCount]
        let size =
            isBatch ? UInt16(integer(payload[(payload.startIndex + head - 2)..<(payload.startIndex + head)])) : nil
        return RelayDatagrams(peer: peer, ecn: ecn, segmentSize: size, contents: payload.dropFirst(head))
    }

    /// postcard: length as LEB128 | UTF-8. What follows belongs to a newer version.
    private static func prefixedText(_ payload: ArraySlice<UInt8>) -> String? {
        var length = 0
        var rest = payload
        // Three groups of seven bits are more than a frame holds.
        for shift in [0, 7, 14] {
            guard let byte = rest.popFirst() else { return nil }
            length |= Int(byte & 0x7f) << shift
            guard byte & 0x80 == 0 else { continue }
            guard rest.count >= length else { return nil }
            return String(validating: rest.prefix(length), as: UTF8.self)
        }
        return nil
    }

    // MARK: Encoding

    /// The frame as it goes into one binary WebSocket message.
    package var encoded: [UInt8] {
        switch self {
        case .serverChallenge(let challenge): Self.bytes(.serverChallenge, challenge.bytes)
        case .clientAuth(let auth): Self.bytes(.clientAuth, auth.encoded)
        case .serverConfirmsAuth: Self.bytes(.serverConfirmsAuth, [])
        case .serverDeniesAuth(let reason): Self.bytes(.serverDeniesAuth, Self.prefixed(reason))
        case .clientToRelay(let datagrams):
            Self.bytes(datagrams.segmentSize == nil ? .clientToRelayDatagram : .clientToRelayBatch, datagrams)
        case .relayToClient(let datagrams):
            Self.bytes(datagrams.segmentSize == nil ? .relayToClientDatagram : .relayToClientBatch, datagrams)
        case .endpointGone(let node): Self.bytes(.endpointGone, node.bytes)
        case .ping(let value): Self.bytes(.ping, value.bigEndianBytes)
        case .pong(let value): Self.bytes(.pong, value.bigEndianBytes)
        case .health(let problem): Self.bytes(.health, Array(problem.utf8))
        case .restarting(let reconnectInMs, let tryForMs):
            Self.bytes(.restarting, reconnectInMs.bigEndianBytes + tryForMs.bigEndianBytes)
        case .status(let health): Self.bytes(.status, [health.code])
        }
    }

    private static func bytes(_ type: RelayFrameType, _ payload: [UInt8]) -> [UInt8] {
        [type.rawValue] + payload
    }

    private static func bytes(_ type: RelayFrameType, _ datagrams: RelayDatagrams) -> [UInt8] {
        let head = datagramHeadBytes + (datagrams.segmentSize == nil ? 0 : 2)
        return [UInt8](unsafeUninitializedCapacity: head + datagrams.contents.count) { buffer, initialized in
            buffer[0] = type.rawValue
            datagrams.peer.copy(
                to: UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(buffer)[1...]))
            buffer[1 + NodeID.byteCount] = datagrams.ecn
            if let size = datagrams.segmentSize {
                buffer[head - 2] = UInt8(size >> 8)
                buffer[head - 1] = UInt8(truncatingIfNeeded: size)
            }
            _ = UnsafeMutableBufferPointer(rebasing: buffer[head...]).update(fromContentsOf: datagrams.contents)
            initialized = head + datagrams.contents.count
        }
    }

    private static func prefixed(_ text: String) -> [UInt8] {
        // One length byte is enough for a sentence; the rest of a longer one is cut between characters.
        var text = text
        while text.utf8.count > 127 { text.removeLast() }
        return [UInt8(text.utf8.count)] + text.utf8
    }
}
