import MewBase
import MewClient
import MewLoop
import MewWire

/// One prompt on the screen, from sending it to the end of its turn.
struct PromptTurn {
    private let daemon: DaemonSession
    private let screen: Screen
    private let session: SessionID
    private let output: Output
    private var printer = TurnPrinter(showsOwnPrompts: false)
    private var desk: QuestionDesk
    private let clock = ContinuousClock()

    private var operation: MewClient.Operation?
    private var operationID: OperationID?
    /// Nothing is printed of what was said before.
    private var hasBaseline: Bool
    private var isLive = true
    private var isReady = true
    /// A turn is running in the session, as far as the events on the screen say.
    private var isRunning = false
    /// The end of the turn was waited for long enough.
    private var isOverdue = false
    private var isCancelling = false
    private var isDetaching = false
    /// Stock daemons: our own prompt was taken, and how its turn went.
    private var stock = StockOutcome()

    /// How long a turn is waited for without a connection. Longer than a laptop's walk between two rooms, shorter than a night.
    static let linkPatience: Duration = .seconds(300)
    /// How long the last events may be behind the receipt. Beyond it another turn is running already.
    static let lastEvents: Duration = .seconds(1)
    /// In which a second Ctrl-C cancels.
    static let detachWindow: Duration = .seconds(2)

    private struct StockOutcome {
        var hasBegun = false
        var result: TurnResult?
        var sawError = false
    }

    /// - Parameter isNew: the session was made for this prompt: there is nothing before it.
    init(
        _ daemon: DaemonSession, _ screen: Screen, session: SessionID, isNew: Bool, permit: QuestionDesk.Permit
    ) {
        hasBaseline = isNew
        (self.daemon, self.screen, self.session) = (daemon, screen, session)
        output = daemon.output
        let canAsk = daemon.command.context.terminal.canAsk && !output.isJSON
        desk = QuestionDesk(permit: permit, canAsk: canAsk, daemon: daemon.name)
    }

    mutating func run(_ text: String) async throws(CommandFailure) -> ExitCode {
        let id = try await daemon.attempt("send the prompt") { () async throws(ClientError) in
            try await daemon.supervisor.prompt(text, in: session)
        }
        operationID = id
        while let input = await screen.inputs.next() {
            if let exit = try await react(to: input) { return exit }
        }
        return leaving()
    }

    private mutating func react(to input: ScreenInput) async throws(CommandFailure) -> ExitCode? {
        switch input {
        case .event(let event): try await react(to: event)
        case .line(let line?): await perform(desk.typed(line, now: clock.now))
        case .line(nil): break  // the end of the input: questions stay for other devices
        case .signal(let signal):
            if let exit = try await signalled(signal) { return exit }
        case .timer(.detach):
            if isDetaching, !isCancelling { return leaving() }
        case .timer(.linkPatience):
            if !isReady { throw lostForGood() }
        case .timer(.afterTurn):
            isOverdue = true
            if stock.hasBegun { stock.result = stock.result ?? (stock.sawError ? .failed : .completed) }
        }
        return try ended()
    }

    // MARK: - Events

    private mutating func react(to event: ClientEvent) async throws(CommandFailure) {
        switch event {
        case .session(let event) where event.session == session:
            print(event)
            if case .request(let request) = event.frame.message { desk.arrived(request.id) }
            await follow(event.frame.message, isOwn: event.isOwnEcho)
            await considerQuestions()
        case .sessionPhase(session, let phase):
            isLive = phase == .live
            if phase == .gone {
                throw CommandFailure(.unknownSession, "the session was deleted while its turn was running")
            }
            await considerQuestions()
        case .operation(let next) where next.id == operationID:
            operation = next
            // The receipt may be ahead of the last events of the turn.
            if case .settled = next.state, isRunning { await screen.schedule(.afterTurn, after: Self.lastEvents) }
            await considerQuestions()
        case .phase(let phase):
            try await linkChanged(phase)
        case .control(let frame):
            if case .daemonState(let state) = frame.message { note(state.words(daemon.name)) }
        case .session, .sessionPhase, .operation:
            break
        }
    }

    private mutating func print(_ event: SessionEvent) {
        if !hasBaseline, let messages = event.frame.message.history {
            hasBaseline = true
            return printer.skip(messages)
        }
        if output.isJSON {
            if event.frame.message.kind.isEventOfSession { output.json(event) }
            return
        }
        if case .answerVerdict(let verdict) = event.frame.message, let words = verdict.words { note(words) }
        output.text(printer.text(for: event))
    }

    private mutating func follow(_ message: DaemonMessage, isOwn: Bool) async {
        if case .sessionActivityChanged(let change) = message { isRunning = change.activity == .running }
        guard !daemon.link.isNative else { return }
        switch message {
        case .userMessage: stock.hasBegun = stock.hasBegun || isOwn
        case .errorEvent: stock.sawError = stock.hasBegun
        case .sessionAlert(let alert) where stock.hasBegun:
            if alert.kind == .turnComplete { stock.result = .completed }
            if alert.kind == .turnFailed { stock.result = isCancelling ? .cancelled : .failed }
        case .sessionActivityChanged(let change) where change.activity != .running && stock.hasBegun:
            await screen.schedule(.afterTurn, after: .seconds(2))  // the alert that says how it went is right behind
        default: break
        }
    }

