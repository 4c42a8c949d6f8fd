import MewBase
import MewSession
import MewSim
import MewTestSupport
import MewWire
import Synchronization
import Testing

@testable import MewDaemon

// Topology: one session, one agent that streams, one client. Laws: pieces that come within 16 ms are one event; pieces share
// syncs; nothing is sent before it is stored; the agent is never far ahead of the disk; whatever is no piece waits for its own
// commit.

@Suite("streaming")
struct StreamingTests {
    private static func piece(_ number: Int, bytes: Int = 0) -> AgentEvent {
        .toolProgress("c", chunk: "\(number)" + String(repeating: ".", count: bytes) + "\n")
    }

    /// The numbers of the pieces in what came, and how many events they came in.
    private static func pieces(_ frames: [DaemonFrame]) -> (numbers: [Int], events: Int) {
        let chunks = frames.compactMap { frame -> String? in
            if case .toolProgress(let progress) = frame.message { progress.chunk } else { nil }
        }
        let numbers = chunks.joined().split(separator: "\n").compactMap { Int($0.prefix { $0 != "." }) }
        return (numbers, chunks.count)
    }

    @Test("10,000 pieces reach the client in order, without a hole, in as many events as 64 KiB make")
    func manyPieces() throws {
        let script: [ScriptedAgent.Step] = (0..<10_000).map { .emit(Self.piece($0, bytes: 100)) }
        try SessionsBench.with("stream", agent: ScriptedAgent([script]), commitTime: .milliseconds(5)) { bench in
            let channel = try bench.client(.session)
            try channel.send(.newSession(.init(cwd: "/tmp")))
            _ = try channel.take()
            channel.post(.prompt(.init(text: "stream")))
            // 10,000 commits would take 50 seconds.
            try bench.world.run(for: .seconds(1))
            let frames = try channel.take()
            let pieces = Self.pieces(frames)
            #expect(pieces.numbers == Array(0..<10_000))
            #expect((16...20).contains(pieces.events), "\(pieces.events) events")
            let sequences = frames.compactMap(\.sequence).map(\.rawValue)
            #expect(sequences == Array(1...UInt64(sequences.count)))
            #expect(frames.receipts.last?.state == .done)
        }
    }

    @Test("a piece is told at once, those of the next 16 ms as one; whoever attaches before sees all of them")
    func gathered() throws {
        let (first, second) = (ScriptGate(), ScriptGate())
        let agent = ScriptedAgent([
            [
                .wait(first), .emit(Self.piece(1)), .emit(Self.piece(2)), .emit(Self.piece(3)), .wait(second),
                .emit(Self.piece(4)), .hang,
            ]
        ])
        try SessionsBench.with("gather", agent: agent) { bench in
            let channel = try bench.client(.session)
            try channel.send(.newSession(.init(cwd: "/tmp")))
            let id = try #require(try channel.take().ready?.sessionID)
            try channel.send(.prompt(.init(text: "stream")))
            _ = try channel.take()
            first.open()
            try bench.world.run(for: .milliseconds(15))
            #expect(Self.pieces(try channel.take()).numbers == [1])
            try bench.world.run(for: .milliseconds(5))
            let pieces = Self.pieces(try channel.take())
            #expect(pieces.numbers == [2, 3] && pieces.events == 1)
            second.open()
            try bench.world.run(for: .milliseconds(1))
            let other = try bench.client(.session)
            other.post(.attachSession(.init(sessionID: id)))
            try bench.world.run(for: .milliseconds(5))
            #expect(Self.pieces(try channel.take()).numbers == [4])
            #expect(try other.take().ready?.headSequence == SequenceNumber(5))
        }
    }

    final class Counter: Sendable {
        private let state = Mutex(0)
        var value: Int { state.withLock { $0 } }
        func countOne() { state.withLock { $0 += 1 } }
    }

