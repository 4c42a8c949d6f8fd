internal import CQuic
package import MewBase
package import MewIdentity

/// Packets a listener answers with when it keeps no state about the sender: Retry and Version Negotiation.
package struct StatelessPackets: Sendable {
    private let key: [UInt8]

    /// A client answers a Retry within a round trip; the rest is for retransmissions.
    static let tokenLifetime = Duration.seconds(10)

    package init(_ secret: SecretKey) {
        key = secret.derivedKey(.addressToken)
    }

    /// Makes the sender prove that it receives at `source` (RFC 9000 §8.1.2).
    package func retry(
        _ initial: InitialPacket, source: SocketAddress, entropy: some Entropy, now: Instant
    ) -> [UInt8]? {
        var retryID = LocalConnectionID(random: entropy).cid
        var clientID = initial.source.cid
        var originalID = initial.destination.cid
        var address = sockaddr_in6(source)
        var token = [UInt8](repeating: 0, count: Self.maxTokenBytes)
        let tokenBytes = Self.withSocketAddress(&address) { address, size in
            ngtcp2_crypto_generate_retry_token2(
                &token, key, key.count, initial.version, address, size, &retryID, &originalID, now.nanoseconds)
        }
        guard tokenBytes > 0 else { return nil }
        var packet = [UInt8](repeating: 0, count: 256)
        let written = ngtcp2_crypto_write_retry(
            &packet, packet.count, initial.version, &clientID, &retryID, &originalID, token, tokenBytes)
        return written > 0 ? Array(packet.prefix(written)) : nil
    }

    package enum TokenVerdict: Equatable {
        /// No token, or one that is not from a Retry.
        case absent
        /// The client had first chosen this destination ID.
        case valid(originalDestination: ForeignConnectionID)
        /// From another address, too old or forged. The packet is dropped without a word: a dialler copies its first
        /// flight to all addresses it knows, so such copies are nobody's fault.
        case invalid
    }

    package func verify(_ initial: InitialPacket, source: SocketAddress, now: Instant) -> TokenVerdict {
        guard initial.token.first == UInt8(NGTCP2_CRYPTO_TOKEN_MAGIC_RETRY2) else { return .absent }
        var destination = initial.destination.cid
        var original = ngtcp2_cid()
        var address = sockaddr_in6(source)
        let status = Self.withSocketAddress(&address) { address, size in
            ngtcp2_crypto_verify_retry_token2(
                &original, initial.token, initial.token.count, key, key.count, initial.version, address, size,
                &destination, Self.tokenLifetime.libraryDuration, now.nanoseconds)
        }
        return status == 0 ? .valid(originalDestination: ForeignConnectionID(original)) : .invalid
    }

    /// Tells the sender that we speak QUIC version 1 (RFC 9000 §6). Only for datagrams of at least 1200 bytes, so that it
    /// never amplifies.
    package static func versionNegotiation(
        destination: [UInt8], source: [UInt8], answering byteCount: Int, entropy: some Entropy
    ) -> [UInt8]? {
        guard byteCount >= Int(NGTCP2_MAX_UDP_PAYLOAD_SIZE) else { return nil }
        let versions = [UInt32(NGTCP2_PROTO_VER_V1)]
        var packet = [UInt8](repeating: 0, count: 7 + destination.count + source.count + 4 * versions.count)
        let written = ngtcp2_pkt_write_version_negotiation(
            &packet, packet.count, UInt8(truncatingIfNeeded: entropy.uint64()), source, source.count, destination,
            destination.count, versions, versions.count)
        return written > 0 ? Array(packet.prefix(written)) : nil
    }

    /// NGTCP2_CRYPTO_MAX_RETRY_TOKENLEN2, which does not import: a little more than it says.
    private static let maxTokenBytes = 128

    private static func withSocketAddress<Result>(
        _ address: inout sockaddr_in6, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result
    ) -> Result {
        withUnsafePointer(to: &address) { pointer in
            body(
                UnsafeRawPointer(pointer).assumingMemoryBound(to: sockaddr.self),
                socklen_t(MemoryLayout<sockaddr_in6>.size))
        }
    }
}
