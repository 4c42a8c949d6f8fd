import MewBase
import MewIdentity
import MewLoop
import MewNode
import MewRelay
import MewSim
import MewTestSupport
import MewWire
import Synchronization
import Testing

/// Two nodes and a relay between them, on the simulated network.
@Suite("Nodes reach each other through a relay")
struct RelayedNodeTests {
    private static let port: UInt16 = 4_000

    private struct Pair {
        let relay: TestRelay
        let far: Node
        let near: Node
        let farMachine: SimNode
        let nearMachine: SimNode
        /// What the far node has seen of the near one's moves.
        let moves: Moves

        var farAddress: SocketAddress { farMachine.address(port: RelayedNodeTests.port) }
    }

    private final class Moves: Sendable {
        private let seen = Mutex<[LinkMove]>([])

        var all: [LinkMove] { seen.withLock { $0 } }
        func append(_ move: LinkMove) { seen.withLock { $0.append(move) } }
    }

    private static func start(
        _ seed: UInt8, relay: TestRelay, relays: [RelayURL], on machine: SimNode, _ world: SimWorld
    ) throws -> Node {
        let secret = try #require(SecretKey(seed: [UInt8](repeating: seed, count: 32)))
        var configuration = Node.Configuration(
            secret: secret, addresses: [SocketAddress.anyIPv4.with(port: port)], offers: [.native])
        configuration.relays = relays
        configuration.namedRelays = [TestRelay.url]
        let ready = configuration
        return try world.run(on: machine) { [machine = Lent(machine)] in
            try await Node.start(
                ready, network: machine.value.network, relays: relay, loop: machine.value.loop,
                entropy: machine.value.entropy)
        }
    }

    private func withPair(_ seed: UInt64 = 1, _ body: (SimWorld, Pair) throws -> Void) throws {
        try withSimWorld(seed: seed) { world in
            world.changeLinks { $0.latency = .milliseconds(10) }
            let (farMachine, nearMachine) = (world.addNode("far"), world.addNode("near"))
            let relay = TestRelay()
            let far = try Self.start(2, relay: relay, relays: [TestRelay.url], on: farMachine, world)
            let near = try Self.start(1, relay: relay, relays: [], on: nearMachine, world)
            let moves = Moves()
            farMachine.loop.spawn { [loop = Lent(farMachine.loop)] in
                await echoAll(far, loop.value) { moves.append($0) }
            }
            let pair = Pair(
                relay: relay, far: far, near: near, farMachine: farMachine, nearMachine: nearMachine, moves: moves)
            try body(world, pair)
            try world.run(on: nearMachine) { await near.stop() }
            try world.run(on: farMachine) { await far.stop() }
        }
    }

    private func target(_ pair: Pair, addresses: [SocketAddress] = []) -> DialTarget {
        DialTarget(node: pair.far.node, addresses: addresses, relays: [TestRelay.url.description])
    }

    private static let relayed = LinkPath.relay(url: TestRelay.url.description)

    @Test("a node that is known by its relay alone is reached through it, and says so")
    func relayOnly() throws {
        try withPair { world, pair in
            let (near, target) = (pair.near, target(pair))
            let path = try world.run(on: pair.nearMachine) {
                let link = try await near.dial(target)
                let channel = try await link.openChannel()
                try await channel.send([1, 2, 3])
                #expect(try await channel.receive() == [1, 2, 3])
                return await link.status().path
            }
            #expect(path == Self.relayed)
            #expect(pair.relay.forwarded > 2)
        }
    }

    @Test("large messages pass through the relay whole")
    func bulk() throws {
        try withPair { world, pair in
            let (near, target) = (pair.near, target(pair))
            let echoed = try world.run(on: pair.nearMachine, limit: .seconds(120)) {
                try await SimulatedNodeTests.exchange(near, target)
            }
            #expect(echoed == SimulatedNodeTests.sizes)
        }
    }

