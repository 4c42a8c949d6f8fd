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
        guard health != .over else {
            for item in undone { drop(item) }
            return
        }
        switch error {
        case .notSaved: stopSaving(.notSaved, undone)
        case .inDoubt: stopSaving(.inDoubt, undone)
        case .closed, .contradiction, .damaged, .locked, .newerSchema, .readOnly:
            environment.diagnostics.record(
                Diagnostic(
                    .error, "session", "commit_failed", error.description, ["session_id": .text(id.text)]))
            stopWorking()
            for item in undone { drop(item) }
            services.broke(self)
        }
    }

    private func stopSaving(_ refusal: Refusal, _ undone: [Waiting]) {
        health = .notSaving(refusal)
        for item in undone { submit(item) }
        waitForDisk()
    }

    private var isNotSaving: Bool {
        switch health {
        case .notSaving: true
        case .saving, .over: false
        }
    }

    /// What changes nothing is done; operations are refused; what the agent says waits.
    func decideWithoutSaving(_ item: Waiting, _ refusal: Refusal) {
        if case .shutDown = item.input { return shutDownUnsaved(item) }
        if let step = core.handleWithoutSaving(item.input, at: environment.moment) {
            committed = core
            for effect in step.effects { perform(effect, for: item.client) }
            item.performed?.resume()
            return
        }
        switch item.input {
        case .request(let request):
            if case .cancel = request.message, let turn = core.record.turn, heldCancels < Self.maxHeldCancels {
                return stopUnsaved(turn.id, item)
            }
            refuse(request, refusal, for: item.client)
            item.performed?.resume()
        case .agent, .turnEnded, .commandEnded, .recovered, .revoked:
            hold(item)
        case .attach, .resume, .drained, .detach, .shutDown, .erased, .deadline:
            // These write nothing of their own, or do not come here.
            hold(item)
        }
    }

    /// Cancels that may wait for the disk; each says the same. A full disk lasts, and a device may repeat itself.
    static let maxHeldCancels = 32

    private var heldCancels: Int { held.count { if case .request = $0.input { true } else { false } } }

    /// The command that fills the disk can be ended: it is told to stop at once, what it still says is dropped, and the cancel
    /// itself waits for the disk with its receipt, because "not saved" would say that it had no effect.
    private func stopUnsaved(_ turn: TurnID, _ cancel: Waiting) {
        agentTask?.cancel()
        _ = gatherer.flush()
        held.removeAll { item in
            guard case .agent(let call, _, turn) = item.input else { return false }
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

    /// The next start finds the turn as one that was interrupted.
    private func shutDownUnsaved(_ shutDown: Waiting) {
        stopWorking()
        shutDown.performed?.resume()
    }

    private func waitForDisk() {
        let store = environment.store
        environment.loop.spawn { [self] in
            var state = await store.saving()
            while !state.isSaving, await isNotSaving {
                let news = await store.savingChanged(from: state)
                // A cancelled wait, and a store that is closed, have no news.
                guard news != state else { return }
                state = news
            }
            await goOn()
        }
    }

    private func goOn() {
        guard isNotSaving else { return }
        health = .saving
        let items = held
        held = []
        for item in items { submit(item) }
        tellDue()
    }

    // MARK: - When nothing goes on any more

    /// Everybody who waits is answered, and what still comes is dropped.
    func stopWorking() {
        health = .over
        let items = held
        held = []
        for item in items { drop(item) }
        agentTask?.cancel()
        for call in calls.keys.sorted(by: { $0.number < $1.number }) { answer(call, .failed(.gone)) }
    }

    func drop(_ item: Waiting) {
        switch item.input {
        case .request(let request): refuse(request, .broken, for: item.client)
        case .agent(let call, _, _): answer(call, .failed(.gone))
        case .attach, .resume, .drained, .detach, .turnEnded, .commandEnded, .recovered, .shutDown, .erased,
            .revoked, .deadline:
            break
        }
        item.performed?.resume()
    }

    /// Nothing could be stored, so that an `error` answers and no receipt (spec/native-wire.md §2).
    private func refuse(_ request: ClientRequest, _ refusal: Refusal, for client: SessionClient?) {
        if let key = request.operation { services.ledger.abandon(key) }
        guard let client else { return }
        let error = DaemonMessage.ErrorReply(
            message: refusal.sentence, code: refusal.code, operation: request.operation?.id)
        var forms = FrameForms(.error(error), session: id, ref: request.ref)
        guard let bytes = forms.bytes(for: client, isAttached: false) else { return }
        _ = client.push(bytes, .reply)
    }
}
