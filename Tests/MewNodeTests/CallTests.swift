import MewBase
import MewIdentity
import MewLoop
import MewNode
import MewRelay
import MewSim
import MewTestSupport
import MewWire
import Testing

/// A listener that moves from one uplink to another, its dialler, and a relay both know.
@Suite("A listener that cannot migrate calls its dialler")
struct CallTests {
    private static let port: UInt16 = 4_000
    private static let oldUplink = SocketAddress(ipv4: 0x0a01_0001, port: port)
    private static let newUplink = SocketAddress(ipv4: 0x0a01_0002, port: port)

    private struct Stage {
        let world: SimWorld
        let relay: TestRelay
        let far: Node
        let near: Node
        let farMachine: SimNode
        let nearMachine: SimNode
        let link: any Link
        let channel: any MessageChannel

        /// The listener's machine is in another network from now on, and nobody is told.
        func cut() { farMachine.move(to: [CallTests.newUplink]) }

        /// The listener's machine notices, as a kernel would tell it.
        func notice(after delay: Duration = .milliseconds(250)) {
            let (far, loop) = (far, farMachine.loop)
            world.plan(at: world.now.advanced(by: delay)) {
                loop.spawn { await far.networkChanged(machine: [CallTests.newUplink.with(port: 0)]) }
            }
        }

        var path: LinkPath {
            get throws { try world.run(on: nearMachine) { await link.status().path } }
        }
    }

    /// - Parameter serve: what the listener does with the dialler's channel.
    private func withStage(
        seed: UInt64, latency: Duration = .milliseconds(15), relays: [RelayURL] = [TestRelay.url],
        serve: @escaping @Sendable (any MessageChannel, any Loop) async -> Void, _ body: (Stage) throws -> Void
    ) throws {
        try withSimWorld(seed: seed) { world in
            world.changeLinks { $0.latency = latency }
            let farMachine = world.addNode("far", hosts: [Self.oldUplink])
            let nearMachine = world.addNode("near")
            let relay = TestRelay()
            let far = try Self.start(2, relay, on: farMachine, world) {
                $0.relays = relays
                $0.ownAddresses = { _ in [Self.newUplink] }
            }
            let near = try Self.start(1, relay, on: nearMachine, world) { _ in }
            farMachine.loop.spawn { [loop = farMachine.loop] in
                while let link = await far.acceptLink() {
                    loop.spawn {
                        await link.authorize(charging: ByteBudget(maxBytes: 1 << 20))
                        while let channel = await link.acceptChannel() { await serve(channel, loop) }
                    }
                }
            }
            let target = DialTarget(
                node: far.node, addresses: [Self.oldUplink], relays: relays.map(\.description))
            let (link, channel) = try world.run(on: nearMachine) {
                let link = try await near.dial(target)
                let channel = try await link.openChannel()
                try await channel.send([0])
                return (link, channel)
            }
            try world.run(for: .seconds(3))
            let stage = Stage(
                world: world, relay: relay, far: far, near: near, farMachine: farMachine, nearMachine: nearMachine,
                link: link, channel: channel)
            let path = try stage.path
            #expect(path == .direct(Self.oldUplink))
            try body(stage)
            try world.run(on: nearMachine) { await near.stop() }
            try world.run(on: farMachine) { await far.stop() }
        }
    }

    private static func start(
        _ seed: UInt8, _ relay: TestRelay, on machine: SimNode, _ world: SimWorld,
        _ configure: (inout Node.Configuration) -> Void
    ) throws -> Node {
        let secret = try #require(SecretKey(seed: [UInt8](repeating: seed, count: 32)))
        var configuration = Node.Configuration(
            secret: secret, addresses: [SocketAddress.anyIPv4.with(port: port)], offers: [.native])
        configure(&configuration)
        let ready = configuration
        return try world.run(on: machine) {
            try await Node.start(
                ready, network: machine.network, relays: relay, loop: machine.loop, entropy: machine.entropy)
        }
    }

    /// Says something five times a second, and hears nothing more of the dialler, who has nothing to say.
    private static let ticker: @Sendable (any MessageChannel, any Loop) async -> Void = { channel, loop in
        for count in 0..<150 {
            guard (try? await channel.send([UInt8(count)])) != nil,
                (try? await LoopClock(loop).sleep(for: .milliseconds(200))) != nil
            else { return }
        }
        await channel.finish()
    }

    private static let echo: @Sendable (any MessageChannel, any Loop) async -> Void = { channel, _ in
        while let message = try? await channel.receive() { try? await channel.send(message) }
        await channel.finish()
    }

    /// Reads the ticks to their end: all of them in order, and the longest time between two.
    private func longestGap(_ stage: Stage) throws -> Duration {
        let (channel, loop) = (stage.channel, stage.nearMachine.loop)
        return try stage.world.run(on: stage.nearMachine, limit: .seconds(120)) {
            var (last, gap, expected) = (loop.now, Duration.zero, UInt8(0))
            while let message = try await channel.receive() {
                #expect(message == [expected])
                expected += 1
                gap = max(gap, last.duration(to: loop.now))
                last = loop.now
            }
            #expect(expected == 150)
            return gap
        }
    }

