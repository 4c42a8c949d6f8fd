internal import MewBase

/// The form of an HTTP datagram in a QUIC DATAGRAM frame (RFC 9297 §2.1): the number of the request's stream divided by four, then
/// the payload.
package enum HTTPDatagram {
    /// What stands in front of the payload of datagrams that belong to `stream`.
    package static func head(of stream: Int64) -> [UInt8] {
        var bytes: [UInt8] = []
        QUICInteger.append(UInt64(stream) / 4, to: &bytes)
        return bytes
    }

    /// The stream and where the payload begins; nil when the datagram is too short or names no stream, which is a connection error of
    /// type H3_DATAGRAM_ERROR.
    package static func read(_ datagram: UnsafeRawBufferPointer) -> (stream: Int64, payload: UnsafeRawBufferPointer)? {
        // "A Quarter Stream ID … cannot be larger than 2^60-1" (RFC 9297 §2.1).
        guard let (quarter, count) = QUICInteger.read(datagram), quarter < 1 << 60 else { return nil }
        return (Int64(quarter) * 4, UnsafeRawBufferPointer(rebasing: datagram[count...]))
    }
}
