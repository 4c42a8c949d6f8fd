internal import CQuic
package import MewBase
package import MewIdentity

/// Makes the stateless reset tokens of one node and the packets that carry them.
///
/// The key is derived from the node key, so that a daemon that was killed and started again can still end the
/// connections of its former life at once (DESIGN §5).
package struct ResetKey: Sendable {
    private let key: [UInt8]

    package init(_ secret: SecretKey) {
        key = secret.derivedKey(.statelessReset)
    }

    /// The token that goes with a connection ID of ours.
    package func token(for id: LocalConnectionID) -> ResetToken {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: ResetToken.byteCount) { bytes in
            var cid = id.cid
            let status = ngtcp2_crypto_generate_stateless_reset_token(bytes.baseAddress, key, key.count, &cid)
            precondition(status == 0, "HKDF over a 32-byte key cannot fail")
            guard let token = ResetToken(UnsafeRawBufferPointer(bytes)) else {
                preconditionFailure("the buffer has the size of a token")
            }
            return token
        }
    }

    /// Smallest packet that may be a stateless reset: 5 unpredictable bytes and the token (RFC 9000 §10.3).
    package static let minPacketBytes = 21

    /// Larger than the smallest, so that a reset looks like an ordinary short packet.
    private static let usualPacketBytes = 43

    /// A reset for a packet of `byteCount` bytes that came for `id`; nil when the packet is too small for an answer.
    ///
    /// The answer is smaller than the packet that provoked it, so that two nodes cannot reset each other for ever
    /// (RFC 9000 §10.3.3).
    package func packet(for id: LocalConnectionID, answering byteCount: Int, entropy: some Entropy) -> [UInt8]? {
        let size = min(byteCount - 1, Self.usualPacketBytes)
        guard size >= Self.minPacketBytes else { return nil }
        let random = entropy.bytes(size - ResetToken.byteCount)
        return [UInt8](unsafeUninitializedCapacity: size) { packet, count in
            withUnsafeTemporaryAllocation(of: UInt8.self, capacity: ResetToken.byteCount) { bytes in
                if let start = bytes.baseAddress { token(for: id).copy(to: start) }
                let written = ngtcp2_pkt_write_stateless_reset(
                    packet.baseAddress, size, bytes.baseAddress, random, random.count)
                count = max(0, written)
            }
        }
    }
}
