import MewBase
import MewSim
import MewTestSupport
import MewWire
import Synchronization
import Testing

@testable import MewDaemon
@testable import MewSession

// Topology: one session, one disk that is full for a while. Law (NEEDS N-34): nothing runs unrecorded, everybody is told, nothing
// that was recorded is lost, and it goes on by itself when there is room again.

@Suite("a full disk")
struct DiskFullTests {
    private func open(_ bench: SessionsBench) throws -> (BenchClient, BenchClient, SessionID) {
        let control = try bench.client(.control)
        let channel = try bench.client(.session)
        try channel.send(.newSession(.init(cwd: "/tmp")))
        return (control, channel, try #require(try channel.take().ready?.sessionID))
    }

    @Test("a prompt is refused as not saved, runs nothing, and the same operation runs when there is room again")
    func prompt() throws {
        let agent = ScriptedAgent([])
        try SessionsBench.with("full", agent: agent) { bench in
            let (control, channel, id) = try open(bench)
            bench.disk.limitRoom(to: 0)
            let prompt = ClientMessage.prompt(.init(text: "run"))
            let operation = try channel.send(prompt)
            let refused = try channel.take()
            #expect(refused.map(\.message.kind) == [.error])
            #expect(refused.errors.map(\.code) == [.notSaved])
            #expect(refused.errors.map(\.operation) == [operation])
            #expect(agent.deeds.isEmpty)
            // Reading still works.
            let reader = try bench.client(.session, device: 2)
            try reader.send(.attachSession(.init(sessionID: id)))
            #expect(try reader.kinds().contains(.caughtUp))
            try control.send(.renameSession(.init(sessionID: id, title: "x")))
            #expect(try control.take().errors.map(\.code) == [.notSaved])
            try channel.send(prompt, operation: operation)
            #expect(try channel.take().errors.map(\.code) == [.notSaved])
            bench.disk.limitRoom(to: nil)
            try bench.world.run(for: .seconds(3))
            try channel.send(prompt, operation: operation)
            #expect(try channel.take().receipts.map(\.state) == [.stored, .started, .done])
            #expect(agent.deeds.count == 2)
        }
    }

    @Test("a running turn stands still while nothing can be stored, and goes on without a hole")
    func runningTurn() throws {
        let gate = ScriptGate()
        let agent = ScriptedAgent([
            [.emit(.notice("one")), .wait(gate), .emit(.notice("two")), .emit(.notice("three"))]
        ])
        try SessionsBench.with("stall", agent: agent) { bench in
            let (_, channel, id) = try open(bench)
            try channel.send(.prompt(.init(text: "run")))
            _ = try channel.take()
            bench.disk.limitRoom(to: 0)
            gate.open()
            try bench.world.run(for: .seconds(5))
            #expect(try channel.take().isEmpty)
            #expect(agent.deeds.count == 1)
            bench.disk.limitRoom(to: nil)
            try bench.world.run(for: .seconds(3))
            let frames = try channel.take()
            #expect(
                frames.map(\.message.kind) == [
                    .errorEvent, .errorEvent, .receipt, .sessionActivityChanged, .sessionTitleChanged,
                ])
            #expect(frames.compactMap(\.sequence).map(\.rawValue) == [4, 5, 6, 7])
            bench.kill(seed: 1)
            try bench.restart()
            let again = try bench.client(.session)
            try again.send(.attachSession(.init(sessionID: id)))
            #expect(try again.take().ready?.headSequence == SequenceNumber(7))
        }
    }

