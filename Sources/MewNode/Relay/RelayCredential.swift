package import MewWire

/// What relays that let in only who has it are shown, and which relays that are. Peers name relays in calls, in `reach` and in
/// records: one that is named there learns nothing that belongs to another.
package struct RelayCredential: Sendable {
    private let text: String
    private let relays: [RelayURL]

    /// - Parameter relays: those that the owner of the token named beside it.
    package init(_ text: String, for relays: [RelayURL]) {
        (self.text, self.relays) = (text, relays)
    }

    /// Nil for every other relay.
    func text(for url: RelayURL) -> String? {
        relays.contains { $0.isSamePlace(as: url) } ? text : nil
    }
}
