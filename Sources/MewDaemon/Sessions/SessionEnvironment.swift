package import MewBase
package import MewHost
package import MewLoop
package import MewSession
import MewWire

/// The outside world of the sessions: everything they use and do not own.
package struct SessionEnvironment: Sendable {
    /// The network's loop: runners, registry and agents' turns live on it.
    package let loop: any Loop
    package let store: any SessionStore
    /// The first is the default one. Never empty.
    package let agents: [any AgentBackend]
    package let files: HostFiles
    package let ids: any IDSource
    package let wallClock: any WallClock
    package let diagnostics: any DiagnosticSink
    /// Ends what a daemon that died left of an agent's process; returns the command lines of those who do not die.
    package let endLeftovers: @Sendable (AgentProcess) async -> [String]

    package init(
        loop: any Loop, store: any SessionStore, agents: [any AgentBackend], files: HostFiles, ids: any IDSource,
        wallClock: any WallClock, diagnostics: any DiagnosticSink = NoDiagnostics(),
        endLeftovers: @escaping @Sendable (AgentProcess) async -> [String]
    ) {
        precondition(!agents.isEmpty, "a daemon offers at least one agent")
        (self.loop, self.store, self.agents, self.files) = (loop, store, agents, files)
        (self.ids, self.wallClock, self.diagnostics) = (ids, wallClock, diagnostics)
        self.endLeftovers = endLeftovers
    }

    var moment: Moment { Moment(now: loop.now, wall: wall, ids: ids) }

    var wall: WallTime { WallTime(milliseconds: Int64(clamping: wallClock.millisecondsSinceEpoch)) }

    func agent(named name: String?) -> (any AgentBackend)? {
        guard let name else { return agents.first }
        return agents.first { $0.name == name }
    }
}
