internal import MewIdentity
internal import MewWire

/// The one frame that is worth rewriting where it lies: datagrams from a client (spec/iroh-wire.md §4.4).
///
///     type (4, or 5 for a batch) | node ID (32) | ECN (1) | in a batch: segment size (2) | datagrams
enum DatagramFrame {
    /// How many datagrams it holds; nil when it is another frame, or none, or one without contents.
    static func packets(_ frame: UnsafeRawBufferPointer) -> Int? {
        guard frame.count > RelayFrame.datagramHeadBytes, frame.count <= RelayFrame.maxBytes + 1 else { return nil }
        switch frame[0] {
        case RelayFrameType.clientToRelayDatagram.rawValue:
            return 1
        case RelayFrameType.clientToRelayBatch.rawValue:
            let contents = frame.count - RelayFrame.datagramHeadBytes - 2
            guard contents > 0 else { return nil }
            let size = Int(frame[RelayFrame.datagramHeadBytes]) << 8 | Int(frame[RelayFrame.datagramHeadBytes + 1])
            return size == 0 ? 1 : (contents + size - 1) / size
        default:
            return nil
        }
    }

    /// Writes the frame with one datagram that its receiver gets.
    static func write(_ packet: UnsafeRawBufferPointer, of sender: NodeID, to target: UnsafeMutableRawBufferPointer) {
        target[0] = RelayFrameType.relayToClientDatagram.rawValue
        sender.copy(to: UnsafeMutableRawBufferPointer(rebasing: target[1...]))
        target[RelayFrame.datagramHeadBytes - 1] = 0
        UnsafeMutableRawBufferPointer(rebasing: target[RelayFrame.datagramHeadBytes...]).copyMemory(from: packet)
    }

    /// Makes it the frame its receiver gets.
    ///
    /// - Parameter frame: one that `packets` has counted.
    static func readdress(_ frame: UnsafeMutableRawBufferPointer, from sender: NodeID) -> NodeID? {
        let identifier = UnsafeMutableRawBufferPointer(rebasing: frame[1...])
        let receiver = NodeID(packet: UnsafeRawBufferPointer(identifier))
        frame[0] += 2
        sender.copy(to: identifier)
        return receiver
    }
}
