import MewBase
import MewNode
import MewPath
import MewSim
import MewSimNode
import MewWire
import Testing

/// A listening node behind a box, and two relays.
@Suite("A node asks its relays where they see it")
struct DiscoveryTests {
    private func withNode(
        _ configure: (inout SimRouter.Behaviour) -> Void, _ body: (SimWorld, SimRouter, SimPeer) throws -> Void
    ) throws {
        try withSimWorld(seed: 3, mayAbandonTasks: true) { world in
            let relays = [SimRelay(world, number: 1), SimRelay(world, number: 2)]
            let box = world.addRouter("box", configure)
            let peer = try SimPeer(world, "peer", key: 2, relays: relays.map(\.url), behind: box, surveys: true)
            try world.run(for: .seconds(5))
            try body(world, box, peer)
            peer.stop()
            try world.run(for: .seconds(2))
        }
    }

    private func known(_ world: SimWorld, _ peer: SimPeer) throws -> (report: NATReport, candidates: [SocketAddress]) {
        let node = peer.node
        return try world.run(on: peer.machine) {
            guard let discovery = node.discovery else { return (NATReport(), []) }
            return (await discovery.report, await discovery.report.reflexive)
        }
    }

    @Test("after its start it knows its router, and the address to tell others, that of the socket it listens on")
    func start() throws {
        try withNode({ _ in }) { world, box, peer in
            let (report, candidates) = try known(world, peer)
            #expect(report.ipv4.mapping == .endpointIndependent && report.ipv4.filtering == .dependsOnPort)
            #expect(candidates == [box.address.with(port: SimPeer.port)])
        }
    }

    @Test("an address that each peer would see differently is told to nobody")
    func strict() throws {
        try withNode({ $0.mapping = .addressAndPortDependent }) { world, _, peer in
            let (report, candidates) = try known(world, peer)
            #expect(report.ipv4.mapping == .dependsOnPort && !report.ipv4.reflexive.isEmpty)
            #expect(candidates.isEmpty)
        }
    }

    @Test("where no UDP passes and TCP reaches a relay, that is known three seconds after the start")
    func blocked() throws {
        try withNode({ $0.passesUDP = false }) { world, _, peer in
            let (report, candidates) = try known(world, peer)
            #expect(report.ipv4.udp == .blocked && report.ipv6.udp == .unknown && candidates.isEmpty)
        }
    }

    @Test("a node that listens nowhere asks the relays of the peer that it dials, from the beginning of the dial on")
    func dialler() throws {
        try withSimWorld(seed: 4, mayAbandonTasks: true) { world in
            let relay = SimRelay(world, number: 1)
            let box = world.addRouter("box")
            let peer = try SimPeer(world, "peer", key: 1, behind: box, surveys: true)
            #expect(try known(world, peer).candidates.isEmpty)
            let node = peer.node
            let nobody = try SimPeer(world, "nobody", key: 2).node.node
            let target = DialTarget(node: nobody, addresses: [], relays: [relay.url.description])
            peer.machine.loop.spawn { _ = try? await node.dial(target) }
            try world.run(for: .seconds(1))
            #expect(try known(world, peer).candidates == [box.address.with(port: SimPeer.port)])
            peer.stop()
            try world.run(for: .seconds(12))
        }
    }

    @Test("a change of the network is surveyed at once; what was asked a moment ago is not asked again")
    func changes() throws {
        try withNode({ _ in }) { world, box, peer in
            box.change(address: SocketAddress(ipv4: 0x0a03_0001, port: 0))
            peer.networkChanged()
            try world.run(for: .seconds(1))
            #expect(try known(world, peer).candidates == [SocketAddress(ipv4: 0x0a03_0001, port: SimPeer.port)])
            // Its last question is answered.
            try world.run(for: .seconds(4))
            box.change(address: SocketAddress(ipv4: 0x0a03_0002, port: 0))
            let node = peer.node
            try world.run(on: peer.machine) { _ = await node.discovery?.refresh() }
            try world.run(for: .seconds(1))
            #expect(try known(world, peer).candidates == [SocketAddress(ipv4: 0x0a03_0001, port: SimPeer.port)])
            try world.run(for: .seconds(20))
            try world.run(on: peer.machine) { _ = await node.discovery?.refresh() }
            try world.run(for: .seconds(1))
            #expect(try known(world, peer).candidates == [SocketAddress(ipv4: 0x0a03_0002, port: SimPeer.port)])
        }
    }
}
