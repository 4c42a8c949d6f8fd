import Glibc
import MewBase
import MewLoop
import MewSim
import Synchronization
import Testing

@testable import MewDaemon

@Suite("Log", .timeLimit(.minutes(1)))
struct LogSinkTests {
    private final class Output: Sendable {
        let text = Mutex("")
        func write(_ lines: String) { text.withLock { $0 += lines } }
        var lines: [Substring] { text.withLock { $0 }.split(separator: "\n") }
    }

    private func diagnostic(_ level: Diagnostic.Level, _ name: String = "event") -> Diagnostic {
        Diagnostic(level, "test", name, "something happened")
    }

    /// Waits until everything that was posted to the loop before has run.
    private func settle(_ loop: EventLoop) async {
        await withCheckedContinuation { done in loop.post { done.resume() } }
    }

    @Test("lines come in order, and what is below the level is not written")
    func order() async throws {
        let loop = try EventLoop(name: "log")
        let output = Output()
        let sink = LogSink(minimum: .info, format: .json, wall: FixedWallClock(), loop: loop, write: output.write)
        for number in 1...10 {
            sink.record(diagnostic(.debug))
            sink.record(diagnostic(.info, "event_\(number)"))
        }
        await settle(loop)
        #expect(output.lines.count == 10)
        for (index, line) in output.lines.enumerated() { #expect(line.contains("\"event_\(index + 1)\"")) }
        loop.stop()
    }

    @Test("a reader that is stuck costs lines, is told how many, and stops nobody")
    func stuckReader() async throws {
        let loop = try EventLoop(name: "log")
        let output = Output()
        let sink = LogSink(minimum: .info, format: .human, wall: FixedWallClock(), loop: loop, write: output.write)
        // The loop is busy for as long as this holds it: nothing is written meanwhile.
        await withCheckedContinuation { done in
            loop.post {
                for number in 0..<1_500 { sink.record(diagnostic(.warning, "event_\(number % 2)")) }
                done.resume()
            }
        }
        await settle(loop)
        #expect(output.lines.count == 1_001)
        #expect(output.lines.last?.contains("500 log lines were dropped") == true)
        loop.stop()
    }

    @Test(
        "who flushes waits until everything recorded before is written, and no longer than the limit for a stuck reader"
    )
    func flush() async throws {
        let (loop, timer) = (try EventLoop(name: "log"), try EventLoop(name: "timer"))
        let (output, pipe) = (Output(), try Pipe())
        let sink = LogSink(minimum: .info, format: .human, wall: FixedWallClock(), loop: loop) {
            output.write($0)
            var byte: UInt8 = 0
            read(pipe.reader.number, &byte, 1)
        }
        #expect(write(pipe.writer.number, "x", 1) == 1)
        sink.record(diagnostic(.info, "last"))
        await sink.flush(within: .seconds(30), by: timer)
        #expect(output.lines.count == 1)
        sink.record(diagnostic(.info, "never"))
        await sink.flush(within: .milliseconds(10), by: timer)
        #expect(output.lines.count == 2)
        #expect(write(pipe.writer.number, "x", 1) == 1)
        loop.stop()
        timer.stop()
    }

    @Test(
        "a thousand lines of one kind at once, then five a second; what is left out is counted, other kinds are written"
    )
    func flood() async throws {
        try withSimWorld(seed: 1) { world in
            let node = world.addNode("daemon")
            let output = Output()
            let sink = LogSink(
                minimum: .info, format: .human, wall: FixedWallClock(), loop: node.loop, write: output.write)
            func record(_ count: Int, _ name: String) throws -> [Substring] {
                let before = output.lines.count
                try world.run(on: node) { for _ in 0..<count { sink.record(diagnostic(.info, name)) } }
                try world.run(for: .milliseconds(1))
                return Array(output.lines[before...])
            }
            #expect(try record(990, "a").count == 990)
            #expect(try record(500, "a").count == 10)
            #expect(try record(1, "b").count == 1)
            try world.run(for: .seconds(2))
            let later = try record(20, "a")
            #expect(later.count == 11)
            #expect(later.first?.contains("490 lines of test: a were left out") == true)
        }
    }
}
