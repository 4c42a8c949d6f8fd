import MewBase
import MewSession
import MewSim
import MewTestSupport
import MewWire
import Testing

@testable import MewDaemon

// Topology: a session, a laptop (device 1) that answers first, a phone (device 2) that comes late and has only the handle.

@Suite("answers that come too late, with a handle")
struct LateAnswerTests {
    private let permission = ToolPermission(
        toolName: "bash", input: ["command": "ls"], call: "c", sensitivity: .dangerous)

    /// A session whose request the laptop has denied.
    private func settle(_ bench: SessionsBench) throws -> (channel: BenchClient, request: Request) {
        let channel = try bench.client(.session)
        try channel.send(.newSession(.init(cwd: "/tmp")))
        try channel.send(.prompt(.init(text: "run")))
        let request = try #require(try channel.take().request)
        try channel.send(
            .answer(
                Answer(
                    requestID: request.id, content: .permission(.deny),
                    shownDigest: ShownDigest(of: request.shown ?? "", request: request.id))))
        return (channel, request)
    }

    private func ask(_ bench: SessionsBench, _ ending: some StringProtocol) throws -> [DaemonFrame] {
        let control = try bench.client(.control, device: 2, name: "phone")
        _ = try control.take()
        try control.send(.requestQuery(.init(ending: String(ending))), ref: "q")
        return try control.take()
    }

    private func resolved(_ frames: [DaemonFrame]) -> DaemonMessage.RequestResolved? {
        guard frames.count == 1, case .requestResolved(let resolved)? = frames.first?.message else { return nil }
        #expect(frames.first?.ref == "q")
        return resolved
    }

    @Test("the end of a request's ID is enough to learn who was first, and how")
    func whoWon() throws {
        try SessionsBench.with("late-answer", agent: ScriptedAgent([[.permission(permission)]])) { bench in
            let (_, request) = try settle(bench)
            let end = try #require(resolved(try ask(bench, request.id.description.suffix(4).lowercased())))
            #expect(end.requestID == request.id)
            #expect(end.outcome == .answered && end.decision == "deny" && end.bound == true)
            #expect(end.by?.node == CoreBench.node(1) && end.by?.name == "laptop")
        }
    }

    @Test("so is it when the session is put away, and after a restart")
    func notLoaded() throws {
        try SessionsBench.with("late-answer-away", agent: ScriptedAgent([[.permission(permission)]])) { bench in
            let (channel, request) = try settle(bench)
            try channel.leave()
            try bench.world.run(for: .seconds(600))
            let registry = bench.registry
            #expect(try bench.run { await registry.slots.count } == 0)
            #expect(resolved(try ask(bench, request.id.description))?.decision == "deny")
            bench.kill(seed: 1)
            try bench.restart()
            #expect(resolved(try ask(bench, request.id.description.suffix(6)))?.decision == "deny")
        }
    }

    @Test("what is open, is not there, or is named by too little is unknown")
    func unknown() throws {
        let agent = ScriptedAgent([[.permission(permission), .permission(permission)]])
        try SessionsBench.with("late-answer-unknown", agent: agent) { bench in
            let channel = try bench.client(.session)
            try channel.send(.newSession(.init(cwd: "/tmp")))
            try channel.send(.prompt(.init(text: "run")))
            let open = try #require(try channel.take().request)
            for ending in [open.id.description, "ZZZZ", String(open.id.description.suffix(3)), ""] {
                #expect(try ask(bench, ending).errors.map(\.code) == [.unknownRequest])
            }
        }
    }
}
