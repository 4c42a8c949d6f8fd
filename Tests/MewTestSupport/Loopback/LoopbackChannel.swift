package import MewWire
import Synchronization

/// One end of a channel between two ends of a `LoopbackLink`.
package final class LoopbackChannel: MessageChannel {
    private let incoming: LoopbackPipe
    private let outgoing: LoopbackPipe
    /// Run before the first message leaves: a QUIC stream is invisible to the peer until bytes flow.
    private let announce: Mutex<(@Sendable () -> Void)?>

    init(incoming: LoopbackPipe, outgoing: LoopbackPipe, announce: (@Sendable () -> Void)? = nil) {
        self.incoming = incoming
        self.outgoing = outgoing
        self.announce = Mutex(announce)
    }

    package func receive() async throws(ChannelError) -> [UInt8]? {
        try await incoming.receive()
    }

    package func send(_ message: [UInt8]) async throws(ChannelError) {
        announceOnce()
        try await outgoing.send(message)
    }

    package func finish() async {
        announceOnce()
        outgoing.finish()
    }

    package func reset(code: UInt64) async {
        announceOnce()
        incoming.fail(reader: .cancelled, writer: .reset(code: code), keepQueued: false)
        outgoing.fail(reader: .reset(code: code), writer: .cancelled, keepQueued: false)
    }

    /// Bytes sent here that the peer has not read yet.
    package var unreadBytes: Int { outgoing.queuedBytes }

    func announceOnce() {
        announce.withLock { announce in
            defer { announce = nil }
            return announce
        }?()
    }

    /// The link is gone. What the peer of the closing side has been sent before may still be read, as with QUIC when no
    /// packet was lost.
    func linkClosed(_ closure: LinkClosure, peerSees peerClosure: LinkClosure) {
        let ours = ChannelError.linkClosed(closure)
        let theirs = ChannelError.linkClosed(peerClosure)
        incoming.fail(reader: ours, writer: theirs, keepQueued: false)
        outgoing.fail(reader: theirs, writer: ours, keepQueued: true)
    }
}
