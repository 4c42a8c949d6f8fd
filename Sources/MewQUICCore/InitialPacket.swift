internal import CQuic

/// The header of a client's Initial packet: what is needed to decide about it and to accept it.
package struct InitialPacket: Sendable {
    let version: UInt32
    /// The client's random choice, or the ID of our Retry.
    package let destination: ForeignConnectionID
    let source: ForeignConnectionID
    package let token: [UInt8]

    /// Set when the token of a Retry was good: what the client had chosen first.
    package var originalDestination: ForeignConnectionID?

    package enum Reading {
        case initial(InitialPacket)
        /// Not an Initial packet, or not well-formed.
        case unusable
    }

    /// Reads the header of a datagram that belongs to no connection.
    package static func read(_ datagram: UnsafeRawBufferPointer) -> Reading {
        var header = ngtcp2_pkt_hd()
        let start = datagram.baseAddress?.assumingMemoryBound(to: UInt8.self)
        guard ngtcp2_accept(&header, start, datagram.count) == 0, header.tokenlen <= maxTokenBytes else {
            return .unusable
        }
        let token = UnsafeRawBufferPointer(start: header.token, count: header.tokenlen)
        return .initial(
            InitialPacket(
                version: header.version, destination: ForeignConnectionID(header.dcid),
                source: ForeignConnectionID(header.scid), token: Array(token)))
    }

    /// Our own tokens have about 90 bytes; other implementations' reach a few hundred.
    private static let maxTokenBytes = 1_024
}
