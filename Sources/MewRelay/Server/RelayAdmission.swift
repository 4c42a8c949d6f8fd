internal import MewIdentity
internal import MewWire

/// The relay's side of the handshake (spec/iroh-wire.md §4.3), from the upgrade to the proof. A value.
struct RelayAdmission {
    enum Step: Equatable {
        case send(RelayFrame)
        /// It is that node, or a guest who is called so, on the account of a node: whether that one may come in is for the
        /// rules to say.
        case proven(NodeID, account: NodeID? = nil)
        /// It did not prove to be the node that it names, or to come for it: tell it, and end the connection.
        case deny(Unproven, NodeID)
        /// It does not speak the protocol: end the connection.
        case violation(String)
    }

    /// What is wrong with a proof. Only the operator is told.
    enum Unproven: Equatable {
        case key
        /// Of the node whose guest it says to be; by what the relay has asked for.
        case account(RelayNodeProof.Question)

        var words: String {
            switch self {
            case .key: "the node that it says to be did not sign the challenge"
            case .account(.plain): "the node that it says to come for did not sign the challenge"
            case .account(.keyingMaterial):
                "the node that it says to come for did not sign the challenge and this TLS connection; it may be that a "
                    + "proxy on the way ends TLS and begins it again"
            }
        }
    }

    private let challenge: RelayChallenge
    /// Of proofs of an account.
    private let binding: RelayNodeProof.Binding

    init(challenge: RelayChallenge, binding: RelayNodeProof.Binding = .plain) {
        self.challenge = challenge
        self.binding = binding
    }

    /// - Parameters:
    ///   - proof: of the upgrade request, when it had one.
    ///   - keyingMaterial: what TLS exports for a node ID; nil without TLS.
    func begin(proof: RelayKeyingMaterialProof?, keyingMaterial: (NodeID) -> [UInt8]?) -> Step {
        // Keying material differs when somebody stands between both ends of TLS; the challenge then decides.
        guard let proof, let material = keyingMaterial(proof.node), proof.isValid(for: material) else {
            return .send(.serverChallenge(challenge))
        }
        return .proven(proof.node)
    }

    func receive(_ frame: RelayFrame) -> Step {
        guard case .clientAuth(let auth) = frame else {
            return .violation("something else than the answer to its challenge")
        }
        guard auth.isValid(for: challenge) else { return .deny(.key, auth.node) }
        guard let proof = auth.nodeProof else { return .proven(auth.node) }
        guard proof.isValid(for: auth.node, challenge, binding) else {
            return .deny(.account(binding.question), proof.node)
        }
        return .proven(auth.node, account: proof.node)
    }
}
