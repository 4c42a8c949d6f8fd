import Glibc
import MewSim
import MewSimNode

/// What came of every change of an uplink, with many seeds each.
struct UplinkTally: Sendable {
    /// One line for each change.
    let figures: [String]
    /// Each with what repeats it.
    let failures: [String]

    init(seeds: UInt64) async {
        let cores = max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN)))
        let parts = await withTaskGroup(of: [Part].self) { group in
            for core in 0..<cores {
                group.addTask {
                    stride(from: core, to: UplinkChange.all.count, by: cores).map { Part($0, seeds: seeds) }
                }
            }
            return await group.reduce(into: []) { $0 += $1 }
        }.sorted { $0.index < $1.index }
        figures = parts.map { "after \($0.change): \(Spread($0.times))" }
        failures = parts.flatMap(\.failures)
    }

    private struct Part: Sendable {
        let index: Int
        private(set) var times: [Duration?] = []
        private(set) var failures: [String] = []

        var change: UplinkChange { UplinkChange.all[index] }

        init(_ index: Int, seeds: UInt64) {
            self.index = index
            for seed in 0..<seeds { run(seed) }
        }

        private mutating func run(_ seed: UInt64) {
            do {
                let outcome = try change.run(seed: seed)
                times.append(outcome.recovery)
                if let broken = outcome.broken { fail(seed, broken) }
            } catch {
                fail(seed, "\(error)")
            }
        }

        private mutating func fail(_ seed: UInt64, _ what: String) {
            failures.append("\(what); again: \(CommandLine.arguments[0]) --uplink '\(change)' \(seed)")
        }
    }
}
