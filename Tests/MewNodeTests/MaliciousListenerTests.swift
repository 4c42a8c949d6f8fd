import MewBase
import MewIdentity
import MewLoop
import MewQUIC
import MewRelay
import MewSim
import MewTestSupport
import MewWire
import Synchronization
import Testing

@testable import MewNode

/// A listener that its dialler has paired with, and that tells it to look for it at other people's addresses and relays.
@Suite("A listener that names others")
struct MaliciousListenerTests {
    private static let victim = SocketAddress(ipv4: 0xcb00_7105, port: 0)
    private static let seconds: Int64 = 30

    private struct Stage {
        let world: SimWorld
        let far: Node
        let near: Node
        let farMachine: SimNode
        let nearMachine: SimNode
        let connector: WatchedConnector
        let link: any Link

        /// Calls as often as a listener can for half a minute, each time with news.
        func call(_ presence: (Int) -> Presence) throws {
            for round in 0..<Int(MaliciousListenerTests.seconds) * 8 {
                let (far, presence) = (far, presence(round))
                try world.run(on: farMachine) { await far.endpoint.presenceChanged(presence) }
                try world.run(for: .milliseconds(125))
            }
        }
    }

    /// The link goes through a relay: only then the dialler looks for addresses.
    private func withStage(seed: UInt64, _ body: (Stage) throws -> Void) throws {
        try withSimWorld(seed: seed) { world in
            world.keepTrace()
            let (farMachine, nearMachine) = (world.addNode("far"), world.addNode("near"))
            let connector = WatchedConnector()
            let far = try Self.start(2, connector, on: farMachine, world) { $0.relays = [TestRelay.url] }
            let near = try Self.start(1, connector, on: nearMachine, world) { _ in }
            farMachine.loop.spawn { [loop = farMachine.loop] in
                while let link = await far.acceptLink() {
                    loop.spawn {
                        await link.authorize(charging: ByteBudget(maxBytes: 1 << 20))
                        while await link.acceptChannel() != nil {}
                    }
                }
            }
            let target = DialTarget(node: far.node, addresses: [], relays: [TestRelay.url.description])
            let link = try world.run(on: nearMachine) {
                let link = try await near.dial(target)
                try await link.openChannel().send([0])
                return link
            }
            try world.run(for: .seconds(3))
            try body(
                Stage(
                    world: world, far: far, near: near, farMachine: farMachine, nearMachine: nearMachine,
                    connector: connector, link: link))
            try world.run(on: nearMachine) { await near.stop() }
            try world.run(on: farMachine) { await far.stop() }
        }
    }

    private static func start(
        _ seed: UInt8, _ connector: WatchedConnector, on machine: SimNode, _ world: SimWorld,
        _ configure: (inout Node.Configuration) -> Void
    ) throws -> Node {
        let secret = try #require(SecretKey(seed: [UInt8](repeating: seed, count: 32)))
        var configuration = Node.Configuration(
            secret: secret, addresses: [SocketAddress.anyIPv4.with(port: 4_000)], offers: [.native])
        configure(&configuration)
        let ready = configuration
        return try world.run(on: machine) {
            try await Node.start(
                ready, network: machine.network, relays: connector, loop: machine.loop, entropy: machine.entropy)
        }
    }

    private func sent(_ stage: Stage) -> [Trace.Entry] {
        stage.world.trace.entries.filter { $0.to.ipv4 == Self.victim.ipv4 }
    }

    @Test(
        "somebody who is named at sixteen ports gets only small packets, few to each, however often",
        arguments: [1, 2] as [UInt64])
    func sameAddresses(_ seed: UInt64) throws {
        try withStage(seed: seed) { stage in
            let named = (1...16).map { Self.victim.with(port: UInt16($0)) }
            try stage.call {
                Presence(candidates: Array(named[($0 % 16)...] + named[..<($0 % 16)]), relays: [TestRelay.url])
            }
            try expectLittle(stage)
        }
    }

    @Test("the same holds for a new address in every call", arguments: [1, 2] as [UInt64])
    func newAddresses(_ seed: UInt64) throws {
        try withStage(seed: seed) { stage in
            try stage.call { round in
                let named = (0..<16).map { Self.victim.with(port: UInt16(1 + round * 16 + $0)) }
                return Presence(candidates: named, relays: [TestRelay.url])
            }
            try expectLittle(stage)
        }
    }

    private func expectLittle(_ stage: Stage) throws {
        let sent = sent(stage)
        #expect(!sent.isEmpty)
        #expect(sent.allSatisfy { $0.size <= 100 }, "a large packet for somebody who has answered nothing")
        #expect(sent.count <= 32 + 16 * Int(Self.seconds + 1), "\(sent.count) packets")
        for (_, toOne) in Dictionary(grouping: sent, by: \.to) {
            for (first, fifth) in zip(toOne, toOne.dropFirst(5)) {
                #expect(first.time.duration(to: fifth.time) >= .seconds(1))
            }
        }
        let path = try stage.world.run(on: stage.nearMachine) { await stage.link.status().path }
        #expect(path == .relay(url: TestRelay.url.description))
    }

    @Test("relays that are named one after the other are not all connected to")
    func relays() throws {
        try withStage(seed: 3) { stage in
            try stage.call { round in
                let named = (0..<3).compactMap { try? RelayURL("http://relay\(round * 3 + $0).victim.test/") }
                return Presence(candidates: [], relays: named)
            }
            #expect(stage.connector.others.count <= 7, "\(stage.connector.others.count) hosts were connected to")
        }
    }
}

@Suite("A token for relays")
struct RelayCredentialLawTests {
    @Test("is shown to the relays it was named beside, by whatever pin and spelling, and to nobody else")
    func places() throws {
        let token = RelayCredential(
            "secret", for: [try RelayURL("https://relay.test/"), try RelayURL("http://10.0.0.1:3340")])
        let pin = "df9sse9bp1nuftim3yhxiuk6w6r5hddsskjygpydux7esxjstioo"
        for url in ["https://RELAY.test:443", "https://relay.test/#\(pin)", "http://10.0.0.1:3340/x"] {
            #expect(try token.text(for: RelayURL(url)) == "secret", "\(url)")
        }
        for url in ["http://relay.test/", "https://relay.test:444/", "https://relay.test.evil/", "http://10.0.0.1/"] {
            #expect(try token.text(for: RelayURL(url)) == nil, "\(url)")
        }
    }
}

/// Reaches one relay, and notes who else was to be reached.
private final class WatchedConnector: RelayConnector {
    private let relay = TestRelay()
    private let tried = Mutex<Set<RelayURL>>([])

    var others: Set<RelayURL> { tried.withLock { $0 } }

    func connect(to url: RelayURL) async throws(StreamFailure) -> any TCPStream {
        if url == TestRelay.url { return try await relay.connect(to: url) }
        tried.withLock { _ = $0.insert(url) }
        throw .closed
    }
}
