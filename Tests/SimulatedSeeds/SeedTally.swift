import Glibc

/// What came of many seeds, counted on all cores, in whatever order they were run.
protocol SeedTally: Sendable {
    init()
    mutating func merge(_ part: Self)
    /// The seeds that broke a law.
    var failures: [(seed: UInt64, failure: String)] { get set }
}

extension SeedTally {
    /// - Parameter add: runs one seed and counts what came of it.
    static func of(
        _ seeds: Range<UInt64>, _ add: @escaping @Sendable (inout Self, UInt64) -> Void
    ) async -> Self {
        let cores = UInt64(max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN))))
        var whole = await withTaskGroup(of: Self.self) { group in
            for core in 0..<cores {
                group.addTask {
                    var part = Self()
                    for seed in stride(from: seeds.lowerBound + core, to: seeds.upperBound, by: Int(cores)) {
                        add(&part, seed)
                    }
                    return part
                }
            }
            return await group.reduce(into: Self()) { $0.merge($1) }
        }
        whole.failures.sort { $0.seed < $1.seed }
        return whole
    }
}
