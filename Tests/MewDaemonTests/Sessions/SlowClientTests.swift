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
                // Said while it hears nothing.
                await registry.broadcast(.daemonState(.init(isSaving: false, reason: "full")))
                await registry.broadcast(.daemonState(.init(isSaving: true)))
            }
            let frames = try bench.run { await Self.drain(control, until: .daemonState) }
            #expect(frames.map(\.message.kind) == [.sessionList, .groupList, .daemonState])
            guard case .daemonState(let state)? = frames.last?.message else { return }
            #expect(state.isSaving)
        }
    }

    @Test("a client that does not read asks for one page at a time; a device that lets too much wait is told so")
    func pages() throws {
        try SessionsBench.with("pages", agent: ScriptedAgent([])) { bench in
            let channel = try bench.client(.session)
            try channel.send(.newSession(.init(cwd: "/tmp")))
            let id = try #require(try channel.take().ready?.sessionID)
            try channel.send(.prompt(.init(text: "x")))
            let budget = ByteBudget(maxBytes: 5 << 20)
            let slow = (0..<3).map { number in
                SessionClient(
                    id: ClientID(900 + number), role: .session, node: CoreBench.node(2), name: "slow", budget: budget)
            }
            let registry = bench.registry
            let load = ClientFrame(.loadSessionHistory(.init(sessionID: id, before: 1)))
            try bench.run {
                for client in slow {
                    await registry.handle(ClientFrame(.attachSession(.init(sessionID: id))), from: client)
                }
                for client in slow { await registry.handle(load, from: client) }
            }
            try bench.settle()
            let last = try bench.run { () -> [DaemonMessage.Kind?] in
                var last: [DaemonMessage.Kind?] = []
                for client in slow { last.append(await Self.drain(client).last?.message.kind) }
                return last
            }
            #expect(last == [.sessionHistoryPage, .sessionHistoryPage, .error])
        }
    }

    @Test("a channel that never reads is not sent receipts of others without end")
    func receiptsOfOthers() throws {
        try SessionsBench.with("receipts", agent: ScriptedAgent([])) { bench in
            let channel = try bench.client(.session)
            try channel.send(.newSession(.init(cwd: "/tmp")))
            let id = try #require(try channel.take().ready?.sessionID)
            let slow = SessionClient(id: ClientID(900), role: .session, node: CoreBench.node(1), name: "slow")
            let registry = bench.registry
            try bench.run { await registry.handle(ClientFrame(.attachSession(.init(sessionID: id))), from: slow) }
            for number in 0..<ClientQueue.maxFrames {
                channel.post(.setPermissionMode(.init(mode: number % 2 == 0 ? "standard" : "permissive")))
            }
            try bench.world.run(for: .seconds(10))
            #expect(try channel.take().receipts.count == ClientQueue.maxFrames)
            #expect(slow.queued < ClientQueue.maxFrames)
        }
    }

    @Test("all who attach at the same time get the same bytes, encoded once; whatever changes the messages ends that")
    func oneEncoding() throws {
        try SessionsBench.with("crowd", agent: ScriptedAgent([])) { bench in
            let channel = try bench.client(.session)
            try channel.send(.newSession(.init(cwd: "/tmp")))
            let id = try #require(try channel.take().ready?.sessionID)
            try channel.send(.prompt(.init(text: "x")))
            func page() throws -> [UInt8] {
                let reader = SessionClient(
                    id: ClientID(.random(in: 900...100_000)), role: .session, node: CoreBench.node(2), name: "crowd")
                let registry = bench.registry
                return try bench.run {
                    await registry.handle(ClientFrame(.attachSession(.init(sessionID: id))), from: reader)
                    var frames: [[UInt8]] = []
                    while reader.queued > 0, let frame = await reader.next() { frames.append(frame) }
                    return frames.first { String(decoding: $0, as: UTF8.self).contains("session_history_page") } ?? []
                }
            }
            let (one, two) = (try page(), try page())
            #expect(!one.isEmpty && one == two)
            let isShared = one.withUnsafeBufferPointer { one in
                two.withUnsafeBufferPointer { $0.baseAddress == one.baseAddress }
            }
            #expect(isShared)
            try channel.send(.prompt(.init(text: "y")))
            #expect(try page() != one)
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