    @Test(
        "while a commit takes its time, an agent gets a few pieces ahead, by number and by bytes, and nothing is sent",
        arguments: [
            // Each piece is of another call, so that nothing is gathered but the last one.
            (calls: 2, bytes: 10, most: 2 * SessionRunner.maxPiecesAhead + 2),
            // One in the commit, two that wait, one that is gathered.
            (calls: 1, bytes: 50_000, most: 4), (calls: 1, bytes: 1_000_000, most: 1),
        ])
    func bounded(calls: Int, bytes: Int, most: Int) throws {
        let taken = Counter()
        let chunk = String(repeating: "x", count: bytes)
        let agent = ScriptedAgent([
            [
                .run { host throws(AgentHostError) in
                    for number in 0..<(most + 5) {
                        let call = CallID("c\(number % calls)")
                        try await host.emit(.toolProgress(call, chunk: "\(number)\(chunk)"))
                        taken.countOne()
                    }
                }
            ]
        ])
        try SessionsBench.with("ahead-\(bytes)", agent: agent, commitTime: .seconds(10)) { bench in
            let channel = try bench.client(.session)
            channel.post(.newSession(.init(cwd: "/tmp")))
            try bench.world.run(for: .seconds(25))
            channel.post(.prompt(.init(text: "stream")))
            // The prompt is stored after ten seconds, the first pieces after twenty.
            try bench.world.run(for: .seconds(19))
            #expect((most / 2...most).contains(taken.value), "\(taken.value) pieces")
            #expect(try channel.take().allSatisfy { $0.message.kind != .toolProgress })
        }
    }

    @Test("pieces that were ahead of a disk that fails are told when it takes writes again: in order, each once")
    func failingDisk() throws {
        let gate = ScriptGate()
        let script = [ScriptedAgent.Step.wait(gate)] + (0..<1_000).map { .emit(Self.piece($0, bytes: 1_000)) }
        try SessionsBench.with("fail", agent: ScriptedAgent([script]), commitTime: .milliseconds(5)) { bench in
            let channel = try bench.client(.session)
            try channel.send(.newSession(.init(cwd: "/tmp")))
            try channel.send(.prompt(.init(text: "stream")))
            _ = try channel.take()
            gate.open()
            try bench.world.run(for: .milliseconds(12))
            bench.disk.limitRoom(to: 0)
            try bench.world.run(for: .seconds(5))
            let before = Self.pieces(try channel.take()).numbers
            #expect((1..<1_000).contains(before.count), "\(before.count) pieces")
            bench.disk.limitRoom(to: nil)
            try bench.world.run(for: .seconds(5))
            let frames = try channel.take()
            #expect(before + Self.pieces(frames).numbers == Array(0..<1_000))
            #expect(frames.receipts.last?.state == .done)
        }
    }

    @Test("an agent that stops at something else than a piece has all its pieces stored when it goes on")
    func barrier() throws {
        let went = Counter()
        let script: [ScriptedAgent.Step] =
            (0..<5).map { .emit(Self.piece($0)) } + [
                .emit(.notice("barrier")), .run { _ throws(AgentHostError) in went.countOne() }, .hang,
            ]
        try SessionsBench.with("barrier", agent: ScriptedAgent([script])) { bench in
            let channel = try bench.client(.session)
            try channel.send(.newSession(.init(cwd: "/tmp")))
            let id = try #require(try channel.take().ready?.sessionID)
            channel.post(.prompt(.init(text: "stream")))
            while went.value == 0 { bench.world.run(steps: 1) }
            bench.kill(seed: 3)
            try bench.restart()
            let again = try bench.client(.session)
            try again.send(.attachSession(.init(sessionID: id, afterSequence: .zero)))
            let head = try #require(try again.take().ready?.headSequence)
            // The prompt, its beginning, one piece and four in one, the notice; the end of the interrupted turn follows.
            #expect(head >= SequenceNumber(7))
        }
    }

    @Test("an agent that streams on a full disk is stopped after 64 KiB at most, and a cancel drops what it said")
    func fullDisk() throws {
        let (gate, taken) = (ScriptGate(), Counter())
        let agent = ScriptedAgent([
            [
                .wait(gate),
                .run { host throws(AgentHostError) in
                    for number in 0..<1_000 {
                        try await host.emit(Self.piece(number, bytes: 1_000))
                        taken.countOne()
                    }
                },
            ]
        ])
        try SessionsBench.with("stream-full", agent: agent) { bench in
            let channel = try bench.client(.session)
            try channel.send(.newSession(.init(cwd: "/tmp")))
            try channel.send(.prompt(.init(text: "stream")))
            bench.disk.limitRoom(to: 0)
            // Finds out that the disk takes nothing.
            try channel.send(.guide(.init(text: "x")))
            gate.open()
            try bench.world.run(for: .seconds(1))
            let told = taken.value
            #expect(told <= 64, "\(told) pieces")
            for _ in 0..<20 { try channel.send(.guide(.init(text: "x"))) }
            #expect(taken.value == told)
            try channel.send(.cancel(.init()))
            bench.disk.limitRoom(to: nil)
            _ = try channel.take()
            try bench.world.run(for: .seconds(3))
            let frames = try channel.take()
            #expect(Self.pieces(frames).numbers.isEmpty)
            #expect(frames.receipts.last?.result == .cancelled)
        }
    }
}
