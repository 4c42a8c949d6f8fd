internal import MewBase

/// When the connection was moved, so far as that may still count. A value.
struct RecentMoves: Sendable {
    private var times: [Instant] = []

    /// More than are ever asked for.
    private static let limit = 8

    mutating func note(_ time: Instant) {
        if times.count == Self.limit { times.removeFirst() }
        times.append(time)
    }

    /// How many there were later than `time`.
    func count(since time: Instant) -> Int { times.count { $0 > time } }
}
