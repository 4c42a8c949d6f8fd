internal import MewBase
internal import MewLoop

// Whether somebody else is connected to the relay with our key (NEEDS N-18).

extension RelayLeg {
    enum Supersession: Equatable {
        case none
        /// The relay says so. It may be ourselves: a connection that takes over, or one that was given up and arrived late.
        case told(LoopTimer)
        case certain
    }

    /// Before that a connection of ours has taken over, or the relay has taken its word back.
    private static let doubtfulFor: Duration = .seconds(1)

    func superseded() {
        guard supersession == .none else { return }
        let due = loop.now.advanced(by: Self.doubtfulFor)
        supersession = .told(loop.schedule(at: due) { self.assumeIsolated { $0.isSupersededForSure() } })
    }

    private func isSupersededForSure() {
        supersession = .certain
        complains(settings.account == nil ? Self.copyElsewhere : Self.othersTurn)
    }

    func endSupersession() {
        if case .told(let timer) = supersession { loop.cancel(timer) }
        supersession = .none
    }

    private static let copyElsewhere =
        "the same node is connected there once more, so a copy of its key is in use elsewhere; "
        + "give one of the two a state directory of its own"
    /// Of somebody who dials: several commands of one state directory are nothing wrong.
    private static let othersTurn =
        "the relay serves one command of this node at a time, the newest; this one goes on when that one ends"
}
