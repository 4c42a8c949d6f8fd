internal import MewBase

/// Which refusals the log tells: one of each kind, source and minute, so that nobody fills an operator's disk by coming again.
struct RefusalLog {
    enum Kind: Hashable {
        /// By the access rules.
        case rules
        /// It did not prove what it says.
        case proof
        /// Beyond a bound.
        case bounds
    }

    private struct Key: Hashable {
        let source: SourceBudget.Source
        let kind: Kind
    }

    private struct Entry {
        let told: Instant
        var leftOut = 0
    }

    private var entries: [Key: Entry] = [:]
    /// When it is worth looking for room again.
    private var nextSweep: Instant?

    static let every: Duration = .seconds(60)
    /// Sources that are remembered, about 100 kB. While so many were refused within a minute, others only count in the metrics.
    static let capacity = 1_024
    private static let sweepEvery: Duration = .seconds(1)

    /// - Returns: how many of the same were left out since the last one that was told; nil: this one is left out as well.
    mutating func refused(_ source: SourceBudget.Source, _ kind: Kind, now: Instant) -> Int? {
        let key = Key(source: source, kind: kind)
        if let entry = entries[key] {
            guard entry.told.duration(to: now) >= Self.every else {
                entries[key]?.leftOut += 1
                return nil
            }
            entries[key] = Entry(told: now)
            return entry.leftOut
        }
        makeRoom(now)
        guard entries.count < Self.capacity else { return nil }
        entries[key] = Entry(told: now)
        return 0
    }

    private mutating func makeRoom(_ now: Instant) {
        guard entries.count >= Self.capacity, nextSweep.map({ $0 <= now }) ?? true else { return }
        nextSweep = now.advanced(by: Self.sweepEvery)
        entries = entries.filter { $0.value.told.duration(to: now) < Self.every }
    }
}
