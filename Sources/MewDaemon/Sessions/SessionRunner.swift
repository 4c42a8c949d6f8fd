import MewBase
import MewIdentity
import MewLoop
import MewSession
import MewWire

/// Runs one `SessionCore`: makes its writes durable, then performs its effects, in order; runs the agent; feeds the clients.
///
/// Inputs are decided at once, one after the other, and their steps queue up. One commit is under way at a time and takes every
/// step that waits, so that many small events share a sync. If a commit fails, the session is put back to what is stored:
/// operations are refused as not saved, what the agent told is held and told again when the disk takes writes.
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
    private var committed: SessionCore
    private var waiting: [Waiting] = []
    private var isCommitting = false
    private(set) var health = Health.saving
    private var held: [Waiting] = []

    /// The channels that hear the session.
    var handles: [ClientID: SessionClient] = [:]
    /// Calls of the agent that are not answered.
    var calls: [AgentCallID: CheckedContinuation<AgentReply, Never>] = [:]
    var callNumber: UInt64 = 0
    var agentTask: Task<Void, Never>?
    /// Those who wait for the agent to be gone.
    var endWaiters: [UInt64: CheckedContinuation<Void, Never>] = [:]
    /// When it was last of use to anybody.
    private(set) var lastUse: Instant

    enum Health: Equatable {
        case saving
        /// The disk takes nothing. `held` waits for it.
        case notSaving
        /// A fault of ours; see `Services.broke`.
        case broken
    }

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

    private func submit(_ item: Waiting) {
        lastUse = environment.loop.now
        switch health {
        case .saving:
            var item = item
            item.step = core.handle(item.input, at: environment.moment)
            waiting.append(item)
            commit()
        case .notSaving: decideWithoutSaving(item)
        case .broken: drop(item)
        }
    }

    // MARK: - Commits

    private func commit() {
        while !isCommitting, !waiting.isEmpty {
            let batch = waiting
            waiting = []
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

    private func commit(_ writes: [StoreWrite], _ batch: [Waiting], _ after: SessionCore) async {
        do throws(StoreError) {
            try await environment.store.commit(writes)
            isCommitting = false
            finish(batch, after)
        } catch {
            isCommitting = false
            rollBack(batch, error)
        }
        commit()
    }

    private func finish(_ batch: [Waiting], _ after: SessionCore) {
        committed = after
        for item in batch {
            for effect in item.step.effects { perform(effect, for: item.client) }
            item.performed?.resume()
        }
    }

    // MARK: - When the disk takes nothing

    /// Nothing of the batch is stored, and nothing that was decided after it can be.
    private func rollBack(_ batch: [Waiting], _ error: StoreError) {
        core = committed
        let undone = batch + waiting
        waiting = []
        switch error {
        case .notSaved:
            health = .notSaving
            for item in undone { decideWithoutSaving(item) }
            waitForDisk()
        case .closed, .contradiction, .damaged, .locked, .newerSchema, .readOnly:
            environment.diagnostics.record(
                Diagnostic(
                    .error, "session", "commit_failed", error.description, ["session_id": .text(id.text)]))
            health = .broken
            for item in undone { drop(item) }
            breakDown()
        }
    }

    /// What changes nothing is done; operations are refused; what the agent says waits.
    private func decideWithoutSaving(_ item: Waiting) {
        var trial = core
        let step = trial.handle(item.input, at: environment.moment)
        if step.writes.isEmpty {
            core = trial
            committed = trial
            for effect in step.effects { perform(effect, for: item.client) }
            item.performed?.resume()
            return
        }
        switch item.input {
        case .request(let request):
            if case .cancel = request.message, let turn = core.record.turn { return stopUnsaved(turn.id, item) }
            refuse(request, .notSaved, for: item.client)
            item.performed?.resume()
        case .agent, .turnEnded, .commandEnded, .recovered, .shutDown, .revoked:
            held.append(item)
        case .attach, .resume, .drained, .detach:
            // These write nothing; a load that found more than its row said may.
            held.append(item)
        }
    }

    /// The command that fills the disk can be ended: it is told to stop at once, what it still says is dropped, and the cancel
    /// itself waits for the disk with its receipt, because "not saved" would say that it had no effect.
    private func stopUnsaved(_ turn: TurnID, _ cancel: Waiting) {
        agentTask?.cancel()
        held.removeAll { item in
            guard case .agent(let call, _, turn) = item.input else { return false }
            calls.removeValue(forKey: call)?.resume(returning: .failed(.cancelled))
            return true
        }
        var cancel = cancel
        // The channel must not wait with it.
        cancel.performed?.resume()
        cancel.performed = nil
        held.append(cancel)
    }

    private func waitForDisk() {
        let store = environment.store
        environment.loop.spawn { [self] in
            var state = await store.saving()
            // A cancelled wait returns at once, so that without the check it would be repeated for ever.
            while !state.isSaving, !Task.isCancelled, await health == .notSaving {
                state = await store.savingChanged(from: state)
            }
            if state.isSaving { await goOn() }
        }
    }

    private func goOn() {
        guard health == .notSaving else { return }
        health = .saving
        let items = held
        held = []
        for item in items { submit(item) }
    }

    // MARK: - When nothing works any more

    private func breakDown() {
        for item in held { drop(item) }
        held = []
        agentTask?.cancel()
        for call in calls.values { call.resume(returning: .failed(.gone)) }
        calls = [:]
        services.broke(self)
    }

    private func drop(_ item: Waiting) {
        switch item.input {
        case .request(let request): refuse(request, .internal, for: item.client)
        case .agent(let call, _, _): calls.removeValue(forKey: call)?.resume(returning: .failed(.gone))
        case .attach, .resume, .drained, .detach, .turnEnded, .commandEnded, .recovered, .shutDown, .revoked: break
        }
        item.performed?.resume()
    }

    /// Nothing could be stored, so that an `error` answers and no receipt (spec/native-wire.md §2).
    private func refuse(_ request: ClientRequest, _ code: ErrorCode, for client: SessionClient?) {
        if let key = request.operation { services.ledger.abandon(key) }
        guard let client else { return }
        let sentence =
            code == .notSaved
            ? "nothing is being saved: the disk is full or fails; try again when there is room"
            : "the session failed; attach again"
        let error = DaemonMessage.ErrorReply(message: sentence, code: code, operation: request.operation?.id)
        var forms = FrameForms(.error(error), session: id, ref: request.ref)
        guard let bytes = forms.bytes(for: client, isAttached: false) else { return }
        _ = client.push(bytes, .reply)
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
