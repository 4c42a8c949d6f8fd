import MewBase
import MewClient
import MewLoop
import MewWire

// `mew session …`: what a session is called and where it is shown. None of it needs the session's agent.

extension Command {
    private static let title = Positional<String>("TITLE", "the new title", read: Readers.text("TITLE"))
    private static let off = Flag("off", "undo it")
    private static let yes = Flag("yes", "do not ask")

    static let sessionRename = change(
        "session rename", "give a session a title", words: [title.oneOrMore]
    ) { invocation, session throws(CommandFailure) in
        let text = invocation.arguments.all(title).joined(separator: " ")
        return Change(
            message: .renameSession(ClientMessage.RenameSession(sessionID: session.sessionID, title: text)),
            doing: "rename the session", done: "Renamed …\(session.shortID) to \"\(text.printable(limit: 80))\".")
    }

    static let sessionPin = change(
        "session pin", "list a session before the others that are idle", options: [off.spec],
        details: [
            "No daemon of mew archives sessions by itself. One of another kind that does leaves pinned ones alone."
        ]
    ) { invocation, session throws(CommandFailure) in
        let pinned = !invocation[off]
        return Change(
            message: .pinSession(ClientMessage.PinSession(sessionID: session.sessionID, pinned: pinned)),
            doing: pinned ? "pin the session" : "unpin the session",
            done: "\(pinned ? "Pinned" : "Unpinned") \(session.named).")
    }

    static let sessionArchive = change(
        "session archive", "hide a session from the list", options: [off.spec]
    ) { invocation, session throws(CommandFailure) in
        let archived = !invocation[off]
        return Change(
            message: .archiveSession(
                ClientMessage.ArchiveSession(sessionID: session.sessionID, archived: archived)),
            doing: archived ? "archive the session" : "bring the session back",
            done: archived ? "Archived \(session.named)." : "Back in the list: \(session.named).")
    }

    static let sessionDelete = change(
        "session delete", "erase a session from the daemon's disk (asks)", options: [yes.spec]
    ) { invocation, session throws(CommandFailure) in
        Change(
            message: .deleteSession(ClientMessage.DeleteSession(sessionID: session.sessionID)),
            doing: "delete the session", done: "Deleted \(session.named).",
            question: invocation[yes] ? nil : "Erase '\(session.displayTitle.printable(limit: 60))' for ever?")
    }

    private struct Change {
        let message: ClientMessage
        /// As in "could not …".
        let doing: String
        let done: String
        var question: String?
    }

    private static func change(
        _ name: String, _ summary: String, words: [PositionalSpec] = [], options: [OptionSpec] = [],
        details: [String] = [],
        _ make: @escaping @Sendable (Invocation, SessionInfo) throws(CommandFailure) -> Change
    ) -> Command {
        Command(
            name, summary, positionals: [Common.daemon.required, Common.session.required] + words,
            options: options + Common.routes, details: details
        ) { invocation async throws(CommandFailure) in
            let command = try await ClientCommand.open(invocation)
            let target = try await command.daemon(of: invocation)
            let text = try invocation.required(Common.session)
            try await command.connected(to: target) { daemon async throws(CommandFailure) in
                let session = try await daemon.session(text)
                let change = try make(invocation, session)
                if let question = change.question { try await invocation.context.confirm(question) }
                try await daemon.change(change.message, doing: change.doing)
                daemon.output.json(["session_id": .string(session.sessionID.text)])
                daemon.output.line(change.done)
            }
            return .ok
        }
    }
}

extension SessionInfo {
    /// For a reply: what it is called, and the end of its ID, which tells it from others of that name.
    var named: String {
        guard displayTitle != sessionID.text else { return "session …\(shortID)" }
        return "\"\(displayTitle.printable(limit: 60))\" (…\(shortID))"
    }

    fileprivate var shortID: String { sessionID.text.suffix(6).description }
}

extension DaemonSession {
    /// Asks for a change and waits until the daemon says that it is done.
    func change(_ message: ClientMessage, on session: SessionID? = nil, doing: String) async throws(CommandFailure) {
        try await attempt(doing) { () async throws(ClientError) in
            try await supervisor.change(message, on: session)
            // A stock daemon gives no receipt, but it answers in order: an `error` would come before the `pong`.
            if !link.isNative { try await supervisor.ping() }
        }
    }
}

extension CommandContext {
    /// Asks a yes-or-no question; "no" is a refusal. Without a terminal nobody can say yes.
    func confirm(_ question: String) async throws(CommandFailure) {
        guard terminal.canAsk else {
            throw CommandFailure(.badInput, "nobody can be asked here: \(question)", hint: "Say --yes.")
        }
        output.errors.write("\(question) [y/N] ")
        let line = (try? await runtime.input.readLine(maxBytes: 4_096)) ?? nil
        let answer = line.map { String(decoding: $0, as: UTF8.self).lowercased() } ?? ""
        guard ["y", "yes"].contains(answer) else { throw CommandFailure(.badInput, "nothing was changed") }
    }
}
