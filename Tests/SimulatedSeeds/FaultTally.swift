import MewSimSession

/// Which seeds notice a daemon that breaks a promise: a law that never fails proves nothing.
struct FaultTally: SeedTally {
    /// Those that notice it.
    var failures: [(seed: UInt64, failure: String)] = []
    private var seeds = 0

    init() {}

    init(_ fault: DaemonFault, seeds: Range<UInt64>) async {
        self = await Self.of(seeds) { $0.add(SessionLaw.run(seed: $1, fault: fault).broken, of: $1) }
    }

    private mutating func add(_ broken: [SessionLaw.Breach], of seed: UInt64) {
        seeds += 1
        guard let first = broken.first else { return }
        failures.append((seed, first.description))
    }

    mutating func merge(_ part: FaultTally) {
        seeds += part.seeds
        failures += part.failures
    }

    var figure: String { "noticed by \(failures.count) of \(seeds) seeds" }
}
