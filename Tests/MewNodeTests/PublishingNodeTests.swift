import MewBase
import MewIdentity
import MewLoop
import MewLookup
import MewNode
import MewRelay
import MewSim
import MewTestSupport
import MewWire
import Synchronization
import Testing

/// A node with several relays, and a third one that knows nothing but its ID and some relay. On the simulated network, the relays
/// beside it.
@Suite("Nodes tell where they are, and are found after their relay has died")
struct PublishingNodeTests {
    private let home: RelayURL
    private let other: RelayURL
    /// Known to everybody, and farthest away in the user's order: nobody is connected to it.
    private let board: RelayURL

    init() throws {
        home = try RelayURL("http://home.test/")
        other = try RelayURL("http://other.test/")
        board = try RelayURL("http://board.test/")
    }

    private struct Stage {
        let world: SimWorld
        let relays: TestRelays
        let far: Node
        let near: Node
        let farMachine: SimNode
        let nearMachine: SimNode

        func dial(_ relays: [RelayURL] = []) throws -> Result<LinkPath, DialError> {
            let (near, target) = (
                near, DialTarget(node: far.node, addresses: [], relays: relays.map(\.description))
            )
            return try world.run(on: nearMachine, limit: .seconds(30)) {
                do throws(DialError) {
                    return .success(await (try near.dial(target)).status().path)
                } catch {
                    return .failure(error)
                }
            }
        }

        private func homeRelays() throws -> [HomeRelay] {
            let far = far
            return try world.run(on: farMachine) { await far.homeRelays() }
        }

        func roles() throws -> [HomeRelay.Role] { try homeRelays().map { $0.role } }

        func isSuperseded() throws -> Bool { try homeRelays().contains { $0.status?.isSuperseded == true } }

        /// At how many relays it has published, as it thinks.
        func publications() throws -> Int {
            try homeRelays().count { if case .published = $0.record { true } else { false } }
        }

        /// What strangers read at `relay`.
        func published(at relay: RelayURL) -> [RelayURL]? { relays[relay][record: far.node]?.record.relays }
    }

    private func withStage(known: [RelayURL], _ body: (Stage) throws -> Void) throws {
        try withSimWorld(seed: 1) { world in
            world.changeLinks { $0.latency = .milliseconds(10) }
            let relays = TestRelays([home, other, board])
            let (farMachine, nearMachine) = (world.addNode("far"), world.addNode("near"))
            let far = try start(2, relays, at: [home, other, board], on: farMachine, world)
            let near = try start(1, relays, knowing: known, on: nearMachine, world)
            farMachine.loop.spawn { while let link = await far.acceptLink() { _ = link } }
            try world.run(for: .seconds(3))
            try body(
                Stage(
                    world: world, relays: relays, far: far, near: near, farMachine: farMachine,
                    nearMachine: nearMachine))
            try world.run(on: nearMachine) { await near.stop() }
            try world.run(on: farMachine) { await far.stop() }
        }
    }

    private func start(
        _ seed: UInt8, _ relays: TestRelays, at homes: [RelayURL] = [], knowing known: [RelayURL] = [],
        on machine: SimNode, _ world: SimWorld
    ) throws -> Node {
        let secret = try #require(SecretKey(seed: [UInt8](repeating: seed, count: 32)))
        var configuration = Node.Configuration(
            secret: secret, addresses: [SocketAddress.anyIPv4.with(port: 4_000)], offers: [.native])
        configuration.relays = homes
        configuration.knownRelays = known
        let numbers = Numbers()
        configuration.nextRecordTimestamp = { numbers.next() }
        let ready = configuration
        return try world.run(on: machine) { [machine = Lent(machine)] in
            try await Node.start(
                ready, network: machine.value.network, relays: relays, loop: machine.value.loop,
                entropy: machine.value.entropy)
        }
    }

    private final class Numbers: Sendable {
        private let last = Mutex<UInt64>(0)
        func next() -> UInt64 {
            last.withLock { last in
                last += 1
                return last
            }
        }
    }

