import Glibc
import MewSim
import MewSimNode
import MewSimQUIC
import MewSimSession

/// Runs the law of the simulated network for many seeds, on every core; one world runs on one thread.
///
///     simulated-seeds [COUNT]     seeds 0 ..< COUNT (10,000), then one in a thousand of them with 10 MB each way
///     simulated-seeds --seed N    one seed, small and large, and what came of it
///     simulated-seeds --scripts FIRST COUNT    whole nodes, and the random scripts of so many seeds (`ScriptLaw`)
///     simulated-seeds --script N  one of them: what its nodes report, and the shortest script that still breaks a law
///     simulated-seeds --grid FIRST COUNT       a link between two kinds of networks for each of so many seeds, each cell of the grid
///                                              in turn (`GridLaw`)
///     simulated-seeds --cell CELL N            one of them, by its name: what its nodes report
///     simulated-seeds --sessions FIRST COUNT   a daemon and three devices, and the session scripts of so many seeds (`SessionLaw`)
///     simulated-seeds --session N [whole | FAULT]    one of them, as `--script`; as it is; with a daemon that has this fault
///     simulated-seeds --faults FIRST COUNT     the same seeds with a daemon that breaks a promise (`DaemonFault`), each in turn:
///                                              how many notice it. To see whether a new law, act or mishap is of use.
///     simulated-seeds --uplinks COUNT          every change of an uplink, with so many seeds each (`UplinkChange`)
///     simulated-seeds --uplink CHANGE N        one of them, by its name: what its nodes report
///
/// Prints what was run as lines that begin with `figure`, and a digest of what the first seeds did and when: equal in every
/// process. Each seed that breaks the law is named with the command that repeats it. Exits 1 when there is one, 2
/// on bad arguments.
@main
struct SimulatedSeeds {
    static func main() async {
        var arguments = CommandLine.arguments.dropFirst()
        switch (arguments.popFirst(), arguments.popFirst(), arguments.popFirst(), arguments.isEmpty) {
        case (nil, nil, nil, true): await many(10_000)
        case ("--seed"?, let seed?, nil, true): one(number(seed))
        case ("--scripts"?, let first?, let count?, true): await scripts(number(first), number(count))
        case ("--script"?, let seed?, nil, true): script(number(seed))
        case ("--grid"?, let first?, let count?, true): await grid(number(first), number(count))
        case ("--cell"?, let name?, let seed?, true): cell(name, number(seed))
        case ("--sessions"?, let first?, let count?, true): await sessions(number(first), number(count))
        case ("--session"?, let seed?, nil, true): session(number(seed), isShrunk: true)
        case ("--session"?, let seed?, "whole"?, true): session(number(seed), isShrunk: false)
        case ("--session"?, let seed?, let fault?, true): session(number(seed), isShrunk: true, self.fault(fault))
        case ("--faults"?, let first?, let count?, true): await faults(number(first), number(count))
        case ("--uplinks"?, let count?, nil, true): await uplinks(number(count))
        case ("--uplink"?, let name?, let seed?, true): uplink(name, number(seed))
        case (let count?, nil, nil, true): await many(number(count))
        default: fail("usage: simulated-seeds \(usage)", status: 2)
        }
    }

    private static let usage =
        "[COUNT | --seed N | --scripts FIRST COUNT | --script N | --grid FIRST COUNT | --cell CELL N | --sessions FIRST COUNT | --session N [whole | FAULT] "
        + "| --faults FIRST COUNT | --uplinks COUNT | --uplink CHANGE N]"

    private static func number(_ text: String) -> UInt64 {
        guard let number = UInt64(text) else { fail("'\(text)' is no number of seeds", status: 2) }
        return number
    }

    private static func fail(_ sentence: String, status: Int32) -> Never {
        let line = Array((sentence + "\n").utf8)
        _ = write(STDERR_FILENO, line, line.count)
        exit(status)
    }

    private static func one(_ seed: UInt64) {
        let wire = TransferLaw.wire(of: seed)
        print("seed \(seed): \(wire.latency) and up to \(wire.jitter) each way, loss \(wire.loss), MTU \(wire.mtu)")
        var isKept = true
        for law in [TransferLaw(), .large] {
            let outcome = law.run(seed: seed)
            print(
                "\(law.streams) × \(law.bytesPerStream) bytes each way: \(outcome.failure ?? "arrived whole"); "
                    + "\(outcome.datagrams) datagrams in \(outcome.elapsed), trace \(outcome.trace)")
            isKept = isKept && outcome.failure == nil
        }
        exit(isKept ? 0 : 1)
    }

    private static func scripts(_ first: UInt64, _ count: UInt64) async {
        let tally = await ScriptTally(seeds: first..<(first + min(count, UInt64.max - first)))
        print("figure simulated worlds: \(tally.figure)")
        print("digest of these scripts: \(tally.digest)")
        for (seed, failure) in tally.failures.prefix(50) {
            print("script \(seed): \(failure); again: \(CommandLine.arguments[0]) --script \(seed)")
        }
        if !tally.failures.isEmpty { fail("\(tally.failures.count) scripts broke a law", status: 1) }
    }

    private static func script(_ seed: UInt64) {
        let script = Script.random(seed: seed)
        guard let short = ScriptLaw().shrunk(script, seed: seed) else { return told(script, seed) }
        told(short, seed)
        exit(1)
    }

