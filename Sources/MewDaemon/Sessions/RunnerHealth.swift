import MewSession

/// Whether what a session does reaches the disk, and what becomes of an input therefore.
///
/// Pure value: the runner asks and performs.
///
///     saving ──a commit that is not saved──▶ notSaving, inDoubt ──the disk takes writes──▶ saving
///        └───────── shut down, or a fault of ours ──▶ over ◀──┘
enum RunnerHealth: Equatable, CaseIterable {
    case saving
    /// The disk takes nothing. What must be stored waits for it or is refused.
    case notSaving
    /// The same, and a crash may bring back what it failed to take.
    case inDoubt
    /// It does nothing any more: it was shut down, or failed by a fault of ours (`SessionRunner.Services.broke`).
    case over

    /// What becomes of an input.
    enum Fate: Equatable {
        /// Decided now, stored, then performed.
        case decided
        /// Decided and performed already, because nothing of it has to be stored.
        case done
        /// Kept until the disk takes it. Its sender does not wait that long.
        case held
        /// The running agent is stopped at once; the cancel itself waits with its receipt.
        case stopsAgent
        /// A client's request: the client is told that nothing is being saved.
        case notSaved
        /// A client's request: the client is told that it may have been saved.
        case inDoubt
        /// A client's request, or a client that comes: the session does nothing any more.
        case failed
        /// A call of an agent that has no session any more.
        case gone
        /// The end comes without a record: the next start finds a turn that was interrupted.
        case endsUnrecorded
        case dropped
    }

    /// What a failed commit means.
    enum Failure: Equatable {
        /// What was to be stored is decided again, for a disk that takes nothing.
        case goesOn
        /// A fault of ours: whoever waits is told, and the session is to be loaded anew.
        case breaks
        /// It does nothing already.
        case ended
    }

    /// - Parameters:
    ///   - isDone: of a disk that takes nothing: the input changed nothing that has to be stored, and is performed.
    ///   - stopsTurn: it is the cancel of a turn that runs, and there is room to keep it.
    func fate(of input: SessionInput, isDone: Bool, stopsTurn: Bool) -> Fate {
        switch self {
        case .saving: .decided
        case .notSaving: fateUnsaved(of: input, isDone: isDone, stopsTurn: stopsTurn, refused: .notSaved)
        case .inDoubt: fateUnsaved(of: input, isDone: isDone, stopsTurn: stopsTurn, refused: .inDoubt)
        case .over: fateAtTheEnd(of: input)
        }
    }

    private func fateUnsaved(of input: SessionInput, isDone: Bool, stopsTurn: Bool, refused: Fate) -> Fate {
        switch input {
        case .shutDown, .deleting: .endsUnrecorded
        case _ where isDone: .done
        case .request: stopsTurn ? .stopsAgent : refused
        case .attach, .resume, .drained, .detach, .agent, .turnEnded, .commandEnded, .recovered, .erased, .revoked,
            .lowered, .deadline:
            .held
        }
    }

    private func fateAtTheEnd(of input: SessionInput) -> Fate {
        switch input {
        case .request, .attach: .failed
        case .agent: .gone
        case .resume, .drained, .detach, .turnEnded, .commandEnded, .recovered, .shutDown, .deleting, .erased, .revoked,
            .lowered, .deadline:
            .dropped
        }
    }

    /// Nothing of a commit was stored.
    mutating func failed(_ error: StoreError) -> Failure {
        guard self != .over else { return .ended }
        switch error {
        case .notSaved:
            self = .notSaving
            return .goesOn
        case .inDoubt:
            self = .inDoubt
            return .goesOn
        case .closed, .contradiction, .damaged, .locked, .newerSchema, .readOnly, .unusable:
            self = .over
            return .breaks
        }
    }

    /// The disk takes writes again; true when that is news.
    mutating func diskReturned() -> Bool {
        guard isUnsaved else { return false }
        self = .saving
        return true
    }

    /// The disk takes nothing.
    var isUnsaved: Bool {
        switch self {
        case .notSaving, .inDoubt: true
        case .saving, .over: false
        }
    }

    mutating func end() { self = .over }
}
