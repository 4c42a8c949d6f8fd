import MewClient
import MewWire

extension Command {
    private static let text = Positional<String>("TEXT", "what to say to the agent", read: Readers.text("TEXT"))
    private static let session = Option<String>(
        "session", "S", "in this session (default: a new one)", read: Readers.text("--session"))
    private static let permit = Option<String>(
        "permit", "P", "answer permission requests: ask (default), once, session or deny",
        read: Readers.choice("--permit", QuestionDesk.Permit.allCases.map(\.rawValue)))

    static let prompt = Command(
        "prompt", "send a prompt and stream its turn to the end",
        positionals: [Common.daemon.required, text.oneOrMore],
        options: [session.spec, permit.spec] + Common.routes,
        details: [
            "Ctrl-C detaches: the turn goes on, and any device can return to it. A second Ctrl-C within 2 s cancels it.",
            "'--permit ask' without a terminal waits until another device answers, and prints the handle for 'mew answer'.",
            "A new session works in the home directory of the daemon's user; 'mew new D --cwd P' makes one elsewhere.",
            "Exit: 0 completed, 1 failed or interrupted, 6 cancelled or refused, 7 nobody knows whether it was delivered.",
        ],
        examples: ["mew prompt desk 'run the tests'", "mew prompt desk --session 2 --permit once 'and push'"]
    ) { invocation async throws(CommandFailure) in
        let text = invocation.arguments.all(text).joined(separator: " ")
        // Refused before a session is made for it.
        guard !text.trimmed.isEmpty else { throw CommandFailure(.badInput, "TEXT must not be empty") }
        let command = try await ClientCommand.open(invocation)
        let target = try await command.daemon(of: invocation)
        let permit = invocation[permit].flatMap(QuestionDesk.Permit.init(rawValue:)) ?? .ask
        let wanted = invocation[session]
        return try await command.connected(to: target) { daemon async throws(CommandFailure) in
            let id = try await daemon.sessionForPrompt(wanted)
            let screen = Screen(invocation.context)
            let events = await daemon.supervisor.subscribe()
            if let wanted { try await daemon.open(id, named: wanted) }
            let reads = invocation.context.terminal.canAsk && !invocation.context.output.isJSON
            return try await screen.run(events: events, readsLines: reads) { () async throws(CommandFailure) in
                var turn = PromptTurn(
                    daemon, screen, session: id, isNew: wanted == nil, permit: permit)
                return try await turn.run(text)
            }
        }
    }
}

extension DaemonSession {
    /// The session that was asked for, or a new one.
    fileprivate func sessionForPrompt(_ wanted: String?) async throws(CommandFailure) -> SessionID {
        if let wanted { return try await session(wanted).sessionID }
        let id = try await attempt("start a session on \(name)") { () async throws(ClientError) in
            try await supervisor.newSession(cwd: nil)
        }
        if !output.isJSON { output.note("(session …\(id.text.suffix(6)) on \(name))") }
        return id
    }

    func open(_ id: SessionID, named text: String) async throws(CommandFailure) {
        try await attempt("open the session '\(Readers.shown(text))'") { () async throws(ClientError) in
            try await supervisor.attach(id)
        }
    }
}
