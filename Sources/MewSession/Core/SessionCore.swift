public import MewWire

/// One session's state machine: everything that is decided about it, and nothing else (DESIGN §8).
///
/// Pure value: no store, no tasks, no clock, no randomness. Feed it with `handle`; make the step's writes durable; then perform
/// its effects. Steps are performed in the order in which they were made. If the writes fail, put back the value from before.
///
///              prompt                      prompt, switch, command: wait
///     idle ──────────────► turn ───────────────────────────────► turn
///      ▲ │ /clear, /compact  │ turnEnded, recovered, shutDown
///      │ └────► command      ▼
///      └───────────┴──── next waiting work, in its order
///
/// A turn is *started* in the store before the agent hears of it. A turn that is started when the session is loaded was
/// interrupted by a crash: it ends as such and is never run again by itself. Work that only waits is done after a restart.
public struct SessionCore: Sendable {
    public let id: SessionID
    public internal(set) var record: SessionRecord
    public internal(set) var desk: RequestDesk
    public internal(set) var clients: [AttachedClient] = []

    var journal: Journal
    var transcript: Transcript
    /// What waits, in order; numbered as in the store.
    var work: [Waiting]
    /// The head of `work` is being carried out by the agent.
    var isCommandRunning = false
    /// Nothing is started any more; what waits is done by the next load.
    var isShutDown = false
    /// A crash left the turn on record, and that it is over is not saved yet: nothing runs, whatever the record says.
    var isUnsettled = false
    /// Guidance for the running or the next turn.
    var guidance: [Waiting]
    /// Which call waits for which request. Gone with the process, as the calls are.
    var waitingCalls: [RequestID: AgentCallID] = [:]
    /// Channels that asked for waiting work and want to hear the result.
    var workClients: [UInt64: ClientID] = [:]
    /// How the clients of this load are numbered.
    var clientNumbers: [ClientID: ClientNumber] = [:]
    var lastClientNumber: UInt64 = 0
    /// Who may type.
    var lease = LeaseDesk()
    /// The last one that was made.
    var lastScreen: (key: ScreenKey, screen: FirstScreen)?
    /// What was lost of the journal, as far as it is known.
    var lostEvents: UInt64
    /// The end of what the load found damaged, to be given up with the next save.
    var damagedUpTo: SequenceNumber?
    /// Receipts of prompts of which nothing else is left, until the load is settled.
    var orphans: [OperationKey: DaemonMessage.Receipt] = [:]
    /// Numbers of waiting work that cannot be read, likewise.
    var lostWork: [UInt64] = []
    /// What the session's agent offers.
    let offer: AgentOffer

    // MARK: The step being made

    var step = SessionStep()
    var mustSave = false
    /// Events since the messages were last written that only add to an open part.
    var pendingDeltas = 0
    var pendingDeltaBytes = 0
    var mustWriteMessages = false

    struct Waiting: Sendable {
        let number: UInt64
        var work: PendingWork
    }

    /// Prompts, switches and commands that may wait. A person types a few; a script that sends more should wait for receipts.
    public static let maxWaiting = 32
    /// Guidance that may wait.
    public static let maxGuidance = 32
    /// A prompt or guidance in bytes. Larger things belong into files.
    public static let maxPromptBytes = 1 << 20
    /// Words of one device that may wait, in all sessions together: two of the largest, or a thousand as people type them. They
    /// are part of what a client may cost (ARCHITECTURE.md).
    public static let maxWaitingBytes = 2 << 20
    /// Deltas until the messages are written again: bounds what a load must apply, far below the 10,000 events that are kept.
    static let maxPendingDeltas = 500
    static let maxPendingDeltaBytes = 256 << 10

    /// What of a session is read when it is loaded.
    public static let loadLimits = LoadLimits(
        events: Journal.maxReplayEvents, eventBytes: Journal.maxReplayBytes, messages: Transcript.keptMessages,
        messageBytes: Transcript.keptBytes)
    /// The most that is read of `missingMessages`: as much as is kept behind an unfinished one, and that one.
    public static let maxHeldBytes = 2 * Transcript.heldBytes

