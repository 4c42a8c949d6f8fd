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
    private var printer: TurnPrinter
    /// For announcing questions only: a watcher answers with `mew answer`.
    private var desk: QuestionDesk
    private var lease: LeaseWords
    private var versions: DaemonView.Versions?
    private var isReady = true
    /// The connection was lost while the daemon was asked who waits for an answer.
    private var owesList = false
    /// What was said before is not printed; what a later snapshot brings is.
    private var hasBaseline = false
    /// How many events of the session were told to be lost.
    private var lost: UInt64 = 0

    init(_ daemon: DaemonSession, _ screen: Screen, session: SessionID?) {
        (self.daemon, self.screen, self.session) = (daemon, screen, session)
        output = daemon.output
        printer = TurnPrinter(showsOwnPrompts: true, names: daemon.ownName)
        desk = QuestionDesk(permit: .ask, canAsk: false, daemon: daemon.name)
        lease = LeaseWords(device: daemon.command.environment.dialer.node)
    }

    /// In milliseconds. Longer than anything on its way may take.
    private static let oldProof: Int64 = 10_000

    mutating func run() async throws(CommandFailure) -> ExitCode {
        await tellVersions()
        // What became of the connection before anybody listened was no event for us.
        try await linkChanged(await daemon.supervisor.view.phase)
        try await tellWhoNeedsYou()
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
        case .control(let frame):
            await react(to: frame)
        case .sessionPhase(session, let phase):
            if phase == .gone { throw CommandFailure(.unknownSession, daemon.goneSession) }
            if phase == .live { hasBaseline = true }
        case .phase(let phase):
            try await linkChanged(phase)
        case .session, .sessionPhase, .operation:
            break
        }
    }

    private mutating func react(to frame: DaemonFrame) async {
        // A daemon that comes back may be another version.
        if case .pong = frame.message { await tellVersions() }
        guard session != nil else { return print(frame) }
        if case .daemonState(let state) = frame.message { output.note("(\(state.words(daemon.name)))") }
    }

    private mutating func tellVersions() async {
        let versions = await daemon.supervisor.view.versions
        defer { self.versions = versions }
        guard let versions, versions != self.versions, !output.isJSON else { return }
        output.note("(\(versions.words(daemon.name)))")
    }

    /// Of the whole daemon, what waits already is told before what comes.
    private mutating func tellWhoNeedsYou() async throws(CommandFailure) {
        owesList = false
        guard session == nil, !output.isJSON else { return }
        let sessions: [SessionInfo]
        do throws(CommandFailure) {
            sessions = try await daemon.sessions()
        } catch {
            guard error.code == .unreachable || error.code == .timedOut else { throw error }
            // A loss ends no watch, nor does a silence that is not yet known as one. It is told as such, and the list when the connection is back.
            owesList = true
            return
        }
        for session in sessions where session.needsYou && !session.archived {
            output.line("\(session.displayTitle.printable(limit: 80)) \(Command.state(session))")
        }
    }

    private mutating func tell(_ state: DaemonMessage.LeaseState) {
        guard let news = lease.news(state.holder, &printer.names), !output.isJSON else { return }
        output.text(printer.endLine())
        output.line("(\(news))")
    }

    private mutating func print(_ event: SessionEvent) async {
        if case .leaseState(let state) = event.frame.message { tell(state) }
        if case .sessionReady(let ready) = event.frame.message { tellLost(ready.lost ?? 0) }
        if let messages = event.frame.message.history, !hasBaseline {
            printer.skip(messages)  // what was said before is for `mew history`
        } else if output.isJSON {
            if event.frame.message.isForPrograms { output.json(event) }
        } else {
            output.text(printer.text(for: event))
        }
        if case .request(let request) = event.frame.message { desk.arrived(request.id) }
        await announceQuestions()
    }

    /// Events that the daemon does not have any more.
    private mutating func tellLost(_ count: UInt64) {
        defer { lost = count }
        guard count > 0, count != lost else { return }
        output.text(printer.endLine())
        tell(
            "events_lost", "(\(count) event\(count == 1 ? " was" : "s were") lost on \(daemon.name))",
            ["lost": .integer(Int64(clamping: count))])
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

    private mutating func linkChanged(_ phase: LinkPhase) async throws(CommandFailure) {
        switch phase {
        case .ready:
            if !isReady { tell("back", "(connected again)") }
            isReady = true
            if owesList { try await tellWhoNeedsYou() }
        case .waiting(_, let trouble):
            if isReady { await tellLoss(ClientError(trouble).message) }
            isReady = false
        case .parked(let refusal):
            throw CommandFailure(
                ClientError(refusal), doing: "stay connected to \(daemon.name)", daemon: daemon.name)
        case .idle, .dialing, .greeting, .pairing:
            break
        }
    }

    /// What is on the screen is as old as the last proof that the daemon was there. Of a daemon that has just said goodbye, or been
    /// heard, that is no news.
    private func tellLoss(_ reason: String) async {
        let proof = await daemon.supervisor.view.lastProof?.milliseconds
        let now = WallTime.now.milliseconds
        let isOld = proof.map { now - $0 >= Self.oldProof } ?? false
        let age = isOld ? "; last proof \(Words.ago(proof, now: now))" : ""
        tell(
            "lost", "(the connection is lost: \(reason)\(age); trying again)",
            ["reason": .string(reason), "last_proof_ms": proof.map(JSON.integer) ?? .null])
    }

    /// Programs see among the events of the daemon when there could be none.
    private func tell(_ event: String, _ note: String, _ more: JSONObject = [:]) {
        var object: JSONObject = ["event": .string(event), "daemon": .string(daemon.name)]
        for entry in more.entries { object[entry.key] = entry.value }
        output.json(object)
        output.note(note)
    }
}

extension DaemonMessage {
    /// A snapshot stands for the events that it replaces.
    fileprivate var isForPrograms: Bool { kind.isEventOfSession || kind == .leaseState || history != nil }
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
