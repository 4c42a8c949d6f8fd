internal import MewIdentity

/// The SHA-256 of a pairing token: all the daemon keeps of it (DESIGN §11).
///
/// Deliberately not `Equatable`: two digests are compared with `matches`, which takes the same time wherever they differ.
package struct PairingDigest: Sendable {
    /// Always 32 bytes.
    package let bytes: [UInt8]

    /// Nil unless there are exactly 32 bytes.
    package init?(bytes: some Collection<UInt8>) {
        guard bytes.count == 32 else { return nil }
        self.bytes = Array(bytes)
    }

    /// Constant time.
    package func matches(_ other: PairingDigest) -> Bool {
        ConstantTime.areEqual(bytes, other.bytes)
    }
}
