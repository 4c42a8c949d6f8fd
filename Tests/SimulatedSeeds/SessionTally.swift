import MewBase
import MewSim
import MewSimSession

/// What came of the session scripts of many seeds.
struct SessionTally: SeedTally {
    var failures: [(seed: UInt64, failure: String)] = []
    private var seeds = 0
    private var acts = 0
    private var mishaps = 0
    private var turns = 0
    private var events = 0
    private var requests = 0
    private var gaps = 0
    private var recoveries: [Duration] = []
    /// Over the digests of the first seeds, in whatever order they were run.
    private(set) var digest: UInt64 = 0
    private var wallTime = Duration.zero
    private var processorTime = Duration.zero

    /// Enough to see that another process gives the same, and few enough to run twice.
    static let digestedSeeds: UInt64 = 20

    init() {}

    init(seeds: Range<UInt64>) async {
        let (wall, processor) = (ContinuousClock.now, Tally.processorTime)
        self = await Self.of(seeds) { part, seed in
            part.add(SessionLaw.run(seed: seed), of: seed, isDigested: seed - seeds.lowerBound < Self.digestedSeeds)
        }
        recoveries.sort()
        wallTime = wall.duration(to: .now)
        processorTime = Tally.processorTime - processor
    }

    private mutating func add(_ outcome: SessionLaw.Outcome, of seed: UInt64, isDigested: Bool) {
        seeds += 1
        acts += outcome.counts.acts
        mishaps += outcome.counts.mishaps
        turns += outcome.counts.turns
        events += outcome.counts.events
        requests += outcome.counts.requests
        gaps += outcome.counts.gaps
        recoveries.append(outcome.counts.recovery)
        if isDigested { digest &+= SeededGenerator.mix(outcome.digest ^ SeededGenerator.mix(seed)) }
        if !outcome.broken.isEmpty {
            failures.append((seed, outcome.broken.map(\.description).joined(separator: "; ")))
        }
    }

    mutating func merge(_ part: SessionTally) {
        seeds += part.seeds
        acts += part.acts
        mishaps += part.mishaps
        turns += part.turns
        events += part.events
        requests += part.requests
        gaps += part.gaps
        recoveries += part.recoveries
        failures += part.failures
        digest &+= part.digest
    }

    var figure: String {
        "\(seeds) seeds in \(wallTime.components.seconds) s (\(processorTime.components.seconds) processor seconds): "
            + "\(acts) acts, \(mishaps) mishaps, \(turns) turns, \(requests) questions, \(events) events, \(gaps) gaps; "
            + "at rest after \(recovery(500)) s in the median, \(recovery(1_000)) s at most"
    }

    private func recovery(_ perThousand: Int) -> Int64 {
        guard !recoveries.isEmpty else { return 0 }
        return recoveries[min(recoveries.count - 1, recoveries.count * perThousand / 1_000)].components.seconds
    }
}
