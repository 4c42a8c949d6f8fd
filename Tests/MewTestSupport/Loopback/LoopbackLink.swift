package import MewBase
package import MewIdentity
package import MewWire

/// One end of a link inside this process, with the manners of a QUIC link: bounded buffers, channels that are invisible
/// until their first message, close codes that each side sees from its own side.
package final class LoopbackLink: IncomingLink {
    package let peer: NodeID
    package let applicationProtocol: ApplicationProtocol
    private let side: Side
    private let shared: LoopbackConnection

    enum Side { case dialler, listener }

    init(side: Side, shared: LoopbackConnection) {
        self.side = side
        self.shared = shared
        peer = side == .dialler ? shared.listener : shared.dialler
        applicationProtocol = shared.applicationProtocol
    }

    /// Both ends of a new link.
    ///
    /// - Parameter address: of the dialler.
    /// - Parameter capacityBytes: how much a direction of a channel holds before a sender waits.
    package static func pair(
        dialler: NodeID, listener: NodeID, at address: SocketAddress = .loopback(port: 1),
        applicationProtocol: ApplicationProtocol = .native, capacityBytes: Int = 256 << 10
    ) -> (dialler: LoopbackLink, listener: LoopbackLink) {
        let shared = LoopbackConnection(
            dialler: dialler, listener: listener, address: address, applicationProtocol: applicationProtocol,
            capacityBytes: capacityBytes)
        return (LoopbackLink(side: .dialler, shared: shared), LoopbackLink(side: .listener, shared: shared))
    }

    package func openChannel() async throws(ChannelError) -> any MessageChannel {
        precondition(side == .dialler, "only the dialler opens channels")
        return try shared.openChannel()
    }

    package func acceptChannel() async -> (any MessageChannel)? {
        precondition(side == .listener, "only the listener accepts channels")
        return await shared.acceptChannel()
    }

    package func export(label: String, byteCount: Int) async throws(ChannelError) -> [UInt8] {
        HMACSHA256.derive(from: shared.secret, salt: [], info: Array(label.utf8), byteCount: byteCount)
    }

    package func close(code: CloseCode, reason: String) async {
        shared.end(by: side, .local(code), peerSees: .peer(code, reason: reason))
    }

    package func closed() async -> LinkClosure? {
        await shared.closed(side)
    }

    package func status() async -> LinkStatus {
        LinkStatus(path: .direct(shared.address), roundTrip: .microseconds(1), since: .zero, lastProof: .zero)
    }

    package func authorize(charging budget: ByteBudget) async {
        shared.authorize()
    }

    package func recognize() async {}

    package func keepWaiting() async {
        shared.keepWaiting()
    }

    /// True once the listening side has said that a person decides.
    package var mayWait: Bool { shared.mayWait }

    /// True once the listening side has authorized the peer.
    package var isAuthorized: Bool { shared.isAuthorized }

    /// Cuts the link as a broken network would: both ends learn the same.
    package func fail(_ closure: LinkClosure) {
        shared.end(by: side, closure, peerSees: closure)
    }
}
