import MewBase
public import MewIdentity
import MewWire

// What waits until the session is free, and what happens when it is.

extension SessionCore {
    mutating func hasRoomToWait(_ request: ClientRequest, _ moment: Moment) -> Bool {
        guard work.count >= Self.maxWaiting else { return true }
        refuse(
            request, .busy, "\(work.count) prompts and commands wait already; wait for one to finish", moment)
        return false
    }

    /// Words that begin at once do not wait. False, and refused, when its device has too many waiting already.
    mutating func hasRoomFor(_ words: PendingWork, _ request: ClientRequest, _ moment: Moment) -> Bool {
        let beginsAtOnce = words.task.prompt != nil && isIdle && work.isEmpty
        let bytes = waitingBytes(of: request.by.node) + request.wordBytesElsewhere + words.wordBytes
        guard !beginsAtOnce, bytes > Self.maxWaitingBytes else { return true }
        refuse(
            request, .busy,
            "\(Self.maxWaitingBytes >> 20) MiB of this device's prompts and guidance may wait; let some of them begin first",
            moment)
        return false
    }

    /// Words of the device that wait here.
    public func waitingBytes(of device: NodeID) -> Int {
        (work + guidance).reduce(0) { $1.work.by.node == device ? $0 + $1.work.wordBytes : $0 }
    }

    mutating func nextWorkNumber() -> UInt64 {
        defer { record.nextWork += 1 }
        mustSave = true
        return record.nextWork
    }

    mutating func add(_ task: PendingWork.Task, _ request: ClientRequest, message: MessageID? = nil) {
        let number = nextWorkNumber()
        let waiting = PendingWork(task: task, operation: request.operation, by: request.by, message: message)
        work.append(Waiting(number: number, work: waiting))
        workClients[number] = request.client
        step.writes.append(.putWork(id, WorkRow(number: number, body: waiting.encoded())))
    }

    /// It waits no more.
    mutating func forget(_ waiting: Waiting) {
        step.writes.append(.removeWork(id, number: waiting.number))
        mustSave = true
    }

    /// Tells the one who asked what became of waiting work.
    mutating func settle(
        _ waiting: Waiting, _ state: ReceiptState, _ moment: Moment, result: TurnResult? = nil,
        code: ErrorCode? = nil, sentence: String? = nil
    ) {
        let client = workClients.removeValue(forKey: waiting.number)
        let prompt = waiting.work.task.prompt
        guard let key = waiting.work.operation else {
            guard let sentence, let client else { return }
            step.effects.append(
                .send(SessionMessage(.error(.init(message: sentence, code: code)), isReply: true), to: .client(client)))
            return
        }
        advance(
            key,
            DaemonMessage.Receipt(
                operation: key.id, state: state, isRepeat: false, sessionID: id, sequence: prompt?.sequence,
                turnID: prompt?.turn, result: result, code: code, message: sentence, at: moment.wall),
            client: client)
    }

    // MARK: - Switches and commands of clients

    mutating func take(_ switching: ClientMessage.SwitchModel, _ request: ClientRequest, _ moment: Moment) {
        let model = ModelName(provider: switching.provider, model: switching.model)
        guard offers(model) else {
            return refuse(
                request, .badInput, "failed to switch model: \(record.agent) does not offer \(model)", moment)
        }
        wait(.switchModel(model), request, moment)
    }

    mutating func take(
        _ setting: ClientMessage.SetThinkingVariant, _ request: ClientRequest, _ moment: Moment
    ) {
        let variant = setting.variant == "" || setting.variant == "none" ? nil : setting.variant
        guard variant == nil || offers(variant: variant ?? "") else {
            return refuse(
                request, .badInput,
                "failed to set thinking variant: the model has no variant \(variant ?? "")", moment)
        }
        wait(.setThinkingVariant(variant), request, moment)
    }

    mutating func take(_ switching: ClientMessage.SwitchPersona, _ request: ClientRequest, _ moment: Moment) {
        guard offer.personas.contains(where: { $0.name == switching.name }) else {
            return refuse(request, .badInput, "unknown persona: \(switching.name)", moment)
        }
        wait(.switchPersona(switching.name), request, moment)
    }

    mutating func take(_ command: ClientMessage.SlashCommand, _ request: ClientRequest, _ moment: Moment) {
        let name = command.command.split(separator: " ", maxSplits: 1).first.map(String.init) ?? ""
        switch name {
        case "/clear":
            // Each says again all that waits.
            guard !work.contains(where: { $0.work.task == .clear }) else {
                return refuse(request, .busy, "a /clear waits or is carried out already", moment)
            }
            wait(.clear, request, moment)
        case "/compact": wait(.compact, request, moment)
        case _ where Self.clientCommands.contains(name): receive(request, .done, moment)
        default:
            reply(.slashResult(.init(text: "unknown command \(name)")), to: request)
            receive(request, .done, moment)
        }
    }

    /// Commands that clients carry out themselves; a daemon is silent about them (spec/mew-wire.md §4.9).
    private static let clientCommands: Set<String> = [
        "/todo", "/cost", "/help", "/model", "/thinking", "/persona", "/permissions", "/quit", "/sessions", "/resume",
        "/rewind", "/mouse", "/theme", "/web", "/yield", "/autotitle", "/autosummary",
    ]

