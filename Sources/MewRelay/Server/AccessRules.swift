package import MewIdentity

/// Who may use a relay (spec/iroh-wire.md §4.7). All rules that are set must allow it.
package struct AccessRules: Sendable {
    /// Nil: everyone.
    package var allowed: Set<NodeID>?
    package var denied: Set<NodeID> = []
    /// Bearer tokens, of which a client must show one; empty: none is needed.
    package var tokens: [String] = []

    package init() {}

    package static let everyone = AccessRules()

    /// What is asked about guests is whose they are.
    package var concernNodes: Bool { allowed != nil || !denied.isEmpty }

    /// The kinds of rules of which there are none any more; a file that is being written is empty for a moment.
    package func kindsLost(since former: AccessRules) -> [String] {
        [
            (allowed == nil && former.allowed != nil, "allow"), (denied.isEmpty && !former.denied.isEmpty, "deny"),
            (tokens.isEmpty && !former.tokens.isEmpty, "token"),
        ].filter(\.0).map(\.1)
    }

    /// Why somebody may not use the relay. Only its operator is told.
    package enum Refusal: Sendable {
        case denied, notAllowed, noToken, wrongToken
        /// The relay has rules about nodes, and a guest has not said whose it is.
        case unknownGuest

        var words: String {
            switch self {
            case .denied: "its node is denied"
            case .notAllowed: "its node is not one of those that are allowed"
            case .noToken: "it showed no token"
            case .wrongToken: "it showed a wrong token"
            case .unknownGuest: "it came under a key that is thrown away, and did not prove which node it is"
            }
        }
    }

    /// - Parameter token: what the client has shown.
    package func refusal(of node: NodeID, token: String?) -> Refusal? {
        if denied.contains(node) { return .denied }
        if let allowed, !allowed.contains(node) { return .notAllowed }
        guard !tokens.isEmpty else { return nil }
        guard let token else { return .noToken }
        let shown = Array(token.utf8)
        // All of them are compared, so that the time tells nothing about which one was near.
        return tokens.reduce(false) { ConstantTime.areEqual(Array($1.utf8), shown) || $0 } ? nil : .wrongToken
    }

    package func allow(_ node: NodeID, token: String?) -> Bool { refusal(of: node, token: token) == nil }
}
