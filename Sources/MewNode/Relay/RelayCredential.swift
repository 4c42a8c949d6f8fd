package import MewWire

/// What relays that let in only who has it are shown, and which relays that are. Peers name relays in calls, in `reach` and in
/// records: one that is named there learns nothing that belongs to another.
package struct RelayCredential: Sendable {
    private var tokens: [(text: String, relays: [RelayURL])] = []

    package init() {}

    /// - Parameter relays: those that the owner of the token named beside it.
    package init(_ text: String, for relays: [RelayURL]) {
        add(text, for: relays)
    }

    /// For relays that have none yet.
    package mutating func add(_ text: String, for relays: [RelayURL]) {
        tokens.append((text, relays))
    }

    /// Whether that relay is shown a token.
    package func isShown(to url: RelayURL) -> Bool { text(for: url) != nil }

    /// Nil for every other relay.
    func text(for url: RelayURL) -> String? {
        tokens.first { $0.relays.contains { $0.isSamePlace(as: url) } }?.text
    }
}
