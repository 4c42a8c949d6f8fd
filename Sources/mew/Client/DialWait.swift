import MewClient
import MewWire

/// What people are told while a dial takes long: a route that answers nothing costs ten seconds, whatever the others have said.
enum DialWait: Sendable {
    case toldOnTerminals
    /// Many are dialled at once, and their table tells.
    case silent

    /// Whoever waits so long wants to know what for.
    static let unexplained: Duration = .seconds(2)
    /// More of them say no more.
    private static let maxRoutes = 3

    /// Nil when nobody is told.
    func words(for target: ClientCommand.Target, on terminal: Terminal) -> String? {
        switch self {
        case .silent: nil
        case .toldOnTerminals:
            terminal.canAsk ? "(no answer from \(target.name) so far; \(Self.routes(to: target)) …)" : nil
        }
    }

    private static func routes(to target: ClientCommand.Target) -> String {
        let all = target.record.target(addresses: target.routes.addresses, relays: target.routes.relays)
        let routes = all.addresses.map(\.description) + all.relays.map { $0.printable(limit: 80) }
        guard !routes.isEmpty else { return "looking for it at the relays that are known" }
        let more = routes.count > maxRoutes ? " and \(routes.count - maxRoutes) more" : ""
        return "still trying \(routes.prefix(maxRoutes).joined(separator: ", "))\(more)"
    }
}
