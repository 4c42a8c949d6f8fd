/// When a leg that ended is tried again (spec/iroh-wire.md §4.5): at once after a good connection, otherwise after 10 ms that
/// double to 16 s, a quarter more or less so that the clients of a relay that was away do not come back together.
struct LegBackOff {
    private var failures = 0

    static let shortest: Duration = .milliseconds(10)
    static let longest: Duration = .seconds(16)
    /// A relay that has no place says so, and has none a moment later either: the first wait is the one after so many failures,
    /// about a second.
    static let failuresWhenFull = 8
    /// A connection that lived shorter has not shown that the next one will: a relay that takes every client and drops it
    /// again must not be dialled in a circle.
    static let goodAfter: Duration = .seconds(1)

    /// - Parameters:
    ///   - lived: since the first pong; nil when there was none.
    ///   - isFull: the relay has no place.
    ///   - random: decides the quarter.
    mutating func delay(lived: Duration?, isFull: Bool = false, random: UInt64) -> Duration {
        if let lived, lived >= Self.goodAfter {
            failures = 0
            return .zero
        }
        failures = max(failures + 1, isFull ? Self.failuresWhenFull : 0)
        // 10 ms doubled eleven times is more than 16 s.
        let doubled = min(Self.shortest * (1 << min(failures - 1, 11)), Self.longest)
        return doubled * 3 / 4 + doubled * Int(random % 1_024) / 2_048
    }

    /// The network has changed, or somebody waits: the next try is not punished for the past.
    mutating func reset() {
        failures = 0
    }
}