    private mutating func linkChanged(_ phase: LinkPhase) async throws(CommandFailure) {
        switch phase {
        case .ready:
            if !isReady { note("connected again") }
            isReady = true
        case .waiting(_, let trouble):
            if isReady {
                note("the connection is lost (\(ClientError(trouble).message)); the turn goes on there")
                await screen.schedule(.linkPatience, after: Self.linkPatience)
            }
            isReady = false
        case .parked(let refusal):
            throw undelivered
                ?? CommandFailure(
                    ClientError(refusal), doing: "stay connected to \(daemon.name)", daemon: daemon.name)
        case .idle, .dialing, .greeting, .pairing:
            break
        }
    }

    /// Nobody knows whether the prompt arrived; that matters more than why the connection is gone.
    private var undelivered: CommandFailure? {
        guard operation == nil || operation?.state == .sending || operation?.state == .unknown else { return nil }
        return CommandFailure(
            ClientError(.deliveryUnknown, "the connection was lost before the daemon said that it has it"),
            doing: "learn whether the prompt was delivered", daemon: daemon.name)
    }

    private func lostForGood() -> CommandFailure {
        undelivered
            ?? CommandFailure(
                .unreachable,
                "\(daemon.name) has been out of reach for \(Self.linkPatience.components.seconds / 60) minutes",
                hint: "The turn goes on there; return with '\(wayBack)'.")
    }

    // MARK: - Questions

    private mutating func considerQuestions() async {
        let requests = await daemon.supervisor.view.attached[session]?.requests ?? []
        let isOurs: Bool
        if case .delivered? = operation?.state { isOurs = true } else { isOurs = stock.hasBegun }
        await perform(desk.update(requests, mayDecide: isOurs && isLive, now: clock.now))
    }

    private mutating func perform(_ actions: [QuestionDesk.Action]) async {
        for action in actions {
            switch action {
            case .print(let lines):
                output.text(printer.endLine())
                for line in lines { output.note(line) }
            case .answer(let request, let content):
                do throws(ClientError) {
                    _ = try await daemon.supervisor.answer(request, content, in: session)
                } catch {
                    note("could not send the answer: \(error.message)")
                }
            }
        }
    }

    // MARK: - Leaving

    private var wayBack: String { "mew watch \(shellQuoted(daemon.name)) \(session.text)" }

    private mutating func signalled(_ signal: Signal) async throws(CommandFailure) -> ExitCode? {
        guard signal == .interrupt else { return leaving() }
        guard isDetaching else {
            isDetaching = true
            note("detaching; the turn goes on. Ctrl-C again now cancels it")
            note("return: \(wayBack)")
            note("cancel: mew cancel \(shellQuoted(daemon.name)) \(session.text)")
            await screen.schedule(.detach, after: Self.detachWindow)
            return nil
        }
        guard !isCancelling else { return leaving() }
        isCancelling = true
        note("cancelling")
        try await daemon.attempt("cancel the turn") { () async throws(ClientError) in
            _ = try await daemon.supervisor.cancel(in: session)
        }
        return nil
    }

    private func leaving() -> ExitCode {
        guard let undelivered else { return .ok }
        return output.failure(undelivered)
    }

    private mutating func note(_ text: String) {
        output.text(printer.endLine())
        output.note("(\(text))")
    }

    // MARK: - The end

    private mutating func ended() throws(CommandFailure) -> ExitCode? {
        guard isLive || !isReady else { return nil }  // the last events are still on their way
        if let result = stock.result { return done(result.rawValue, Self.exit(result)) }
        switch operation?.state {
        case .settled? where !daemon.link.isNative:
            return nil  // how it went, the alert tells
        case .settled(let result)?:
            guard !isRunning || isOverdue else { return nil }
            let result = result ?? .completed
            return done(result.rawValue, Self.exit(result))
        case .refused(let code, let message)?:
            _ = done("refused", .refused, isTold: true)
            throw CommandFailure(
                ClientError(code, message), doing: "run the prompt", daemon: daemon.name)
        case .absent?:
            throw CommandFailure(
                .unreachable, "the prompt never reached \(daemon.name): the connection was lost on the way",
                hint: "Nothing ran; send it again.")
        case .sending?, .stored?, .delivered?, .unknown?, nil:
            return nil
        }
    }

    private static func exit(_ result: TurnResult) -> ExitCode {
        switch result {
        case .completed: .ok
        case .failed, .interrupted: .failed
        case .cancelled: .refused
        }
    }

    private func words(_ outcome: String) -> String {
        guard outcome == TurnResult.interrupted.rawValue else { return "the turn was \(outcome)" }
        return "the turn was interrupted, and nothing of it runs again by itself. See how far it got with "
            + "'mew history \(shellQuoted(daemon.name)) \(session.text)'."
    }

    /// - Parameter isTold: a sentence about it follows.
    private mutating func done(_ outcome: String, _ exit: ExitCode, isTold: Bool = false) -> ExitCode {
        output.text(printer.endLine())
        output.json([
            "event": "done", "session_id": .string(session.text),
            "op_id": operationID.map { .string($0.description) } ?? .null, "outcome": .string(outcome),
        ])
        if exit != .ok, !output.isJSON, !isTold { output.warning(words(outcome)) }
        return exit
    }
}

extension DaemonMessage {
    /// The messages of a page that replaces what was known, or of a whole history.
    var history: [Message]? {
        switch self {
        case .sessionHistoryPage(let page): page.replaces ? page.messages : nil
        case .sessionHistory(let history): history.messages
        default: nil
        }
    }
}
