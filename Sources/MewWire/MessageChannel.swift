/// An ordered, reliable channel of messages, each one JSON object as UTF-8 text (spec/mew-wire.md §1, spec/native-wire.md §1).
///
/// The same for both ALPNs: WebSocket frames on a stock stream and length-prefixed frames on a native one look alike above
/// this protocol. One reader and any number of writers; a whole message is never mixed with another. Whoever holds a channel
/// ends it, by `finish` or `reset`: one that nobody holds any more is reset, and what was not delivered is lost.
public protocol MessageChannel: Sendable {
    /// The next message; nil when the peer ended its side cleanly.
    func receive() async throws(ChannelError) -> [UInt8]?

    /// Suspends while the peer takes nothing in; returns when the message is handed to the transport.
    func send(_ message: [UInt8]) async throws(ChannelError)

    /// The same for messages that lie ready, in their order: as one write where the channel can. One that is too large for the
    /// peer takes those behind it with it.
    func sendAll(_ messages: [[UInt8]]) async throws(ChannelError)

    /// Ends our side; what was sent before still arrives. Idempotent.
    func finish() async

    /// Gives up both directions at once. Idempotent.
    func reset(code: UInt64) async
}

extension MessageChannel {
    public func sendAll(_ messages: [[UInt8]]) async throws(ChannelError) {
        for message in messages { try await send(message) }
    }
}

/// Why a channel gives no more.
public enum ChannelError: Error, Equatable, Sendable {
    /// The peer broke the framing rules; the sentence says how.
    case protocolViolation(String)
    /// A message was larger than the receiver accepts.
    case tooLarge(declaredBytes: Int)
    /// The peer gave the stream up with this code.
    case reset(code: UInt64)
    /// The link under it is gone.
    case linkClosed(LinkClosure)
    /// We had ended our side before.
    case finished
    case cancelled
}

/// Codes a stream is reset with.
public enum ChannelResetCode {
    /// The peer broke the framing or sent what is no message (spec/native-wire.md §1).
    public static let violation: UInt64 = 0x103
}
