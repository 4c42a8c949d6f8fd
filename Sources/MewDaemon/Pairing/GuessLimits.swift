import MewBase
import MewIdentity

/// Counts wrong pairing codes: by key, to shut a key out, and by source, to slow a source down (DESIGN §11).
///
/// A right code is never slowed: guesses of others must not cost the person who holds the code anything.
struct GuessLimits {
    /// What a wrong code leads to.
    struct Verdict: Equatable {
        /// How many this key has tried, this one included.
        let tries: Int
        /// This try was the one that shuts the key out.
        let shutsOut: Bool
        /// This try was the first one of its source that is slowed.
        let slows: Bool
        /// When the refusal may be told; never before `now`.
        let refusalDue: Instant
    }

    /// A person mistypes twice; five leave room for a bad day and nothing for a search.
    static let triesPerKey = 5
    /// From the next try on, a source gets one refusal a second.
    static let freeTriesPerSource = 5
    static let pace: Duration = .seconds(1)
    /// A refusal is never kept longer than this, or the slots of strangers would all be waiting ones.
    static let longestDelay: Duration = .seconds(30)
    /// Keys and sources counted one by one. Both cost an attacker next to nothing. Further keys are not counted, because
    /// they must neither push out the ones that are shut out nor shut out a key that has done nothing; further sources
    /// share one count.
    static let tracked = 64

    private struct Source {
        var tries = 0
        var busyUntil = Instant.zero
    }

    private var triesByKey: [NodeID: Int] = [:]
    private var sources: [PairingSource: Source] = [:]
    private var otherSources = Source()

    func isShutOut(_ key: NodeID) -> Bool {
        triesByKey[key, default: 0] >= Self.triesPerKey
    }

    mutating func wrongCode(by key: NodeID, from source: PairingSource, now: Instant) -> Verdict {
        let tries = count(key)
        var entry = sources[source] ?? (sources.count < Self.tracked ? Source() : otherSources)
        entry.tries += 1
        let isSlowed = entry.tries > Self.freeTriesPerSource
        let latest = now.advanced(by: Self.longestDelay)
        let due = isSlowed ? min(max(now, entry.busyUntil).advanced(by: Self.pace), latest) : now
        entry.busyUntil = due
        let isTracked = sources[source] != nil || sources.count < Self.tracked
        if isTracked { sources[source] = entry } else { otherSources = entry }
        return Verdict(
            tries: tries, shutsOut: tries == Self.triesPerKey,
            slows: entry.tries == Self.freeTriesPerSource + 1, refusalDue: due)
    }

    private mutating func count(_ key: NodeID) -> Int {
        guard triesByKey[key] != nil || triesByKey.count < Self.tracked else { return 1 }
        triesByKey[key, default: 0] += 1
        return triesByKey[key, default: 0]
    }
}
