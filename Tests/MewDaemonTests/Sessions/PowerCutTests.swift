import MewBase
import MewSession
import MewSim
import MewTestSupport
import MewWire
import Synchronization
import Testing

@testable import MewDaemon

// Topology: one daemon that loses its power at any step of a turn, one disk that forgets what was not synced, one client that
// comes back and repeats what it did not get a receipt for. Laws: every event that the client received is there afterwards; the
// session is the same, under a new epoch; each prompt begins at most once; a turn that was under way is interrupted and not run
// again; and in the end every prompt has one result.

@Suite("the power fails at any step")
struct PowerCutTests {
    @Test("200 seeds", arguments: 0..<20)
    func seeds(block: Int) throws {
        var interrupted = 0
        for seed in (block * 10)..<(block * 10 + 10) { interrupted += try killAndReturn(seed: UInt64(seed)) }
        #expect(interrupted > 0, "the power was never cut in the middle of a turn")
    }

    private static let script: [ScriptedAgent.Step] = [
        .emit(.notice("one")),
        .permission(ToolPermission(toolName: "bash", input: [:], call: "c", sensitivity: .readOnly)),
        .emit(.toolProgress("c", chunk: "a")), .emit(.toolProgress("c", chunk: "b")),
        .emit(.toolProgress("c", chunk: "c")),
        .emit(.notice("two")), .emit(.notice("three")),
    ]

    /// Returns how many turns were interrupted.
    private func killAndReturn(seed: UInt64) throws -> Int {
        var interrupted = 0
        var random = SeededGenerator(seed: seed)
        let agent = ScriptedAgent(Array(repeating: Self.script, count: 12))
        try SessionsBench.with("kill", seed: seed, agent: agent) { bench in
            var client = Client(seed: seed)
            try client.open(bench)
            for _ in 0..<3 {
                client.prompt(bench)
                client.prompt(bench)
                bench.world.run(steps: Int(random.below(400)))
                bench.kill(seed: random.next())
                try bench.restart()
                try client.comeBack(bench)
            }
            try bench.world.run(for: .seconds(10))
            interrupted = try client.finish(bench)
            let begun = agent.deeds.compactMap { if case .began(let turn, _) = $0 { turn } else { nil } }
            #expect(Set(begun).count == begun.count, "seed \(seed): a turn began twice")
            let texts = agent.deeds.compactMap { if case .began(_, let text) = $0 { text } else { nil } }
            #expect(Set(texts).count == texts.count, "seed \(seed): a prompt ran twice: \(texts)")
        }
        return interrupted
    }

    @Test("and the disk is full afterwards: sessions are still read, and the new epoch is stored when there is room")
    func fullDiskAfterwards() throws {
        try SessionsBench.with("full-afterwards", agent: ScriptedAgent([])) { bench in
            var client = Client(seed: 1)
            try client.open(bench)
            let session = try #require(client.session)
            bench.kill(seed: 1)
            bench.disk.limitRoom(to: 0)
            try bench.restart()
            let reader = try bench.client(.session)
            try reader.send(.attachSession(.init(sessionID: session, afterSequence: .zero, epoch: client.epoch)))
            let frames = try reader.take()
            let epoch = try #require(frames.ready?.epoch)
            #expect(epoch != client.epoch && frames.ready?.resume == .snapshot)
            #expect(frames.contains { $0.message.kind == .caughtUp })
            bench.disk.limitRoom(to: nil)
            try bench.world.run(for: .seconds(3))
            try reader.send(.prompt(.init(text: "go")))
            #expect(try reader.take().receipts.map(\.state) == [.stored, .started, .done])
            let store = bench.store
            let stored = try bench.run { try await store.load(session, limits: SessionCore.loadLimits) }
            #expect(stored?.isSuspect == false)
            #expect(stored.flatMap { SessionRecord(in: $0.row) }?.epoch == epoch)
        }
    }

    @Test("a sync that fails leaves open whether a prompt was taken, until the disk takes writes; then it runs once")
    func failedSync() throws {
        let agent = ScriptedAgent([])
        try SessionsBench.with("failed-sync", agent: agent) { bench in
            var client = Client(seed: 1)
            try client.open(bench)
            let channel = try #require(client.channel)
            // The commit, and the attempt to overwrite it.
            bench.disk.failSyncs(2)
            let prompt = ClientMessage.prompt(.init(text: "go"))
            let operation = try channel.send(prompt)
            #expect(try channel.take().errors.map(\.code) == [.internal])
            try channel.send(prompt, operation: operation)
            #expect(try channel.take().errors.map(\.code) == [.internal])
            try bench.world.run(for: .seconds(3))
            try channel.send(prompt, operation: operation)
            #expect(try channel.take().receipts.map(\.state) == [.stored, .started, .done])
            #expect(agent.deeds.count == 2)
        }
    }

