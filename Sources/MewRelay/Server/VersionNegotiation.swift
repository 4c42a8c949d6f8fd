/// Answers the probes of iroh's address discovery, which we cannot serve, so that they fail at once instead of after three
/// seconds (spec/iroh-wire.md §4.9).
enum VersionNegotiation {
    /// RFC 9000 §17.2.1: "The version field ... 0x00000000"; the one version that is listed is reserved (§15), so that nobody
    /// speaks it.
    ///
    /// - Returns: nil for what deserves no answer. Always much shorter than the request.
    static func answer(to packet: UnsafeRawBufferPointer) -> [UInt8]? {
        // RFC 9000 §14.1: what opens a connection has at least 1200 bytes.
        guard packet.count >= 1_200, packet[0] & 0x80 != 0 else { return nil }
        let version = packet[1..<5].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        guard version != 0 else { return nil }
        guard let (destination, afterDestination) = connectionID(packet, at: 5),
            let (source, _) = connectionID(packet, at: afterDestination)
        else { return nil }
        let identifiers = [UInt8(source.count)] + source + [UInt8(destination.count)] + destination
        return [0xc0, 0, 0, 0, 0] + identifiers + [0x1a, 0x2a, 0x3a, 0x4a]
    }

    private static func connectionID(_ packet: UnsafeRawBufferPointer, at offset: Int) -> ([UInt8], end: Int)? {
        let count = Int(packet[offset])
        // RFC 9000 §17.2: "MUST NOT exceed 20 bytes" in version 1. Other versions are not ours to answer.
        guard count <= 20 else { return nil }
        return (Array(packet[(offset + 1)..<(offset + 1 + count)]), offset + 1 + count)
    }
}
