import MewBase
import MewSession
import MewSim
import MewStore
import MewTestSupport
import MewWire
import Testing

@testable import MewDaemon

// What becomes of a session and of those who come to it when its runner can do nothing more.

@Suite("a session whose runner has ended")
struct RunnerEndTests {
    private func open(_ bench: SessionsBench) throws -> (channel: BenchClient, id: SessionID) {
        let channel = try bench.client(.session)
        try channel.send(.newSession(.init(cwd: "/tmp")))
        return (channel, try #require(try channel.take().ready?.sessionID))
    }

    @Test("is loaded anew at once: the turn that broke is interrupted, what waited runs")
    func broken() throws {
        let gate = ScriptGate()
        let process = AgentProcess(number: 4_711, startTicks: 9, bootID: "boot")
        let agent = ScriptedAgent([
            [.wait(gate), .run { host throws(AgentHostError) in try await host.willStart(process) }], [],
        ])
        try SessionsBench.with("broken", agent: agent) { bench in
            let (channel, id) = try open(bench)
            let control = try bench.client(.control)
            let first = try #require(try channel.send(.prompt(.init(text: "one"))))
            let second = try #require(try channel.send(.prompt(.init(text: "two"))))
            // A fault of ours: the store has a process that the session does not know of.
            let store = bench.store
            try bench.run { try await store.commit([.startProcess(ProcessRow(session: id, process: process))]) }
            gate.open()
            try bench.settle()
            #expect(channel.isOver)
            _ = try control.take()
            try control.send(.receiptQuery(.init(operations: [first, second], settle: false)))
            #expect(try control.take().receipts.map(\.result) == [.interrupted, .completed])
            try control.send(.listSessions)
            #expect(try control.take().sessionList?.map(\.turnID) == [nil])
        }
    }

    @Test(
        "answers whoever still comes to it: a session channel ends, a stock client may attach elsewhere",
        arguments: [SessionClient.Role.session, .stock])
    func attached(role: SessionClient.Role) throws {
        try SessionsBench.with("late-\(role)", agent: ScriptedAgent([])) { bench in
            let (_, id) = try open(bench)
            let (_, other) = try open(bench)
            let registry = bench.registry
            try bench.run { if case .success(let runner) = await registry.runner(for: id) { await runner.shutDown() } }
            let late = try bench.client(role, device: 2)
            _ = try late.take()
            try late.send(.attachSession(.init(sessionID: id)))
            let errors = try late.take().errors
            #expect(errors.count == 1)
            if role == .session { #expect(errors.first?.code == .internal) }
            #expect(late.isOver == (role == .session))
            let channel = late.client.id
            #expect(try bench.run { await registry.attachments[channel] == nil })
            guard role == .stock else { return }
            try late.send(.attachSession(.init(sessionID: other)))
            #expect(try late.take().ready?.sessionID == other)
        }
    }

    @Test("is not called unknown when it fails while a crash is being settled")
    func failedRecovery() throws {
        try SessionsBench.with("recovery", agent: ScriptedAgent([]), commitTime: .milliseconds(20)) { bench in
            let (_, id) = try open(bench)
            bench.kill(seed: 1)
            try bench.restart()
            let slow = try #require(bench.store as? SlowStore)
            let sqlite = try #require(slow.store as? SQLiteStore)
            // What cannot be read is settled with a commit.
            try bench.run { try await sqlite.commit([.putWork(id, WorkRow(number: 99, body: [1]))]) }
            let channel = try bench.client(.session)
            channel.post(.attachSession(.init(sessionID: id)))
            try bench.world.run(for: .milliseconds(10))
            try bench.run { await sqlite.close() }
            try bench.settle()
            #expect(try channel.take().errors.map(\.code) == [.internal])
        }
    }
}
