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

    /// Everyone may who is not denied.
    package var areOpen: Bool { allowed == nil && tokens.isEmpty }

    /// - Parameter token: what the client has shown.
    package func allow(_ node: NodeID, token: String?) -> Bool {
        guard !denied.contains(node), allowed?.contains(node) ?? true else { return false }
        guard !tokens.isEmpty else { return true }
        let shown = Array((token ?? "").utf8)
        // All of them are compared, so that the time tells nothing about which one was near.
        return tokens.reduce(false) { ConstantTime.areEqual(Array($1.utf8), shown) || $0 }
    }
}
