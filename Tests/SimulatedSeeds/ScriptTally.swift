import MewBase
import MewSim
import MewSimNode

/// What came of the random scripts of many seeds.
struct ScriptTally: SeedTally {
    var failures: [(seed: UInt64, failure: String)] = []
    private var seeds = 0
    private var mishaps = 0
    private var changes = 0
    private var recoveries: [Duration] = []
    /// Over the traces, in whatever order they were run.
    private(set) var digest: UInt64 = 0
    private var processorTime = Duration.zero

    init() {}

    init(seeds: Range<UInt64>) async {
        let processor = Tally.processorTime
        self = await Self.of(seeds) { $0.add(ScriptLaw().run(.random(seed: $1), seed: $1), of: $1) }
        recoveries.sort()
        processorTime = Tally.processorTime - processor
    }

    private mutating func add(_ outcome: ScriptLaw.Outcome, of seed: UInt64) {
        seeds += 1
        mishaps += outcome.mishaps
        changes += outcome.changes
        recoveries += outcome.recoveries
        digest &+= SeededGenerator.mix(outcome.trace ^ SeededGenerator.mix(seed))
        if !outcome.broken.isEmpty {
            failures.append((seed, outcome.broken.map(\.description).joined(separator: "; ")))
        }
    }

    mutating func merge(_ part: ScriptTally) {
        seeds += part.seeds
        mishaps += part.mishaps
        changes += part.changes
        recoveries += part.recoveries
        failures += part.failures
        digest &+= part.digest
    }

    var figure: String {
        "\(seeds) scripts (\(processorTime.components.seconds) processor seconds): \(mishaps) mishaps, \(changes) changes of "
            + "the path, data again after \(recovery(500)) ms in the median, \(recovery(990)) ms in 99 of 100, "
            + "\(recovery(1_000)) ms at most"
    }

    private func recovery(_ perThousand: Int) -> Int {
        guard !recoveries.isEmpty else { return 0 }
        return Int(recoveries[min(recoveries.count - 1, recoveries.count * perThousand / 1_000)].milliseconds)
    }
}