    private mutating func wait(_ task: PendingWork.Task, _ request: ClientRequest, _ moment: Moment) {
        guard hasRoomToWait(request, moment) else { return }
        receive(request, .stored, moment)
        add(task, request)
        startNext(moment)
    }

    private func offers(_ model: ModelName) -> Bool {
        offer.models.contains { $0.provider == model.provider && $0.model == model.model }
    }

    private func offers(variant: String) -> Bool {
        guard let model = record.model,
            let info = offer.models.first(where: { $0.provider == model.provider && $0.model == model.model })
        else { return false }
        if info.thinkingVariants.contains(where: { $0.name == variant }) { return true }
        guard variant.hasPrefix("budget:"), let tokens = Int64(variant.dropFirst(7)), let budget = info.thinkingBudget
        else { return false }
        return (budget.min...max(budget.min, budget.max)).contains(tokens)
    }

    // MARK: - The next piece

    /// Does what waits, in order, until something takes time.
    mutating func startNext(_ moment: Moment) {
        while isIdle, !isShutDown, let waiting = work.first {
            switch waiting.work.task {
            case .prompt(let prompt): start(prompt, waiting, moment)
            case .switchModel(let model): finish(waiting, moment) { $0.use(model, moment) }
            case .setThinkingVariant(let variant): finish(waiting, moment) { $0.use(variant: variant, moment) }
            case .switchPersona(let name): finish(waiting, moment) { $0.use(persona: name, moment) }
            case .clear: run(.forget)
            case .compact: run(.compact)
            case .guide: forgetFirst()
            }
        }
    }

    private mutating func forgetFirst() {
        forget(work.removeFirst())
    }

    private mutating func finish(_ waiting: Waiting, _ moment: Moment, _ change: (inout Self) -> Void) {
        forgetFirst()
        change(&self)
        settle(waiting, .done, moment)
    }

    private mutating func use(_ model: ModelName, _ moment: Moment) {
        record.model = model
        transcript.use(model)
        emit(.modelSwitched(.init(provider: model.provider, model: model.model)), moment)
        if let variant = record.thinkingVariant, !offers(variant: variant) { record.thinkingVariant = nil }
        emit(.thinkingVariantChanged(.init(variant: record.thinkingVariant)), moment)
    }

    private mutating func use(variant: String?, _ moment: Moment) {
        record.thinkingVariant = variant
        emit(.thinkingVariantChanged(.init(variant: variant)), moment)
    }

    mutating func use(persona: String, _ moment: Moment) {
        record.persona = persona
        mustSave = true
        emit(.personaSwitched(.init(name: persona)), moment)
    }

    // MARK: - Commands that the agent carries out

    private mutating func run(_ command: SessionCommand) {
        isCommandRunning = true
        step.effects.append(.runCommand(command))
    }

    /// A command that is broken off by the end of the daemon waits for the next one: to do it twice is no harm.
    mutating func commandEnded(_ isDone: Bool, _ moment: Moment) {
        guard isCommandRunning, !isShutDown, let waiting = work.first else { return }
        isCommandRunning = false
        forgetFirst()
        let text: String
        switch waiting.work.task {
        case .clear:
            clear(moment)
            text = "context cleared"
        case .compact:
            // The messages stay, but what the agent makes of them is another list.
            if isDone { record.history = HistoryID(moment.newID()) }
            text = isDone ? "compaction done" : "this agent has nothing to compact"
        case .prompt, .guide, .switchModel, .setThinkingVariant, .switchPersona:
            return
        }
        if let client = workClients[waiting.number] {
            step.effects.append(
                .send(SessionMessage(.slashResult(.init(text: text)), isReply: true), to: .client(client)))
        }
        settle(waiting, .done, moment)
        startNext(moment)
    }

    private mutating func clear(_ moment: Moment) {
        record.history = HistoryID(moment.newID())
        record.contextTokens = nil
        emit(.sessionCleared, moment)
        step.writes.append(.clearMessages(id))
        mustWriteMessages = true
        sayAgain(moment)
    }

    /// What still waits will be answered in the new list, so its words belong there.
    private mutating func sayAgain(_ moment: Moment) {
        for waiting in (work + guidance).sorted(by: { $0.number < $1.number }) {
            let prompt = waiting.work.task.prompt
            guard let text = waiting.work.task.words else { continue }
            let message = DaemonMessage.UserMessage(
                text: text, operation: waiting.work.operation?.id, by: waiting.work.by, turnID: prompt?.turn,
                attachments: prompt?.attachments ?? [])
            let first = moment.newIDs(message.identifiers)
            emit(.userMessage(message.named(first)), moment)
            show(waiting, in: MessageID(first))
        }
    }

    /// Its words stand in another message now.
    private mutating func show(_ waiting: Waiting, in message: MessageID) {
        var waiting = waiting
        waiting.work.message = message
        for index in work.indices where work[index].number == waiting.number { work[index] = waiting }
        for index in guidance.indices where guidance[index].number == waiting.number { guidance[index] = waiting }
        step.writes.append(.putWork(id, WorkRow(number: waiting.number, body: waiting.work.encoded())))
    }
}

extension ModelName: CustomStringConvertible {
    public var description: String { "\(provider)/\(model)" }
}
