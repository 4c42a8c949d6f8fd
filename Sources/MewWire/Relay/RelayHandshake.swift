// How a client proves to a relay which node it is (spec/iroh-wire.md §4.3): by signing a challenge, or, over TLS, by signing
// keying material of the connection, which saves a round trip.

package import MewBase
package import MewIdentity

/// Sixteen random bytes that a client signs.
package struct RelayChallenge: Hashable, Sendable {
    package let bytes: [UInt8]

    package static let byteCount = 16

    /// Nil unless there are exactly 16 bytes.
    package init?(bytes: some Collection<UInt8>) {
        guard bytes.count == Self.byteCount else { return nil }
        self.bytes = Array(bytes)
    }

    package init(entropy: some Entropy) {
        bytes = entropy.bytes(Self.byteCount)
    }

    /// What is signed: never the challenge itself, so that a relay cannot have anything else signed.
    package var signedMessage: [UInt8] {
        BLAKE3.deriveKey(context: "iroh-relay handshake v1 challenge signature", material: bytes)
    }
}

/// The answer to a challenge: node ID (32) | 40 (the length of what follows, postcard) | signature (64); behind it, to relays
/// that have asked for one, a `RelayNodeProof` (96).
package struct RelayClientAuth: Hashable, Sendable {
    package let node: NodeID
    package let signature: Signature
    package var nodeProof: RelayNodeProof?

    package init(answering challenge: RelayChallenge, secret: SecretKey) {
        node = secret.node
        signature = secret.sign(raw: challenge.signedMessage)
    }

    /// Nil unless it has exactly one of these forms.
    package init?(encoded bytes: ArraySlice<UInt8>) {
        let bytes = Array(bytes)
        guard bytes.count >= Self.byteCount, bytes[32] == Self.signatureLength, let node = NodeID(bytes: bytes[..<32]),
            let signature = Signature(bytes: bytes[33..<Self.byteCount])
        else { return nil }
        (self.node, self.signature) = (node, signature)
        guard bytes.count > Self.byteCount else { return }
        nodeProof = RelayNodeProof(encoded: bytes[Self.byteCount...])
        if nodeProof == nil { return nil }
    }

    package var encoded: [UInt8] {
        node.bytes + [Self.signatureLength] + signature.bytes + (nodeProof?.encoded ?? [])
    }

    private static let byteCount = 97

    package func isValid(for challenge: RelayChallenge) -> Bool {
        signature.isValid(forRaw: challenge.signedMessage, by: node)
    }

    static let signatureLength: UInt8 = 64
}

/// The proof over keying material of TLS: the value of `X-Iroh-Relay-Client-Auth-V1`, base64url without padding of
/// node ID (32) | 40 | signature (64) | last 16 bytes of the keying material.
package struct RelayKeyingMaterialProof: Hashable, Sendable {
    package let node: NodeID
    private let signature: Signature
    private let suffix: [UInt8]

    package static let fieldName = "x-iroh-relay-client-auth-v1"
    /// For the exporter (RFC 8446 §7.5); its context is the client's node ID, 32 bytes.
    package static let exporterLabel = "iroh-relay handshake v1"
    package static let exporterByteCount = 32

    /// - Parameter keyingMaterial: `exporterByteCount` bytes.
    package init(secret: SecretKey, keyingMaterial: [UInt8]) {
        precondition(keyingMaterial.count == Self.exporterByteCount, "both halves are needed")
        node = secret.node
        signature = secret.sign(raw: Array(keyingMaterial[..<16]))
        suffix = Array(keyingMaterial[16...])
    }

    /// Nil when it is no such value: the reference server then ends the connection.
    package init?(fieldValue: String) {
        guard fieldValue.utf8.count == 151, let bytes = Base64.decodeURL(fieldValue), bytes.count == 113,
            bytes[32] == RelayClientAuth.signatureLength, let node = NodeID(bytes: bytes[..<32]),
            let signature = Signature(bytes: bytes[33..<97])
        else { return nil }
        self.node = node
        self.signature = signature
        suffix = Array(bytes[97...])
    }

    package var fieldValue: String {
        Base64.encodeURL(node.bytes + [RelayClientAuth.signatureLength] + signature.bytes + suffix)
    }

    /// False means nothing bad: whoever stands between both ends of TLS makes the keying material differ. The relay then
    /// sends a challenge.
    package func isValid(for keyingMaterial: [UInt8]) -> Bool {
        keyingMaterial.count == Self.exporterByteCount
            && ConstantTime.areEqual(Array(keyingMaterial[16...]), suffix)
            && signature.isValid(forRaw: Array(keyingMaterial[..<16]), by: node)
    }
}

/// The client's side after the WebSocket is open: what to do with each frame until the relay has decided. A value.
package struct RelayClientHandshake: Sendable {
    private let secret: SecretKey
    private let account: Account?
    private var hasAnswered = false

    /// On whose account somebody with a throw-away key comes.
    package struct Account: Sendable {
        let secret: SecretKey
        let binding: RelayNodeProof.Binding

        /// - Parameter secret: of the node.
        package init(_ secret: SecretKey, binding: RelayNodeProof.Binding) {
            (self.secret, self.binding) = (secret, binding)
        }
    }

    /// - Parameter account: proved as well; only to relays that have asked for it.
    package init(secret: SecretKey, account: Account? = nil) {
        self.secret = secret
        self.account = account
    }

    package enum Step: Equatable, Sendable {
        case send(RelayFrame)
        case confirmed
        case denied(reason: String)
        case violation(String)
    }

    package mutating func receive(_ frame: RelayFrame) -> Step {
        switch frame {
        case .serverChallenge(let challenge) where !hasAnswered:
            hasAnswered = true
            return .send(.clientAuth(answer(to: challenge)))
        case .serverConfirmsAuth: return .confirmed
        case .serverDeniesAuth(let reason): return .denied(reason: reason)
        case .serverChallenge: return .violation("the relay sent a second challenge")
        case .clientAuth, .clientToRelay, .relayToClient, .endpointGone, .ping, .pong, .health, .restarting, .status:
            return .violation("the relay sent something else than its decision")
        }
    }

    private func answer(to challenge: RelayChallenge) -> RelayClientAuth {
        var auth = RelayClientAuth(answering: challenge, secret: secret)
        auth.nodeProof = account.map {
            RelayNodeProof($0.secret, as: secret.node, answering: challenge, binding: $0.binding)
        }
        return auth
    }
}