    @Test("the dialler is a stranger to the relay: its node key is not seen there")
    func throwAwayKey() throws {
        try withPair { world, pair in
            let (near, target) = (pair.near, target(pair))
            try world.run(on: pair.nearMachine) { _ = try await near.dial(target) }
            let seen = pair.relay.nodes
            #expect(seen.count == 2)
            #expect(seen.contains(pair.far.node))
            #expect(!seen.contains(pair.near.node))
        }
    }

    @Test("a relay that serves only those on its list is shown the node key; the next time it is not refused first")
    func listed() throws {
        try withPair { world, pair in
            pair.relay.serve(only: [pair.far.node, pair.near.node])
            let (near, target) = (pair.near, target(pair))
            for _ in 0..<2 {
                try world.run(on: pair.nearMachine) {
                    let link = try await near.dial(target)
                    #expect(await link.status().path == Self.relayed)
                    await link.close(code: .done, reason: "")
                }
                // Longer than a leg stays that nobody uses.
                try world.run(for: .seconds(70))
                #expect(!pair.relay.nodes.contains(near.node))
            }
            #expect(pair.relay.refusals == 1)
        }
    }

    @Test("what a relay says once is told for a minute; what lasts, until it takes it back")
    func complaints() throws {
        try withPair { world, pair in
            try world.run(for: .seconds(1))
            let far = pair.far
            func problem() throws -> String? {
                try world.run(on: pair.farMachine) { await far.homeRelays().first?.status?.problem }
            }
            for frame in [RelayFrame.status(.rateLimited), .health("too busy")] {
                pair.relay.tell(frame)
                try world.run(for: .seconds(50))
                #expect(try problem() != nil)
                // Once more: from here on it is a minute.
                pair.relay.tell(frame)
                try world.run(for: .milliseconds(59_900))
                #expect(try problem() != nil)
                try world.run(for: .milliseconds(200))
                #expect(try problem() == nil)
            }
            pair.relay.tell(.status(.rateLimited))
            pair.relay.tell(.status(.sameNodeConnectedElsewhere))
            try world.run(for: .seconds(200))
            #expect(try problem()?.contains("copy of its key") == true)
            pair.relay.tell(.status(.healthy))
            try world.run(for: .seconds(1))
            #expect(try problem() == nil)
        }
    }

    @Test("a leg that lives through a change of the network has its distance measured anew at once")
    func measuredAnew() throws {
        try withPair { world, pair in
            try world.run(for: .seconds(3))
            let far = pair.far
            func measured() throws -> Instant? {
                try world.run(on: pair.farMachine) { await far.homeRelays().first?.status?.measured }
            }
            let before = try #require(try measured())
            try world.run(on: pair.farMachine) { await far.networkChanged() }
            try world.run(for: .milliseconds(100))
            #expect(try #require(try measured()) > before)
        }
    }

    @Test("whoever dials while the node stops, or later, leaves nothing at the relay", arguments: [true, false])
    func dialAndStop(isMute: Bool) throws {
        try withPair { world, pair in
            try world.run(for: .seconds(1))
            let (near, target) = (pair.near, target(pair))
            pair.relay.set(mute: isMute)
            let before = pair.relay.clientCount
            pair.nearMachine.loop.spawn { _ = try? await near.dial(target) }
            if !isMute { try world.run(on: pair.nearMachine) { await near.stop() } }
            try world.run(for: .milliseconds(1))
            if isMute { try world.run(on: pair.nearMachine) { await near.stop() } }
            // A search for records takes three seconds at a relay that says nothing.
            try world.run(for: .seconds(5))
            #expect(pair.relay.clientCount == before)
            try world.run(on: pair.nearMachine) { _ = try? await near.dial(target) }
            // A search for records takes three seconds at a relay that says nothing.
            try world.run(for: .seconds(5))
            #expect(pair.relay.clientCount == before)
        }
    }

    @Test("with an address that answers, the connection is direct")
    func directWins() throws {
        try withPair { world, pair in
            let (near, target) = (pair.near, target(pair, addresses: [pair.farAddress]))
            let path = try world.run(on: pair.nearMachine) {
                let link = try await near.dial(target)
                try await LoopClock(pair.nearMachine.loop).sleep(for: .seconds(1))
                return await link.status().path
            }
            #expect(path == .direct(pair.farAddress))
        }
    }

