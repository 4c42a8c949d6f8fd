package import MewBase

/// Moves packets by other means than our UDP sockets: the seam of the relay client (DESIGN §3, `MewQUIC`).
///
/// Everything here is touched on the endpoint's loop only. A carrier may drop and reorder, never change, what it is given.
package protocol DatagramCarrier: AnyObject {
    /// Called with packets that came through the carrier: back to back, their size (the last may be shorter; at least one
    /// byte), and the number that names their sender here. The bytes are valid only within the call.
    var onReceive: ((UnsafeRawBufferPointer, Int, UInt64) -> Void)? { get set }

    /// Called when the carrier works again after it did not: what was sent meanwhile is lost.
    var onReturn: (() -> Void)? { get set }

    /// Called when there may be room again after `hasRoom` said that there was none.
    var onRoom: (() -> Void)? { get set }

    /// Called with the number of a peer that the carrier says is not there just now. A hint, and repeated while we send to it.
    var onAbsent: ((UInt64) -> Void)? { get set }

    /// False while a burst of packets to `peer` would be dropped: who sends data waits for `onRoom`, and finds out itself
    /// when it does not come.
    func hasRoom(for peer: UInt64) -> Bool

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
