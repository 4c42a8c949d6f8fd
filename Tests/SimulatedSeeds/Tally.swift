import Glibc
import MewSim
import MewSimQUIC

/// What came of many seeds.
struct Tally: SeedTally {
    private(set) var seeds = 0
    private(set) var datagrams = 0
    private(set) var virtualTime = Duration.zero
    var failures: [(seed: UInt64, failure: String)] = []
    /// Over the traces of the first seeds; in whatever order they were run.
    private(set) var digest: UInt64 = 0
    private var wallTime = Duration.zero
    private var processorTime = Duration.zero

    /// Enough to see that another process gives the same, and few enough to run twice.
    static let digestedSeeds: UInt64 = 100

    init() {}

    init(of law: TransferLaw, seeds: Range<UInt64>) async {
        let (wall, processor) = (ContinuousClock.now, Self.processorTime)
        self = await Self.of(seeds) { $0.add(law.run(seed: $1), of: $1) }
        wallTime = wall.duration(to: .now)
        processorTime = Self.processorTime - processor
    }

    private mutating func add(_ outcome: TransferLaw.Outcome, of seed: UInt64) {
        seeds += 1
        datagrams += outcome.datagrams
        virtualTime += outcome.elapsed
        if let failure = outcome.failure { failures.append((seed, failure)) }
        if seed < Self.digestedSeeds { digest &+= SeededGenerator.mix(outcome.trace ^ SeededGenerator.mix(seed)) }
    }

    mutating func merge(_ part: Tally) {
        seeds += part.seeds
        datagrams += part.datagrams
        virtualTime += part.virtualTime
        failures += part.failures
        digest &+= part.digest
    }

    /// Of this process, on all its threads.
    static var processorTime: Duration {
        var usage = rusage()
        getrusage(RUSAGE_SELF.rawValue, &usage)
        func duration(_ time: timeval) -> Duration {
            .seconds(Int64(time.tv_sec)) + .microseconds(Int64(time.tv_usec))
        }
        return duration(usage.ru_utime) + duration(usage.ru_stime)
    }

    var figure: String {
        "\(seeds) seeds in \(wallTime.components.seconds) s (\(processorTime.components.seconds) processor seconds): "
            + "\(datagrams) datagrams, \(virtualTime.components.seconds / 60) virtual minutes"
    }
}