    @Test("a node keeps two relays and publishes at all it was given which two")
    func publishes() throws {
        try withStage(known: []) { stage in
            let roles = try stage.roles()
            #expect(roles == [.home, .standby, .spare])
            for relay in [home, other, board] { #expect(stage.published(at: relay) == [home, other]) }
            #expect(try stage.publications() == 3)
        }
    }

    @Test("a home that dies is replaced and no longer told; its place among the legs goes to the third relay")
    func rehoming() throws {
        try withStage(known: []) { stage in
            stage.relays[home].set(down: true)
            try stage.world.run(for: .seconds(4))
            #expect(stage.published(at: other) == [other])
            #expect(stage.published(at: board) == [other])
            #expect(try stage.roles() == [.standby, .home, .spare])
            try stage.world.run(for: .seconds(4))
            #expect(stage.published(at: board) == [other, board])
            #expect(try stage.roles() == [.spare, .home, .standby])
            // It comes back, and is not taken back for a minute.
            stage.relays[home].set(down: false)
            try stage.world.run(for: .seconds(50))
            #expect(try stage.roles() == [.spare, .home, .standby])
        }
    }

    @Test("a relay that restarts and has forgotten everything is told again")
    func restartedRelay() throws {
        try withStage(known: []) { stage in
            stage.relays[other].set(down: true)
            stage.relays[other][record: stage.far.node] = nil
            try stage.world.run(for: .seconds(1))
            stage.relays[other].set(down: false)
            try stage.world.run(for: .seconds(3))
            #expect(stage.published(at: other) == [home, other])
        }
    }

    @Test(
        "after the home relay has died, a third node that knows only the node ID and both relays reaches it within 15 s",
        arguments: [0, 1, 2, 4, 6, 20] as [Int64])
    func thirdNode(after seconds: Int64) throws {
        try withStage(known: [home, other]) { stage in
            let died = stage.world.now
            stage.relays[home].set(down: true)
            try stage.world.run(for: .seconds(seconds))
            #expect(try stage.dial().get() == .relay(url: other.description))
            #expect(died.duration(to: stage.world.now) <= .seconds(seconds + 3))
        }
    }

    @Test("the same when the relay does not die but swallows everything", arguments: [0, 5, 30] as [Int64])
    func thirdNodeAndMuteRelay(after seconds: Int64) throws {
        try withStage(known: [home, other]) { stage in
            stage.relays[home].set(mute: true)
            try stage.world.run(for: .seconds(seconds))
            let began = stage.world.now
            #expect(try stage.dial().get() == .relay(url: other.description))
            #expect(began.duration(to: stage.world.now) <= .seconds(3))
        }
    }

    @Test("the same when it knows neither of the node's relays, but one that keeps the record")
    func thirdNodeReadsRecord() throws {
        try withStage(known: [board]) { stage in
            let died = stage.world.now
            stage.relays[home].set(down: true)
            let path = try stage.dial().get()
            #expect(path == .relay(url: other.description))
            #expect(died.duration(to: stage.world.now) <= .seconds(15))
        }
    }

    @Test("a node that remembers only the dead home finds the other relay through the record")
    func rememberedHome() throws {
        try withStage(known: [board]) { stage in
            stage.relays[home].set(down: true)
            try stage.world.run(for: .seconds(4))
            let began = stage.world.now
            #expect(try stage.dial([home]).get() == .relay(url: other.description))
            #expect(began.duration(to: stage.world.now) <= .seconds(4))
        }
    }

    @Test("a copy of the identity at the same relay is noticed by the one that was there first")
    func twoPlaces() throws {
        try withStage(known: []) { stage in
            #expect(try !stage.isSuperseded())
            stage.relays[home].tell(.status(.sameNodeConnectedElsewhere))
            try stage.world.run(for: .seconds(1))
            #expect(try stage.isSuperseded())
            stage.relays[home].tell(.status(.healthy))
            try stage.world.run(for: .seconds(1))
            #expect(try !stage.isSuperseded())
        }
    }
}