    public mutating func handle(_ input: SessionInput, at moment: Moment) -> SessionStep {
        step = SessionStep()
        dispatch(input, moment)
        writeMessages(moment)
        save()
        return step
    }

    /// For a disk that takes nothing: what the input says is done, and what was to be saved before stays so for the next step.
    /// Nil, with nothing changed, when the input itself must be saved.
    public mutating func handleWithoutSaving(_ input: SessionInput, at moment: Moment) -> SessionStep? {
        var trial = self
        trial.step = SessionStep()
        (trial.mustSave, trial.mustWriteMessages) = (false, false)
        trial.dispatch(input, moment)
        guard trial.step.writes.isEmpty, !trial.mustSave, !trial.mustWriteMessages else { return nil }
        (trial.mustSave, trial.mustWriteMessages) = (mustSave, mustWriteMessages)
        self = trial
        return step
    }

    private mutating func dispatch(_ input: SessionInput, _ moment: Moment) {
        switch input {
        case .attach(let client, let after, let epoch, let isNew):
            attach(client, after: after, epoch: epoch, isNew: isNew)
        case .resume(let client, let after): resume(client, after: after)
        case .drained(let client): catchUp(client)
        case .detach(let client): detach(client, moment)
        case .request(let request): handle(request, moment)
        case .agent(let call, let what, let turn): handle(what, call, turn, moment)
        case .turnEnded(let turn, let result): turnEnded(turn, result, moment)
        case .commandEnded(let isDone): commandEnded(isDone, moment)
        case .recovered(let isAgentGone): recover(isAgentGone: isAgentGone, moment)
        case .shutDown: shutDown(moment)
        case .deleting: prepareErasing(moment)
        case .erased: erase(moment)
        case .revoked(let device): revoke(device, moment)
        case .lowered(let device, let scope): lower(device, to: scope, moment)
        case .deadline: expireLease(moment)
        }
    }

    // MARK: - Saving

    /// Writes the messages that changed, unless all that happened was a little more of an open part.
    private mutating func writeMessages(_ moment: Moment) {
        guard
            mustWriteMessages || pendingDeltas >= Self.maxPendingDeltas
                || pendingDeltaBytes >= Self.maxPendingDeltaBytes
        else { return }
        step.writes += transcript.takeChanges().map { .putMessage(id, $0) }
        let forgotten = transcript.excess(before: firstUnfinished)
        closeParts(ofFirst: forgotten, moment)
        step.writes += transcript.takeChanges().map { .putMessage(id, $0) }
        transcript.forget(forgotten)
        (mustWriteMessages, pendingDeltas, pendingDeltaBytes) = (false, 0, 0)
        record.transcriptUpTo = journal.head
        record.streamingPart = transcript.reducer.streamingPart
        record.unfinishedFrom = firstUnfinished
        mustSave = true
    }

    /// The position of the first message that may still change: one that the running turn writes, or words that wait, because it
    /// is said there when nothing comes of them.
    private var firstUnfinished: UInt64? {
        let written = record.turn.flatMap { transcript.firstUnfinished(from: $0.messagesFrom) }
        let said = (work + guidance).compactMap { $0.work.message.flatMap { transcript.position(of: $0) } }
        return ([written] + said).compactMap(\.self).min()
    }

    private mutating func save() {
        guard mustSave else { return }
        mustSave = false
        if let damagedUpTo { step.writes.insert(.dropEvents(id, upTo: damagedUpTo), at: 0) }
        damagedUpTo = nil
        // First, because everything else of a new session belongs to this row.
        step.writes.insert(.putSession(row), at: 0)
        step.effects.append(.listingChanged)
    }

    var row: SessionRow {
        SessionRow(id: id, body: record.encoded(), isBusy: record.turn != nil || !work.isEmpty)
    }

    var isIdle: Bool { record.turn == nil && !isCommandRunning }
}

/// What an agent offers its sessions.
public struct AgentOffer: Sendable {
    public var models: [ModelInfo]
    public var personas: [AgentPersona]

    public init(models: [ModelInfo], personas: [AgentPersona]) {
        (self.models, self.personas) = (models, personas)
    }

    public init(of backend: any AgentBackend) {
        self.init(models: backend.models, personas: backend.personas)
    }
}
