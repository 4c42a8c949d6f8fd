package import MewBase

/// Makes UDP sockets. The kernel's in production, the simulated network's in tests.
package protocol DatagramNetwork: Sendable {
    /// Binds one socket whose events are delivered on `loop`. On the loop's thread only.
    ///
    /// A wildcard address binds all addresses of its family; port 0 takes a free port.
    func bind(_ address: SocketAddress, on loop: any Loop) throws(SocketError) -> any DatagramSocket
}

/// One UDP socket of one loop. Everything here is touched on the loop's thread only.
///
/// Sending is two-phase so that packets are built in place: `reserve` room, write packets of one path back to back,
/// `commit` them. Nothing leaves before `flush`, which the owner calls at the end of a turn.
package protocol DatagramSocket: AnyObject {
    /// Where it is bound, with the port that was taken.
    var localAddress: SocketAddress { get }

    /// Called for each received batch during a turn. The bytes are valid only within the call.
    var onReceive: ((ReceivedDatagrams) -> Void)? { get set }

    /// Called when the kernel reports an ICMP error for a destination. A hint, never proof: anyone can forge one.
    var onUnreachable: ((SocketAddress) -> Void)? { get set }

    /// Writable memory for at least `byteCount` bytes (at most 65,535), valid until the next call of any method here.
    func reserve(_ byteCount: Int) -> UnsafeMutableRawBufferPointer

    /// Queues the first `byteCount` bytes of the reserved memory: packets of exactly `segmentSize` bytes, the last one
    /// may be shorter. At most 64 packets.
    ///
    /// - Parameter source: the local address to leave from (its port is ignored); nil lets the kernel choose.
    func commit(_ byteCount: Int, segmentSize: Int, to: SocketAddress, from source: SocketAddress?, ecn: UInt8)

    /// Hands everything queued to the kernel. What the kernel has no room for waits, within a bound, or is dropped: QUIC
    /// recovers.
    func flush()

    /// Idempotent. No callback comes afterwards.
    func close()
}

/// Packets that came together from one sender: several when the kernel coalesced them (UDP_GRO).
package struct ReceivedDatagrams {
    /// Packets of `segmentSize` bytes back to back; the last one may be shorter.
    package let bytes: UnsafeRawBufferPointer
    package let segmentSize: Int
    package let from: SocketAddress
    /// The local address they were sent to, with the socket's port.
    package let to: SocketAddress
    /// The two ECN bits of the IP header.
    package let ecn: UInt8

    package init(bytes: UnsafeRawBufferPointer, segmentSize: Int, from: SocketAddress, to: SocketAddress, ecn: UInt8) {
        self.bytes = bytes
        self.segmentSize = segmentSize
        self.from = from
        self.to = to
        self.ecn = ecn
    }
}

/// Why a socket could not be had.
package enum SocketError: Error, Equatable {
    /// Another process has the port.
    case addressInUse(SocketAddress)
    /// No interface has the address.
    case addressNotAvailable(SocketAddress)
    /// Ports below 1024 need privileges.
    case permissionDenied(SocketAddress)
    /// The kernel has no support for the family (IPv6 switched off).
    case familyNotSupported
    case system(errno: Int32, doing: String)
}