    @Test(
        """
        an address that answers only later takes the connection over from the relay; when it falls silent, the relay has it back; \
        the listener sees each move once
        """
    )
    func movesBothWays() throws {
        try withPair { world, pair in
            let (near, target) = (pair.near, target(pair, addresses: [pair.farAddress]))
            world.changeLinks { $0.isDown = true }
            let loop = pair.nearMachine.loop
            let link = try world.run(on: pair.nearMachine) { try await near.dial(target) }
            func path() throws -> LinkPath { try world.run(on: pair.nearMachine) { await link.status().path } }
            #expect(try path() == Self.relayed)
            world.changeLinks { $0.isDown = false }
            try world.run(for: .seconds(15))
            #expect(try path() == .direct(pair.farAddress))
            // Something has to be under way for silence to mean anything.
            let channel = try world.run(on: pair.nearMachine) { try await link.openChannel() }
            try world.run(on: pair.nearMachine) {
                try await channel.send([7])
                #expect(try await channel.receive() == [7])
            }
            world.changeLinks { $0.isDown = true }
            let began = world.now
            try world.run(on: pair.nearMachine) {
                try await channel.send([8])
                #expect(try await channel.receive() == [8])
            }
            #expect(began.duration(to: world.now) <= .seconds(3))
            #expect(try path() == Self.relayed)
            #expect(loop.now > .zero)
            let direct = LinkPath.direct(pair.nearMachine.address(port: Self.port))
            #expect(pair.moves.all.map(\.from) == [Self.relayed, direct])
            #expect(pair.moves.all.map(\.to) == [direct, Self.relayed])
        }
    }

    @Test("why a link is relayed is told in words, with each address and relay, and who could change it")
    func tellsWhy() throws {
        try withPair { world, pair in
            let (near, target) = (pair.near, target(pair, addresses: [pair.farAddress]))
            world.changeLinks { $0.isDown = true }
            let link = try world.run(on: pair.nearMachine) { try await near.dial(target) }
            let status = { () throws -> LinkStatus in try world.run(on: pair.nearMachine) { await link.status() } }
            #expect(try status().whyNotDirect?.code == .checking)
            try world.run(for: .seconds(5))
            let relayed = try status()
            #expect(relayed.whyNotDirect?.code == .noAnswer)
            #expect(relayed.whyNotDirect?.text.contains("\(pair.farAddress)") == true)
            #expect(relayed.candidates.map(\.address) == [pair.farAddress])
            #expect(relayed.candidates.map(\.state) == [.quarantined(.noAnswer)])
            #expect(relayed.relays.map(\.isConnected) == [true])
            #expect(relayed.standbyRelay == nil)
            world.changeLinks { $0.isDown = false }
            try world.run(on: pair.nearMachine) { await near.networkChanged() }
            try world.run(for: .seconds(1))
            let direct = try status()
            #expect(direct.path == .direct(pair.farAddress), "a change of the network ends the wait")
            #expect(direct.whyNotDirect == nil)
            #expect(direct.candidates.map(\.state) == [.inUse])
        }
    }

    @Test("addresses and relays that the peer tells later are shown at once, and the link moves to what answers")
    func learnsLater() throws {
        try withPair { world, pair in
            let (near, target, address) = (pair.near, target(pair), pair.farAddress)
            let link = try world.run(on: pair.nearMachine) { try await near.dial(target) }
            try world.run(for: .seconds(1))
            let told = try world.run(on: pair.nearMachine) {
                await link.learned(addresses: [address], relays: [TestRelay.url.description, "http://10.9.9.9:1/"])
                return await link.status()
            }
            #expect(told.candidates.map(\.address) == [address])
            #expect(told.relays.map(\.url) == [TestRelay.url.description, "http://10.9.9.9:1/"])
            try world.run(for: .seconds(1))
            let later = try world.run(on: pair.nearMachine) { await link.status() }
            #expect(later.path == .direct(address))
        }
    }

