package import MewBase
package import MewLoop
import Synchronization

/// Writes diagnostics as lines, without ever making the recorder wait: lines queue up, and a loop for blocking work writes
/// them (a terminal that is stopped, or a full pipe, blocks `write`).
package final class LogSink: DiagnosticSink {
    /// Lines of one kind: so many at once, and in the long run so many a second. A device that comes and goes without end
    /// must not fill the disk: five a second are a hundred megabytes a day.
    static let burst = 1_000
    static let perSecond = 5

    /// Lines that wait. Beyond this a reader is stuck or a flood is on; what is dropped is counted and said.
    private static let capacity = 1_000

    /// What may still be written of one kind of line.
    private struct Tally {
        var left = Double(LogSink.burst)
        var updated: Instant
        var leftOut = 0

        /// How many were left out before this one; nil when this one is too.
        mutating func take(now: Instant) -> Int? {
            let seconds = max(0, updated.duration(to: now).milliseconds) / 1_000
            left = min(Double(LogSink.burst), left + seconds * Double(LogSink.perSecond))
            updated = max(updated, now)
            guard left >= 1 else {
                leftOut += 1
                return nil
            }
            left -= 1
            defer { leftOut = 0 }
            return leftOut
        }
    }

    private struct State {
        /// By component and name, which are ours: as many as there are places that record.
        var tallies: [String: Tally] = [:]
        var lines: [String] = []
        var dropped = 0
        var isWriting = false
    }

    private let minimum: Diagnostic.Level
    private let format: LogFormat
    private let wall: any WallClock
    private let loop: any Loop
    private let put: @Sendable (String) -> Void
    private let state = Mutex(State())

    /// - Parameters:
    ///   - minimum: what is below it is not written.
    ///   - loop: where `write` may block.
    ///   - write: takes one or more whole lines, line feeds included.
    package init(
        minimum: Diagnostic.Level, format: LogFormat, wall: any WallClock, loop: any Loop,
        write: @escaping @Sendable (String) -> Void
    ) {
        self.minimum = minimum
        self.format = format
        self.wall = wall
        self.loop = loop
        put = write
    }

    package func wants(_ level: Diagnostic.Level) -> Bool { level >= minimum }

    package func record(_ diagnostic: Diagnostic) {
        guard wants(diagnostic.level), let leftOut = take(diagnostic) else { return }
        if leftOut > 0 {
            let what = "\(leftOut) lines of \(diagnostic.component): \(diagnostic.name) were left out"
            write(Diagnostic(.warning, "log", "lines_left_out", what))
        }
        write(diagnostic)
    }

    /// Returns when everything that was recorded before is written. For the end of a process; a reader that is stuck does not keep
    /// it for longer than `limit`, by the clock of `timer`.
    package func flush(within limit: Duration, by timer: any Loop) async {
        let done = Gate()
        loop.post { [self] in
            writeAll()
            done.close()
        }
        await withTimeLimit(limit, on: timer) { _ = await done.passed() }
    }

    /// How many lines of its kind were left out before this one; nil when this one is left out too.
    private func take(_ diagnostic: Diagnostic) -> Int? {
        let now = loop.now
        return state.withLock { state in
            let kind = "\(diagnostic.component).\(diagnostic.name)"
            return state.tallies[kind, default: Tally(updated: now)].take(now: now)
        }
    }

    private func write(_ diagnostic: Diagnostic) {
        let line = format.line(diagnostic, atMs: wall.millisecondsSinceEpoch)
        let mustStart = state.withLock { state in
            guard state.lines.count < Self.capacity else {
                state.dropped += 1
                return false
            }
            state.lines.append(line)
            defer { state.isWriting = true }
            return !state.isWriting
        }
        if mustStart { loop.post { [self] in writeAll() } }
    }

    private func writeAll() {
        while let text = takeLines() { put(text) }
    }

    /// Everything that waits; nil, and the writing is over, when nothing does.
    private func takeLines() -> String? {
        let (lines, dropped) = state.withLock { state in
            defer { (state.lines, state.dropped) = ([], 0) }
            if state.lines.isEmpty { state.isWriting = false }
            return (state.lines, state.dropped)
        }
        guard !lines.isEmpty else { return nil }
        let notice =
            dropped == 0
            ? []
            : [
                format.line(
                    Diagnostic(.warning, "log", "lines_dropped", "\(dropped) log lines were dropped"),
                    atMs: wall.millisecondsSinceEpoch)
            ]
        return (lines + notice).map { $0 + "\n" }.joined()
    }
}
