import MewBase
import MewClient
import MewLoop
import MewWire

/// One prompt on the screen, from sending it to the end of its turn.
struct PromptTurn {
    let daemon: DaemonSession
    let screen: Screen
    let session: SessionID
    let output: Output
    var printer: TurnPrinter
    private var desk: QuestionDesk
    /// This device is the one that types in the session.
    private var isTyping = false
    private let clock = ContinuousClock()

    var operation: MewClient.Operation?
    var operationID: OperationID?
    /// Nothing is printed of what was said before.
    private var hasBaseline: Bool
    var isLive = true
    var reach = Reach()
    /// Answers whose end is not known yet.
    private var answers: [OperationID: RequestID] = [:]
    /// A turn is running in the session, as far as the events on the screen say.
    var isRunning = false
    /// The end of the turn was waited for long enough.
    var isOverdue = false
    var isCancelling = false
    var isDetaching = false
    /// Stock daemons: our own prompt was taken, and how its turn went.
    var stock = StockOutcome()

    /// How long a turn is waited for without a connection. Longer than a laptop's walk between two rooms, shorter than a night.
    static let linkPatience: Duration = .seconds(300)
    /// How long the last events may be behind the receipt. Beyond it another turn is running already.
    static let lastEvents: Duration = .seconds(1)
    /// In which a second Ctrl-C cancels.
    static let detachWindow: Duration = .seconds(2)

    /// - Parameters:
    ///   - isNew: the session was made for this prompt: there is nothing before it.
    ///   - canAsk: a person reads the screen, and what he types is read.
    init(
        _ daemon: DaemonSession, _ screen: Screen, session: SessionID, isNew: Bool, permit: QuestionDesk.Permit,
        canAsk: Bool
    ) {
        hasBaseline = isNew
        (self.daemon, self.screen, self.session) = (daemon, screen, session)
        output = daemon.output
        printer = TurnPrinter(showsOwnPrompts: false, names: daemon.ownName)
        desk = QuestionDesk(permit: permit, canAsk: canAsk, daemon: daemon.name)
    }

    mutating func run(_ text: String) async throws(CommandFailure) -> ExitCode {
        if let earlier = try await arrivedBefore(text) {
            note("the same prompt has arrived before, and is not sent again: this is that one")
            (operation, operationID) = (earlier, earlier.id)
            if let exit = try ended() { return exit }
        } else {
            operationID = try await daemon.attempt("send the prompt") { () async throws(ClientError) in
                try await daemon.supervisor.prompt(text, in: session)
            }
        }
        while let input = await screen.inputs.next() {
            if let exit = try await react(to: input) { return exit }
        }
        return leaving()
    }

    private mutating func react(to input: ScreenInput) async throws(CommandFailure) -> ExitCode? {
        switch input {
        case .event(let event): try await react(to: event)
        case .line(let line?):
            await perform(desk.typed(line, now: clock.now))
            await considerQuestions()  // the answer may not have gone out
        case .line(nil): break  // the end of the input: questions stay for other devices
        case .signal(let signal):
            if let exit = try await signalled(signal) { return exit }
        case .timer(.detach):
            if isDetaching, !isCancelling { return leaving() }
        case .timer(.linkPatience(let loss)):
            if reach.isLost(since: loss) { throw lostForGood() }
        case .timer(.afterTurn):
            isOverdue = true
            stock.conclude()
        }
        return try ended()
    }

    // MARK: - Events

    private mutating func react(to event: ClientEvent) async throws(CommandFailure) {
        switch event {
        case .session(let event) where event.session == session:
            print(event)
            if case .request(let request) = event.frame.message { desk.arrived(request.id) }
            if case .leaseState(let state) = event.frame.message { follow(state) }
            await follow(event.frame.message, isOwn: event.isOwnEcho)
            await considerQuestions()
        case .sessionPhase(session, let phase):
            isLive = phase == .live
            if phase == .gone {
                throw CommandFailure(.unknownSession, daemon.goneSession)
            }
            await catchUpOnStock()
            await considerQuestions()
        case .operation(let next) where next.id == operationID:
            if await waits(next) { note("waits: another turn is running") }
            operation = next
            // The receipt may be ahead of the last events of the turn.
            if case .settled = next.state, daemon.link.isNative {
                await screen.schedule(.afterTurn, after: Self.lastEvents)
            }
            await considerQuestions()
        case .operation(let next) where answers[next.id] != nil:
            follow(answer: next)
            await considerQuestions()
        case .phase(let phase):
            try await linkChanged(phase)
        case .control(let frame):
            if case .daemonState(let state) = frame.message { note(state.words(daemon.name)) }
        case .session, .sessionPhase, .operation:
            break
        }
    }

