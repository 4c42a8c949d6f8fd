import MewBase
import MewIdentity
import MewLoop
import MewNode
import MewSim
import MewWire
import Testing

/// Channels of both protocols on the simulated network: up to 5 % loss, reordering, packets of 1280 bytes, 250 ms of latency.
@Suite("Nodes on the simulated network")
struct SimulatedNodeTests {
    static let port: UInt16 = 4_000

    @Test("messages survive a bad network on both protocols", arguments: 0..<20)
    func badNetwork(seed: Int) throws {
        let applicationProtocol = ApplicationProtocol.allCases[seed % 2]
        let echoed = try withSimWorld(seed: UInt64(seed)) { world in
            world.changeLinks {
                $0.latency = .milliseconds(Int64(1 + seed * 6))
                $0.jitter = .milliseconds(Int64(seed))
                $0.loss = Double(seed % 6) / 100
                if seed % 3 == 0 { $0.mtu = 1_280 }
            }
            let server = world.addNode("server")
            let client = world.addNode("client")
            let far = try Self.start(2, on: server, world)
            let near = try Self.start(1, offers: [applicationProtocol], on: client, world)
            server.loop.spawn { await Self.echo(far, on: server) }
            let target = DialTarget(node: far.node, addresses: [server.address(port: Self.port)])
            let echoed = try world.run(on: client, limit: .seconds(600)) { try await Self.exchange(near, target) }
            try world.run(on: client) { await near.stop() }
            try world.run(on: server) { await far.stop() }
            return echoed
        }
        #expect(echoed == Self.sizes)
    }

    @Test("a peer whose process was killed is missed in 12 s where its machine says so, in 40 s where nothing is said")
    func killed() throws {
        for isSaid in [true, false] {
            let silence = try withSimWorld(seed: 1) { world in
                let (server, client) = (world.addNode("server"), world.addNode("client"))
                let far = try Self.start(2, on: server, world)
                let near = try Self.start(1, on: client, world)
                server.loop.spawn { await Self.echo(far, on: server) }
                let target = DialTarget(node: far.node, addresses: [server.address(port: Self.port)])
                let link = try world.run(on: client) { try await near.dial(target) }
                try world.run(for: .seconds(60))
                if isSaid { server.kill() } else { server.stop() }
                let start = client.loop.now
                _ = try world.run(on: client, limit: .seconds(60)) { await link.closed() }
                let silence = start.duration(to: client.loop.now)
                try world.run(on: client) { await near.stop() }
                if !isSaid {
                    server.resume()
                    try world.run(on: server) { await far.stop() }
                }
                return silence
            }
            #expect(silence > .seconds(2))
            #expect(silence <= .seconds(isSaid ? 12 : 40))
        }
    }

    static let sizes = [1, 1_000, 100_000, 20]

    static func start(
        _ seed: UInt8, offers: [ApplicationProtocol] = [.native], on machine: SimNode, _ world: SimWorld
    ) throws -> Node {
        let secret = try #require(SecretKey(seed: [UInt8](repeating: seed, count: 32)))
        let configuration = Node.Configuration(
            secret: secret, addresses: [SocketAddress.anyIPv4.with(port: port)], offers: offers)
        return try world.run(on: machine) { [machine = Lent(machine)] in
            try await Node.start(
                configuration, network: machine.value.network, loop: machine.value.loop,
                entropy: machine.value.entropy)
        }
    }

    static func echo(_ node: Node, on machine: SimNode) async {
        while let link = await node.acceptLink() {
            await link.authorize(charging: ByteBudget(maxBytes: 64 << 20))
            guard let channel = await link.acceptChannel() else { return }
            while let message = try? await channel.receive() { try? await channel.send(message) }
            await channel.finish()
        }
    }

    /// The sizes of the messages that came back as they were sent.
    static func exchange(_ node: Node, _ target: DialTarget) async throws -> [Int] {
        let link = try await node.dial(target)
        let channel = try await link.openChannel()
        var echoed: [Int] = []
        for size in sizes {
            let message = (0..<size).map { UInt8(0x20 + $0 % 90) }
            try await channel.send(message)
            if try await channel.receive() == message { echoed.append(size) }
        }
        await channel.finish()
        #expect(try await channel.receive() == nil)
        return echoed
    }
}

/// `@unchecked Sendable`: a simulated world runs on one thread, and its parts are used on that thread only.
struct Lent<Value>: @unchecked Sendable {
    let value: Value

    init(_ value: Value) {
        self.value = value
    }
}
