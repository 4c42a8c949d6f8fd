/// What the peer has done, in order. Streams are named by their QUIC stream IDs.
package enum HTTP3Event: Equatable, Sendable {
    /// The peer's settings; `takesDatagrams` is SETTINGS_H3_DATAGRAM (RFC 9297 §2.1.1). At most once.
    case settings(takesDatagrams: Bool)
    /// A request's or a response's head, also each interim response.
    case head(Int64, HTTP3Head)
    /// A head larger than we take: the owner answers 431 or gives the stream up.
    case headTooLarge(Int64)
    /// Content of DATA frames.
    case data(Int64, [UInt8])
    /// The peer says no more on this stream.
    case ended(Int64)
    /// The peer gave the stream up, or broke the rules for one message: what came is void, and the stream is to be reset
    /// with `code` in both directions.
    case broken(Int64, code: UInt64)
    /// The peer takes no new requests (GOAWAY).
    case goingAway
}
