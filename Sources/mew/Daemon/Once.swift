import Synchronization

/// Tells the first caller from all later ones.
final class Once: Sendable {
    private let isTaken = Atomic<Bool>(false)

    /// True for the first call only.
    func first() -> Bool { !isTaken.exchange(true, ordering: .relaxed) }
}
