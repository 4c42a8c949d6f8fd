internal import MewBase
package import MewIdentity

/// A client's proof of a node key to a relay over HTTP/3, where TLS always reaches from one end to the other: a signature over keying
/// material, good for its connection alone. No challenge is needed, and no round trip.
///
/// Signed with the label `mew/relay-h3`, version 1: one byte, 0 for the key that the client is called by and 1 for the node on whose
/// account it comes; 32 bytes of keying material (RFC 8446 §7.5) with the label `EXPORTER-mew-relay-h3-1` and an empty context;
/// for an account the ID that the client is called by (32). The field's value is the node ID in z-base-32, a blank, and the signature
/// in base64url without padding.
package struct RelayTLSProof: Hashable, Sendable {
    /// What a key is shown for.
    package enum Purpose: Hashable, Sendable {
        /// What packets are addressed to.
        case name
        /// Whose guest the client is that is called so.
        case account(of: NodeID)

        fileprivate func message(_ keyingMaterial: [UInt8]) -> [UInt8] {
            switch self {
            case .name: [0] + keyingMaterial
            case .account(let guest): [1] + keyingMaterial + guest.bytes
            }
        }
    }

    package let node: NodeID
    private let signature: Signature

    package static let nameFieldName = "x-mew-node"
    package static let accountFieldName = "x-mew-account"
    package static let exporterLabel = "EXPORTER-mew-relay-h3-1"
    package static let exporterByteCount = 32
    private static let context = SigningContext(label: "mew/relay-h3", version: 1)

    package init(_ secret: SecretKey, for purpose: Purpose, keyingMaterial: [UInt8]) {
        node = secret.node
        signature = secret.sign(purpose.message(keyingMaterial), context: Self.context)
    }

    /// Nil when it is no such value.
    package init?(fieldValue: String) {
        let parts = fieldValue.split(separator: " ", omittingEmptySubsequences: false)
        guard parts.count == 2, let node = try? NodeID(text: parts[0]), parts[1].utf8.count == 86,
            let signature = Base64.decodeURL(String(parts[1])).flatMap({ Signature(bytes: $0) })
        else { return nil }
        (self.node, self.signature) = (node, signature)
    }

    package var fieldValue: String { "\(node.z32) \(Base64.encodeURL(signature.bytes))" }

    package func isValid(for purpose: Purpose, keyingMaterial: [UInt8]) -> Bool {
        keyingMaterial.count == Self.exporterByteCount
            && signature.isValid(for: purpose.message(keyingMaterial), context: Self.context, by: node)
    }
}
