import MewBase
import MewSim
import MewSimNode

/// What came of links between two kinds of networks, for many seeds.
struct GridTally: SeedTally {
    var failures: [(seed: UInt64, failure: String)] = []
    private var seeds = 0
    private var firstBytes: [Duration?] = []
    private var directs: [Duration?] = []
    private var recoveries: [Duration?] = []
    /// Over the traces, in whatever order they were run.
    private(set) var digest: UInt64 = 0
    private var processorTime = Duration.zero

    init() {}

    init(seeds: Range<UInt64>) async {
        let processor = Tally.processorTime
        self = await Self.of(seeds) { $0.add(GridLaw().run(Self.cell(of: $1), seed: $1), of: $1) }
        processorTime = Tally.processorTime - processor
    }

    /// Each in turn.
    static func cell(of seed: UInt64) -> GridCell { GridCell.all[Int(seed % UInt64(GridCell.all.count))] }

    private mutating func add(_ outcome: GridLaw.Outcome, of seed: UInt64) {
        seeds += 1
        firstBytes.append(outcome.firstByte)
        if Self.cell(of: seed).rule == nil { directs.append(outcome.direct) }
        recoveries.append(outcome.recovery)
        digest &+= SeededGenerator.mix(outcome.trace ^ SeededGenerator.mix(seed))
        if !outcome.broken.isEmpty {
            failures.append((seed, "\(Self.cell(of: seed)), \(outcome.broken.joined(separator: "; "))"))
        }
    }

    mutating func merge(_ part: GridTally) {
        seeds += part.seeds
        firstBytes += part.firstBytes
        directs += part.directs
        recoveries += part.recoveries
        failures += part.failures
        digest &+= part.digest
    }

    /// One link in a hundred may lose two packets in a row on its way to the relay. Nil when no more are late.
    var lateness: String? {
        let late = firstBytes.count { $0.map { $0 > GridLaw.firstByte } ?? false }
        guard late * 100 > firstBytes.count else { return nil }
        return "\(late) of \(firstBytes.count) links had their first byte only after \(GridLaw.firstByte)"
    }

    var figure: String {
        "\(seeds) links (\(processorTime.components.seconds) processor seconds): first byte \(Spread(firstBytes)); "
            + "direct \(Spread(directs)); data after the routers forgot \(Spread(recoveries))"
    }
}
