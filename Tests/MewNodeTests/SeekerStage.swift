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

/// Every channel of every link gets its messages back. A dial may leave a link without any.
func echoAll(_ node: Node, _ loop: any Loop, moved: (@Sendable (LinkMove) -> Void)? = nil) async {
    while let link = await node.acceptLink() {
        loop.spawn {
            await link.authorize(charging: ByteBudget(maxBytes: 64 << 20))
            if let moved { await link.observeMoves(moved) }
            while let channel = await link.acceptChannel() {
                while let message = try? await channel.receive() { try? await channel.send(message) }
                await channel.finish()
            }
        }
    }
}

/// One node that listens at relays, and one that knows little of it and seeks it, on the simulated network. The relays are beside
/// the network.
struct SeekerStage {
    let world: SimWorld
    let relays: TestRelays
    let far: Node
    let near: Node
    let farMachine: SimNode
    let nearMachine: SimNode

    struct Plan {
        /// That there are.
        let relays: [RelayURL]
        /// At which the far node listens, nearest first.
        let homes: [RelayURL]
        /// Of which the near node knows.
        let known: [RelayURL]
        /// What the near node speaks.
        var offers = [ApplicationProtocol.native]
        /// The far node publishes where it is.
        var publishes = false
        /// What passes before the body begins.
        var settling: Duration = .seconds(1)
    }

    static func with(_ plan: Plan, _ body: (SeekerStage) throws -> Void) throws {
        try withSimWorld(seed: 1) { world in
            world.changeLinks { $0.latency = .milliseconds(10) }
            let relays = TestRelays(plan.relays)
            let (farMachine, nearMachine) = (world.addNode("far"), world.addNode("near"))
            let far = try start(farMachine, world, relays, farSecret) {
                $0.relays = plan.homes
                guard plan.publishes else { return }
                let numbers = Numbers()
                $0.nextRecordTimestamp = { numbers.next() }
            }
            let near = try start(nearMachine, world, relays, secret(1)) {
                ($0.knownRelays, $0.offers) = (plan.known, plan.offers)
            }
            farMachine.loop.spawn { [loop = Lent(farMachine.loop)] in await echoAll(far, loop.value) }
            try world.run(for: plan.settling)
            try body(
                SeekerStage(
                    world: world, relays: relays, far: far, near: near, farMachine: farMachine,
                    nearMachine: nearMachine))
            try world.run(on: nearMachine) { await near.stop() }
            try world.run(on: farMachine) { await far.stop() }
        }
    }

    private static func start(
        _ machine: SimNode, _ world: SimWorld, _ relays: TestRelays, _ secret: SecretKey,
        _ change: (inout Node.Configuration) -> Void
    ) throws -> Node {
        var configuration = Node.Configuration(
            secret: secret, addresses: [SocketAddress.anyIPv4.with(port: 4_000)], offers: [.native])
        change(&configuration)
        let ready = configuration
        return try world.run(on: machine) { [machine = Lent(machine)] in
            try await Node.start(
                ready, network: machine.value.network, relays: relays, loop: machine.value.loop,
                entropy: machine.value.entropy)
        }
    }

    static var farSecret: SecretKey { get throws { try secret(2) } }

    private static func secret(_ seed: UInt8) throws -> SecretKey {
        try #require(SecretKey(seed: [UInt8](repeating: seed, count: 32)))
    }

    /// Dials the far node by its ID, and by these relays if there are any.
    func dial(by urls: [RelayURL] = []) throws -> Result<LinkPath, DialError> {
        let (near, target) = (near, DialTarget(node: far.node, addresses: [], relays: urls.map(\.description)))
        return try world.run(on: nearMachine, limit: .seconds(30)) {
            do throws(DialError) {
                return .success(await (try near.dial(target)).status().path)
            } catch {
                return .failure(error)
            }
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
}
