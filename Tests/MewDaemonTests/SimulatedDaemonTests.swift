import MewBase
import MewIdentity
import MewLoop
import MewNode
import MewSession
import MewSim
import MewStore
import MewTestSupport
import MewWire
import Testing

@testable import MewDaemon

/// The main job on bad networks, in virtual time: two machines, one of them with the whole daemon on it.
@Suite("A daemon on the simulated network")
struct SimulatedDaemonTests {
    private struct Outcome: Sendable {
        let journal: [DaemonFrame]
        let faults: [String]
        let connections: Int
        let deeds: [ScriptedAgent.Deed]
        let stored: [EventRow]
    }

    /// Thirty pieces of output over six seconds, a permission in the middle.
    private static func agent(_ machine: SimNode) -> ScriptedAgent {
        let loop = Lent(machine.loop)
        let part = PartID(ULID(high: 9, low: 1))
        let pieces = (0..<30).map { number in
            ScriptedAgent.Step.run { host async throws(AgentHostError) in
                try? await LoopClock(loop.value).sleep(for: .milliseconds(200))
                try await host.emit(.provider(.partDelta(.init(partID: part, delta: "piece \(number) "))))
            }
        }
        let start = ScriptedAgent.Step.run { host async throws(AgentHostError) in
            try await host.emit(.notice("it begins"))
        }
        let ask = ScriptedAgent.Step.permission(
            ToolPermission(toolName: "bash", input: ["command": "ls"], call: "call_1", sensitivity: .dangerous))
        return ScriptedAgent([[start] + pieces.prefix(15) + [ask] + pieces.suffix(15)])
    }

    /// - Parameter outage: when the network goes down after the client began, and for how long.
    private func run(seed: Int, outage: (after: Duration, lasting: Duration)?) throws -> Outcome {
        let scratch = ScratchDirectory()
        return try withSimWorld(seed: UInt64(seed)) { world in
            world.changeLinks {
                $0.latency = .milliseconds(Int64(5 + seed * 7))
                $0.jitter = .milliseconds(Int64(seed))
                $0.loss = Double(seed % 6) / 100
                if seed % 3 == 0 { $0.mtu = 1_280 }
            }
            let (desk, laptop) = (Lent(world.addNode("desk")), Lent(world.addNode("laptop")))
            let agent = Self.agent(desk.value)
            let token = PairingToken(entropy: desk.value.entropy)
            let daemon = try world.run(on: desk.value) {
                let daemon = try await SimulatedDaemon.start(on: desk.value, in: scratch, agent)
                _ = try await daemon.daemon.openWindow(
                    .init(scope: .control, codeDigest: token.digest, expected: nil, canConfirm: false, seconds: 600))
                return daemon
            }
            if let outage {
                let down = world.now.advanced(by: outage.after)
                world.plan(at: down) { world.changeLinks { $0.isDown = true } }
                world.plan(at: down.advanced(by: outage.lasting)) { world.changeLinks { $0.isDown = false } }
            }
            let client = try world.run(on: laptop.value, limit: .seconds(600)) {
                try await Self.work(on: laptop.value, daemon.target, token)
            }
            return try world.run(on: desk.value) {
                let session = try #require(client.value.session)
                let stored = try await daemon.store.events(of: session, after: .zero, limit: 10_000)
                await daemon.stop()
                return Outcome(
                    journal: client.value.journal, faults: client.value.faults,
                    connections: client.value.connections, deeds: agent.deeds, stored: stored)
            }
        }
    }

    private static func work(
        on machine: SimNode, _ target: DialTarget, _ token: PairingToken
    ) async throws -> Lent<PersistentClient> {
        let secret = try #require(SecretKey(seed: [UInt8](repeating: 7, count: 32)))
        let node = try await Node.start(
            .init(secret: secret, addresses: [SocketAddress.anyIPv4.with(port: 5_000)], accepts: []),
            network: machine.network, loop: machine.loop, entropy: machine.entropy)
        let client = PersistentClient(node, loop: machine.loop, target: target)
        try await client.run(token: token.revealed, text: "list")
        await node.stop()
        return Lent(client)
    }

    private func check(_ outcome: Outcome) {
        #expect(outcome.faults == [])
        #expect(outcome.deeds.count { if case .began = $0 { true } else { false } } == 1)
        // What the client got is what is stored, event by event.
        let sent = outcome.journal.map { $0.encoded(for: .native) ?? [] }
        #expect(sent.count > 30)
        #expect(zip(outcome.stored, sent).allSatisfy { $0.body == $1 })
    }

    @Test(
        "up to 5 % loss, reordering, small packets, slow links: one prompt, one run, every event once",
        arguments: 0..<12)
    func badNetwork(seed: Int) throws {
        let outcome = try run(seed: seed, outage: nil)
        #expect(outcome.connections == 1)
        check(outcome)
    }

    @Test(
        "the network is gone for a minute at any moment: the turn runs on, and the client gets the rest",
        arguments: 0..<24)
    func outage(seed: Int) throws {
        let outcome = try run(seed: seed, outage: (.milliseconds(300 * seed), .seconds(60)))
        check(outcome)
        // In the middle of the turn it is the connection that dies, not the dial and not the goodbye.
        if (4...16).contains(seed) { #expect(outcome.connections == 2) }
    }

    @Test("the same seed gives the same journal")
    func determinism() throws {
        let runs = try (0..<2).map { _ in try run(seed: 5, outage: (.milliseconds(2_000), .seconds(60))) }
        #expect(runs[0].stored == runs[1].stored)
        #expect(runs[0].connections == runs[1].connections)
    }
}