    @Test(
        "when the listener's uplink moves while it alone is speaking, the dialler hears it again within 5 s, and at the new address",
        arguments: [1, 2, 3, 4, 5] as [UInt64])
    func uplinkMoves(_ seed: UInt64) throws {
        try withStage(seed: seed, latency: .milliseconds(Int64(seed) * 12), serve: Self.ticker) { stage in
            stage.cut()
            stage.notice()
            let gap = try longestGap(stage)
            #expect(gap <= .seconds(5))
            let path = try stage.path
            #expect(path == .direct(Self.newUplink))
        }
    }

    @Test(
        "when the way to the dialler dies without a word while the listener alone is speaking, the relay has it within 5 s"
    )
    func silence() throws {
        try withStage(seed: 7, serve: Self.ticker) { stage in
            stage.world.changeLinks { $0.isDown = true }
            let gap = try longestGap(stage)
            #expect(gap <= .seconds(5))
            let path = try stage.path
            #expect(path == .relay(url: TestRelay.url.description))
        }
    }

    @Test(
        "when the listener's uplink moves while nobody speaks, the connection is at the new address before anybody does"
    )
    func idle() throws {
        try withStage(seed: 8, serve: Self.echo) { stage in
            stage.cut()
            stage.notice()
            try stage.world.run(for: .seconds(5))
            let path = try stage.path
            #expect(path != .direct(Self.oldUplink))
            let (channel, began) = (stage.channel, stage.world.now)
            try stage.world.run(on: stage.nearMachine, limit: .seconds(5)) {
                // The answer to the first message of the stage comes before.
                let first = try await channel.receive()
                #expect(first == [0])
                try await channel.send([9])
                let second = try await channel.receive()
                #expect(second == [9])
            }
            #expect(began.duration(to: stage.world.now) <= .milliseconds(200))
        }
    }

    @Test(
        "a dialler that is not let run for a second is called, and stays where it is", arguments: [1, 2, 3] as [UInt64])
    func frozen(_ seed: UInt64) throws {
        try withStage(seed: seed, serve: Self.ticker) { stage in
            let (link, nearMachine) = (stage.link, stage.nearMachine)
            let before = try stage.world.run(on: nearMachine) { await link.status().since }
            nearMachine.stop()
            try stage.world.run(for: .milliseconds(900 + 70 * Int64(seed)))
            nearMachine.resume()
            let gap = try longestGap(stage)
            #expect(gap <= .seconds(2))
            let after = try stage.world.run(on: nearMachine) { await link.status().since }
            #expect(after == before)
        }
    }

    @Test(
        "a machine that slept for 20 s is heard within 5 s of its waking, the listener's or the dialler's",
        arguments: [true, false])
    func sleeps(_ isListener: Bool) throws {
        try withStage(seed: 11, serve: Self.ticker) { stage in
            let machine = isListener ? stage.farMachine : stage.nearMachine
            let node = isListener ? stage.far : stage.near
            machine.sleep()
            try stage.world.run(for: .seconds(20))
            machine.resume()
            machine.loop.spawn { await node.networkChanged() }
            let gap = try longestGap(stage)
            #expect(gap <= .seconds(25))
        }
    }

    @Test("a dialler that changes its network forty times keeps its connection", arguments: 0..<4 as Range<UInt64>)
    func restless(_ seed: UInt64) throws {
        try withStage(seed: 20 + seed, serve: Self.ticker) { stage in
            let (near, machine) = (stage.near, stage.nearMachine)
            for number in 0..<40 {
                let address = SocketAddress(ipv4: 0x0a02_0001 + UInt32(number % 2), port: 0)
                machine.move(to: [address])
                try stage.world.run(for: .milliseconds(250))
                machine.loop.spawn { await near.networkChanged(machine: [address]) }
                try stage.world.run(for: .milliseconds(400 + 37 * Int64(seed)))
            }
            let gap = try longestGap(stage)
            #expect(gap <= .seconds(60))
        }
    }

    @Test("in a network without any relay the call itself shows the new address")
    func withoutRelay() throws {
        try withStage(seed: 10, relays: [], serve: Self.ticker) { stage in
            stage.cut()
            stage.notice()
            let gap = try longestGap(stage)
            #expect(gap <= .seconds(5))
            let path = try stage.path
            #expect(path == .direct(Self.newUplink))
        }
    }

    @Test("a change that leaves the used address as it was moves nothing: the dialler only learns the new one")
    func newsOnly() throws {
        try withStage(seed: 9, serve: Self.ticker) { stage in
            let (far, both) = (stage.far, Set([Self.oldUplink.with(port: 0), Self.newUplink.with(port: 0)]))
            try stage.world.run(on: stage.farMachine) { await far.networkChanged(machine: both) }
            let gap = try longestGap(stage)
            #expect(gap <= .milliseconds(400))
            let path = try stage.path
            #expect(path == .direct(Self.oldUplink))
        }
    }
}
