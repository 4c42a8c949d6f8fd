import MewBase
import MewClient
import MewIdentity
import MewLoop
import MewWire

extension Command {
    private static let request = Positional<String>(
        "REQUEST", "the handle printed with the question, such as 7F3K-a1b2c3, or its full ID",
        read: Readers.text("REQUEST"))
    private static let words = Positional<String>(
        "ANSWER", "once, session or deny; yes or no; or a text for each question", read: { $0 })
    private static let digest = Option<String>(
        "digest", "HEX", "with a full ID: the digest of what you saw, at least 6 digits"
    ) { text throws(UsageError) in
        guard text.utf8.count >= RequestHandle.shortestDigest, text.allSatisfy({ $0.isASCII && $0.isHexDigit }) else {
            throw UsageError(
                "--digest needs at least \(RequestHandle.shortestDigest) hex digits of the digest that was shown")
        }
        return text
    }

    static let answer = Command(
        "answer", "answer a question of an agent, or settle a permission request",
        positionals: [Common.daemon.required, request.required, words.any],
        options: [digest.spec] + Common.routes,
        details: [
            "An answer counts only for what was shown: the handle names the question and a digest of its text. Without a "
                + "digest or without an answer the question is shown and asked, which needs a terminal.",
            "--json: {\"outcome\": settled, repeated, too_late, not_what_was_shown or unknown, \"how\", \"by\", \"decision\"}: "
                + "what became of the question, and who decided. A daemon that does not take the answer gives an error only.",
            "Exit: 0 settled, 4 this device may not answer, 6 too late, not what was shown, or unknown, 7 nobody knows.",
        ],
        examples: ["mew answer desk 7F3K-a1b2c3 once"]
    ) { invocation async throws(CommandFailure) in
        let handle = RequestHandle(try invocation.required(request), digest: invocation[digest])
        let words = invocation.arguments.all(words)
        guard invocation.context.terminal.canAsk || (handle.digest != nil && !words.isEmpty) else {
            throw CommandFailure(
                .badInput, "the question cannot be shown here, because there is no terminal",
                hint: "Give the handle that was printed with the question, and the answer.")
        }
        let command = try await ClientCommand.open(invocation)
        let target = try await command.daemon(of: invocation)
        return try await command.connected(to: target) { daemon async throws(CommandFailure) in
            try await AnswerRun(daemon, handle).run(words)
        }
    }
}

/// What was typed to name a request.
struct RequestHandle: Equatable {
    /// The end of its ID, or all of it.
    let id: String
    /// The beginning of its digest; nil when it was not given.
    let digest: String?

    init(_ text: String, digest: String?) {
        let parts = text.split(separator: "-", maxSplits: 1).map(String.init)
        if digest == nil, parts.count == 2, parts[1].count >= Self.shortestDigest {
            (id, self.digest) = (parts[0], parts[1].lowercased())
        } else {
            (id, self.digest) = (text, digest?.lowercased())
        }
    }

    /// 24 bits: enough to tell what is on one screen apart, and short enough to type.
    static let shortestDigest = 6

    func names(_ request: PendingRequest) -> Bool {
        request.id.description.lowercased().hasSuffix(id.lowercased())
    }

    func matches(_ request: PendingRequest) -> Bool {
        guard let digest else { return false }
        return digest.count >= Self.shortestDigest && request.digest.hex.hasPrefix(digest)
    }
}

/// Finds the request, shows it when it was not named by what it says, answers and reports the verdict.
private struct AnswerRun {
    private let daemon: DaemonSession
    private let handle: RequestHandle

    init(_ daemon: DaemonSession, _ handle: RequestHandle) {
        (self.daemon, self.handle) = (daemon, handle)
    }

    func run(_ words: [String]) async throws(CommandFailure) -> ExitCode {
        let (session, request) = try await find()
        if handle.digest != nil, !handle.matches(request) {
            report(.notWhatWasShown, nil)
            throw CommandFailure(
                .notWhatWasShown, "that is not what the daemon is asking now",
                hint: "Look at it again: mew answer \(shellQuoted(daemon.name)) \(request.id.description)")
        }
        let content = try await self.content(request, words)
        return try await send(content, to: request, in: session)
    }

    /// Attaches to the sessions that wait for somebody, one after the other, until the request turns up.
    private func find() async throws(CommandFailure) -> (SessionID, PendingRequest) {
        var matches: [(SessionID, PendingRequest)] = []
        for session in try await daemon.sessions() where session.needsYou {
            try await daemon.open(session.sessionID, named: session.sessionID.text)
            let requests = await daemon.supervisor.view.attached[session.sessionID]?.requests ?? []
            matches += requests.filter(handle.names).map { (session.sessionID, $0) }
            if matches.contains(where: { handle.matches($0.1) }) { break }
            if matches.isEmpty { await daemon.supervisor.detach(session.sessionID) }
        }
        if let exact = matches.first(where: { handle.matches($0.1) }) { return exact }
        guard let first = matches.first else { throw try await tooLate() }
        guard matches.count == 1 else {
            throw CommandFailure(
                .badInput, "\(matches.count) questions end in \(Readers.shown(handle.id))",
                hint: "Give more characters of the ID.")
        }
        return first
    }

    // MARK: - Nothing is asked any more

    /// Who was first, and how; or that nobody knows of such a question.
    private func tooLate() async throws(CommandFailure) -> CommandFailure {
        guard let end = try await end() else {
            report(.unknown, nil)
            return CommandFailure(
                .unknownRequest, "\(daemon.name) asks nothing that ends in \(Readers.shown(handle.id))",
                hint: "It may be answered already; see 'mew sessions \(shellQuoted(daemon.name))'.")
        }
        report(.tooLate, end)
        var names = daemon.ownName
        return CommandFailure(.tooLate, end.tooLate(&names))
    }

