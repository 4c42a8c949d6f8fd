internal import MewBase
internal import MewClient
internal import MewSession
internal import MewSim
internal import MewStore
internal import MewWire

/// Everything that is known at rest: what the store has, what the agent did, what each device shows and was told. The laws compare
/// them.
struct RestPicture {
    /// What one device shows.
    struct Screen: Sendable {
        let attached: AttachedSession
        let listed: [SessionInfo]
        let fresh: [SessionInfo]
    }

    let stage: SessionStage
    /// The journal as it is stored.
    let events: [EventRow]
    let frames: [DaemonFrame]
    let screens: [Screen]
    /// The receipts of everything that a person said, as they are stored.
    private(set) var receipts: [OperationID: DaemonMessage.Receipt] = [:]
    private(set) var broken: [SessionLaw.Breach] = []
    private(set) var requests = 0

    init(of stage: SessionStage) throws {
        self.stage = stage
        let session = stage.session
        guard let store = stage.desk.store else { preconditionFailure("looked at while the daemon does not run") }
        events = try stage.world.run(on: stage.desk.machine) {
            try await store.events(of: session, after: .zero, limit: 100_000)
        }
        frames = events.compactMap { row in
            if case .decoded(let frame) = DaemonFrame.decode(row.body, from: .native) { frame } else { nil }
        }
        screens = try stage.devices.map { try Self.screen(of: $0, stage) }
        for device in stage.devices { try readReceipts(of: device) }
        judgeJournal()
        judgeTranscripts()
        judgeOnce()
        judgeResults()
        judgeRequests()
        judgeLists()
    }

    /// With every older page.
    private static func screen(of device: SimDevice, _ stage: SessionStage) throws -> Screen {
        let session = stage.session
        let screen = try stage.ask(device) { supervisor -> Screen? in
            while try await supervisor.loadOlder(in: session) {}
            let view = await supervisor.view
            let fresh = try await supervisor.listSessions()
            return view.attached[session].map { Screen(attached: $0, listed: view.sessions ?? [], fresh: fresh) }
        }
        guard let seen = screen ?? nil else { preconditionFailure("looked at while nobody is attached") }
        return seen
    }

    private mutating func readReceipts(of device: SimDevice) throws {
        guard let store = stage.desk.store else { return }
        let (operations, node) = (device.person.texts.keys.sorted(), SimDevice.node(device.number))
        let rows = try stage.world.run(on: stage.desk.machine) {
            var rows: [ReceiptRow] = []
            for operation in operations {
                if let row = try await store.receipt(operation, of: node) { rows.append(row) }
            }
            return rows
        }
        for row in rows {
            guard let json = try? JSON(parsing: row.body), let receipt = try? DaemonMessage.Receipt.decode(json) else {
                breach(.result, "the receipt of …\(row.operation.description.suffix(4)) cannot be read")
                continue
            }
            receipts[row.operation] = receipt
        }
    }

    private mutating func breach(_ law: SessionLaw.Breach.Law, _ words: String) {
        broken.append(SessionLaw.Breach(law: law, words: words))
    }

    // MARK: - The journal

    private mutating func judgeJournal() {
        let numbers = events.map(\.sequence.rawValue)
        if numbers != (0..<UInt64(numbers.count)).map({ $0 + 1 }) { breach(.journal, "the stored numbers have holes") }
        if frames.count != events.count { breach(.journal, "some events cannot be read") }
        for device in stage.devices { judgeEvents(of: device) }
    }

    /// Also those of earlier epochs: what was told was stored, and what is stored stays.
    private mutating func judgeEvents(of device: SimDevice) {
        for fault in device.diary.faults { breach(.journal, "device \(device.number): \(fault)") }
        for (_, told) in device.diary.events[stage.session] ?? [:] {
            for (sequence, bytes) in told.sorted(by: { $0.key < $1.key }) {
                guard sequence <= UInt64(events.count) else {
                    return breach(.journal, "device \(device.number) was told event \(sequence), which is not stored")
                }
                guard events[Int(sequence) - 1].body == bytes else {
                    return breach(.journal, "device \(device.number) was told another event \(sequence)")
                }
            }
        }
    }

    // MARK: - The conversation

    private mutating func judgeTranscripts() {
        var journal = TranscriptReducer(session: stage.session.ulid ?? ULID(high: 0, low: 0))
        for frame in frames {
            journal.apply(frame.message, sequence: frame.sequence, at: WallTime(milliseconds: 0))
        }
        let told = journal.messages.map(\.plain)
        for (number, screen) in screens.enumerated() {
            // What a command answered is between it and whoever gave it.
            let shown = screen.attached.transcript.messages.filter { !$0.isAnswerToCommand }.map(\.plain)
            guard shown != told else { continue }
            let index = zip(shown, told).enumerated().first { $1.0 != $1.1 }?.offset ?? min(shown.count, told.count)
            breach(
                .transcript,
                "device \(number) shows \(shown.count) messages of \(told.count); the first that differs is \(index): "
                    + "\(Self.words(shown, index)) instead of \(Self.words(told, index))")
        }
        for (number, screen) in screens.enumerated()
        where screen.attached.lastSequence.rawValue != UInt64(events.count) {
            breach(.journal, "device \(number) is at \(screen.attached.lastSequence) of \(events.count)")
        }
    }

