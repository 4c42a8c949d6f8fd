package import MewBase

/// Moves packets by other means than our UDP sockets: the seam of the relay client (DESIGN §3, `MewQUIC`).
///
/// Everything here is touched on the endpoint's loop only. A carrier may drop and reorder, never change, what it is given.
package protocol DatagramCarrier: AnyObject {
    /// Called for each packet that came through the carrier, with the number that names its sender here. The bytes are
    /// valid only within the call.
    var onReceive: ((UnsafeRawBufferPointer, UInt64) -> Void)? { get set }

    /// Called when the carrier works again after it did not: what was sent meanwhile is lost.
    var onReturn: (() -> Void)? { get set }

    /// Sends one packet to `peer`, or drops it: larger than the carrier takes, no room, no such peer.
    func send(_ packet: UnsafeRawBufferPointer, to peer: UInt64)

    /// Sends packets of `segmentSize` bytes back to back, the last of which may be shorter; each may be dropped.
    func send(_ packets: UnsafeRawBufferPointer, segmentSize: Int, to peer: UInt64)
}

extension DatagramCarrier {
    package func send(_ packets: UnsafeRawBufferPointer, segmentSize: Int, to peer: UInt64) {
        for start in stride(from: 0, to: packets.count, by: max(1, segmentSize)) {
            let end = min(start + segmentSize, packets.count)
            send(UnsafeRawBufferPointer(rebasing: packets[start..<end]), to: peer)
        }
    }
}

/// Names a carrier within one endpoint. Numbers are never reused.
package struct CarrierID: Hashable, Sendable {
    let number: UInt32
}

/// A way to the peer.
package enum Route: Hashable, Sendable {
    /// Over our UDP socket.
    case direct(SocketAddress)
    /// Through a carrier, to a sender it has named.
    case carried(CarrierID, peer: UInt64)
}
