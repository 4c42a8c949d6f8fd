/// Cuts a stream's bytes into messages and back: WebSocket frames on stock streams, length-prefixed frames on native ones.
///
/// Sans-IO: the owner hands in what the stream gave and writes what it gets. Memory is bounded by what arrived, never by
/// a length that a peer merely declared.
package protocol MessageFraming {
    /// Hands over bytes in the order the stream gave them. Take all steps with `next` before the next call.
    mutating func receive(_ bytes: [UInt8])

    /// What the bytes so far amount to.
    mutating func next() throws(ChannelError) -> FramingStep

    /// The stream ended here. Throws when that is in the middle of something.
    mutating func receiveEnd() throws(ChannelError)

    /// Bytes of a message that is not complete yet.
    var heldBytes: Int { get }

    /// Bytes the framing itself has to say (answers to pings, a close). To be written before anything else.
    mutating func takeReplies() -> [UInt8]

    /// The bytes that carry `message`.
    mutating func encode(_ message: [UInt8]) throws(ChannelError) -> [UInt8]

    /// The last bytes of our side, before the stream's own end.
    mutating func encodeEnd() -> [UInt8]
}

package enum FramingStep: Equatable, Sendable {
    case needMore
    case message([UInt8])
    /// The peer said goodbye inside the framing (a WebSocket Close).
    case ended
}

/// Bounds that hold for both framings.
package enum FramingLimits {
    /// Largest message in either direction, 8 MiB: the native wire's bound (spec/native-wire.md §1), and what a stock phone
    /// surely takes in one frame (spec/mew-wire.md §1.4).
    package static let maxMessageBytes = 8 << 20
}
