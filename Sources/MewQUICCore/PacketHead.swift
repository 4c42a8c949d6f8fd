/// What the first bytes of a datagram say about where it belongs, before anything is trusted.
package enum PacketHead: Equatable {
    /// STUN shares the port with QUIC; the first byte tells them apart (RFC 9443 §3).
    case stun
    /// A short header: only the connection ID is readable.
    case short(LocalConnectionID)
    /// A long header of QUIC version 1.
    case long(destination: ForeignConnectionID, isInitial: Bool)
    /// A long header of a version we do not speak; its IDs, for a Version Negotiation packet (RFC 9000 §6).
    case foreignVersion(destination: [UInt8], source: [UInt8])
    /// A Version Negotiation packet, which answers a dial of ours.
    case versionNegotiation(destination: ForeignConnectionID)
    case unknown

    private static let version1: UInt32 = 1

    package init(_ datagram: UnsafeRawBufferPointer) {
        guard let first = datagram.first else {
            self = .unknown
            return
        }
        switch first {
        case 0...3: self = .stun
        case 64...127: self = Self.short(datagram)
        case 192...255: self = Self.long(datagram, first: first)
        // A Version Negotiation packet may have any low seven bits (RFC 9000 §17.2.1).
        case 128...191: self = Self.long(datagram, first: first)
        default: self = .unknown
        }
    }

    /// The connection ID of a short header, without anything else: for neighbours in a coalesced batch.
    package static func shortID(_ datagram: UnsafeRawBufferPointer) -> LocalConnectionID? {
        guard datagram.count > LocalConnectionID.byteCount, datagram[0] & 0xc0 == 0x40 else { return nil }
        return LocalConnectionID(value: datagram.loadUnaligned(fromByteOffset: 1, as: UInt64.self))
    }

    private static func short(_ datagram: UnsafeRawBufferPointer) -> PacketHead {
        guard datagram.count > LocalConnectionID.byteCount,
            let id = LocalConnectionID(
                UnsafeRawBufferPointer(rebasing: datagram[1..<(1 + LocalConnectionID.byteCount)]))
        else { return .unknown }
        return .short(id)
    }

    private static func long(_ datagram: UnsafeRawBufferPointer, first: UInt8) -> PacketHead {
        guard datagram.count >= 7 else { return .unknown }
        let version = UInt32(bigEndian: datagram.loadUnaligned(fromByteOffset: 1, as: UInt32.self))
        let destinationEnd = 6 + Int(datagram[5])
        guard destinationEnd < datagram.count else { return .unknown }
        let destination = UnsafeRawBufferPointer(rebasing: datagram[6..<destinationEnd])
        switch version {
        case 0:
            return ForeignConnectionID(destination).map { .versionNegotiation(destination: $0) } ?? .unknown
        case version1:
            guard first >= 192, let destination = ForeignConnectionID(destination) else { return .unknown }
            return .long(destination: destination, isInitial: first & 0x30 == 0)
        default:
            let sourceEnd = destinationEnd + 1 + Int(datagram[destinationEnd])
            guard sourceEnd <= datagram.count else { return .unknown }
            return .foreignVersion(
                destination: Array(destination), source: Array(datagram[(destinationEnd + 1)..<sourceEnd]))
        }
    }
}
