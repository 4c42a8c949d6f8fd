import MewBase
import MewIdentity
import MewLoop
import MewNode
import MewWire

/// The numbers under which a daemon tells where it can be found, each larger than all before, also after a restart and after the
/// clock was set back: microseconds of the wall clock, or one more than the last number where the clock is behind.
///
/// A directory that is restored from a backup catches up by itself, because the clock goes on; a plain counter would be
/// disbelieved until it had counted up to where it was.
///
/// Pinned to a loop for blocking work: each number is on the disk before it is used.
actor ReachCounter {
    nonisolated let unownedExecutor: UnownedSerialExecutor
    private let directory: StateDirectory
    private let wall: any WallClock
    private let diagnostics: any DiagnosticSink
    private var last: UInt64?

    /// JSON has no larger integers (spec/native-wire.md §1). In microseconds: the year 2255.
    static let largest: UInt64 = (1 << 53) - 1
    /// A clock beyond the year 2112 is wrong, and believing it would use up the numbers.
    static let latestClock: UInt64 = 1 << 52

    init(_ directory: StateDirectory, wall: any WallClock, loop: BlockingLoop, diagnostics: any DiagnosticSink) {
        self.directory = directory
        self.wall = wall
        self.diagnostics = diagnostics
        unownedExecutor = loop.asUnownedSerialExecutor()
    }

    func next() -> UInt64 {
        let next = Self.next(after: last ?? stored(), wallMilliseconds: wall.millisecondsSinceEpoch)
        last = next
        store(next)
        return next
    }

    static func next(after last: UInt64, wallMilliseconds: UInt64) -> UInt64 {
        let (clock, overflow) = wallMilliseconds.multipliedReportingOverflow(by: 1_000)
        let believed = overflow || clock > latestClock ? 0 : clock
        return min(max(last + 1, believed), largest)
    }

    /// A damaged file costs the memory of a clock that was set back, not the start.
    private func stored() -> UInt64 {
        let bytes = (try? directory.files.read(StateDirectory.Name.reach, maxBytes: 32)) ?? nil
        return bytes.flatMap(Self.parse) ?? 0
    }

    static func parse(_ bytes: [UInt8]) -> UInt64? {
        let digits = bytes.last == UInt8(ascii: "\n") ? bytes.dropLast() : bytes[...]
        guard (1...16).contains(digits.count), digits.allSatisfy({ (48...57).contains($0) }) else { return nil }
        return UInt64(String(decoding: digits, as: UTF8.self)).flatMap { $0 < largest ? $0 : nil }
    }

    private func store(_ number: UInt64) {
        do throws(SystemError) {
            try directory.files.write(
                Array("\(number)\n".utf8), to: StateDirectory.Name.reach, entropy: SystemEntropy())
        } catch {
            diagnostics.record(ifWanted: .warning) {
                Diagnostic(
                    .warning, "daemon", "reach_not_saved",
                    "the number of the last announcement was not saved (\(error)); a restart with a clock set back "
                        + "would announce under an old one")
            }
        }
    }
}