    /// Nil when the daemon does not remember the request, or cannot be asked: a stock one, or an older one.
    private func end() async throws(CommandFailure) -> AnswerEnd? {
        guard daemon.link.isNative else { return nil }
        do throws(ClientError) {
            return try await daemon.supervisor.request(.requestQuery(.init(ending: handle.id))) { message in
                if case .requestResolved(let resolved) = message { AnswerEnd(resolved) } else { nil }
            }
        } catch {
            guard error.code == .unknownRequest || error.code == .unknownType else {
                throw CommandFailure(error, doing: "ask who answered", daemon: daemon.name)
            }
            return nil
        }
    }

    // MARK: - The answer

    private func content(_ request: PendingRequest, _ words: [String]) async throws(CommandFailure) -> Answer.Content {
        if handle.digest != nil, !words.isEmpty { return try Self.content(request.content, words) }
        return try await ask(request)
    }

    private static func content(_ question: Request.Content, _ words: [String]) throws(CommandFailure) -> Answer.Content
    {
        var reader = AnswerReader(question)
        let lines = question.questions.map { $0.count == 1 } ?? true ? [words.joined(separator: " ")] : words
        for line in lines {
            switch reader.read(line) {
            case .answer(let content): return content
            case .more: continue
            case .again(let sentence):
                throw CommandFailure(.badInput, "'\(Readers.shown(line))' is no answer", hint: sentence)
            }
        }
        throw CommandFailure(
            .badInput, "there are more questions than answers", hint: "Give one text for each question.")
    }

    private func ask(_ request: PendingRequest) async throws(CommandFailure) -> Answer.Content {
        let (output, input) = (daemon.output, daemon.command.context.runtime.input)
        let text = RequestText(request.content)
        for line in ["? [\(request.handle)]"] + text.lines + [text.choices] { output.note(verbatim: line) }
        var reader = AnswerReader(request.content)
        while true {
            guard let bytes = try? await input.readLine(maxBytes: 65_536) else {
                throw CommandFailure(.badInput, "no answer was given")
            }
            switch reader.read(String(decoding: bytes, as: UTF8.self)) {
            case .answer(let content): return content
            case .more: continue
            case .again(let words): output.note(words)
            }
        }
    }

    // MARK: - The verdict

    private func send(
        _ content: Answer.Content, to request: PendingRequest, in session: SessionID
    ) async throws(CommandFailure) -> ExitCode {
        let events = await daemon.supervisor.subscribe()
        let operation = try await daemon.attempt("send the answer") { () async throws(ClientError) in
            try await daemon.supervisor.answer(request, content, in: session)
        }
        let isNative = daemon.link.isNative
        let answer = await withTimeLimit(Self.patience, on: daemon.command.context.runtime.loop) {
            await Self.verdict(on: operation, request.id, isNative, events)
        }
        events.finish()
        guard let verdict = answer.value else {
            throw CommandFailure(
                ClientError(.deliveryUnknown, "the daemon gave no verdict in \(Self.patience.components.seconds) s"),
                doing: "learn whether the answer counted", daemon: daemon.name)
        }
        switch verdict {
        case .success(let verdict): return try conclude(verdict)
        case .failure(let error): throw CommandFailure(error, doing: "send the answer", daemon: daemon.name)
        }
    }

    /// As long as for any receipt.
    private static let patience: Duration = .seconds(15)

    /// What is refused before the desk has seen it gets none. Stock daemons give none; there `request_resolved` is all there is.
    private static func verdict(
        on operation: OperationID, _ request: RequestID, _ isNative: Bool, _ events: Feed<ClientEvent>
    ) async -> Result<DaemonMessage.AnswerVerdict, ClientError>? {
        for await event in events {
            switch event {
            case .session(let event):
                switch event.frame.message {
                case .answerVerdict(let verdict) where verdict.operation == operation: return .success(verdict)
                case .requestResolved(let resolved) where resolved.requestID == request && !isNative:
                    return .success(.init(operation: operation, requestID: request, outcome: .settled))
                default: continue
                }
            case .operation(let answer) where answer.id == operation:
                if let error = answer.state.failure { return .failure(error) }
            case .operation, .phase, .control, .sessionPhase: continue
            }
        }
        return nil
    }

    private func conclude(_ verdict: DaemonMessage.AnswerVerdict) throws(CommandFailure) -> ExitCode {
        report(verdict.outcome, AnswerEnd(verdict))
        var names = daemon.ownName
        let words = verdict.words(&names) ?? ""
        switch verdict.outcome {
        case .settled, .repeated:
            daemon.output.line(verdict.outcome == .settled ? "Settled." : "Settled before, by the same answer.")
            return .ok
        case .tooLate: throw CommandFailure(.tooLate, words)
        case .notWhatWasShown: throw CommandFailure(.notWhatWasShown, words, hint: "Look at it again.")
        case .unknown: throw CommandFailure(.unknownRequest, words)
        }
    }

    private func report(_ outcome: AnswerOutcome, _ end: AnswerEnd?) {
        daemon.output.json([
            "outcome": .string(outcome.rawValue), "how": end?.how.map { .string($0.rawValue) } ?? .null,
            "by": end?.by.map { ["node_id": .string($0.node.z32), "name": .string($0.name)] } ?? .null,
            "decision": end?.decision.map(JSON.string) ?? .null,
        ])
    }
}

extension MewClient.Operation.State {
    /// Why it was not done and never will be.
    fileprivate var failure: ClientError? {
        switch self {
        case .refused(let code, let message): ClientError(code, message)
        case .absent: ClientError(.unreachable, "the daemon never got it")
        case .sending, .stored, .delivered, .settled, .unknown: nil
        }
    }
}
