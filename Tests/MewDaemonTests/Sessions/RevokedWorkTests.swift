import MewBase
import MewIdentity
import MewSession
import MewSim
import MewTestSupport
import MewWire
import Testing

@testable import MewDaemon

// Topology: a session, a laptop (device 1), a phone (device 2). Law (NEEDS N-25): after a revocation nothing of that device is taken
// or handed on, wherever it lies.

@Suite("what a revoked device has asked")
struct RevokedWorkTests {
    private static let phone = CoreBench.node(2)

    /// The laptop's new session.
    private func open(_ bench: SessionsBench) throws -> (channel: BenchClient, id: SessionID) {
        let channel = try bench.client(.session)
        try channel.send(.newSession(.init(cwd: "/tmp")))
        return (channel, try #require(try channel.take().ready?.sessionID))
    }

    private func attach(_ bench: SessionsBench, _ id: SessionID, device: UInt8) throws -> BenchClient {
        let channel = try bench.client(.session, device: device)
        try channel.send(.attachSession(.init(sessionID: id)))
        _ = try channel.take()
        return channel
    }

    private func begun(_ agent: ScriptedAgent) -> [String] {
        agent.deeds.compactMap { if case .began(_, let text) = $0 { text } else { nil } }
    }

    @Test("guidance in a session that is not loaded is dropped before anybody's prompt could take it along")
    func guidance() throws {
        try SessionsBench.with("revoked-guidance", agent: ScriptedAgent([])) { bench in
            let (laptop, id) = try open(bench)
            let phone = try attach(bench, id, device: 2)
            try phone.send(.guide(.init(text: "do as I say")))
            try phone.leave()
            try laptop.leave()
            try bench.world.run(for: .seconds(600))
            let registry = bench.registry
            #expect(try bench.run { await registry.slots.count } == 0)
            _ = try bench.run { await registry.revoke(Self.phone) }
            _ = try attach(bench, id, device: 1)
            let store = bench.store
            let work = try bench.run { try await store.load(id, limits: SessionCore.loadLimits)?.work.count }
            #expect(work == 0)
        }
    }

    /// A session that is not loaded, in which guidance of the phone waits.
    private func leaveGuidance(_ bench: SessionsBench) throws -> SessionID {
        let (laptop, id) = try open(bench)
        let phone = try attach(bench, id, device: 2)
        try phone.send(.guide(.init(text: "do as I say")))
        try phone.leave()
        try laptop.leave()
        try bench.world.run(for: .seconds(600))
        let registry = bench.registry
        #expect(try bench.run { await registry.slots.count } == 0)
        return id
    }

    /// What the next turn is told besides its prompt.
    private func guidance(_ bench: SessionsBench, _ id: SessionID) throws -> [String] {
        let laptop = try attach(bench, id, device: 1)
        try laptop.send(.prompt(.init(text: "go")))
        #expect(begun(bench.agent) == ["go"])
        return bench.agent.deeds.flatMap { if case .guided(let words) = $0 { words } else { [String]() } }
    }

    @Test("guidance of a device that was paired again before anybody loaded the session is not delivered")
    func pairedAgain() throws {
        try SessionsBench.with("revoked-paired-again", agent: ScriptedAgent([])) { bench in
            let id = try leaveGuidance(bench)
            let registry = bench.registry
            try bench.run {
                await registry.revoke(Self.phone)
                await registry.readmit(Self.phone, as: .control)
            }
            #expect(try guidance(bench, id) == [])
        }
    }

    @Test("nor after a crash between the device's row and the session, and a new pairing")
    func pairedAgainAfterCrash() throws {
        try SessionsBench.with("revoked-paired-crash", agent: ScriptedAgent([])) { bench in
            let id = try leaveGuidance(bench)
            let store = bench.store
            let row = DeviceRow(
                node: Self.phone, name: "phone", scope: .control, pairedAt: WallTime(milliseconds: 1),
                revokedAt: WallTime(milliseconds: 2))
            try bench.run { try await store.commit([.putDevice(row)]) }
            bench.kill(seed: 1)
            try bench.restart()
            // As the daemon pairs.
            let registry = bench.registry
            try bench.run {
                await registry.revoke(Self.phone)
                await registry.readmit(Self.phone, as: .control)
            }
            #expect(try guidance(bench, id) == [])
        }
    }

    @Test("a request that waits to be admitted is refused, also when its device is paired again meanwhile")
    func admissionAndPairing() throws {
        let agent = ScriptedAgent([])
        try SessionsBench.with("revoked-admission-paired", agent: agent) { bench in
            let (_, id) = try open(bench)
            let phone = try attach(bench, id, device: 2)
            let registry = bench.registry
            phone.post(.prompt(.init(text: "late")))
            try bench.run {
                await registry.revoke(Self.phone)
                await registry.readmit(Self.phone, as: .control)
            }
            try bench.settle()
            #expect(begun(agent) == [])
            #expect(try phone.take().receipts.map(\.code) == [.revoked])
        }
    }

    @Test("a start after a crash between the device's row and the sessions ends its prompts and runs the others")
    func crash() throws {
        let agent = ScriptedAgent([[.hang]])
        try SessionsBench.with("revoked-crash", agent: agent) { bench in
            let (laptop, id) = try open(bench)
            let phone = try attach(bench, id, device: 2)
            try laptop.send(.prompt(.init(text: "one")))
            let dropped = try #require(try phone.send(.prompt(.init(text: "two"))))
            try laptop.send(.prompt(.init(text: "three")))
            let store = bench.store
            let row = DeviceRow(
                node: Self.phone, name: "phone", scope: .control, pairedAt: WallTime(milliseconds: 1),
                revokedAt: WallTime(milliseconds: 2))
            try bench.run { try await store.commit([.putDevice(row)]) }
            bench.kill(seed: 1)
            try bench.restart()
            try bench.settle()
            #expect(begun(agent) == ["one", "three"])
            let control = try bench.client(.control, device: 2)
            let registry = bench.registry
            try bench.run { await registry.readmit(Self.phone, as: .control) }
            try control.send(.receiptQuery(.init(operations: [dropped], settle: false)))
            #expect(try control.take().receipts.map(\.result) == [.cancelled])
        }
    }

    @Test("a request that waits to be admitted is refused, and one after a new pairing is taken")
    func admission() throws {
        let agent = ScriptedAgent([])
        try SessionsBench.with("revoked-admission", agent: agent) { bench in
            let (_, id) = try open(bench)
            let phone = try attach(bench, id, device: 2)
            let registry = bench.registry
            // The store is asked for the device's first operation.
            phone.post(.prompt(.init(text: "late")))
            _ = try bench.run { await registry.revoke(Self.phone) }
            try bench.settle()
            #expect(try phone.take().receipts.map(\.code) == [.revoked])
            try bench.run { await registry.readmit(Self.phone, as: .control) }
            try phone.send(.prompt(.init(text: "again")))
            #expect(begun(agent) == ["again"])
        }
    }

    // MARK: - Devices that may do less

    @Test("a prompt that waits of a device that may only observe now is not run, and its sender hears why")
    func lowered() throws {
        let agent = ScriptedAgent([[.hang]])
        try SessionsBench.with("lowered", agent: agent) { bench in
            let (laptop, id) = try open(bench)
            let phone = try attach(bench, id, device: 2)
            try laptop.send(.prompt(.init(text: "one")))
            let turn = try laptop.take().receipts.last?.turnID
            try phone.send(.prompt(.init(text: "two")))
            try laptop.send(.prompt(.init(text: "three")))
            _ = try phone.take()
            let registry = bench.registry
            try bench.run { await registry.limit(Self.phone, to: .collaborate) }
            #expect(try phone.take().receipts.isEmpty)
            try bench.run { await registry.limit(Self.phone, to: .observe) }
            let receipt = try #require(try phone.take().receipts.last)
            #expect(receipt.result == .cancelled && receipt.message == "the device may no longer do this")
            try laptop.send(.cancel(.init(turnID: turn)))
            try bench.settle()
            #expect(begun(agent) == ["one", "three"])
        }
    }

    @Test("nor after a crash between the device's row and the session")
    func loweredInACrash() throws {
        let agent = ScriptedAgent([[.hang]])
        try SessionsBench.with("lowered-crash", agent: agent) { bench in
            let (laptop, id) = try open(bench)
            let phone = try attach(bench, id, device: 2)
            try laptop.send(.prompt(.init(text: "one")))
            try phone.send(.prompt(.init(text: "two")))
            let store = bench.store
            let row = DeviceRow(
                node: Self.phone, name: "phone", scope: .observe, pairedAt: WallTime(milliseconds: 1))
            try bench.run { try await store.commit([.putDevice(row)]) }
            bench.kill(seed: 1)
            try bench.restart()
            try bench.settle()
            #expect(begun(agent) == ["one"])
        }
    }

    // MARK: - How much may wait

    @Test("2 MiB of words wait of one device in all sessions that are in memory, and others have their own")
    func budget() throws {
        try SessionsBench.with("words", agent: ScriptedAgent([[.hang], [.hang]])) { bench in
            let sessions = try (0..<2).map { _ in try open(bench) }
            let large = String(repeating: "x", count: SessionCore.maxPromptBytes)
            for (channel, _) in sessions {
                try channel.send(.prompt(.init(text: "run")))
                try channel.send(.prompt(.init(text: large)))
            }
            for (channel, _) in sessions {
                _ = try channel.take()
                try channel.send(.prompt(.init(text: "more")))
                try channel.send(.guide(.init(text: "more")))
                #expect(try channel.take().receipts.map(\.code) == [.busy, .busy])
            }
            let phone = try attach(bench, sessions[0].id, device: 2)
            try phone.send(.prompt(.init(text: large)))
            #expect(try phone.take().receipts.map(\.state) == [.stored])
        }
    }
}
