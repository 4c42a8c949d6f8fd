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

    /// The daemon says no more than that it knows none of this ID.
    var goneSession: String {
        "\(name) has this session no more: it was deleted, or lost with a damaged database (then 'mew status' there names it)"
    }

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

    /// The numbers of these sessions, which are all there are. What cannot be kept is not given: it would mean another one next
    /// time.
    func numbers(of sessions: [SessionInfo]) async -> SessionNumbers {
        let node = target.record.node
        let ids = sessions.map(\.sessionID)
        do throws(ClientStoreError) {
            return try await command.store.update { records throws(ClientStoreError) in
                records.registry.update(node) { $0.sessionNumbers.note(ids) }
                return records.registry[node]?.sessionNumbers ?? SessionNumbers()
            }
        } catch {
            return target.record.sessionNumbers
        }
    }

    func session(_ text: String) async throws(CommandFailure) -> SessionInfo {
        let list = try await sessions()
        // Only who says a number needs them.
        let numbers = Int(text) == nil ? SessionNumbers() : await numbers(of: list)
        let selection = Selection(elements: list, noun: "session") { number in
            // A number below one is none, as is that of a session without one.
            guard let number = UInt64(exactly: number) else { return nil }
            return list.first { numbers[$0.sessionID] == number }
        } id: {
            $0.sessionID.text
        }
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