    private static func words(_ messages: [Message], _ index: Int) -> String {
        guard index < messages.count else { return "nothing" }
        let texts = messages[index].parts.map { part in
            if case .text(let text) = part.content { "“\(text.text.prefix(60))”" } else { "a part" }
        }
        return "\(messages[index].role) [\(texts.joined(separator: ", "))]"
    }

    // MARK: - Once

    private mutating func judgeOnce() {
        for (text, times) in Self.repeats(stage.judge.executed) {
            breach(.once, "“\(text)” was executed \(times) times")
        }
        for (text, times) in Self.repeats(stage.judge.guidance) { breach(.once, "“\(text)” was heard \(times) times") }
        // What waited when the conversation was cleared is said again in the new one.
        for conversation in frames.split(whereSeparator: { $0.message.kind == .sessionCleared }) {
            for (operation, times) in Self.repeats(Self.said(in: conversation).map(\.operation)) {
                breach(.once, "…\(operation.description.suffix(4)) is \(times) times in one conversation")
            }
        }
    }

    private static func repeats<Value: Hashable>(_ values: [Value]) -> [(Value, Int)] {
        var counts: [Value: Int] = [:]
        for value in values { counts[value, default: 0] += 1 }
        return values.compactMap { value in
            guard let count = counts.removeValue(forKey: value), count > 1 else { return nil }
            return (value, count)
        }
    }

    /// Everything that a person said, by the journal.
    private var said: [(operation: OperationID, text: String)] { Self.said(in: frames[...]) }

    private static func said(in frames: ArraySlice<DaemonFrame>) -> [(operation: OperationID, text: String)] {
        frames.compactMap { frame in
            guard case .userMessage(let message) = frame.message, let operation = message.operation else { return nil }
            return (operation, message.text)
        }
    }

    // MARK: - Results

    private mutating func judgeResults() {
        let said = Dictionary(said.map { ($0.operation, $0.text) }) { first, _ in first }
        for device in stage.devices {
            for (operation, text) in device.person.texts.sorted(by: { $0.key < $1.key }) {
                judge(operation, text, of: device, inJournal: said[operation])
            }
        }
    }

    private mutating func judge(_ operation: OperationID, _ text: String, of device: SimDevice, inJournal: String?) {
        let (told, receipt) = (device.diary.operations[operation] ?? [], receipts[operation])
        let isPrompt = device.person.isPrompt(operation)
        if let inJournal, inJournal != text { breach(.result, "“\(text)” became “\(inJournal)”") }
        if told.contains(where: \.hasArrived), inJournal == nil {
            breach(.result, "“\(text)” was acknowledged and is not in the journal")
        }
        if inJournal != nil, isPrompt, receipt?.state != .done || receipt?.result == nil {
            breach(.result, "“\(text)” was stored and has no end: \(receipt.map { "\($0.state)" } ?? "no receipt")")
        }
        if inJournal != nil, told.contains(where: \.didNothing) {
            breach(.result, "“\(text)” is in the journal, and its device was told that it never arrived: \(told)")
        }
        let ends = Set(told.compactMap(\.end))
        if isPrompt, ends.count > 1 || ends.contains(where: { $0 != receipt?.result }) {
            breach(.result, "“\(text)” ended as \(receipt?.result.map { "\($0)" } ?? "nothing"), told was \(ends)")
        }
        judgeWithdrawn(operation, text, receipt)
        let runs = stage.judge.deeds.filter { $0.text == text }
        if receipt?.result == .completed, runs.last?.end != .completed {
            breach(.result, "“\(text)” is told to be completed, and is not by the agent")
        }
    }

    /// A prompt that ended without having run says so where its words stand, and one that ran does not.
    private mutating func judgeWithdrawn(
        _ operation: OperationID, _ text: String, _ receipt: DaemonMessage.Receipt?
    ) {
        let messages = frames.compactMap { frame -> MessageID? in
            guard case .userMessage(let message) = frame.message, message.operation == operation, message.turnID != nil
            else { return nil }
            return message.messageID
        }
        guard !messages.isEmpty, let receipt, receipt.turnID != nil else { return }
        let isNoted = frames.contains { frame in
            guard case .partUpdated(let update) = frame.message, messages.contains(update.part.messageID),
                case .text(let words) = update.part.content
            else { return false }
            return words.text.hasPrefix(text + "\n(not run: ")
        }
        let began = frames.contains { frame in
            guard case .sessionActivityChanged(let change) = frame.message else { return false }
            return change.activity == .running && change.turnID == receipt.turnID
        }
        if receipt.state == .done, began == isNoted {
            breach(.result, "“\(text)” \(began ? "began" : "never began"), and the conversation says otherwise")
        }
    }

    // MARK: - Requests

