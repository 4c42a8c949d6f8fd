import MewClient
import MewLoop
import MewWire

/// What is said, once, while a dial takes long: a way that answers nothing costs ten seconds, whatever the others have said.
struct DialWait: Sendable {
    let target: ClientCommand.Target

    /// Whoever waits so long wants to know what for.
    static let unexplained: Duration = .seconds(1)
    /// More of them say no more.
    private static let maxRoutes = 3

    var words: String {
        let all = target.record.target(addresses: target.routes.addresses, relays: target.routes.relays)
        let routes = all.addresses.map(\.description) + all.relays.map { "relay \($0.printable(limit: 80))" }
        guard !routes.isEmpty else { return "(looking for \(target.shownName) at the relays that are known …)" }
        let more = routes.count > Self.maxRoutes ? " and \(routes.count - Self.maxRoutes) more" : ""
        return "(trying \(target.shownName): \(routes.prefix(Self.maxRoutes).joined(separator: ", "))\(more) …)"
    }
}

extension ClientCommand.Target {
    /// One that is being added may have no name yet.
    var shownName: String { name.isEmpty ? "the daemon" : name.printableName }
}

extension ClientCommand {
    /// What `step` brings; on standard error it says what is being tried, once that takes long.
    ///
    /// - Parameter step: waits for the next event of a dial; nil when it is cancelled, and then called again.
    func telling<Value: Sendable>(
        of target: Target, _ step: @escaping @Sendable () async -> Value?
    ) async -> Value? {
        let early = await withTimeLimit(DialWait.unexplained, on: context.runtime.loop, step)
        guard early.value == nil, early.isLate else { return early.value }
        context.output.note(DialWait(target: target).words)
        return await step()
    }
}
