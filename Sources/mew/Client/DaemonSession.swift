import MewClient
import MewWire

/// A command's hold on one connected daemon.
struct DaemonSession: Sendable {
    let command: ClientCommand
    let target: ClientCommand.Target
    let supervisor: DaemonSupervisor
    let link: ReadyLink

    var name: String { target.name }
    var output: Output { command.context.output }

    /// What this device calls itself: another one of that name is shown under a longer one.
    var ownName: DistinctNames {
        DistinctNames([(command.environment.dialer.node, command.environment.deviceName)])
    }

    /// Runs one step; its failure is told as "could not `doing`".
    func attempt<Value>(
        _ doing: String, _ body: () async throws(ClientError) -> Value
    ) async throws(CommandFailure) -> Value {
        do throws(ClientError) {
            return try await body()
        } catch {
            throw CommandFailure(error, doing: doing, daemon: name)
        }
    }

    /// The sessions in the order that `mew sessions` shows.
    func sessions() async throws(CommandFailure) -> [SessionInfo] {
        let list = try await attempt("list the sessions of \(name)") { () async throws(ClientError) in
            try await supervisor.listSessions()
        }
        return SessionOrder.needsYou(list)
    }

    func session(_ text: String) async throws(CommandFailure) -> SessionInfo {
        let selection = Selection(elements: try await sessions(), noun: "session") { $0.sessionID.text }
        switch selection.find(text) {
        case .found(let session): return session
        case .ambiguous(let matches):
            throw CommandFailure(
                .unknownSession, "'\(Readers.shown(text))' is the end of \(matches.count) session IDs",
                hint: "Give more characters.")
        case .tooShort:
            throw CommandFailure(
                .unknownSession, "'\(Readers.shown(text))' is too short for the end of a session ID",
                hint: "Give at least 4 characters, or the number in 'mew sessions \(shellQuoted(name))'.")
        case .none:
            throw CommandFailure(
                .unknownSession, "\(name) has no session '\(Readers.shown(text))'",
                hint: "See 'mew sessions \(shellQuoted(name))'.")
        }
    }
}
