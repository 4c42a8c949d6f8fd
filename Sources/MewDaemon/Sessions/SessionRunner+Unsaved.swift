import MewBase
import MewIdentity
import MewLoop
import MewSession
import MewWire

// When the disk takes nothing, and when nothing goes on at all.

extension SessionRunner {
    /// Why an operation is refused of which nothing was stored.
    enum Refusal: Equatable {
        /// It has certainly no effect.
        case notSaved
        /// The disk failed while something was being saved, this perhaps, which a crash may bring back.
        case inDoubt
        /// A fault of ours, or the end of the daemon.
        case broken

        var code: ErrorCode {
            switch self {
            case .notSaved: .notSaved
            case .inDoubt, .broken: .internal
            }
        }

        var sentence: String {
            switch self {
            case .notSaved: "nothing is being saved: the disk is full or fails; try again when there is room"
            case .inDoubt: "the disk failed while it was saving, and may have kept this; ask again what became of it"
            case .broken: "the session failed; attach again"
            }
        }
    }

    /// Nothing of the batch is stored, and nothing that was decided after it can be.
    func rollBack(_ undone: [Waiting], _ error: StoreError) {
        core = committed
        switch health.failed(error) {
        case .goesOn:
            for item in undone { submit(item) }
            waitForDisk()
        case .breaks:
            environment.diagnostics.record(
                Diagnostic(
                    .error, "session", "commit_failed", error.description, ["session_id": .text(id.text)]))
            stopWorking()
            for item in undone { drop(item) }
            services.broke(self)
        case .ended:
            for item in undone { drop(item) }
        }
    }

    /// For a disk that takes nothing: performs what changes nothing that would have to be stored. The end is for `meet` alone.
    func isDoneWithoutSaving(_ item: Waiting) -> Bool {
        switch item.input {
        case .shutDown, .deleting: return false
        default: break
        }
        guard health.isUnsaved, let step = core.handleWithoutSaving(item.input, at: environment.moment) else {
            return false
        }
        committed = core
        for effect in step.effects { perform(effect, for: item.client) }
        wakeAttached()
        return true
    }

    /// Does with an input what becomes of it.
    func meet(_ fate: RunnerHealth.Fate, _ item: Waiting) {
        switch fate {
        case .decided: return decide(item)
        case .held: return hold(item)
        case .stopsAgent: return stopUnsaved(item)
        case .notSaved: refuse(item, .notSaved)
        case .inDoubt: refuse(item, .inDoubt)
        case .failed: refuse(item, .broken)
        case .gone: if case .agent(let call, _, _) = item.input { answer(call, .failed(.gone)) }
        case .endsUnrecorded: stopWorking()
        case .done, .dropped: break
        }
        item.performed?.resume()
    }

    /// Whether it is the cancel of the running turn, and may be kept.
    func stopsTurn(_ input: SessionInput) -> Bool {
        guard case .request(let request) = input, case .cancel = request.message else { return false }
        return core.record.turn != nil && heldCancels < Self.maxHeldCancels
    }

    /// Cancels that may wait for the disk; each says the same. A full disk lasts, and a device may repeat itself.
    static let maxHeldCancels = 32

    private var heldCancels: Int { held.count { if case .request = $0.input { true } else { false } } }

    /// The command that fills the disk can be ended: it is told to stop at once, what it still says and asks is dropped, and the
    /// cancel itself waits for the disk with its receipt, because "not saved" would say that it had no effect. That its process is
    /// gone is a fact and stays: the session would wait for that process for ever.
    private func stopUnsaved(_ cancel: Waiting) {
        let running = core.record.turn?.id
        agentTask?.cancel()
        _ = gatherer.flush()
        held.removeAll { item in
            guard case .agent(let call, let what, let turn) = item.input, turn == running, !what.isEndOfProcess else {
                return false
            }
            answer(call, .failed(.cancelled))
            return true
        }
        hold(cancel)
    }

    /// Keeps it until the disk takes it. Its sender does not wait that long: channels stay usable, sessions can be loaded.
    private func hold(_ item: Waiting) {
        item.performed?.resume()
        var item = item
        item.performed = nil
        held.append(item)
    }

    private func waitForDisk() {
        let store = environment.store
        environment.loop.spawn { [self] in
            var state = await store.saving()
            while !state.isSaving, await health.isUnsaved {
                let news = await store.savingChanged(from: state)
                // No news may also be two changes of which the second undid the first.
                if news == state, await hasNoMoreNews(store) { return }
                state = news
            }
            await goOn()
        }
    }

    /// A cancelled wait, and a store that is closed.
    private func hasNoMoreNews(_ store: any SessionStore) async -> Bool {
        guard !Task.isCancelled else { return true }
        do throws(StoreError) { _ = try await store.setting(SessionRegistry.autoSummary) } catch {
            return error == .closed
        }
        return false
    }

    private func goOn() {
        guard health.diskReturned() else { return }
        let items = held
        held = []
        for item in items { submit(item) }
        tellDue()
    }

    // MARK: - When nothing goes on any more

    /// Everybody who waits is answered, and what still comes is dropped.
    func stopWorking() {
        health.end()
        let items = held
        held = []
        for item in items { drop(item) }
        agentTask?.cancel()
        for call in calls.keys.sorted(by: { $0.number < $1.number }) { answer(call, .failed(.gone)) }
    }

    func drop(_ item: Waiting) {
        meet(RunnerHealth.over.fate(of: item.input, isDone: false, stopsTurn: false), item)
    }

    /// Nothing could be stored, so that an `error` answers and no receipt (spec/native-wire.md §2).
    private func refuse(_ item: Waiting, _ refusal: Refusal) {
        switch item.input {
        case .request(let request):
            if let key = request.operation { services.ledger.abandon(key) }
            tell(item.client, refusal, operation: request.operation?.id, ref: request.ref)
        case .attach:
            tell(item.client, refusal)
            // It was opened for the session that it does not get.
            if let client = item.client, client.role == .session { client.end() }
        case .resume, .drained, .detach, .agent, .turnEnded, .commandEnded, .recovered, .shutDown, .deleting, .erased,
            .revoked, .lowered, .deadline:
            break
        }
    }

    private func tell(
        _ client: SessionClient?, _ refusal: Refusal, operation: OperationID? = nil, ref: String? = nil
    ) {
        guard let client else { return }
        let error = DaemonMessage.ErrorReply(message: refusal.sentence, code: refusal.code, operation: operation)
        var forms = FrameForms(.error(error), session: id, ref: ref)
        guard let bytes = forms.bytes(for: client, isAttached: false) else { return }
        _ = client.push(bytes, .reply)
    }
}

extension AgentCall {
    fileprivate var isEndOfProcess: Bool { if case .didEnd = self { true } else { false } }
}
