package import MewBase
package import MewLoop
import Synchronization

/// Writes diagnostics as lines, without ever making the recorder wait: lines queue up, and a loop for blocking work writes
/// them (a terminal that is stopped, or a full pipe, blocks `write`).
package final class LogSink: DiagnosticSink {
    /// Lines that wait. Beyond this a reader is stuck or a flood is on; what is dropped is counted and said.
    private static let capacity = 1_000

    private struct State {
        var lines: [String] = []
        var dropped = 0
        var isWriting = false
    }

    private let minimum: Diagnostic.Level
    private let format: LogFormat
    private let wall: any WallClock
    private let loop: any Loop
    private let write: @Sendable (String) -> Void
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
        self.write = write
    }

    package func wants(_ level: Diagnostic.Level) -> Bool { level >= minimum }

    package func record(_ diagnostic: Diagnostic) {
        guard wants(diagnostic.level) else { return }
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
        while let text = take() { write(text) }
    }

    /// Everything that waits; nil, and the writing is over, when nothing does.
    private func take() -> String? {
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
