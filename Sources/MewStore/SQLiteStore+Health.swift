import MewBase
import MewLoop
package import MewSession

/// Whether what happens is being saved, who is told, and when a failing disk is tried again.
extension SQLiteStore {
    ///     saving ◀──the disk takes writes──▶ failing ──a damaged page──▶ damaged
    ///        └──────────────a damaged page────────────────────────────────▲
    enum Health {
        case saving
        /// What commits are refused with until the disk takes writes again.
        case failing(StoreError)
        /// What commits are refused with until the next start.
        case damaged(StoreError)

        var refusal: StoreError? {
            switch self {
            case .saving: nil
            case .failing(let refusal), .damaged(let refusal): refusal
            }
        }
    }

    /// How long a failing disk is left alone between two attempts. Short, because a person is waiting for it.
    static let probeInterval = Duration.seconds(1)

    package func saving() -> SavingState { state }

    private var state: SavingState {
        switch health.refusal {
        case .notSaved(let reason), .inDoubt(let reason): SavingState(isSaving: false, reason: reason)
        case .newerSchema, .locked, .readOnly, .unusable, .damaged, .contradiction, .closed, nil: .saving
        }
    }

    package func doubt() -> StoreError? {
        if case .inDoubt = health.refusal { health.refusal } else { nil }
    }

    package func savingChanged(from known: SavingState) async -> SavingState {
        let number = observerNumber
        observerNumber += 1
        await withTaskCancellationHandler {
            await withCheckedContinuation { observer in
                if state != known || connection == nil || Task.isCancelled {
                    observer.resume()
                } else {
                    observers[number] = observer
                }
            }
        } onCancel: {
            loop.post { self.assumeIsolated { $0.observers.removeValue(forKey: number)?.resume() } }
        }
        return state
    }

    func stopSaving(_ health: Health, because error: SQLiteError) {
        self.health = health
        diagnostics.record(Diagnostic(.error, "store", "not_saving", error.description))
        wakeObservers()
        switch health {
        case .failing: armProbe()
        case .damaged: owesCheck = true
        case .saving: break
        }
    }

    private func armProbe() {
        _ = loop.schedule(at: loop.now.advanced(by: Self.probeInterval)) { [self] in
            assumeIsolated { $0.probe() }
        }
    }

    private func probe() {
        guard let connection, case .failing(let refusal) = health else { return }
        do throws(SQLiteError) {
            try place?.check()
            try Opening.tryToWrite(connection.database)
            health = .saving
            diagnostics.record(Diagnostic(.info, "store", "saving_again", "the disk takes writes again"))
            wakeObservers()
        } catch  where error.isDamage {
            // What was in doubt stays so.
            if case .inDoubt = refusal { return stopSaving(.damaged(refusal), because: error) }
            stopSaving(.damaged(Self.refusal(after: error)), because: error)
        } catch {
            armProbe()
        }
    }

    func wakeObservers() {
        let woken = observers
        observers = [:]
        for observer in woken.values { observer.resume() }
    }
}
