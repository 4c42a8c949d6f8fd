internal import MewQUIC

/// A leg as an endpoint sees it: moves packets to and from the nodes behind one relay.
package final class RelayCarrier: DatagramCarrier {
    private let leg: RelayLeg

    package init(_ leg: RelayLeg) {
        self.leg = leg
    }

    package var onReceive: ((UnsafeRawBufferPointer, Int, UInt64) -> Void)? { didSet { update() } }

    package var onReturn: (() -> Void)? { didSet { update() } }

    package var onRoom: (() -> Void)? { didSet { update() } }

    package var onAbsent: ((UInt64) -> Void)? { didSet { update() } }

    private func update() {
        let receiver = LegReceiver(deliver: onReceive, returned: onReturn, room: onRoom, absent: onAbsent)
        leg.assumeIsolated { $0.receiver = receiver }
    }

    package func hasRoom(for peer: UInt64) -> Bool {
        leg.assumeIsolated { $0.hasRoom(for: peer) }
    }

    package func send(_ packet: UnsafeRawBufferPointer, to peer: UInt64) {
        send(packet, segmentSize: packet.count, to: peer)
    }

    package func send(_ packets: UnsafeRawBufferPointer, segmentSize: Int, to peer: UInt64) {
        let packets = LegPackets(bytes: packets, segmentSize: segmentSize)
        leg.assumeIsolated { $0.enqueue(packets, to: peer) }
    }
}

/// Where a leg's packets go, and who hears that it works again, takes something again, or that a peer is not there.
///
/// `@unchecked Sendable`: set and called on the leg's loop only, which is the endpoint's as well; the compiler cannot know that
/// two actors share an executor.
struct LegReceiver: @unchecked Sendable {
    let deliver: ((UnsafeRawBufferPointer, Int, UInt64) -> Void)?
    let returned: (() -> Void)?
    let room: (() -> Void)?
    let absent: ((UInt64) -> Void)?
}

/// Packets of one size back to back, the last one may be shorter; valid within the call they are passed in.
///
/// `@unchecked Sendable`: as `LegReceiver`.
struct LegPackets: @unchecked Sendable {
    let bytes: UnsafeRawBufferPointer
    let segmentSize: Int
}