    @Test("a session that a load must write can be attached to, left and attached to again")
    func loadOnFullDisk() throws {
        let part = Part(
            id: PartID(ULID(high: 1, low: 1)), messageID: MessageID(ULID(high: 1, low: 2)),
            session: ULID(high: 0, low: 0), content: .text(.init(text: "")))
        let delta = ScriptedAgent.Step.emit(.provider(.partDelta(.init(partID: part.id, delta: "word "))))
        let agent = ScriptedAgent([[.emit(.provider(.partStart(part))), delta, delta, .hang]])
        try SessionsBench.with("load-full", agent: agent) { bench in
            let (_, channel, id) = try open(bench)
            try channel.send(.prompt(.init(text: "run")))
            bench.kill(seed: 1)
            bench.disk.limitRoom(to: 0)
            try bench.restart()
            for _ in 0..<2 {
                let reader = try bench.client(.session, device: 2)
                try reader.send(.attachSession(.init(sessionID: id)))
                #expect(try reader.kinds().last == .caughtUp)
                try reader.leave()
            }
            bench.disk.limitRoom(to: nil)
            try bench.world.run(for: .seconds(3))
            let reader = try bench.client(.session, device: 2)
            try reader.send(.attachSession(.init(sessionID: id)))
            let list = try bench.client(.control)
            try list.send(.listSessions)
            #expect(try list.take().sessionList?.map(\.turnID) == [nil])
        }
    }

