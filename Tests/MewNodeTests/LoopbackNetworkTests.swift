import MewBase
import MewIdentity
import MewTestSupport
import MewWire
import Testing

@Suite("Loopback network")
struct LoopbackNetworkTests {
    let nodes = [1, 2].compactMap { NodeID(bytes: [UInt8](repeating: $0, count: 32)) }

    @Test("a node that listens is reached by node ID, native first, and authorizing is seen")
    func dial() async throws {
        let network = LoopbackNetwork()
        let (client, daemon) = (network.endpoint(nodes[0]), network.endpoint(nodes[1]))
        daemon.listen()
        let link = try await client.dial(DialTarget(node: nodes[1], addresses: []))
        let incoming = try #require(await daemon.acceptLink() as? LoopbackLink)
        #expect(link.peer == nodes[1] && incoming.peer == nodes[0])
        #expect(link.applicationProtocol == .native)
        #expect(!incoming.isAuthorized)
        await incoming.authorize(charging: ByteBudget(maxBytes: 64 << 20))
        #expect(incoming.isAuthorized)
    }

    @Test("one that does not listen is unreachable, and one without a common protocol refuses")
    func refusals() async throws {
        let network = LoopbackNetwork()
        let client = network.endpoint(nodes[0], protocols: [.native])
        let daemon = network.endpoint(nodes[1], protocols: [.stock])
        let target = DialTarget(node: nodes[1], addresses: [])
        await #expect(throws: DialError.self) { try await client.dial(target) }
        daemon.listen()
        await #expect(throws: DialError.refused(.transport("no application protocol in common"))) {
            try await client.dial(target)
        }
        daemon.stopListening()
        #expect(await daemon.acceptLink() == nil)
    }

    @Test("a broken network ends the links of a node on both sides")
    func broken() async throws {
        let network = LoopbackNetwork()
        let (client, daemon) = (network.endpoint(nodes[0]), network.endpoint(nodes[1]))
        daemon.listen()
        let link = try await client.dial(DialTarget(node: nodes[1], addresses: []))
        let incoming = try #require(await daemon.acceptLink())
        daemon.breakLinks()
        #expect(await link.closed() == .idle)
        #expect(await incoming.closed() == .idle)
    }
}
