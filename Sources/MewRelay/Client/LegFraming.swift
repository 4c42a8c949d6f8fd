internal import MewBase
internal import MewIdentity
internal import MewLoop
internal import MewWire

/// The WebSocket of one connection to a relay. Frames that come are read where they lie, and frames that leave are written once:
/// every packet of a relayed connection passes here.
///
/// `@unchecked Sendable`: touched on the leg's loop only, by one task at a time: by the one that opens the connection, then by
/// the leg's reader, and by the stream that it reads from.
final class LegFraming: StreamInput, @unchecked Sendable {
    /// What has come and is not handed over yet.
    private var unread = PooledBytes()
    private var reader = WebSocketReader(from: .server, maxMessageBytes: LegFraming.maxMessageBytes)
    private var masks: WebSocketMaskKeys
    /// What the framing itself has to say: answers to pings, and to a close.
    private var replies: [UInt8] = []
    private(set) var hasReplies = false

    /// The largest relay frame, with its type in the longest form (RFC 9000 §16).
    private static let maxMessageBytes = RelayFrame.maxBytes + 8
    /// A read has room for this at least, behind what is unread. What one packet leads to needs less, a burst needs more and
    /// gets it.
    private static let leastRoom = 32 << 10

    enum Step: Equatable {
        /// All that is whole was delivered.
        case needMore
        /// The relay closes the WebSocket.
        case ended
        case violation
    }

    /// - Parameter rest: what came behind the answer to the upgrade.
    init(rest: [UInt8], entropy: any Entropy) {
        masks = WebSocketMaskKeys(entropy: entropy)
        append(rest)
    }

    // MARK: - Reading

    func fill(_ read: (UnsafeMutableRawBufferPointer) -> Int) {
        unread.append(atLeast: Self.leastRoom, read)
    }

    /// Hands over each message that is whole, until `deliver` says that it wants no more. Text is no message of this protocol and
    /// is passed over (spec/iroh-wire.md §4.2).
    ///
    /// - Parameter deliver: the bytes are valid within the call.
    func read(_ deliver: (UnsafeRawBufferPointer) -> Bool) -> Step {
        var step = Step.needMore
        var input = unread.bytes
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
        unread.removeFirst(unread.count - input.count)
        return step
    }

    private func reply(_ opcode: WebSocketReader.Opcode, _ payload: UnsafeMutableRawBufferPointer) {
        // A relay that pings and reads no answer gets no more of them than fit here.
        guard replies.count < 4_096 else { return }
        replies += WebSocketWriter.masked(opcode, key: masks.next(), Array(payload))
        hasReplies = true
    }

    func takeReplies() -> [UInt8] {
        defer { (replies, hasReplies) = ([], false) }
        return replies
    }

    // MARK: - Writing

    /// A frame as it goes to the socket.
    func encode(_ frame: RelayFrame) -> [UInt8] {
        WebSocketWriter.masked(.binary, key: masks.next(), frame.encoded)
    }

    /// Writes `packets` to `target`, which has their `byteCount`, as they go to the socket.
    func encode(_ packets: AddressedPackets, to target: UnsafeMutableRawBufferPointer) {
        WebSocketWriter.writeMasked(
            .binary, key: masks.next(), payloadBytes: packets.payloadBytes, to: target, packets.write)
    }
}

/// Packets for a node: one, or a batch (spec/iroh-wire.md §4.4).
struct AddressedPackets {
    /// Back to back; together with the head no more than a relay takes.
    let contents: UnsafeRawBufferPointer
    /// Of all but the last; nil for one packet.
    let segmentSize: UInt16?
    let node: NodeID

    private var headBytes: Int { RelayFrame.datagramHeadBytes + (segmentSize == nil ? 0 : 2) }
    fileprivate var payloadBytes: Int { headBytes + contents.count }
    /// In a WebSocket.
    var byteCount: Int { WebSocketWriter.maskedByteCount(payloadBytes: payloadBytes) }

    fileprivate func write(to target: UnsafeMutableRawBufferPointer) {
        let type: RelayFrameType = segmentSize == nil ? .clientToRelayDatagram : .clientToRelayBatch
        target[0] = type.rawValue
        node.copy(to: UnsafeMutableRawBufferPointer(rebasing: target[1...]))
        // ECN of relayed packets is none (spec/iroh-wire.md §8, 16).
        target[RelayFrame.datagramHeadBytes - 1] = 0
        if let segmentSize {
            target.storeBytes(of: segmentSize.bigEndian, toByteOffset: headBytes - 2, as: UInt16.self)
        }
        UnsafeMutableRawBufferPointer(rebasing: target[headBytes...]).copyMemory(from: contents)
    }
}

/// The one kind of frame that is worth reading where it lies: datagrams of a node (spec/iroh-wire.md §4.4).
///
///     type (6, or 7 for a batch) | node ID (32) | ECN (1) | in a batch: segment size (2) | datagrams
struct DeliveredPackets {
    let sender: NodeID
    /// Of all packets but the last, which may be shorter; at least one.
    let segmentSize: Int
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
        contents = UnsafeRawBufferPointer(rebasing: frame[head...])
        let size = isBatch ? Int(frame[head - 2]) << 8 | Int(frame[head - 1]) : 0
        // Size zero: the contents are one packet.
        segmentSize = size == 0 ? contents.count : min(size, contents.count)
    }
}
