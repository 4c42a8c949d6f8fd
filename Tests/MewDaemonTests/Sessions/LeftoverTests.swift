import MewBase
import MewSession
import MewSim
import MewTestSupport
import MewWire
import Synchronization
import Testing

@testable import MewDaemon

@Suite("at most one agent process per session, also after a crash")
struct LeftoverTests {
    private static let process = AgentProcess(number: 4_711, startTicks: 9, bootID: "boot")

    private let script: [ScriptedAgent.Step] = [
        .run { host throws(AgentHostError) in try await host.willStart(Self.process) }, .hang,
    ]

    private func crashInATurn(_ bench: SessionsBench) throws -> SessionID {
        let channel = try bench.client(.session)
        try channel.send(.newSession(.init(cwd: "/tmp")))
        let id = try #require(try channel.take().ready?.sessionID)
        try channel.send(.prompt(.init(text: "run")))
        bench.kill(seed: 1)
        return id
    }

    @Test("what a crash left is ended before anything of its session starts")
    func ended() throws {
        try SessionsBench.with("leftover", agent: ScriptedAgent([script])) { bench in
            let id = try crashInATurn(bench)
            try bench.restart()
            #expect(bench.endedLeftovers.all == [Self.process])
            let channel = try bench.client(.session)
            try channel.send(.attachSession(.init(sessionID: id)))
            _ = try channel.take()
            try channel.send(.prompt(.init(text: "again")))
            #expect(try channel.take().receipts.map(\.state) == [.stored, .started, .done])
            bench.kill(seed: 2)
            try bench.restart()
            #expect(bench.endedLeftovers.all == [Self.process])
        }
    }

    @Test("what works for a session whose record is damaged is ended, too")
    func damagedSession() throws {
        try SessionsBench.with("leftover-damaged", agent: ScriptedAgent([script])) { bench in
            let channel = try bench.client(.session)
            try channel.send(.newSession(.init(cwd: "/tmp")))
            let id = try #require(try channel.take().ready?.sessionID)
            try channel.send(.prompt(.init(text: "run")))
            let store = bench.store
            try bench.run { try await store.commit([.putSession(SessionRow(id: id, body: [1], isBusy: true))]) }
            bench.kill(seed: 1)
            try bench.restart()
            #expect(bench.endedLeftovers.all == [Self.process])
        }
    }

    @Test("a process that does not end keeps its place: no second one is recorded")
    func stubborn() throws {
        let verdict = Mutex<AgentHostError?>(nil)
        let second: [ScriptedAgent.Step] = [
            .run { host throws(AgentHostError) in
                do throws(AgentHostError) {
                    try await host.willStart(AgentProcess(number: 5_000, startTicks: 1, bootID: "boot"))
                } catch {
                    verdict.withLock { $0 = error }
                }
            }
        ]
        try SessionsBench.with("stubborn", agent: ScriptedAgent([script, second])) { bench in
            bench.endedLeftovers.survives = true
            let id = try crashInATurn(bench)
            try bench.restart()
            let channel = try bench.client(.session)
            try channel.send(.attachSession(.init(sessionID: id)))
            try channel.send(.prompt(.init(text: "again")))
            #expect(verdict.withLock { $0 } == .processRunning(Self.process))
        }
    }

    @Test("a process that did not end at the start is asked again before each turn, until it is gone")
    func goneLater() throws {
        let verdicts = Mutex<[AgentHostError?]>([])
        let next = AgentProcess(number: 5_000, startTicks: 1, bootID: "boot")
        let later: [ScriptedAgent.Step] = [
            .run { host throws(AgentHostError) in
                do throws(AgentHostError) {
                    try await host.willStart(next)
                    try await host.didEnd(next)
                    verdicts.withLock { $0.append(nil) }
                } catch {
                    verdicts.withLock { $0.append(error) }
                }
            }
        ]
        try SessionsBench.with("gone-later", agent: ScriptedAgent([script, later, later, later])) { bench in
            bench.endedLeftovers.survives = true
            let id = try crashInATurn(bench)
            try bench.restart()
            let channel = try bench.client(.session)
            try channel.send(.attachSession(.init(sessionID: id)))
            try channel.send(.prompt(.init(text: "too early")))
            bench.endedLeftovers.survives = false
            try channel.send(.prompt(.init(text: "again")))
            try channel.send(.prompt(.init(text: "and again")))
            #expect(verdicts.withLock { $0 } == [.processRunning(Self.process), nil, nil])
            // At the start and before two turns; the third finds nothing on record.
            #expect(bench.endedLeftovers.all == [Self.process, Self.process, Self.process])
        }
    }
}
