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

    /// A session with a process of an earlier life that does not end, and a channel to it.
    private func stubborn(_ bench: SessionsBench) throws -> BenchClient {
        bench.endedLeftovers.survives = true
        let id = try crashInATurn(bench)
        try bench.restart()
        let channel = try bench.client(.session)
        try channel.send(.attachSession(.init(sessionID: id)))
        _ = try channel.take()
        return channel
    }

    private func notes(_ frames: [DaemonFrame]) -> [String] {
        frames.compactMap { if case .errorEvent(let event) = $0.message { event.message } else { nil } }
    }

    @Test("prompts behind a process that does not end wait for half a minute, see why, and fail together")
    func prompts() throws {
        let agent = ScriptedAgent([script])
        try SessionsBench.with("stubborn", agent: agent) { bench in
            let channel = try stubborn(bench)
            for text in ["one", "two", "three"] { try channel.send(.prompt(.init(text: text))) }
            try bench.world.run(for: .seconds(29))
            let waiting = try channel.take()
            #expect(waiting.receipts.map(\.state) == [.stored, .started, .stored, .stored])
            #expect(
                notes(waiting) == ["Waiting: process 4711 of an earlier turn does not end (sleep 1000)."])
            // Once at the start, and before each wait.
            #expect(bench.endedLeftovers.all.count == 6)
            try bench.world.run(for: .seconds(2))
            let ended = try channel.take()
            #expect(ended.receipts.map(\.state) == [.done, .done, .done])
            #expect(ended.receipts.map(\.result) == [.failed, .failed, .failed])
            #expect(notes(ended).count == 1)
            #expect(notes(ended).first?.hasPrefix("Not run: process 4711 of an earlier turn does not end") == true)
            #expect(ended.receipts.compactMap(\.message) == notes(ended) + notes(ended), "of those that only waited")
            #expect(agent.deeds.count { if case .began = $0 { true } else { false } } == 1, "only before the crash")
        }
    }

    @Test("who waits for a process to end can be cancelled, and the next one waits anew")
    func cancelled() throws {
        try SessionsBench.with("stubborn-cancel", agent: ScriptedAgent([script])) { bench in
            let channel = try stubborn(bench)
            for text in ["one", "two"] { try channel.send(.prompt(.init(text: text))) }
            _ = try channel.take()
            try channel.send(.cancel(.init()))
            let frames = try channel.take()
            #expect(frames.receipts.map(\.result) == [nil, .cancelled, nil])
            bench.endedLeftovers.survives = false
            try bench.world.run(for: .seconds(2))
            #expect(try channel.take().receipts.map(\.result) == [.completed])
        }
    }

    @Test(
        "a turn that waits for a process of an earlier one begins when that is gone, and those behind it need not ask")
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
            try channel.send(.prompt(.init(text: "early")))
            bench.endedLeftovers.survives = false
            try channel.send(.prompt(.init(text: "again")))
            try channel.send(.prompt(.init(text: "and again")))
            try bench.world.run(for: .seconds(2))
            #expect(verdicts.withLock { $0 } == [nil, nil, nil])
            // At the start, before the turn and after the first wait; the others find nothing on record.
            #expect(bench.endedLeftovers.all == [Self.process, Self.process, Self.process])
        }
    }
}
