import MewBase
import MewClient
import MewWire

extension Command {
    static let watch = Command(
        "watch", "show what happens, live: in one session, or on the whole daemon",
        positionals: [Common.daemon.required, Common.session.optional], options: Common.routes,
        details: [
            "Shows the turn that runs from its prompt on, and everything that comes. Stays until Ctrl-C, and comes back by itself after "
                + "a loss; nothing is shown twice, and what was said meanwhile is shown as well. Of a very long absence (more than "
                + "some 400 messages) the newest are shown, and it says so.",
            "With --json every line is an event of the daemon as it is on the wire, and besides them {\"event\": \"lost\", "
                + "\"daemon\": D, \"reason\": TEXT, \"last_proof_ms\": TIME} and {\"event\": \"back\", \"daemon\": D} for the "
                + "connection itself. After a long absence \"session_history_page\" stands for the events that it replaces (\"replaces\": true, the "
                + "newest messages; older ones come after it, or {\"event\": \"left_out\"} says that some do not), and "
                + "{\"event\": \"events_lost\", \"daemon\": D, \"lost\": N} tells of those that nobody has any more. "
                + "\"lease_state\" names the device that is typing in the session; null is nobody.",
        ]
    ) { invocation async throws(CommandFailure) in
        let command = try await ClientCommand.open(invocation)
        let target = try await command.daemon(of: invocation)
        let wanted = invocation[Common.session]
        return try await command.connected(to: target) { daemon async throws(CommandFailure) in
            let info: SessionInfo? = if let wanted { try await daemon.session(wanted) } else { nil }
            let id = info?.sessionID
            let (screen, events) = (Screen(invocation.context), await daemon.supervisor.subscribe())
            if let id, let wanted { try await daemon.open(id, named: wanted) }
            // Silence may be all there is for a while.
            if invocation.context.terminal.isScreen { invocation.context.output.note("(watching; Ctrl-C ends it)") }
            return try await screen.run(events: events, readsLines: false) { () async throws(CommandFailure) in
                var watching = Watching(daemon, screen, session: id, isRunning: info?.state == .running)
                return try await watching.run()
            }
        }
    }
}

extension Command {
    private static let after = Option<Int>(
        "after", "N", "only messages that changed after event N",
        read: Readers.integer("--after", in: 0...Int(JSON.maxInteger)))

    static let history = Command(
        "history", "print what was said in a session",
        positionals: [Common.daemon.required, Common.session.required], options: [after.spec] + Common.routes
    ) { invocation async throws(CommandFailure) in
        let command = try await ClientCommand.open(invocation)
        let target = try await command.daemon(of: invocation)
        let wanted = try invocation.required(Common.session)
        let after = invocation[after].map { SequenceNumber(UInt64($0)) }
        let messages = try await command.connected(to: target) { daemon async throws(CommandFailure) in
            try await daemon.history(of: try await daemon.session(wanted).sessionID, named: wanted, after: after)
        }
        show(messages, invocation.context.output)
        return .ok
    }

    private static func show(_ messages: [Message], _ output: Output) {
        for message in messages { output.json(message) }
        for message in messages.inOrderOfTurns {
            let text = MessageText(message).text
            if !text.isEmpty { output.line(text) }
        }
    }
}

extension Output {
    fileprivate func json(_ message: Message) {
        guard isJSON else { return }
        let sequence = message.sequence.map { "\($0)" } ?? "null"
        standard.write("{\"seq\":\(sequence),\"message\":\(String(decoding: message.encoded(), as: UTF8.self))}\n")
    }
}

extension DaemonSession {
    /// All messages, oldest first: the page that comes with attaching, and the older ones of the same frozen list.
    fileprivate func history(
        of id: SessionID, named text: String, after: SequenceNumber?
    ) async throws(CommandFailure) -> [Message] {
        let events = await supervisor.subscribe()
        try await open(id, named: text)
        var messages = await Self.newest(events)
        events.finish()
        var cursor = await supervisor.view.attached[id]?.historyCursor
        let list = await supervisor.view.attached[id]?.historyID
        if messages.count == 1, list != nil {
            // One that is larger than a first page comes alone and without its beginning: it is asked for again, whole.
            (cursor, messages) = ((cursor ?? 0) + 1, [])
        }
        while let before = cursor, !Self.isEnough(messages, after) {
            let page = try await attempt("read the history") { () async throws(ClientError) in
                try await supervisor.olderPage(in: id, before: before, of: list)
            }
            guard !page.replaces else { throw Self.replaced }
            messages = page.messages + messages
            // A cursor that does not move would be asked for ever.
            cursor = page.nextCursor.flatMap { $0 < before ? $0 : nil }
        }
        return messages.filter { after == nil || ($0.sequence ?? .zero) > (after ?? .zero) }
    }

    private static let replaced = CommandFailure(
        .busy, "could not read the history: its messages were cleared or compacted meanwhile", hint: "Read it again.")

    /// Attaching has returned, so the page is in the feed already.
    private static func newest(_ events: Feed<ClientEvent>) async -> [Message] {
        events.finish()
        for await case .session(let event) in events {
            if let messages = event.frame.message.history { return messages }
        }
        return []
    }

    /// Messages are in the order they were made, and changes go to the newest ones: a whole page before `after` ends it.
    private static func isEnough(_ messages: [Message], _ after: SequenceNumber?) -> Bool {
        guard let after, let first = messages.first?.sequence else { return false }
        return first <= after
    }
}

/// One message in words.
struct MessageText {
    let text: String

    init(_ message: Message) {
        let parts = message.parts.compactMap { Self.text(of: $0) }
        guard !parts.isEmpty else {
            text = ""
            return
        }
        text = (message.role == .user ? "» " : "") + parts.joined(separator: "\n")
    }

    private static func text(of part: Part) -> String? {
        switch part.content {
        case .text(let text): text.text.isEmpty ? nil : text.text.printableLines
        case .toolCall(let call): tool(call)
        case .file(let file): "(file \((file.filename ?? file.url).printable(limit: 200)))"
        case .compaction: "(the context was compacted)"
        case .reasoning, .toolResult: nil
        }
    }

    private static func tool(_ call: Part.ToolCall) -> String {
        let command = call.state.input["command"]?.asString
        let title = command.map { "$ " + $0.printableLines } ?? "⚙ \(call.toolName.printableName)"
        switch call.state.phase {
        case .pending: return title
        case .running(let output): return joined(title, output)
        case .completed(let completed): return joined(title, completed.output)
        case .error(let error): return joined(title, "✗ " + error)
        }
    }

    private static func joined(_ title: String, _ output: String) -> String {
        var rest = output.printableLines[...]
        while rest.last == "\n" { rest = rest.dropLast() }
        return rest.isEmpty ? title : title + "\n" + rest
    }
}
