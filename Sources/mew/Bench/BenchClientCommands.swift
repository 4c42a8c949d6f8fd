import MewBase
import MewClient
import MewWire

// `mew bench client` and `mew bench answer`: devices for tests with real processes, driven by lines on standard input.

extension Command {
    static let benchClients: [Command] = [benchClient, benchAnswer]

    private static let word = Positional<String>("ANSWER", "once, session or deny", read: Readers.text("ANSWER"))

    private static let benchClient = Command(
        "bench client", "stay connected and do what lines of input say",
        positionals: [Common.daemon.required], options: Common.routes,
        details: [
            "A line is 'new', or a word, a session ID and a text: attach, detach, prompt, guide, cancel, answer, slash, mode, "
                + "rename, delete, older. Prints events as JSON, one a line. Ends with its input."
        ],
        examples: ["echo new | mew bench client desk"]
    ) { invocation async throws(CommandFailure) in
        let command = try await ClientCommand.open(invocation)
        let target = try await command.daemon(of: invocation)
        return try await command.connected(to: target) { daemon async throws(CommandFailure) in
            let (screen, events) = (Screen(invocation.context), await daemon.supervisor.subscribe())
            return try await screen.run(events: events, readsLines: true) { () async throws(CommandFailure) in
                await BenchClient(daemon, screen).run()
            }
        }
    }

    private static let benchAnswer = Command(
        "bench answer", "answer a session's question at each line of input",
        positionals: [Common.daemon.required, Common.session.required, word.required], options: Common.routes,
        details: ["Prints the session's events as JSON, one a line. Ends with its input."]
    ) { invocation async throws(CommandFailure) in
        let command = try await ClientCommand.open(invocation)
        let target = try await command.daemon(of: invocation)
        let (wanted, word) = (try invocation.required(Common.session), try invocation.required(word))
        return try await command.connected(to: target) { daemon async throws(CommandFailure) in
            let session = try await daemon.session(wanted).sessionID
            let (screen, events) = (Screen(invocation.context), await daemon.supervisor.subscribe())
            try await daemon.open(session, named: wanted)
            return try await screen.run(events: events, readsLines: true) { () async throws(CommandFailure) in
                var race = BenchAnswer(daemon, screen, session: session, word: word)
                return try await race.run()
            }
        }
    }
}
