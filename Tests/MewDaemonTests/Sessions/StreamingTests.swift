import MewBase
import MewSession
import MewSim
import MewTestSupport
import MewWire
import Synchronization
import Testing

@testable import MewDaemon

// Topology: one session, one agent that streams, one client. Laws: pieces share syncs; nothing is sent before it is stored; the
// agent is never far ahead of the disk; whatever is no piece waits for its own commit.

@Suite("streaming")
struct StreamingTests {
    private static func piece(_ number: Int) -> AgentEvent { .toolProgress("c", chunk: "\(number)\n") }

    private static func number(of frame: DaemonFrame) -> Int? {
        guard case .toolProgress(let progress) = frame.message else { return nil }
        return Int(progress.chunk.dropLast())
    }

    @Test("10,000 pieces share commits and reach the client in order, without a hole")
    func manyPieces() throws {
        let script: [ScriptedAgent.Step] = (0..<10_000).map { .emit(Self.piece($0)) }
        try SessionsBench.with("stream", agent: ScriptedAgent([script]), commitTime: .milliseconds(5)) { bench in
            let channel = try bench.client(.session)
            try channel.send(.newSession(.init(cwd: "/tmp")))
            _ = try channel.take()
            channel.post(.prompt(.init(text: "stream")))
            // 10,000 commits would take 50 seconds.
            try bench.world.run(for: .seconds(1))
            let frames = try channel.take()
            #expect(frames.compactMap(Self.number) == Array(0..<10_000))
            let sequences = frames.compactMap(\.sequence).map(\.rawValue)
            #expect(sequences == Array(1...UInt64(sequences.count)))
            #expect(frames.receipts.last?.state == .done)
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
            (bytes: 10, most: 2 * SessionRunner.maxPiecesAhead), (bytes: 50_000, most: 4), (bytes: 1_000_000, most: 1),
        ])
    func bounded(bytes: Int, most: Int) throws {
        let taken = Counter()
        let chunk = String(repeating: "x", count: bytes)
        let agent = ScriptedAgent([
            [
                .run { host throws(AgentHostError) in
                    for number in 0..<(most + 5) {
                        try await host.emit(.toolProgress("c", chunk: "\(number)\(chunk)"))
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
        let script = [ScriptedAgent.Step.wait(gate)] + (0..<1_000).map { .emit(Self.piece($0)) }
        try SessionsBench.with("fail", agent: ScriptedAgent([script]), commitTime: .milliseconds(5)) { bench in
            let channel = try bench.client(.session)
            try channel.send(.newSession(.init(cwd: "/tmp")))
            try channel.send(.prompt(.init(text: "stream")))
            _ = try channel.take()
            gate.open()
            try bench.world.run(for: .milliseconds(12))
            bench.disk.limitRoom(to: 0)
            try bench.world.run(for: .seconds(5))
            let before = try channel.take().compactMap(Self.number)
            #expect((1..<1_000).contains(before.count))
            bench.disk.limitRoom(to: nil)
            try bench.world.run(for: .seconds(5))
            let frames = try channel.take()
            #expect(before + frames.compactMap(Self.number) == Array(0..<1_000))
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
            // The prompt, its beginning, five pieces, the notice; the end of the interrupted turn follows.
            #expect(head >= SequenceNumber(8))
        }
    }
}
