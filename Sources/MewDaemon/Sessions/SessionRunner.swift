import MewBase
import MewIdentity
import MewLoop
import MewSession
import MewWire

/// Runs one `SessionCore`: makes its writes durable, then performs its effects, in order; runs the agent; feeds the clients.
///
/// Inputs are decided at once, one after the other, and their steps queue up. One commit is under way at a time and takes every
/// step that waits, so that many small events share a sync; an agent that streams is let ahead of the disk a little, or it would
/// get one piece through with each sync, and its pieces of 16 ms are one event. If a commit fails, the session is put back to what is stored: operations are refused as
/// not saved, what the agent told is held and told again when the disk takes writes.
actor SessionRunner {
    nonisolated let unownedExecutor: UnownedSerialExecutor
    nonisolated let id: SessionID

    let environment: SessionEnvironment
    let services: Services
    let agent: any AgentBackend

    /// What the registry shares with its runners.
    struct Services: Sendable {
        let ledger: OperationLedger
        let directory: ConnectionDirectory
        /// The session's line in lists is another one.
        let listingChanged: @Sendable (SessionInfo) -> Void
        /// The runner can do nothing more: load the session anew.
        let broke: @Sendable (SessionRunner) -> Void
    }

    /// With everything that was decided, stored or not.
    var core: SessionCore
    /// As it is stored.
    var committed: SessionCore
    private var waiting: [Waiting] = []
    private var waitingEventBytes = 0
    private var isCommitting = false
    var health = RunnerHealth.saving
    /// What waits for a disk that takes nothing.
    var held: [Waiting] = []
    /// Pieces of the running turn that are not decided yet.
    var gatherer = PieceGatherer()
    var gatherTimer: LoopTimer?
    /// When those who hear the session are woken.
    var pace = WakePace()
    var wakeTimer: LoopTimer?
    /// Of `SessionCore.nextDeadline`.
    private var deadline: (at: Instant, timer: LoopTimer)?

    /// The channels that hear the session.
    var handles: [ClientID: SessionClient] = [:] {
        didSet { attached = handles.values.sorted { $0.id.number < $1.id.number } }
    }
    /// The same, in the order in which they came.
    private(set) var attached: [SessionClient] = []
    /// The page that was sent last to somebody who attached: fifty who come back at once cost one encoding.
    var lastScreen: (key: ScreenKey, forms: FrameForms)?
    /// Calls of the agent that are not answered.
    var calls: [AgentCallID: CheckedContinuation<AgentReply, Never>] = [:]
    var callNumber: UInt64 = 0
    var agentTask: Task<Void, Never>?
    /// Those who wait for the agent to be gone.
    var endWaiters: [UInt64: CheckedContinuation<Void, Never>] = [:]
    /// When it was last of use to anybody.
    private(set) var lastUse: Instant

    /// One input, its step, and who waits for it to be performed.
    struct Waiting {
        let input: SessionInput
        var step = SessionStep()
        var client: SessionClient?
        var performed: CheckedContinuation<Void, Never>?
    }

    init(_ core: SessionCore, environment: SessionEnvironment, services: Services, agent: any AgentBackend) {
        (id, self.core, committed) = (core.id, core, core)
        (self.environment, self.services, self.agent) = (environment, services, agent)
        lastUse = environment.loop.now
        unownedExecutor = environment.loop.asUnownedSerialExecutor()
    }

    // MARK: - Inputs

    /// Decides, and returns when the step is stored and performed.
    func perform(_ input: SessionInput, for client: SessionClient? = nil) async {
        await withCheckedContinuation { performed in
            submit(Waiting(input: input, client: client, performed: performed))
        }
    }

    /// Decides, and leaves the rest to the commits.
    func submit(_ input: SessionInput) {
        submit(Waiting(input: input))
    }

    /// For a session that comes into memory: those who were revoked while it was not there, and those who may not do everything.
    func dropWork(of revoked: Set<NodeID>, beyond limits: [NodeID: Scope]) async {
        for device in core.waitingDevices.sorted() {
            if revoked.contains(device) {
                await perform(.revoked(device))
            } else if let scope = limits[device] {
                await perform(.lowered(device, scope))
            }
        }
    }

    func submit(_ item: Waiting) {
        lastUse = environment.loop.now
        tellGathered(before: item.input)
        let isDone = isDoneWithoutSaving(item)
        meet(health.fate(of: item.input, isDone: isDone, stopsTurn: stopsTurn(item.input)), item)
        armDeadline()
    }

    func decide(_ item: Waiting) {
        var item = item
        item.step = core.handle(item.input, at: environment.moment)
        waiting.append(item)
        waitingEventBytes += item.step.eventBytes
        letAhead(item)
        commit()
    }

    private func armDeadline() {
        let next = health == .over ? nil : core.nextDeadline
        guard next != deadline?.at else { return }
        let loop = environment.loop
        if let deadline { loop.cancel(deadline.timer) }
        deadline = next.map { next in
            let timer = loop.schedule(at: max(next, loop.now)) { [weak self] in
                self?.assumeIsolated { runner in
                    runner.deadline = nil
                    runner.submit(.deadline)
                }
            }
            return (next, timer)
        }
    }

    // MARK: - Streaming

    /// How many pieces an agent may tell ahead of the disk, and how large together. Twice as many can be on their way: those of
    /// the commit that is under way, and those that gather meanwhile. All of it goes into a client's queue at once.
    static let maxPiecesAhead = 128
    static let maxBytesAhead = 128 << 10

    /// Nothing depends on a piece of streaming text, and if it is lost its turn is lost with it: the agent need not wait for it.
    /// What it does next that is no such piece waits for its own commit, which has all pieces before it.
    private func letAhead(_ item: Waiting) {
        guard case .agent(let call, .emit(let event), _) = item.input, event.isPiece,
            !isFarAhead
        else { return }
        for case .answer(call, let reply) in item.step.effects { answer(call, reply) }
    }

    /// What the agent told is far ahead of the disk.
    var isFarAhead: Bool { waiting.count > Self.maxPiecesAhead || waitingEventBytes > Self.maxBytesAhead }

    // MARK: - Commits

    private func commit() {
        while !isCommitting, !waiting.isEmpty {
            let batch = takeWaiting()
            let writes = batch.flatMap(\.step.writes)
            let after = core
            guard !writes.isEmpty else {
                finish(batch, after)
                continue
            }
            isCommitting = true
            environment.loop.spawn { [self] in await commit(writes, batch, after) }
        }
    }

    private func takeWaiting() -> [Waiting] {
        defer { (waiting, waitingEventBytes) = ([], 0) }
        return waiting
    }

    private func commit(_ writes: [StoreWrite], _ batch: [Waiting], _ after: SessionCore) async {
        do throws(StoreError) {
            try await environment.store.commit(writes)
            isCommitting = false
            finish(batch, after)
        } catch {
            isCommitting = false
            rollBack(batch + takeWaiting(), error)
        }
        commit()
    }

    private func finish(_ batch: [Waiting], _ after: SessionCore) {
        committed = after
        for item in batch {
            for effect in item.step.effects { perform(effect, for: item.client) }
            item.performed?.resume()
        }
        wakeAttached()
        tellDue()
    }

    // MARK: - Unloading

    /// Somebody is about to use it.
    func touch() {
        lastUse = environment.loop.now
    }

    /// True when forgetting it loses nothing: nobody listens, nothing runs, nothing waits.
    func isIdle(since deadline: Instant) -> Bool {
        handles.isEmpty && agentTask == nil && waiting.isEmpty && held.isEmpty && !isCommitting && lastUse <= deadline
            && core.isAtRest
    }
}
