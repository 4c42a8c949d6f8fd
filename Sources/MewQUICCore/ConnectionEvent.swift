/// What a connection tells its owner after each call. The owner takes all of them, in order, before the next call.
package enum ConnectionEvent {
    /// Both sides have proved their keys; streams may be opened.
    case established
    /// The peer has our last handshake message too: migration is possible (RFC 9001 §4.1.2).
    case confirmed
    /// The peer opened a stream.
    case opened(StreamCore)
    /// Something to read, or the end of the stream. Not repeated until something was read.
    case readable(StreamCore)
    /// A writer that was told to wait may write again, or learn why it cannot.
    case writable(StreamCore)
    /// The peer allows more streams of ours.
    case streamsAllowed
    /// A datagram arrived.
    case datagram
    /// A connection ID of ours is in use from now on: packets with it belong to this connection.
    case issued(LocalConnectionID)
    /// A connection ID of ours is out of use.
    case retired(LocalConnectionID)
    /// `ConnectionCore.peerResetTokens` is another list now.
    case resetTokensChanged
    /// The peer uses another path now (listening side).
    case pathChanged
    /// The check of a path that we started is over.
    case pathValidated(CorePath, succeeded: Bool)
    /// The end. Nothing comes after it.
    case closed(QUICClosure)
}
