import MewBase
import MewClient
import MewWire

extension Command {
    private static let all = Flag("all", "archived ones too")

    static let sessions = Command(
        "sessions", "list the sessions of a daemon, those that need you first",
        positionals: [Common.daemon.required], options: [all.spec] + Common.routes,
        details: ["A number is given once, on this device, and means its session until that is deleted."]
    ) { invocation async throws(CommandFailure) in
        let command = try await ClientCommand.open(invocation)
        let target = try await command.daemon(of: invocation)
        let (sessions, numbers) = try await command.connected(to: target) { session async throws(CommandFailure) in
            let sessions = try await session.sessions()
            return (sessions, await session.numbers(of: sessions))
        }
        let device = (command.environment.dialer.node, command.environment.deviceName)
        show(
            sessions, numbers, showsArchived: invocation[all], target.name, DistinctNames([device]), invocation.context)
        return .ok
    }

    /// - Parameter device: the name of this one.
    private static func show(
        _ sessions: [SessionInfo], _ numbers: SessionNumbers, showsArchived: Bool, _ daemon: String,
        _ device: DistinctNames,
        _ context: CommandContext
    ) {
        let output = context.output
        let now = WallTime.now.milliseconds
        var table = TextTable(["#", "SESSION", "STATE", "TITLE", "AGENT", "LAST USED"], flexible: 3)
        for session in sessions where showsArchived || !session.archived || output.isJSON {
            output.json(row(session, numbers[session.sessionID]))
            let used = (session.lastMessageAt ?? session.createdAt).milliseconds
            table.add([
                numbers[session.sessionID].map(String.init) ?? "-", "…" + session.sessionID.text.suffix(6).description,
                state(session),
                title(session).printable(limit: 200), session.agent?.printable(limit: 20) ?? "-",
                Words.ago(used, now: now),
            ])
        }
        guard !table.rows.isEmpty else {
            let hidden = sessions.isEmpty ? "" : " (\(sessions.count) archived: --all)"
            return output.line(
                "\(daemon) has no sessions\(hidden). Start one with 'mew prompt \(shellQuoted(daemon)) TEXT'.")
        }
        output.table(table)
        /// As a person may type it.
        func name(_ session: SessionInfo) -> String {
            numbers[session.sessionID].map(String.init) ?? session.sessionID.text.printable(limit: 128)
        }
        if let session = sessions.first(where: { $0.needsYou && (showsArchived || !$0.archived) }) {
            output.line("'mew watch \(shellQuoted(daemon)) \(name(session))' shows what it asks, and how to answer.")
        }
        var names = device
        for session in sessions where showsArchived || !session.archived {
            guard let holder = session.leaseHolder else { continue }
            output.line("\(names.name(of: holder)) is typing in \(name(session)); prompts of others are refused there.")
        }
        for session in sessions where showsArchived || !session.archived {
            guard let tools = session.allowedTools, !tools.isEmpty else { continue }
            output.line(
                "\(tools.map(\.printableName).joined(separator: ", ")): runs unasked in \(name(session)); "
                    + "'mew set \(shellQuoted(daemon)) \(name(session)) --forget-allowed' ends that.")
        }
    }

    /// The ID stands in a column of its own already.
    private static func title(_ session: SessionInfo) -> String {
        session.displayTitle == session.sessionID.text ? "-" : session.displayTitle
    }

    static func state(_ session: SessionInfo) -> String {
        if session.pendingPermissions > 0 { return "needs permission" }
        if session.pendingQuestions > 0 { return "has a question" }
        if session.state == .running { return "running" }
        if session.archived { return "archived" }
        return session.lastTurnFailed ? "failed" : "idle"
    }

    private static func row(_ session: SessionInfo, _ number: UInt64?) -> JSONObject {
        [
            "session_id": .string(session.sessionID.text),
            "number": number.map { .integer(Int64(clamping: $0)) } ?? .null, "title": .string(session.displayTitle),
            "state": .string(session.state.rawValue), "cwd": session.cwd.map(JSON.string) ?? .null,
            "agent": session.agent.map(JSON.string) ?? .null,
            "pending_permissions": .integer(Int64(session.pendingPermissions)),
            "pending_questions": .integer(Int64(session.pendingQuestions)),
            "last_event_seq": session.headSequence.map { .integer(Int64(clamping: $0.rawValue)) } ?? .null,
            "archived": .bool(session.archived), "pinned": .bool(session.pinned),
            "lease_holder": session.leaseHolder.map { .string($0.name) } ?? .null,
            "allowed_tools": .array((session.allowedTools ?? []).map(JSON.string)),
        ]
    }
}

extension Command {
    private static let cwd = Option<String>(
        "cwd", "P", "directory on the daemon's machine (default: its user's home)", read: Readers.text("--cwd"))
    private static let agent = Option<String>("agent", "A", "one of 'mew agents D'", read: Readers.text("--agent"))

    static let new = Command(
        "new", "start a session on a daemon", positionals: [Common.daemon.required],
        options: [cwd.spec, agent.spec] + Common.routes
    ) { invocation async throws(CommandFailure) in
        let command = try await ClientCommand.open(invocation)
        let target = try await command.daemon(of: invocation)
        let (cwd, agent) = (invocation[cwd], invocation[agent])
        let id = try await command.connected(to: target) { session async throws(CommandFailure) in
            do throws(CommandFailure) {
                return try await session.attempt("start a session on \(session.name)") {
                    () async throws(ClientError) in
                    try await session.supervisor.newSession(cwd: cwd, agent: agent)
                }
            } catch {
                // The only other thing that was typed.
                guard error.code == .badInput, agent != nil else { throw error }
                throw CommandFailure(
                    error.code, error.message, hint: "See 'mew agents \(shellQuoted(session.name))'.")
            }
        }
        invocation.context.output.json(["session_id": .string(id.text)])
        invocation.context.output.line(id.text.printable(limit: 128))
        return .ok
    }
}
