/// Whether a command that stays on the screen has its daemon. Losses are numbered: the timer of one that is over says nothing about
/// the next.
///
///     there ──lost──▶ lost(n) ──back──▶ there ──lost──▶ lost(n + 1)
struct Reach: Equatable {
    private enum State: Equatable {
        case there
        case lost
    }

    private var state = State.there
    private var losses = 0

    var isThere: Bool { state == .there }

    /// The number of the loss; nil while it is lost already.
    mutating func lost() -> Int? {
        guard state == .there else { return nil }
        state = .lost
        losses += 1
        return losses
    }

    /// Whether it was lost.
    mutating func back() -> Bool {
        defer { state = .there }
        return state == .lost
    }

    /// This very loss still lasts.
    func isLost(since loss: Int) -> Bool { state == .lost && loss == losses }
}