    @Test("32 cancels wait for a full disk, the 33rd is refused")
    func manyCancels() throws {
        let agent = ScriptedAgent([[.hang]])
        try SessionsBench.with("cancels-full", agent: agent) { bench in
            let (_, channel, _) = try open(bench)
            try channel.send(.prompt(.init(text: "run")))
            bench.disk.limitRoom(to: 0)
            _ = try channel.take()
            for _ in 0..<32 { try channel.send(.cancel(.init())) }
            #expect(try channel.take().isEmpty)
            try channel.send(.cancel(.init()))
            #expect(try channel.take().errors.map(\.code) == [.notSaved])
            bench.disk.limitRoom(to: nil)
            try bench.world.run(for: .seconds(3))
            let receipts = try channel.take().receipts
            #expect(
                receipts.count { $0.state == .done && $0.result == nil } + receipts.count { $0.code == .turnOver } == 32
            )
        }
    }

    @Test("a question about a cancel that waits for the disk holds nothing up, and is answered when there is room")
    func query() throws {
        let agent = ScriptedAgent([[.hang]])
        try SessionsBench.with("query-full", agent: agent) { bench in
            let (control, channel, _) = try open(bench)
            try channel.send(.prompt(.init(text: "run")))
            bench.disk.limitRoom(to: 0)
            let cancel = try #require(try channel.send(.cancel(.init())))
            _ = try control.take()
            control.post([.receiptQuery(.init(operations: [cancel], settle: false)), .listSessions])
            try bench.world.run(for: .seconds(1))
            #expect(try control.kinds() == [.sessionList, .groupList])
            bench.disk.limitRoom(to: nil)
            try bench.world.run(for: .seconds(3))
            #expect(try control.take().receipts.map(\.operation) == [cancel])
        }
    }

    @Test("a question that cannot be settled for want of room says nothing of the operation, which may still come")
    func unsettled() throws {
        try SessionsBench.with("unsettled", agent: ScriptedAgent([])) { bench in
            let (control, _, _) = try open(bench)
            _ = try control.take()
            bench.disk.limitRoom(to: 0)
            let lost = OperationID(ULID(high: 9, low: 9))
            try control.send(.receiptQuery(.init(operations: [lost], settle: true)))
            let errors = try control.take().errors
            #expect(errors.map(\.code) == [.notSaved] && errors.map(\.operation) == [nil])
        }
    }

    @Test("a channel that ends takes its question with it")
    func queryAndEnd() throws {
        let agent = ScriptedAgent([[.hang]])
        try SessionsBench.with("query-end", agent: agent) { bench in
            let (control, channel, _) = try open(bench)
            try channel.send(.prompt(.init(text: "run")))
            bench.disk.limitRoom(to: 0)
            let cancel = try #require(try channel.send(.cancel(.init())))
            control.post(.receiptQuery(.init(operations: [cancel], settle: false)))
            try bench.settle()
            let registry = bench.registry
            #expect(try bench.run { await registry.queries.count } == 1)
            try control.leave()
            #expect(try bench.run { await registry.queries.count } == 0)
        }
    }

    @Test("the turn that fills the disk can be cancelled")
    func cancel() throws {
        let gate = ScriptGate()
        let agent = ScriptedAgent([[.wait(gate), .emit(.notice("lost")), .hang]])
        try SessionsBench.with("cancel-full", agent: agent) { bench in
            let (_, channel, _) = try open(bench)
            try channel.send(.prompt(.init(text: "run")))
            let turn = try channel.take().receipts.last?.turnID
            bench.disk.limitRoom(to: 0)
            gate.open()
            try bench.world.run(for: .seconds(1))
            try channel.send(.cancel(.init(turnID: turn)))
            try bench.world.run(for: .seconds(1))
            #expect(try channel.take().isEmpty)
            #expect(agent.deeds.count == 2)
            bench.disk.limitRoom(to: nil)
            try bench.world.run(for: .seconds(3))
            let receipts = try channel.take().receipts
            #expect(receipts.map(\.state) == [.done, .done])
            #expect(receipts.map(\.result) == [nil, .cancelled])
        }
    }

    @Test("a cancel while nothing is saved does not lose that the command's process has ended: the next command runs")
    func processEnded() throws {
        let gate = ScriptGate()
        let process = AgentProcess(number: 4_711, startTicks: 9, bootID: "boot")
        let next = AgentProcess(number: 4_712, startTicks: 10, bootID: "boot")
        let verdict = Mutex<AgentHostError?>(nil)
        let agent = ScriptedAgent([
            [
                .run { host throws(AgentHostError) in try await host.willStart(process) }, .wait(gate),
                // As the shell agent does.
                .run { host throws(AgentHostError) in try? await host.didEnd(process) },
            ],
            [
                .run { host throws(AgentHostError) in
                    do throws(AgentHostError) { try await host.willStart(next) } catch {
                        verdict.withLock { $0 = error }
                    }
                }
            ],
        ])
        try SessionsBench.with("process-full", agent: agent) { bench in
            let (_, channel, _) = try open(bench)
            try channel.send(.prompt(.init(text: "run")))
            bench.disk.limitRoom(to: 0)
            gate.open()
            try bench.world.run(for: .seconds(1))
            try channel.send(.cancel(.init()))
            bench.disk.limitRoom(to: nil)
            try bench.world.run(for: .seconds(3))
            try channel.send(.prompt(.init(text: "next")))
            #expect(verdict.withLock { $0 } == nil)
            #expect(try channel.take().receipts.last?.result == .completed)
        }
    }

    @Test("news that is undone before it is read does not end the wait for the disk")
    func undoneNews() throws {
        let gate = ScriptGate()
        let agent = ScriptedAgent([[.wait(gate), .emit(.notice("told"))]])
        try SessionsBench.with("undone", agent: agent, commitTime: .milliseconds(1)) { bench in
            let (_, channel, _) = try open(bench)
            try channel.send(.prompt(.init(text: "run")))
            bench.disk.limitRoom(to: 0)
            gate.open()
            try bench.world.run(for: .seconds(1))
            _ = try channel.take()
            bench.disk.limitRoom(to: nil)
            try bench.world.run(for: .seconds(3))
            #expect(try channel.take().receipts.last?.result == .completed)
        }
    }

    private struct StuckTurn {
        let control: BenchClient
        let channel: BenchClient
        let id: SessionID
        let prompt: OperationID
    }

    /// A turn that waits with something to tell while the disk takes nothing.
    private func withStuckTurn(_ label: String, _ body: (SessionsBench, StuckTurn) throws -> Void) throws {
        let gate = ScriptGate()
        let agent = ScriptedAgent([[.wait(gate), .emit(.notice("unsaved")), .hang]])
        try SessionsBench.with(label, agent: agent) { bench in
            let (control, channel, id) = try open(bench)
            let prompt = try #require(try channel.send(.prompt(.init(text: "run"))))
            _ = try (channel.take(), control.take())
            bench.disk.limitRoom(to: 0)
            gate.open()
            try bench.world.run(for: .seconds(1))
            try body(bench, StuckTurn(control: control, channel: channel, id: id, prompt: prompt))
        }
    }

    /// What became of the turn.
    private func result(of turn: StuckTurn, _ bench: SessionsBench) throws -> TurnResult? {
        let control = try bench.client(.control)
        try control.send(.receiptQuery(.init(operations: [turn.prompt], settle: false)))
        return try control.take().receipts.last?.result
    }

    @Test(
        "deleting is refused as not saved at once and ends the turn; what it wanted to tell is not told when there is room again"
    )
    func delete() throws {
        try withStuckTurn("delete-full") { bench, turn in
            try turn.control.send(.deleteSession(.init(sessionID: turn.id)))
            #expect(try turn.control.take().errors.map(\.code) == [.notSaved])
            #expect(turn.channel.isOver)
            #expect(bench.agent.deeds.count == 2)
            bench.disk.limitRoom(to: nil)
            let again = try bench.client(.session)
            try again.send(.attachSession(.init(sessionID: turn.id)))
            try bench.world.run(for: .seconds(3))
            let notes = try again.take().compactMap { frame in
                if case .errorEvent(let event) = frame.message { event.message } else { nil }
            }
            #expect(notes == [SessionCore.crashNote])
            #expect(try result(of: turn, bench) == .interrupted)
        }
    }

    @Test("after a refused delete the interrupted turn gets its end and what waited runs, though nobody comes")
    func goesOnAfterDelete() throws {
        let gate = ScriptGate()
        let agent = ScriptedAgent([[.wait(gate), .emit(.notice("unsaved")), .hang], []])
        try SessionsBench.with("delete-goes-on", agent: agent) { bench in
            let (control, channel, id) = try open(bench)
            let first = try #require(try channel.send(.prompt(.init(text: "one"))))
            let second = try #require(try channel.send(.prompt(.init(text: "two"))))
            bench.disk.limitRoom(to: 0)
            gate.open()
            try bench.world.run(for: .seconds(1))
            _ = try control.take()
            try control.send(.deleteSession(.init(sessionID: id)))
            #expect(try control.take().errors.map(\.code) == [.notSaved])
            try control.send(.listSessions)
            #expect(try control.take().sessionList?.map(\.state) == [.idle])
            bench.disk.limitRoom(to: nil)
            try bench.world.run(for: .seconds(3))
            _ = try control.take()
            try control.send(.receiptQuery(.init(operations: [first, second], settle: false)))
            #expect(try control.take().receipts.map(\.result) == [.interrupted, .completed])
            try control.send(.listSessions)
            #expect(try control.take().sessionList?.map(\.turnID) == [nil])
        }
    }

    @Test("the daemon shuts down at once, and the next one finds the turn interrupted")
    func shutDown() throws {
        try withStuckTurn("stop-full") { bench, turn in
            let registry = bench.registry
            let before = bench.world.now
            try bench.run { await registry.shutDown() }
            #expect(before.duration(to: bench.world.now) < .seconds(1))
            bench.disk.limitRoom(to: nil)
            bench.kill(seed: 1)
            try bench.restart()
            try bench.settle()
            #expect(try result(of: turn, bench) == .interrupted)
        }
    }

    @Test("revoking a device does not wait for the disk; its guidance is dropped when there is room again")
    func revoke() throws {
        let gate = ScriptGate()
        let told = Mutex<[String]?>(nil)
        let agent = ScriptedAgent([
            [
                .wait(gate),
                .run { host throws(AgentHostError) in
                    let guidance = try await host.takeGuidance()
                    told.withLock { $0 = guidance }
                },
            ]
        ])
        try SessionsBench.with("revoke-full", agent: agent) { bench in
            let (_, channel, _) = try open(bench)
            try channel.send(.prompt(.init(text: "run")))
            try channel.send(.guide(.init(text: "and then")))
            bench.disk.limitRoom(to: 0)
            // Finds out that the disk takes nothing.
            try channel.send(.guide(.init(text: "and then?")))
            let registry = bench.registry
            _ = try bench.run { await registry.revoke(CoreBench.node(1)) }
            bench.disk.limitRoom(to: nil)
            try bench.world.run(for: .seconds(3))
            gate.open()
            try bench.settle()
            #expect(told.withLock { $0 } == [])
        }
    }
}
