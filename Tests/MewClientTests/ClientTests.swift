import MewBase
import MewIdentity
import MewTestSupport
import MewWire
import Testing

@testable import MewClient

@Suite("All daemons of a device", .timeLimit(.minutes(1)))
struct ClientTests {
    private func run(
        _ stage: Stage, _ dialer: (any Dialer)? = nil, _ body: @escaping @Sendable (Client) async throws -> Void
    ) async throws {
        let client = Client(environment: dialer.map(stage.environment) ?? stage.environment)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await client.run() }
            group.addTask {
                try await body(client)
                await client.stop()
            }
            try await group.waitForAll()
        }
    }

    @Test("known daemons are connected to, a new one at once, and a forgotten one is left")
    func lifeCycle() async throws {
        let stage = Stage()
        try await run(stage) { client in
            let node = stage.record.node
            try await client.add(stage.record)
            let link = try await stage.accept()
            try await link.welcome()
            #expect(await client[node] != nil)
            try await client.forget(node)
            #expect(await link.link.closed() == .peer(.done, reason: ""))
            #expect(await client[node] == nil)
            #expect(await stage.store.records().registry.daemons.isEmpty)
        }
        try await stage.remember()
        try await run(stage) { _ in try await stage.accept().welcome() }
    }

    @Test("a trigger ends every wait")
    func triggered() async throws {
        let stage = Stage()
        stage.daemon.stopListening()
        try await stage.remember()
        try await run(stage) { client in
            await stage.clock.sleeper(for: .seconds(1))
            stage.daemon.listen()
            await client.triggered()
            try await stage.accept().welcome()
        }
    }

    @Test("in the background nobody dials, not even a daemon that is added there; in front everyone does at once")
    func background() async throws {
        let stage = Stage()
        let dialer = CountingDialer(stage.device)
        stage.daemon.stopListening()
        try await stage.remember()
        try await run(stage, dialer) { client in
            await stage.clock.sleeper(for: .seconds(1))
            await client.enterBackground()
            let known = try #require(await client[stage.record.node])
            await known.expectRest()
            #expect(!stage.clock.hasSleeper)
            let lamp = SecretKey.generate(entropy: SeededEntropy(seed: 3)).node
            try await client.add(
                DaemonRecord(
                    node: lamp, name: "lamp", addresses: [.loopback(port: 2)], addedAt: WallTime(milliseconds: 1)))
            let added = try #require(await client[lamp])
            await client.triggered()
            stage.clock.advance(by: .seconds(3_600))
            for supervisor in [known, added] { await supervisor.expectRest() }
            #expect(dialer.dials == 1)
            #expect(await added.view.phase == .idle)
            stage.daemon.listen()
            await client.enterForeground()
            try await stage.accept().welcome()
            await stage.clock.sleeper(for: .seconds(1))  // of the one that is not there
            #expect(dialer.dials == 3)
        }
    }
}
