import MewBase
import MewClient
import MewWire

/// `mew bench client`: a device that stays connected and does what lines on its standard input say, so that a test with real
/// processes chooses the moment of everything. On the client core, as an app is.
///
/// Prints one object a line, whatever the command line says of JSON: events of its sessions and messages to everyone as they are on
/// the wire, and besides them
///
///     {"event": "ready"}                                                  connected: lines are read
///     {"event": "link", "phase": P}                                       dialing, ready, waiting …
///     {"event": "session", "session_id": S, "phase": P}                   attaching, replaying, live, lost, gone
///     {"event": "operation", "op_id": O, "kind": K, "state": T, …}        with `result` or `code`
///     {"event": "did", "order": WORD, "id": I}                            the line was carried out; I is an operation or a session
///     {"event": "failed", "order": WORD, "code": C, "message": M}
///
/// Each line is carried out as it comes and beside the others: what must follow something waits until that has been told.
struct BenchClient: Sendable {
    private let daemon: DaemonSession
    private let screen: Screen
    private let output: Output

    init(_ daemon: DaemonSession, _ screen: Screen) {
        (self.daemon, self.screen) = (daemon, screen)
        output = daemon.output.forPrograms
    }

    /// Until the input ends or a signal comes.
    func run() async -> ExitCode {
        output.json(["event": "ready"])
        await withDiscardingTaskGroup { group in
            reading: while let input = await screen.inputs.next() {
                switch input {
                case .event(let event): tell(event)
                case .line(let line?): group.addTask { await perform(line) }
                case .line(nil), .signal: break reading
                case .timer: continue
                }
            }
            group.cancelAll()
        }
        return .ok
    }

    // MARK: - Lines

    private func perform(_ line: String) async {
        guard let order = BenchOrder(line) else {
            return fail(line, ClientError(.badInput, "this is no order", isLocal: true))
        }
        do throws(ClientError) {
            let id = try await carryOut(order)
            output.json(["event": "did", "order": .string(order.word.rawValue), "id": .string(id)])
        } catch {
            fail(order.word.rawValue, error)
        }
    }

    private func fail(_ order: String, _ error: ClientError) {
        output.json([
            "event": "failed", "order": .string(order), "code": .string(error.code.rawValue),
            "message": .string(error.message),
        ])
    }

    /// - Returns: the operation or the session it is about.
    private func carryOut(_ order: BenchOrder) async throws(ClientError) -> String {
        let (supervisor, session, text) = (daemon.supervisor, order.session, order.text)
        switch order.word {
        case .new: return try await supervisor.newSession(cwd: nil).text
        case .attach: try await supervisor.attach(session)
        case .detach: await supervisor.detach(session)
        case .prompt: return try await supervisor.prompt(text, in: session).description
        case .guide: return try await supervisor.guide(text, in: session).description
        case .cancel: return try await supervisor.cancel(in: session).description
        case .answer: return try await answer(text, in: session)
        case .slash: try await supervisor.change(.slashCommand(.init(command: text)), on: session)
        case .mode: try await supervisor.change(.setPermissionMode(.init(mode: text)), on: session)
        case .rename: try await supervisor.change(.renameSession(.init(sessionID: session, title: text)))
        case .delete: try await supervisor.change(.deleteSession(.init(sessionID: session)))
        case .older: _ = try await supervisor.loadOlder(in: session)
        }
        return session.text
    }

    /// The oldest question that is open there.
    private func answer(_ text: String, in session: SessionID) async throws(ClientError) -> String {
        guard let request = await daemon.supervisor.view.attached[session]?.requests.first else {
            throw ClientError(.unknownRequest, "nothing is asked", isLocal: true)
        }
        guard let content = Answer.Content(typed: text, to: request) else {
            throw ClientError(.badInput, "that is no answer", isLocal: true)
        }
        return try await daemon.supervisor.answer(request, content, in: session).description
    }

    // MARK: - Events

    private func tell(_ event: ClientEvent) {
        switch event {
        case .session(let event): output.json(event)
        case .control(let frame): output.json(frame)
        case .phase(let phase): output.json(["event": "link", "phase": .string(phase.word)])
        case .sessionPhase(let id, let phase):
            output.json(["event": "session", "session_id": .string(id.text), "phase": .string(phase.word)])
        case .operation(let operation): output.json(operation.told)
        }
    }
}

/// One line for `mew bench client`: a word, the session it is about (not for `new`), and a text.
struct BenchOrder {
    enum Word: String {
        case new, attach, detach, prompt, guide, cancel, answer, slash, mode, rename, delete, older
    }

    let word: Word
    let session: SessionID
    let text: String

    init?(_ line: String) {
        let parts = line.split(separator: " ", maxSplits: 2)
        guard let word = parts.first.flatMap({ Word(rawValue: String($0)) }) else { return nil }
        // `new` has no session to name; any will do.
        guard let session = SessionID(parts.count > 1 ? parts[1] : word == .new ? "-" : "") else { return nil }
        (self.word, self.session) = (word, session)
        text = parts.count > 2 ? String(parts[2]) : ""
    }
}

extension Answer.Content {
    /// What a person would type, in one line.
    init?(typed text: String, to request: PendingRequest) {
        var reader = AnswerReader(request.content)
        guard case .answer(let content) = reader.read(text) else { return nil }
        self = content
    }
}

extension Output {
    /// For commands that only programs run.
    var forPrograms: Output { Output(isJSON: true, standard: standard, errors: errors) }
}

extension LinkPhase {
    fileprivate var word: String {
        switch self {
        case .idle: "idle"
        case .dialing: "dialing"
        case .greeting: "greeting"
        case .pairing: "pairing"
        case .ready: "ready"
        case .waiting: "waiting"
        case .parked: "parked"
        }
    }
}

extension AttachedSession.Phase {
    fileprivate var word: String {
        switch self {
        case .attaching: "attaching"
        case .replaying: "replaying"
        case .live: "live"
        case .lost: "lost"
        case .gone: "gone"
        }
    }
}

extension MewClient.Operation {
    fileprivate var told: JSONObject {
        var object: JSONObject = [
            "event": "operation", "op_id": .string(id.description), "kind": .string(kind.rawValue),
            "state": .string(state.name),
        ]
        object["session_id"] = session.map { .string($0.text) }
        if case .settled(let result?) = state { object["result"] = .string(result.rawValue) }
        if case .refused(let code, _) = state { object["code"] = .string(code.rawValue) }
        return object
    }
}
