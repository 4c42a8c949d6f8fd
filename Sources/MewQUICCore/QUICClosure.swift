package import MewIdentity

/// How a connection ended. Exactly one per connection, and the first cause wins.
package enum QUICClosure: Error, Hashable, Sendable {
    /// We closed it with an application code.
    case local(code: UInt64, reason: String)
    /// The peer's application closed it with this code and sentence.
    case peer(code: UInt64, reason: String)
    /// Nothing was heard for the idle time-out (RFC 9000 §10.1).
    case idle
    /// The peer lost its state and sent a stateless reset (RFC 9000 §10.3).
    case reset
    /// The handshake did not finish in time.
    case handshakeTimeout
    /// Another key than the one that was dialled answered.
    case wrongPeer(NodeID)
    /// The peer did not present one ed25519 raw public key.
    case noPeerKey
    /// No application protocol in common.
    case noProtocol
    /// QUIC or TLS failed; `code` is the transport error code (RFC 9000 §20.1).
    case transport(code: UInt64, byPeer: Bool, reason: String)

    /// Codes of RFC 9000 §20.1 that are named here.
    package static let connectionRefused: UInt64 = 0x2
    /// TLS alerts are this plus the alert's number (RFC 9001 §4.8).
    package static let cryptoErrorBase: UInt64 = 0x100
    /// The alert `no_application_protocol` as a transport error code.
    package static let noApplicationProtocol: UInt64 = 0x178
}

/// What went wrong with one call on a connection or a stream.
package enum QUICError: Error, Hashable, Sendable {
    /// The connection is gone.
    case closed(QUICClosure)
    /// The peer gave up sending on this stream with this code.
    case reset(code: UInt64)
    /// The peer does not want more on this stream. The library does not tell the peer's code.
    case stopped
    /// Our own side ended this direction of the stream before.
    case finished
    /// The calling task was cancelled.
    case cancelled
    /// The datagram does not fit into one packet of the present path, or the peer takes none.
    case datagramTooLarge(maxBytes: Int)
    /// Two tasks read one stream.
    case alreadyReading
    /// The peer has given no further connection ID; it gives some when it is heard.
    case noConnectionID
    /// The library refused the call; the sentence says which.
    case refused(String)
}
