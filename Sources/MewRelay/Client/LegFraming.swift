internal import MewBase
internal import MewIdentity
internal import MewWire

/// The WebSocket of one connection to a relay. Frames that come are read where they lie, and frames that leave are written once:
/// every packet of a relayed connection passes here.
///
/// Touched by one task at a time: by the one that opens the connection, then in the leg's isolation.
final class LegFraming {
    /// What has no end yet stays here.
    private var unread: [UInt8]
    private var reader = WebSocketReader(from: .server, maxMessageBytes: LegFraming.maxMessageBytes)
    private var masks: WebSocketMaskKeys
    /// What the framing itself has to say: answers to pings, and to a close.
    private var replies: [UInt8] = []
    private(set) var hasReplies = false

    /// The largest relay frame, with its type in the longest form (RFC 9000 §16).
    private static let maxMessageBytes = RelayFrame.maxBytes + 8

    enum Step: Equatable {
        /// All that is whole was delivered.
        case needMore
        /// The relay closes the WebSocket.
        case ended
        case violation
    }

    /// - Parameter rest: what came behind the answer to the upgrade.
    init(rest: [UInt8], entropy: any Entropy) {
        unread = rest
        masks = WebSocketMaskKeys(entropy: entropy)
    }

    // MARK: - Reading

    func receive(_ block: [UInt8]) {
        if unread.isEmpty { unread = block } else { unread += block }
    }

    /// Hands over each message that is whole, until `deliver` says that it wants no more. Text is no message of this protocol and
    /// is passed over (spec/iroh-wire.md §4.2).
    ///
    /// - Parameter deliver: the bytes are valid within the call.
    func read(_ deliver: (UnsafeRawBufferPointer) -> Bool) -> Step {
        var bytes: [UInt8] = []
        swap(&bytes, &unread)
        var step = Step.needMore
        let left = bytes.withUnsafeMutableBytes { memory in
            var input = memory
            do throws(WebSocketReader.Violation) {
                try reader.read(&input) { opcode, payload in
                    switch opcode {
                    case .binary: return deliver(UnsafeRawBufferPointer(payload))
                    case .ping: reply(.pong, payload)
                    case .close:
                        reply(.close, payload)
                        step = .ended
                        return false
                    case .text, .pong, .continuation: break
                    }
                    return true
                }
            } catch {
                step = .violation
            }
            return input.count
        }
        if left == bytes.count { unread = bytes } else { unread = Array(bytes.suffix(left)) }
        return step
    }

    private func reply(_ opcode: WebSocketReader.Opcode, _ payload: UnsafeMutableRawBufferPointer) {
        // A relay that pings and reads no answer gets no more of them than fit here.
        guard replies.count < 4_096 else { return }
        replies += frame(opcode, Array(payload))
        hasReplies = true
    }

    func takeReplies() -> [UInt8] {
        defer { (replies, hasReplies) = ([], false) }
        return replies
    }

    // MARK: - Writing

    /// A frame as it goes to the socket.
    func encode(_ frame: RelayFrame) -> [UInt8] {
        self.frame(.binary, frame.encoded)
    }

    private func frame(_ opcode: WebSocketReader.Opcode, _ payload: [UInt8]) -> [UInt8] {
        WebSocketWriter.masked(opcode, key: masks.next(), payloadBytes: payload.count) { $0.copyBytes(from: payload) }
    }

    /// Packets for `node`, as they go to the socket: one, or a batch (spec/iroh-wire.md §4.4).
    ///
    /// - Parameters:
    ///   - packets: back to back; together with the head no more than a relay takes.
    ///   - segmentSize: of all but the last; nil for one packet.
    func encode(_ packets: UnsafeRawBufferPointer, segmentSize: UInt16?, to node: NodeID) -> [UInt8] {
        let headBytes = RelayFrame.datagramHeadBytes + (segmentSize == nil ? 0 : 2)
        let key = masks.next()
        return WebSocketWriter.masked(.binary, key: key, payloadBytes: headBytes + packets.count) { target in
            let type: RelayFrameType = segmentSize == nil ? .clientToRelayDatagram : .clientToRelayBatch
            target[0] = type.rawValue
            node.copy(to: UnsafeMutableRawBufferPointer(rebasing: target[1...]))
            // ECN of relayed packets is none (spec/iroh-wire.md §8, 16).
            target[headBytes - (segmentSize == nil ? 1 : 3)] = 0
            if let segmentSize {
                target.storeBytes(of: segmentSize.bigEndian, toByteOffset: headBytes - 2, as: UInt16.self)
            }
            UnsafeMutableRawBufferPointer(rebasing: target[headBytes...]).copyMemory(from: packets)
        }
    }
}

/// The one kind of frame that is worth reading where it lies: datagrams of a node (spec/iroh-wire.md §4.4).
///
///     type (6, or 7 for a batch) | node ID (32) | ECN (1) | in a batch: segment size (2) | datagrams
struct DeliveredPackets {
    let sender: NodeID
    /// Nil, or zero: the contents are one packet.
    let segmentSize: Int?
    let contents: UnsafeRawBufferPointer

    /// Nil for every other frame, and for one in another form than the shortest.
    init?(_ frame: UnsafeRawBufferPointer) {
        guard frame.count > RelayFrame.datagramHeadBytes, frame.count <= RelayFrame.maxBytes + 1 else { return nil }
        let isBatch = frame[0] == RelayFrameType.relayToClientBatch.rawValue
        guard isBatch || frame[0] == RelayFrameType.relayToClientDatagram.rawValue,
            let sender = NodeID(packet: UnsafeRawBufferPointer(rebasing: frame[1...]))
        else { return nil }
        let head = RelayFrame.datagramHeadBytes + (isBatch ? 2 : 0)
        guard frame.count > head else { return nil }
        self.sender = sender
        segmentSize = isBatch ? Int(frame[head - 2]) << 8 | Int(frame[head - 1]) : nil
        contents = UnsafeRawBufferPointer(rebasing: frame[head...])
    }

    func forEach(_ body: (UnsafeRawBufferPointer) -> Void) {
        let size = segmentSize ?? 0
        guard size > 0 else { return body(contents) }
        for start in stride(from: 0, to: contents.count, by: size) {
            body(UnsafeRawBufferPointer(rebasing: contents[start..<min(start + size, contents.count)]))
        }
    }
}
