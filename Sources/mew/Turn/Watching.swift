import MewBase
import MewClient
import MewLoop
import MewWire

/// The live events of one session, or of everything a daemon tells everyone, on the screen until Ctrl-C.
struct Watching {
    private let daemon: DaemonSession
    private let screen: Screen
    private let session: SessionID?
    private let output: Output
    private var printer = TurnPrinter(showsOwnPrompts: true)
    /// For announcing questions only: a watcher answers with `mew answer`.
    private var desk: QuestionDesk
    private var isReady = true

    init(_ daemon: DaemonSession, _ screen: Screen, session: SessionID?) {
        (self.daemon, self.screen, self.session) = (daemon, screen, session)
        output = daemon.output
        desk = QuestionDesk(permit: .ask, canAsk: false, daemon: daemon.name)
    }

    mutating func run() async throws(CommandFailure) -> ExitCode {
        if let versions = await daemon.supervisor.view.versions, !output.isJSON {
            output.note("(\(daemon.name) runs mew \(versions.theirs); this is mew \(versions.ours))")
        }
        while let input = await screen.inputs.next() {
            switch input {
            case .event(let event): try await react(to: event)
            case .signal: return .ok
            case .line, .timer: continue
            }
        }
        return .ok
    }

    private mutating func react(to event: ClientEvent) async throws(CommandFailure) {
        switch event {
        case .session(let event) where event.session == session:
            await print(event)
        case .control(let frame) where session == nil:
            print(frame)
        case .control(let frame):
            if case .daemonState(let state) = frame.message { output.note("(\(state.words(daemon.name)))") }
        case .sessionPhase(session, .gone):
            throw CommandFailure(.unknownSession, "the session was deleted")
        case .phase(let phase):
            try linkChanged(phase)
        case .session, .sessionPhase, .operation:
            break
        }
    }

    private mutating func print(_ event: SessionEvent) async {
        if output.isJSON {
            if event.frame.message.kind.isEventOfSession { output.json(event) }
        } else if event.frame.message.history != nil, !event.isLive, let messages = event.frame.message.history {
            printer.skip(messages)  // what was said before is for `mew history`
        } else {
            output.text(printer.text(for: event))
        }
        if case .request(let request) = event.frame.message { desk.arrived(request.id) }
        await announceQuestions()
    }

    private mutating func announceQuestions() async {
        guard let session else { return }
        let requests = await daemon.supervisor.view.attached[session]?.requests ?? []
        for case .print(let lines) in desk.update(requests, mayDecide: false, now: ContinuousClock().now) {
            output.text(printer.endLine())
            for line in lines { output.isJSON ? output.note(verbatim: line) : output.line(line) }
        }
    }

    private func print(_ frame: DaemonFrame) {
        guard frame.message.kind.isForEveryone else { return }
        output.json(frame)
        guard let words = EveryoneWords(frame.message).sentence else { return }
        output.line(words)
    }

    private mutating func linkChanged(_ phase: LinkPhase) throws(CommandFailure) {
        switch phase {
        case .ready:
            if !isReady { tell("back", "(connected again)") }
            isReady = true
        case .waiting(_, let trouble):
            let reason = ClientError(trouble).message
            if isReady { tell("lost", "(the connection is lost: \(reason); trying again)", reason) }
            isReady = false
        case .parked(let refusal):
            throw CommandFailure(
                ClientError(refusal), doing: "stay connected to \(daemon.name)", daemon: daemon.name)
        case .idle, .dialing, .greeting, .pairing:
            break
        }
    }

    /// Programs see among the events of the daemon when there could be none.
    private func tell(_ event: String, _ note: String, _ reason: String? = nil) {
        var object: JSONObject = ["event": .string(event), "daemon": .string(daemon.name)]
        object["reason"] = reason.map(JSON.string)
        output.json(object)
        output.note(note)
    }
}

/// What a daemon tells everyone, in words; nil for what only a program cares about.
struct EveryoneWords {
    let sentence: String?

    init(_ message: DaemonMessage) {
        sentence =
            switch message {
            case .sessionActivityChanged(let change): "\(Self.name(change.sessionID)) is \(change.activity.rawValue)"
            case .sessionTitleChanged(let change):
                "\(Self.name(change.sessionID)) is called \(change.title.printable(limit: 80))"
            case .sessionAttentionChanged(let change) where change.pendingPermissions + change.pendingQuestions > 0:
                "\(Self.name(change.sessionID)) needs you"
            case .sessionAlert(let alert):
                "\(Self.name(alert)): \(alert.kind.words)"
                    + (alert.detail.map { " (\($0.printable(limit: 80)))" } ?? "")
            case .daemonState(let state):
                state.isSaving
                    ? "saving works again" : "nothing is being saved: \(state.reason?.printable(limit: 200) ?? "")"
            default: nil
            }
    }

    /// Its title; a session without one is told as its ID.
    private static func name(_ alert: DaemonMessage.SessionAlert) -> String {
        alert.title == alert.sessionID.text ? name(alert.sessionID) : alert.title.printable(limit: 80)
    }

    private static func name(_ id: SessionID) -> String {
        "session …\(id.text.suffix(6).description.printable(limit: 6))"
    }
}

extension DaemonMessage.DaemonState {
    /// Beside the events of a session: why they stand still.
    func words(_ daemon: String) -> String {
        guard !isSaving else { return "everything is being saved again on \(daemon)" }
        let why = reason.map { " (\($0.printable(limit: 200)))" } ?? ""
        return "nothing is being saved on \(daemon)\(why); turns wait until there is room"
    }
}

extension AlertKind {
    fileprivate var words: String {
        switch self {
        case .turnComplete: "the turn is complete"
        case .turnFailed: "the turn failed"
        case .permissionNeeded: "needs a permission"
        case .inputNeeded: "has a question"
        }
    }
}