    private static func told(_ script: Script, _ seed: UInt64) {
        print("script \(seed): \(script)")
        var script = script
        script.plan.log = { print($0) }
        let outcome = ScriptLaw().run(script, seed: seed)
        for broken in outcome.broken { print("broken: \(broken)") }
    }

    private static func grid(_ first: UInt64, _ count: UInt64) async {
        let tally = await GridTally(seeds: first..<(first + min(count, UInt64.max - first)))
        print("figure simulated grid: \(tally.figure)")
        print("digest of these cells: \(tally.digest)")
        for (seed, failure) in tally.failures.prefix(50) {
            print("\(failure); again: \(CommandLine.arguments[0]) --cell '\(GridTally.cell(of: seed))' \(seed)")
        }
        if !tally.failures.isEmpty { fail("\(tally.failures.count) seeds broke a law of the grid", status: 1) }
        if let late = tally.lateness { fail(late, status: 1) }
    }

    private static func cell(_ name: String, _ seed: UInt64) {
        guard let cell = GridCell.all.first(where: { $0.description == name }) else {
            fail("no such cell; there are:\n\(GridCell.all.map(\.description).joined(separator: "\n"))", status: 2)
        }
        let outcome = GridLaw().run(cell, seed: seed) { print($0) }
        print(
            "first byte \(outcome.firstByte.map { "\($0)" } ?? "never"), direct \(outcome.direct.map { "\($0)" } ?? "never")"
        )
        for broken in outcome.broken { print("broken: \(broken)") }
        if !outcome.broken.isEmpty { exit(1) }
    }

    private static func sessions(_ first: UInt64, _ count: UInt64) async {
        let tally = await SessionTally(seeds: first..<(first + min(count, UInt64.max - first)))
        print("figure simulated sessions: \(tally.figure)")
        print("digest of the first \(SessionTally.digestedSeeds) seeds: \(tally.digest)")
        for (seed, failure) in tally.failures.prefix(50) {
            print("session \(seed): \(failure); again: \(CommandLine.arguments[0]) --session \(seed)")
        }
        if !tally.failures.isEmpty { fail("\(tally.failures.count) sessions broke a law", status: 1) }
    }

    private static func fault(_ name: String) -> DaemonFault {
        guard let fault = DaemonFault(rawValue: name) else {
            let names = DaemonFault.allCases.map(\.rawValue).joined(separator: ", ")
            fail("'\(name)' is no fault of a daemon; there are \(names)", status: 2)
        }
        return fault
    }

    private static func faults(_ first: UInt64, _ count: UInt64) async {
        var isNoticed = true
        for fault in DaemonFault.allCases {
            let tally = await FaultTally(fault, seeds: first..<(first + min(count, UInt64.max - first)))
            print("figure a daemon with the fault '\(fault.rawValue)': \(tally.figure)")
            if let (seed, breach) = tally.failures.first {
                let again = "\(CommandLine.arguments[0]) --session \(seed) \(fault.rawValue)"
                print("session \(seed): \(breach); again: \(again)")
            }
            isNoticed = isNoticed && !tally.failures.isEmpty
        }
        if !isNoticed { fail("a fault was not noticed", status: 1) }
    }

    private static func session(_ seed: UInt64, isShrunk: Bool, _ fault: DaemonFault? = nil) {
        let short = isShrunk ? SessionLaw.shrunk(seed: seed, fault: fault) : nil
        let script = short ?? SessionScript.random(seed: seed)
        print("session \(seed): \(script)")
        let broken = SessionLaw.run(script, seed: seed, fault: fault, log: { print($0) }).broken
        for breach in broken { print("broken: \(breach)") }
        if !broken.isEmpty { exit(1) }
    }

    private static func uplinks(_ seeds: UInt64) async {
        let tally = await UplinkTally(seeds: seeds)
        for figure in tally.figures { print("figure \(figure)") }
        for failure in tally.failures { print(failure) }
        if !tally.failures.isEmpty { fail("\(tally.failures.count) changes of an uplink broke a law", status: 1) }
    }

    private static func uplink(_ name: String, _ seed: UInt64) {
        guard let change = UplinkChange.all.first(where: { $0.description == name }) else {
            let names = UplinkChange.all.map(\.description).joined(separator: "\n")
            fail("no such change; there are:\n\(names)", status: 2)
        }
        do {
            let outcome = try change.run(seed: seed) { print($0) }
            print("\(outcome.recovery.map { "\($0)" } ?? "never"), \(outcome.broken ?? "no law broken")")
        } catch {
            fail("\(error)", status: 1)
        }
    }

    private static func many(_ count: UInt64) async {
        let small = await Tally(of: TransferLaw(), seeds: 0..<count)
        print("figure simulated network: \(small.figure), three streams of 64 KiB each way")
        let large = await Tally(of: .large, seeds: 0..<max(1, count / 1_000))
        print("figure simulated network: \(large.figure), 10 MB each way")
        print("digest of the first \(Tally.digestedSeeds) seeds: \(small.digest)")
        for (seed, failure) in (small.failures + large.failures).prefix(20) {
            print("seed \(seed): \(failure); again: \(CommandLine.arguments[0]) --seed \(seed)")
        }
        let failed = small.failures.count + large.failures.count
        if failed > 0 { fail("\(failed) seeds broke the law", status: 1) }
    }
}