    @Test(
        "a relay to which no leg is kept at present is told as not wanted; one that cannot be reached, with its problem"
    )
    func relaysNotHeld() throws {
        try withPair { world, pair in
            let (near, target) = (pair.near, target(pair))
            let others = (1...3).map { "http://10.9.9.\($0):1/" }
            let link = try world.run(on: pair.nearMachine) { try await near.dial(target) }
            try world.run(on: pair.nearMachine) {
                await link.learned(addresses: [], relays: [TestRelay.url.description] + others)
            }
            func relays() throws -> [RelayCandidate] {
                try world.run(on: pair.nearMachine) { await link.status().relays }
            }
            try world.run(for: .seconds(2))
            let held = try relays()
            #expect(held.map(\.url) == [TestRelay.url.description] + others)
            let connected = RelayCandidate.State.connected(complaint: nil)
            #expect(held.map(\.state) == [connected, connected, .notWanted, .notWanted], "one in use, and a standby")
            pair.relay.set(down: true)
            try world.run(for: .seconds(1))
            #expect(
                try relays().contains {
                    if case .failed(let problem) = $0.state { problem.contains("refused") } else { false }
                })
        }
    }

    @Test("a relay that cannot be reached, and an address that does not answer, are both named")
    func failureNamesAll() throws {
        try withPair { world, pair in
            pair.relay.set(down: true)
            world.changeLinks { $0.isDown = true }
            let (near, target) = (pair.near, target(pair, addresses: [pair.farAddress]))
            let began = world.now
            let error: DialError? = try world.run(on: pair.nearMachine, limit: .seconds(60)) {
                do throws(DialError) {
                    _ = try await near.dial(target)
                    return nil
                } catch {
                    return error
                }
            }
            guard case .unreachable(let attempts)? = error else {
                Issue.record("\(String(describing: error))")
                return
            }
            #expect(Set(attempts.map(\.route)) == [.direct(pair.farAddress), Self.relayed])
            #expect(attempts.allSatisfy { !$0.outcome.isEmpty })
            #expect(began.duration(to: world.now) <= .seconds(11))
        }
    }

    @Test("a relay that restarts is found again, and the connection through it goes on")
    func relayRestarts() throws {
        try withPair { world, pair in
            let (near, target) = (pair.near, target(pair))
            let channel = try world.run(on: pair.nearMachine) {
                try await near.dial(target).openChannel()
            }
            try world.run(for: .seconds(2))
            pair.relay.set(down: true)
            try world.run(for: .seconds(3))
            pair.relay.set(down: false)
            try world.run(on: pair.nearMachine, limit: .seconds(25)) {
                try await channel.send([9])
                #expect(try await channel.receive() == [9])
            }
        }
    }

    @Test("what was sent while the relay was away arrives soon after it is back, not when a doubled timer fires")
    func sentWhileRelayIsAway() throws {
        try withPair { world, pair in
            let (near, target) = (pair.near, target(pair))
            let channel = try world.run(on: pair.nearMachine) {
                let channel = try await near.dial(target).openChannel()
                try await channel.send([1])
                #expect(try await channel.receive() == [1])
                return channel
            }
            try world.run(for: .seconds(2))
            pair.relay.set(down: true)
            let back = world.now.advanced(by: .seconds(12))
            world.plan(at: back) { pair.relay.set(down: false) }
            try world.run(on: pair.nearMachine, limit: .seconds(60)) {
                try await channel.send([9])
                #expect(try await channel.receive() == [9])
            }
            // The leg's own wait may be 12 s long by now; after that it is a matter of a second.
            #expect(back.duration(to: world.now) <= .seconds(14))
        }
    }

    @Test("a node tells at which relays it can be reached, connected ones first")
    func reachableRelays() throws {
        try withPair { world, pair in
            let (far, near) = (pair.far, pair.near)
            try world.run(for: .seconds(1))
            let urls = try world.run(on: pair.farMachine) { await far.reachableRelays() }
            #expect(urls == [TestRelay.url])
            let status = try world.run(on: pair.farMachine) { await far.homeRelays().map(\.status?.isConnected) }
            #expect(status == [true])
            let none = try world.run(on: pair.nearMachine) { await near.reachableRelays() }
            #expect(none.isEmpty)
        }
    }
}