    private mutating func judgeRequests() {
        var open: [RequestID: String] = [:]
        var outcomes: [RequestID: DaemonMessage.RequestResolved] = [:]
        for frame in frames {
            switch frame.message {
            case .request(let request): open[request.id] = request.content.input?["command"]?.asString ?? ""
            case .requestResolved(let resolved):
                if outcomes.updateValue(resolved, forKey: resolved.requestID) != nil {
                    breach(.request, "\(resolved.requestID) has two outcomes in the journal")
                }
            default: break
            }
        }
        requests = open.count
        for id in open.keys where outcomes[id]?.outcome == nil { breach(.request, "\(id) has no outcome") }
        for device in stage.devices { judgeAnswers(of: device, outcomes) }
        judgeDecisions(open, outcomes)
    }

    private mutating func judgeAnswers(of device: SimDevice, _ outcomes: [RequestID: DaemonMessage.RequestResolved]) {
        for (id, resolved) in device.diary.resolutions where outcomes[id] != resolved {
            breach(.request, "device \(device.number) was told another outcome of \(id): \(resolved)")
        }
        let node = SimDevice.node(device.number)
        for verdict in device.diary.verdicts {
            let outcome = outcomes[verdict.requestID]
            switch verdict.outcome {
            case .settled where outcome?.by?.node == node && outcome?.outcome == .answered: break
            case .tooLate where verdict.how == outcome?.outcome && verdict.by == outcome?.by: break
            case .repeated where outcome?.by?.node == node: break
            case .settled, .tooLate, .repeated, .notWhatWasShown, .unknown:
                breach(
                    .request,
                    "device \(device.number) was told \(verdict.outcome), "
                        + "\(verdict.by?.name ?? "nobody"); the journal says \(outcome.map { "\($0)" } ?? "nothing")")
            }
        }
    }

    /// What the agent was told is what everybody was told.
    private mutating func judgeDecisions(
        _ open: [RequestID: String], _ outcomes: [RequestID: DaemonMessage.RequestResolved]
    ) {
        for decision in stage.judge.decisions {
            let told = open.filter { $0.value == decision.text }.compactMap { outcomes[$0.key] }
            let isSame = told.contains { outcome in
                switch decision.verdict {
                case .allowedByMode: false
                case .allowed(let by): outcome.by == by && outcome.decision == PermissionDecision.allowOnce.rawValue
                case .denied(let by): outcome.by == by && outcome.decision == PermissionDecision.deny.rawValue
                }
            }
            if !isSame { breach(.request, "the agent was told \(decision.verdict) for “\(decision.text)”") }
        }
    }

    // MARK: - Lists

    private mutating func judgeLists() {
        for (number, screen) in screens.enumerated() {
            if screen.fresh.map(\.settled) != screens[0].fresh.map(\.settled) {
                breach(.lists, "device \(number) is given another list than device 0")
            }
            if screen.listed.map(\.settled) != screen.fresh.map(\.settled) {
                breach(
                    .lists,
                    "device \(number) lists \(screen.listed.map(\.settled)), true is \(screen.fresh.map(\.settled))")
            }
        }
    }

    // MARK: - Digest

    /// The same for the same seed.
    var digest: UInt64 {
        var digest: UInt64 = 0
        func add(_ word: UInt64) { digest = SeededGenerator.mix(digest ^ word) &+ word }
        for event in events { add(String(decoding: event.body, as: UTF8.self).digest) }
        for text in stage.judge.executed { add(text.digest) }
        for device in stage.devices {
            for (operation, states) in device.diary.operations.sorted(by: { $0.key < $1.key }) {
                add("\(operation) \(states)".digest)
            }
            for told in (device.diary.events[stage.session] ?? [:]).sorted(by: { $0.key < $1.key }) {
                add(UInt64(told.value.count))
            }
        }
        add(stage.world.now.nanoseconds)
        return digest
    }
}

extension Message {
    /// No event names it, so that the client made its identifier up, without a time.
    fileprivate var isAnswerToCommand: Bool {
        role == .assistant && parts.count == 1 && parts.first?.isSynthetic == true && id.ulid.high == 0
    }

    /// Without what only the daemon's clock knows, the number of the last change, and of an answer its turn: of one that a crash
    /// broke off, and whose end a full disk does not take, a client that comes is not told that its turn runs.
    fileprivate var plain: Message {
        var plain = self
        plain.time = MessageTime(created: WallTime(milliseconds: 0))
        plain.sequence = nil
        if role == .assistant { plain.turn = nil }
        return plain
    }
}

extension SessionInfo {
    /// What is told to everybody when it changes. Whether anybody is attached is not.
    fileprivate var settled: [String] {
        [
            sessionID.text, state == .running ? "running" : "", title ?? "", turnID?.description ?? "", "\(archived)",
            "\(pinned)",
            "\(pendingPermissions)", "\(pendingQuestions)",
        ]
    }
}

extension Operation.State {
    fileprivate var hasArrived: Bool {
        switch self {
        case .stored, .delivered, .settled: true
        case .sending, .unknown, .refused, .absent: false
        }
    }

    fileprivate var didNothing: Bool {
        switch self {
        case .refused, .absent: true
        case .sending, .unknown, .stored, .delivered, .settled: false
        }
    }

    fileprivate var end: TurnResult? { if case .settled(let result) = self { result } else { nil } }
}
