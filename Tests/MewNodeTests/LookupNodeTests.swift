import MewBase
import MewIdentity
import MewLoop
import MewNode
import MewRelay
import MewSim
import MewTestSupport
import MewWire
import Testing

/// One node that listens at relays, and one that knows little of it, on the simulated network. Relays are beside the network.
@Suite("Nodes are found by their ID alone")
struct LookupNodeTests {
    private let home: RelayURL
    private let other: RelayURL

    init() throws {
        home = try RelayURL("http://home.test/")
        other = try RelayURL("http://other.test/")
    }

    private struct Stage {
        let world: SimWorld
        let relays: TestRelays
        let far: Node
        let near: Node
        let farMachine: SimNode
        let nearMachine: SimNode

        func dial(_ target: DialTarget, limit: Duration = .seconds(30)) throws -> Result<LinkPath, DialError> {
            let near = near
            return try world.run(on: nearMachine, limit: limit) {
                do throws(DialError) {
                    return .success(await (try near.dial(target)).status().path)
                } catch {
                    return .failure(error)
                }
            }
        }
    }

    private func start(
        _ seed: UInt8, _ relays: TestRelays, at homes: [RelayURL] = [], knowing known: [RelayURL] = [],
        on machine: SimNode, _ world: SimWorld
    ) throws -> Node {
        var configuration = Node.Configuration(
            secret: try Self.secret(seed), addresses: [SocketAddress.anyIPv4.with(port: 4_000)], offers: [.native])
        configuration.relays = homes
        configuration.knownRelays = known
        let ready = configuration
        return try world.run(on: machine) { [machine = Lent(machine)] in
            try await Node.start(
                ready, network: machine.value.network, relays: relays, loop: machine.value.loop,
                entropy: machine.value.entropy)
        }
    }

    private static func secret(_ seed: UInt8) throws -> SecretKey {
        try #require(SecretKey(seed: [UInt8](repeating: seed, count: 32)))
    }

    private func withStage(
        homes: [RelayURL], known: [RelayURL], _ body: (Stage) throws -> Void
    ) throws {
        try withSimWorld(seed: 1) { world in
            world.changeLinks { $0.latency = .milliseconds(10) }
            let relays = TestRelays([home, other])
            let (farMachine, nearMachine) = (world.addNode("far"), world.addNode("near"))
            let far = try start(2, relays, at: homes, on: farMachine, world)
            let near = try start(1, relays, knowing: known, on: nearMachine, world)
            farMachine.loop.spawn { while let link = await far.acceptLink() { _ = link } }
            try world.run(for: .seconds(1))
            try body(
                Stage(
                    world: world, relays: relays, far: far, near: near, farMachine: farMachine,
                    nearMachine: nearMachine))
            try world.run(on: nearMachine) { await near.stop() }
            try world.run(on: farMachine) { await far.stop() }
        }
    }

    /// Says at `relay` that the far node is at `place`.
    private func publish(_ place: RelayURL, at relay: RelayURL, _ stage: Stage, timestamp: UInt64 = 1) throws {
        let record = SignedRecord(AddressRecord(relays: [place]), timestamp: timestamp, secret: try Self.secret(2))
        stage.relays[relay][record: stage.far.node] = record
    }

    @Test("a record at a relay that is known leads to the relay where the node is")
    func foundByRecord() throws {
        try withStage(homes: [home], known: [other]) { stage in
            try publish(home, at: other, stage)
            let began = stage.world.now
            let path = try stage.dial(DialTarget(node: stage.far.node, addresses: [])).get()
            #expect(path == .relay(url: home.description))
            #expect(began.duration(to: stage.world.now) <= .seconds(1))
        }
    }

    @Test("without any record, the node is dialled through the relays that are known")
    func foundAtKnownRelay() throws {
        try withStage(homes: [home], known: [other, home]) { stage in
            let began = stage.world.now
            let path = try stage.dial(DialTarget(node: stage.far.node, addresses: [])).get()
            #expect(path == .relay(url: home.description))
            #expect(began.duration(to: stage.world.now) <= .seconds(2))
        }
    }

    @Test("a relay that is known and hangs does not keep the others from being used")
    func hangingRelay() throws {
        try withStage(homes: [home], known: [other, home]) { stage in
            stage.relays[other].set(mute: true)
            let began = stage.world.now
            let path = try stage.dial(DialTarget(node: stage.far.node, addresses: [])).get()
            #expect(path == .relay(url: home.description))
            #expect(began.duration(to: stage.world.now) <= .seconds(2))
        }
    }

    @Test("a dial through a relay that the node has left reads the node's record and finds it at the other one")
    func staleRelay() throws {
        try withStage(homes: [home], known: []) { stage in
            // The old relay still answers, and knows where the node went.
            try publish(home, at: other, stage)
            let began = stage.world.now
            let target = DialTarget(node: stage.far.node, addresses: [], relays: [other.description])
            #expect(try stage.dial(target).get() == .relay(url: home.description))
            #expect(began.duration(to: stage.world.now) <= .seconds(3))
        }
    }

    @Test("of two records the newer one is believed; an older one found first costs nothing but a try")
    func newerRecord() throws {
        try withStage(homes: [home], known: [other, home]) { stage in
            try publish(other, at: other, stage, timestamp: 1)
            try publish(home, at: home, stage, timestamp: 2)
            let path = try stage.dial(DialTarget(node: stage.far.node, addresses: [])).get()
            #expect(path == .relay(url: home.description))
        }
    }

    @Test("a node that is nowhere is given up after ten seconds, with every relay that was tried")
    func nowhere() throws {
        try withStage(homes: [], known: [other, home]) { stage in
            stage.relays[other].set(down: true)
            let began = stage.world.now
            let result = try stage.dial(DialTarget(node: stage.far.node, addresses: []))
            guard case .failure(.unreachable(let attempts)) = result else {
                Issue.record("\(result)")
                return
            }
            #expect(Set(attempts.map(\.route)) == [.relay(url: home.description), .relay(url: other.description)])
            #expect(began.duration(to: stage.world.now) <= .seconds(11))
        }
    }

    @Test("a node ID without any route and without any relay to ask is no route at all")
    func nothingKnown() throws {
        try withStage(homes: [home], known: []) { stage in
            #expect(throws: DialError.noRoute) {
                try stage.dial(DialTarget(node: stage.far.node, addresses: [])).get()
            }
        }
    }

    @Test("a good dial asks nobody")
    func goodDialAsksNobody() throws {
        try withStage(homes: [home], known: [other]) { stage in
            let target = DialTarget(node: stage.far.node, addresses: [], relays: [home.description])
            #expect(try stage.dial(target).get() == .relay(url: home.description))
            try stage.world.run(for: .seconds(5))
            #expect(stage.relays[other].requests == 0)
        }
    }
}