    /// The prompt has just been stored behind another turn.
    private func waits(_ next: MewClient.Operation) async -> Bool {
        guard case .stored(let turn?) = next.state, operation?.state.turn == nil else { return false }
        let running = await daemon.supervisor.view.attached[session]?.turn
        return running != nil && running != turn
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
        if case .answerVerdict(let verdict) = event.frame.message, let words = verdict.words(&printer.names) {
            note(words)
        }
        output.text(printer.text(for: event))
    }

    /// Who had taken over hears that somebody took over from him.
    private mutating func follow(_ state: DaemonMessage.LeaseState) {
        let wasTyping = isTyping
        isTyping = state.holder?.node == daemon.command.environment.dialer.node
        guard wasTyping, !isTyping, let holder = state.holder else { return }
        note("\(printer.names.name(of: holder)) took over; prompts of others are refused")
    }

    private mutating func follow(_ message: DaemonMessage, isOwn: Bool) async {
        if case .sessionActivityChanged(let change) = message { isRunning = change.activity == .running }
        guard !daemon.link.isNative else { return }
        let isEnding = stock.follow(message, isOwn: isOwn, isCancelling: isCancelling)
        if isEnding { await screen.schedule(.afterTurn, after: .seconds(2)) }
    }

    /// A stock daemon tells nobody what happened while he was away: only its list knows whether the turn still runs.
    private mutating func catchUpOnStock() async {
        guard isLive, stock.hasBegun, !daemon.link.isNative else { return }
        guard let info = try? await daemon.session(session.text), info.state != .running else { return }
        stock.conclude(hasFailed: info.lastTurnFailed)
    }

    private mutating func linkChanged(_ phase: LinkPhase) async throws(CommandFailure) {
        switch phase {
        case .ready:
            if reach.back() { note("connected again") }
        case .waiting(_, let trouble):
            if let loss = reach.lost() {
                note("the connection is lost (\(ClientError(trouble).message)); trying again")
                await screen.schedule(.linkPatience(loss), after: Self.linkPatience)
            }
        case .parked(let refusal):
            throw undelivered
                ?? CommandFailure(
                    ClientError(refusal), doing: "stay connected to \(daemon.name)", daemon: daemon.name)
        case .idle, .dialing, .greeting, .pairing:
            break
        }
    }

    /// Nobody knows whether the prompt arrived; that matters more than why the connection is gone.
    var undelivered: CommandFailure? {
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

    /// What the desk decides has its verdict, which is on the screen; what is refused before, says why here. Both are asked again.
    private mutating func follow(answer: MewClient.Operation) {
        guard answer.isOver, let request = answers.removeValue(forKey: answer.id) else { return }
        switch answer.state {
        case .refused(.tooLate, _), .refused(.notWhatWasShown, _), .refused(.unknownRequest, _):
            desk.refused(request)
        case .refused(_, let message):
            desk.refused(request)
            note("the answer was not taken: \(message)")
        case .absent: note("the answer never reached \(daemon.name)")
        case .settled, .sending, .stored, .delivered, .unknown: break
        }
    }

    private mutating func perform(_ actions: [QuestionDesk.Action]) async {
        for action in actions {
            switch action {
            case .print(let lines):
                output.text(printer.endLine())
                for line in lines { output.note(verbatim: line) }
            case .answer(let request, let content):
                do throws(ClientError) {
                    let answer = try await daemon.supervisor.answer(request, content, in: session)
                    answers[answer] = request.id
                } catch {
                    note("could not send the answer: \(error.message)")
                }
            }
        }
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
