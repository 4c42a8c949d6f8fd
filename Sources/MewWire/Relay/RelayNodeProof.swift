internal import MewBase
package import MewIdentity

/// A dialler's proof of its node key to a relay that has rules about nodes (DESIGN §7). The dialler keeps the throw-away
/// key it is called by: the proof says on whose account, so that several processes of one node have places of their own.
///
/// Ours alone: a client under a throw-away key says so in its upgrade request, `X-Mew-Guest: 1`; a relay that wants the proof
/// answers `X-Mew-Node-Proof` with its `Question`, and sends its challenge. A client that was refused asks for that with the same
/// field, `X-Mew-Node-Proof: 1`. The client puts behind its answer (`RelayClientAuth`) node ID (32) and signature (64). Signed with
/// the label `mew/relay-node-proof`, version 1: one byte, 1 when keying material was asked for and 0 otherwise; then that, 32 bytes
/// (RFC 8446 §7.5) with the label `EXPORTER-mew-relay-node-proof-1` and an empty context; the relay's challenge (16); the throw-away
/// key's ID (32).
package struct RelayNodeProof: Hashable, Sendable {
    /// What a relay wants signed besides its challenge. The relay says it and not the client's own connection, because a proxy that
    /// ends TLS stands between some relays and their clients: there the two see different things.
    package enum Question: String, Hashable, Sendable, CaseIterable {
        /// Nothing: the relay's end of the connection has no TLS.
        case plain = "0"
        /// Keying material of TLS, which must reach from the client to the relay.
        case keyingMaterial = "1"
    }

    /// The connection that a proof is for.
    package enum Binding: Hashable, Sendable {
        case plain
        /// `exporterByteCount` bytes.
        case keyingMaterial([UInt8])

        /// What it answers.
        package var question: Question {
            switch self {
            case .plain: .plain
            case .keyingMaterial: .keyingMaterial
            }
        }

        fileprivate var message: [UInt8] {
            switch self {
            case .plain: [0]
            case .keyingMaterial(let material): [1] + material
            }
        }
    }

    package let node: NodeID
    private let signature: Signature

    package static let fieldName = "x-mew-node-proof"
    /// Of the upgrade request: the key that the client comes under is one that is thrown away.
    package static let guestFieldName = "x-mew-guest"
    package static let exporterLabel = "EXPORTER-mew-relay-node-proof-1"
    package static let exporterByteCount = 32
    package static let byteCount = NodeID.byteCount + 64
    private static let context = SigningContext(label: "mew/relay-node-proof", version: 1)

    /// - Parameters:
    ///   - secret: of the node.
    ///   - guest: what the relay calls it by.
    package init(_ secret: SecretKey, as guest: NodeID, answering challenge: RelayChallenge, binding: Binding) {
        node = secret.node
        signature = secret.sign(Self.message(guest, challenge, binding), context: Self.context)
    }

    init?(encoded bytes: ArraySlice<UInt8>) {
        guard bytes.count == Self.byteCount, let node = NodeID(bytes: bytes.prefix(NodeID.byteCount)),
            let signature = Signature(bytes: bytes.dropFirst(NodeID.byteCount))
        else { return nil }
        (self.node, self.signature) = (node, signature)
    }

    var encoded: [UInt8] { node.bytes + signature.bytes }

    package func isValid(for guest: NodeID, _ challenge: RelayChallenge, _ binding: Binding) -> Bool {
        signature.isValid(for: Self.message(guest, challenge, binding), context: Self.context, by: node)
    }

    private static func message(_ guest: NodeID, _ challenge: RelayChallenge, _ binding: Binding) -> [UInt8] {
        binding.message + challenge.bytes + guest.bytes
    }
}
