import MewClient
import MewIdentity
import MewWire

/// Finds the daemon a person means: by name, node ID, list number, or the end of its node ID.
struct DaemonSelection {
    private let registry: Registry

    init(_ registry: Registry) {
        self.registry = registry
    }

    /// - Parameter canSearch: a whole node ID that is not known here makes a record of its own, which nobody keeps. False when
    ///   there is nowhere to look for it; nil for commands that dial nobody.
    func find(_ text: String, orDial canSearch: Bool? = nil) throws(CommandFailure) -> DaemonRecord {
        if let named = registry.named(text) { return named }
        if let node = try? NodeID(text: text) {
            if let known = registry[node] { return known }
            if canSearch == true { return DaemonRecord(node: node, name: String(node.z32.prefix(8)), addedAt: .now) }
        }
        let selection = Selection(elements: registry.daemons, noun: "daemon") { $0.node.z32 }
        switch selection.find(text) {
        case .found(let daemon): return daemon
        case .ambiguous(let matches):
            throw CommandFailure(
                .unknownDaemon,
                "'\(Readers.shown(text))' means any of \(matches.map(\.name).joined(separator: ", "))",
                hint: "Give more characters.")
        case .tooShort, .none:
            throw unknown(text, dials: canSearch != nil)
        }
    }

    private func unknown(_ text: String, dials: Bool) -> CommandFailure {
        let isNode = (try? NodeID(text: text)) != nil
        let message =
            isNode
            ? "no daemon with the node ID \(Readers.shown(text)) is known here"
            : "no daemon is called '\(Readers.shown(text))'"
        if let near = near(text) { return CommandFailure(.unknownDaemon, message, hint: "Did you mean \(near)?") }
        if let slip = slip(text) {
            return CommandFailure(.unknownDaemon, "\(message), and it is no node ID: \(slip)")
        }
        return CommandFailure(.unknownDaemon, message, hint: hint(isNode: isNode, dials: dials))
    }

    private func hint(isNode: Bool, dials: Bool) -> String {
        guard isNode || registry.daemons.isEmpty else { return "See 'mew ls'." }
        let pair = "Run 'mew pair' on its machine and 'mew add' here first"
        return isNode && dials ? "\(pair), or name a relay that knows it with --relay URL." : "\(pair)."
    }

    /// What is wrong with something of about a node ID's length; names are shorter.
    private func slip(_ text: String) -> String? {
        guard (48...68).contains(text.count), text.allSatisfy({ $0.isLetter || $0.isNumber }) else { return nil }
        do throws(NodeIDTextError) {
            _ = try NodeID(text: text)
            return nil
        } catch {
            return "\(error)"
        }
    }

    /// The daemon whose name or node ID was probably mistyped.
    private func near(_ text: String) -> String? {
        if let name = nearestMatch(to: text, among: registry.daemons.map(\.name)) { return name }
        let node = nearestMatch(to: text, among: registry.daemons.map(\.node.z32))
        return registry.daemons.first { $0.node.z32 == node }?.name
    }
}
