internal import MewBase
package import MewIdentity

/// A relay's proof that it has the key which its URL pins (`RelayURL.key`): a signature over something that belongs to this one
/// connection.
///
/// Ours alone: a client that wants the proof asks for it with a field of the upgrade request, `X-Mew-Relay-Proof: 1`, and the
/// relay answers with the same field: node ID in z-base-32, a blank, signature in base64url without padding. Signed with the
/// label `mew/relay-proof`, version 1: one byte, 1 over TLS and 0 without; then over TLS 32 bytes of keying material (RFC 8446
/// §7.5) with the label `EXPORTER-mew-relay-proof-1` and an empty context, otherwise the text of the client's
/// `Sec-WebSocket-Key`.
///
/// Over TLS nobody can stand between. Without it the proof only tells that the right relay is behind what answers, which may be
/// somebody who passes bytes on: it finds wrong addresses, not attackers.
package struct RelayKeyProof: Hashable, Sendable {
    /// What is signed besides the label.
    package struct Binding: Hashable, Sendable {
        fileprivate let message: [UInt8]

        /// - Parameter keyingMaterial: `exporterByteCount` bytes.
        package init(keyingMaterial: [UInt8]) {
            message = [1] + keyingMaterial
        }

        /// For a connection without TLS.
        package init(webSocketKey: String) {
            message = [0] + Array(webSocketKey.utf8)
        }
    }

    package let node: NodeID
    private let signature: Signature

    package static let fieldName = "x-mew-relay-proof"
    package static let exporterLabel = "EXPORTER-mew-relay-proof-1"
    package static let exporterByteCount = 32
    private static let context = SigningContext(label: "mew/relay-proof", version: 1)

    package init(secret: SecretKey, binding: Binding) {
        node = secret.node
        signature = secret.sign(binding.message, context: Self.context)
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

    package func isValid(for binding: Binding) -> Bool {
        signature.isValid(for: binding.message, context: Self.context, by: node)
    }
}
