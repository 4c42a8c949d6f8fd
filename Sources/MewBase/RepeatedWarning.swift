/// Decides which of the warnings that a loop of tries would give are worth a line: each reason once, and again only after a while.
/// A value.
package struct RepeatedWarning: Sendable {
    /// A log that is looked at now and then still shows it; one that is read from its beginning is not filled with it.
    package static let pause: Duration = .seconds(600)
    /// What fails in more ways than that at a time is worth more lines.
    private static let maxReasons = 8

    private var said: [(reason: String, at: Instant)] = []

    package init() {}

    /// True when `reason` has not been said for a while; it counts as said then.
    package mutating func isDue(_ reason: String, now: Instant) -> Bool {
        said.removeAll { $0.at.duration(to: now) >= Self.pause }
        guard !said.contains(where: { $0.reason == reason }) else { return false }
        if said.count == Self.maxReasons { said.removeFirst() }
        said.append((reason, now))
        return true
    }
}
