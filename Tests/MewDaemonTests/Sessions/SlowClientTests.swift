import MewBase
import MewSession
import MewSim
import MewTestSupport
import MewWire
import Testing

@testable import MewDaemon

// Topology: one session, one client that reads and one that does not. Law (NEEDS N-31): a slow client costs itself a gap and
// nobody else anything.

@Suite("slow clients")
struct SlowClientTests {
    private func flood(_ count: Int) -> ScriptedAgent {
        ScriptedAgent([(0..<count).map { .emit(.notice("\($0) " + String(repeating: "x", count: 4_000))) }])
    }

    @Test("a native client that does not read gets a gap, and everything it missed when it resumes")
    func nativeGap() throws {
        try SessionsBench.with("gap", agent: flood(1_500)) { bench in
            let fast = try bench.client(.session)
            try fast.send(.newSession(.init(cwd: "/tmp")))
            let id = try #require(try fast.take().ready?.sessionID)
            let slow = SessionClient(
                id: ClientID(900), role: .session, node: CoreBench.node(2), name: "slow")
            let registry = bench.registry
            try bench.run { await registry.handle(ClientFrame(.attachSession(.init(sessionID: id))), from: slow) }
            try fast.send(.prompt(.init(text: "flood")))
            try bench.world.run(for: .seconds(5))
            let all = try fast.take().compactMap(\.sequence)
            #expect(all.map(\.rawValue) == Array(1...UInt64(all.count)))
            let queued = try bench.run { await Self.drain(slow) }
            guard case .gap(let gap)? = queued.last?.message else {
                Issue.record("a gap is the last thing it hears")
                return
            }
            #expect(gap.sessionID == id)
            let resume = ClientMessage.resumeSession(.init(sessionID: id, afterSequence: SequenceNumber(1_400)))
            try bench.run { await registry.handle(ClientFrame(resume), from: slow) }
            let caughtUp = try bench.run { await Self.drain(slow) }
            #expect(caughtUp.compactMap(\.sequence).map(\.rawValue) == Array(1_401...UInt64(all.count)))
            #expect(caughtUp.last?.message.kind == .caughtUp)
        }
    }

    @Test("a phone that does not read gets its history and the open requests once it has read the rest")
    func stockGap() throws {
        let script = ScriptedAgent([
            (0..<1_500).map { .emit(.notice("\($0) " + String(repeating: "x", count: 4_000))) } + [
                .permission(
                    ToolPermission(toolName: "bash", input: [:], call: "c", sensitivity: .dangerous))
            ]
        ])
        try SessionsBench.with("phone-gap", agent: script) { bench in
            let fast = try bench.client(.session)
            try fast.send(.newSession(.init(cwd: "/tmp")))
            let id = try #require(try fast.take().ready?.sessionID)
            let slow = SessionClient(
                id: ClientID(900), role: .stock, node: CoreBench.node(2), name: "phone", kind: .mobile)
            let registry = bench.registry
            try bench.run {
                await registry.add(slow)
                await registry.handle(
                    ClientFrame(.attachSession(.init(sessionID: id, clientKind: .mobile))), from: slow)
            }
            try fast.send(.prompt(.init(text: "flood")))
            try bench.world.run(for: .seconds(5))
            let kinds = try bench.run { await Self.drain(slow, until: .permissionRequest) }.map(\.message.kind)
            #expect(kinds.suffix(2) == [.sessionHistory, .permissionRequest])
        }
    }

    @Test("a control channel that does not read gets the lists again once it has read the rest")
    func controlGap() throws {
        try SessionsBench.with("control-gap", agent: ScriptedAgent([])) { bench in
            let control = SessionClient(
                id: ClientID(900), role: .control, node: CoreBench.node(2), name: "slow")
            let registry = bench.registry
            try bench.run {
                await registry.add(control)
                for _ in 0...ClientQueue.maxFrames { await registry.broadcast(.groupsChanged(.init(groups: []))) }
            }
            let kinds = try bench.run { await Self.drain(control, until: .groupList) }.map(\.message.kind)
            #expect(kinds == [.sessionList, .groupList])
        }
    }

    /// Reads until nothing more is queued, or until a message of type `last` came.
    private static func drain(
        _ client: SessionClient, until last: DaemonMessage.Kind? = nil
    ) async -> [DaemonFrame] {
        var frames: [DaemonFrame] = []
        while last != nil || client.queued > 0 {
            guard let bytes = await client.next(),
                case .decoded(let frame) = DaemonFrame.decode(bytes, from: client.link)
            else { break }
            frames.append(frame)
            if frame.message.kind == last { break }
        }
        return frames
    }
}
