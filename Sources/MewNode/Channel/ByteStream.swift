package import MewWire

/// One bidirectional stream of bytes under a channel: a QUIC stream in production. One reader, one writer at a time.
package protocol ByteStream: Sendable {
    /// The next bytes, at least one; nil when the peer ended its direction. Reading is what lets the peer send more.
    func read() async throws(ChannelError) -> [UInt8]?

    /// Hands over `bytes` from `offset` on, as many as there is room for, and says how many that were. Suspends while there
    /// is no room at all; a call that was cancelled handed over nothing.
    func write(_ bytes: [UInt8], from offset: Int) async throws(ChannelError) -> Int

    /// `write` that returns 0 instead of waiting for room.
    func writeNow(_ bytes: [UInt8], from offset: Int) async throws(ChannelError) -> Int

    /// Ends our direction behind what was written.
    func finish() async

    /// Gives up our direction (RESET_STREAM).
    func reset(code: UInt64) async

    /// Wants nothing more of the peer's direction (STOP_SENDING).
    func stop(code: UInt64) async
}
