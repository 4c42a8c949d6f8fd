import MewClient
import MewWire

extension Command {
    private static let text = Positional<String>(
        "TEXT", "what to say to the agent; just - reads it from standard input", read: Readers.text("TEXT"))
    private static let session = Option<String>(
        "session", "S", "in this session (default: a new one)", read: Readers.text("--session"))
    private static let permit = Option<String>(
        "permit", "P", "answer permission requests: ask (default), once, session or deny",
        read: Readers.choice("--permit", QuestionDesk.Permit.allCases.map(\.rawValue)))

    private static let takeOver = Flag(
        "take-over", "also while another device is typing in the session; others may type again when the command ends")

    static let prompt = Command(
        "prompt", "send a prompt and stream its turn to the end",
        positionals: [Common.daemon.required, text.oneOrMore],
        options: [session.spec, permit.spec, takeOver.spec] + Common.routes,
        details: [
            "Ctrl-C detaches: the turn goes on, and any device can return to it. A second Ctrl-C within 2 s cancels it. SIGTERM and "
                + "SIGHUP detach at once.",
            "'--permit ask' without a terminal, or with a prompt from standard input, waits until another device answers, and prints "
                + "the handle for 'mew answer'.",
            "While another device is typing in the session (it holds its lease), a prompt is refused and says who it is. --take-over "
                + "takes the lease for the time of this command; the other device is told.",
            "A new session works in the home directory of the daemon's user; 'mew new D --cwd P' makes one elsewhere.",
            "Exit: 0 completed, 1 failed or interrupted, 6 cancelled or refused, 7 nobody knows whether it was delivered, 128 and the "
                + "signal's number detached by it. It is the "
                + "turn that this is about: a shell agent whose command ran has completed its turn, whatever status the command "
                + "ended with. That stands in the last line, and with --json as \"success\" of the event tool_end.",
        ],
        examples: [
            "mew prompt desk 'run the tests'", "mew prompt desk --session 2 --permit once 'and push'",
            "mew prompt desk - < task.md", "mew prompt desk --session 2 --take-over 'go on'",
        ]
    ) { invocation async throws(CommandFailure) in
        let words = invocation.arguments.all(text)
        let isFromInput = words == ["-"]
        // Refused before a session is made for it.
        let prompt =
            if isFromInput { try await invocation.context.readPrompt() } else {
                try PromptText.checked(words.joined(separator: " "))
            }
        let command = try await ClientCommand.open(invocation)
        let target = try await command.daemon(of: invocation)
        let permit = invocation[permit].flatMap(QuestionDesk.Permit.init(rawValue:)) ?? .ask
        let (wanted, takesOver) = (invocation[session], invocation[takeOver])
        return try await command.connected(to: target) { daemon async throws(CommandFailure) in
            let id = try await daemon.sessionForPrompt(wanted)
            let screen = Screen(invocation.context)
            let events = await daemon.supervisor.subscribe()
            if let wanted { try await daemon.open(id, named: wanted) }
            let canAsk =
                invocation.context.terminal.canAsk && !invocation.context.output.isJSON && !isFromInput
            return try await screen.run(events: events, readsLines: canAsk) { () async throws(CommandFailure) in
                func run() async throws(CommandFailure) -> ExitCode {
                    var turn = PromptTurn(
                        daemon, screen, session: id, isNew: wanted == nil, permit: permit, canAsk: canAsk)
                    return try await turn.run(prompt)
                }
                // A session that was made for the prompt is nobody else's yet.
                guard takesOver, wanted != nil else { return try await run() }
                return try await daemon.takingOver(id, run)
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