    @Test("while a sync that failed leaves a prompt in doubt, nobody says that it is absent")
    func questionInDoubt() throws {
        try SessionsBench.with("question-in-doubt", agent: ScriptedAgent([])) { bench in
            var client = Client(seed: 1)
            try client.open(bench)
            let control = try bench.client(.control)
            bench.disk.failSyncs(2)
            let operation = try #require(try client.channel?.send(.prompt(.init(text: "go"))))
            let query = ClientMessage.receiptQuery(.init(operations: [operation], settle: false))
            // Twice: the second time it is known without the store that there is no receipt.
            for _ in 0..<2 {
                try control.send(query)
                let frames = try control.take()
                #expect(frames.receipts.isEmpty && frames.errors.map(\.code) == [.internal])
            }
            try bench.world.run(for: .seconds(3))
            try control.send(query)
            #expect(try control.take().receipts.map(\.state) == [.absent])
        }
    }

    @Test("a sync that fails once is told as not saved, because what it was to keep is overwritten at once")
    func overwrittenAtOnce() throws {
        try SessionsBench.with("overwritten", agent: ScriptedAgent([])) { bench in
            var client = Client(seed: 1)
            try client.open(bench)
            bench.disk.failSyncs(1)
            try client.channel?.send(.prompt(.init(text: "go")))
            #expect(try client.channel?.take().errors.map(\.code) == [.notSaved])
        }
    }

    /// A client that keeps its operations until it knows what became of them.
    private struct Client {
        let seed: UInt64
        var channel: BenchClient?
        var session: SessionID?
        var epoch: Epoch?
        var epochs: Set<Epoch> = []
        /// What it received, by number.
        var events: [SequenceNumber: DaemonMessage] = [:]
        var pending: [(OperationID, String)] = []
        var number: UInt64 = 0

        mutating func open(_ bench: SessionsBench) throws {
            let channel = try bench.client(.session)
            try channel.send(.newSession(.init(cwd: "/tmp")))
            self.channel = channel
            let ready = try #require(try channel.take().ready)
            (session, epoch, epochs) = (ready.sessionID, ready.epoch, [try #require(ready.epoch)])
        }

        mutating func prompt(_ bench: SessionsBench) {
            number += 1
            let operation = OperationID(ULID(high: 1, low: number))
            pending.append((operation, "p\(number)"))
            channel?.post(.prompt(.init(text: "p\(number)")), operation: operation)
        }

        mutating func harvest() throws {
            for frame in try channel?.take() ?? [] {
                if let sequence = frame.sequence { events[sequence] = frame.message }
            }
        }

        /// More events than any of these sessions has.
        private static let beyond = SequenceNumber(1_000_000)

        /// Attaches as one that knows more than there is, compares, and repeats every prompt without a final receipt.
        mutating func comeBack(_ bench: SessionsBench) throws {
            try harvest()
            let session = try #require(session)
            let channel = try bench.client(.session)
            self.channel = channel
            try channel.send(.attachSession(.init(sessionID: session, afterSequence: Self.beyond, epoch: epoch)))
            let frames = try channel.take()
            let ready = try #require(frames.ready)
            let (epoch, head) = (try #require(ready.epoch), try #require(ready.headSequence))
            #expect(epochs.insert(epoch).inserted, "seed \(seed): an old epoch")
            #expect(ready.resume == .snapshot, "seed \(seed): no snapshot")
            #expect(ready.lost == Self.beyond.rawValue - head.rawValue, "seed \(seed): lost")
            self.epoch = epoch
            try compare(events, with: bench, session)
            for frame in frames { if let sequence = frame.sequence { events[sequence] = frame.message } }
            for (operation, text) in pending { channel.post(.prompt(.init(text: text)), operation: operation) }
        }

        /// What was received against what is stored.
        private func compare(
            _ known: [SequenceNumber: DaemonMessage], with bench: SessionsBench, _ session: SessionID
        ) throws {
            let store = bench.store
            let rows = try bench.run { try await store.events(of: session, after: .zero, limit: 10_000) }
            #expect(rows.map(\.sequence.rawValue) == rows.indices.map { UInt64($0 + 1) }, "seed \(seed): holes")
            for (sequence, message) in known {
                guard let row = rows.first(where: { $0.sequence == sequence }),
                    case .decoded(let frame) = DaemonFrame.decode(row.body, from: .native)
                else {
                    Issue.record("seed \(seed): event \(sequence) is gone")
                    continue
                }
                #expect(frame.message == message, "seed \(seed): event \(sequence) changed")
            }
        }

        mutating func finish(_ bench: SessionsBench) throws -> Int {
            let control = try bench.client(.control)
            try control.send(.receiptQuery(.init(operations: pending.map(\.0), settle: false)))
            let receipts = try control.take().receipts
            #expect(receipts.map(\.state) == pending.map { _ in .done }, "seed \(seed): \(receipts.map(\.state))")
            #expect(receipts.allSatisfy { $0.result == .completed || $0.result == .interrupted }, "seed \(seed)")
            #expect(receipts.contains { $0.result == .completed }, "seed \(seed): nothing ever completed")
            return receipts.count { $0.result == .interrupted }
        }
    }
}
