internal import MewIdentity
internal import MewWire

/// The relay's side of the handshake (spec/iroh-wire.md §4.3), from the upgrade to the decision. A value.
struct RelayAdmission {
    enum Step: Equatable {
        case send(RelayFrame)
        /// Confirm it, it is `node`.
        case admit(NodeID)
        /// Tell it, and end the connection.
        case deny(reason: String)
        /// It does not speak the protocol: end the connection.
        case violation(String)
    }

    private let challenge: RelayChallenge
    private let rules: AccessRules
    private let token: String?

    init(challenge: RelayChallenge, rules: AccessRules, token: String?) {
        self.challenge = challenge
        self.rules = rules
        self.token = token
    }

    /// - Parameters:
    ///   - proof: of the upgrade request, when it had one.
    ///   - keyingMaterial: what TLS exports for a node ID; nil without TLS.
    func begin(proof: RelayKeyingMaterialProof?, keyingMaterial: (NodeID) -> [UInt8]?) -> Step {
        // Keying material differs when somebody stands between both ends of TLS; the challenge then decides.
        guard let proof, let material = keyingMaterial(proof.node), proof.isValid(for: material) else {
            return .send(.serverChallenge(challenge))
        }
        return decide(proof.node)
    }

    func receive(_ frame: RelayFrame) -> Step {
        guard case .clientAuth(let auth) = frame else {
            return .violation("something else than the answer to its challenge")
        }
        guard auth.isValid(for: challenge) else { return .deny(reason: "signature invalid") }
        return decide(auth.node)
    }

    private func decide(_ node: NodeID) -> Step {
        rules.allow(node, token: token) ? .admit(node) : .deny(reason: "not authorized")
    }
}
