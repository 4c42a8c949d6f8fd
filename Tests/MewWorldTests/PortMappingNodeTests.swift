import MewBase
import MewLoop
import MewMapping
import MewNode
import MewSim
import MewSimNode
import Testing

/// A router that opens what it is asked for, and closes it again.
///
/// `@unchecked Sendable`: a simulated world runs on one thread.
private final class OpenRouter: Routers, @unchecked Sendable {
    let outside: SocketAddress
    private(set) var open: [UInt16] = []

    init(_ outside: SocketAddress) { self.outside = outside }

    func open(port: UInt16, external: UInt16) async -> Answer {
        open.append(external)
        return .success(
            Mapping(.natPMP, external: outside.with(port: external), lifetime: .seconds(7200), router: .gateway))
    }

    func prolong(_ mapping: Mapping, port: UInt16) async -> Answer { .success(mapping) }

    func release(_ mapping: Mapping, port: UInt16) async { open.removeAll { $0 == mapping.external.port } }
}

@Suite("A node that has its port opened")
struct PortMappingNodeTests {
    private static let outside = SocketAddress("198.51.100.7:0")!  // a literal that is one

    @Test("asks when it listens at relays, tells what it was given, and gives it back when it stops")
    func life() throws {
        try withSimWorld(seed: 5, mayAbandonTasks: true) { world in
            let relay = SimRelay(world, number: 1)
            let router = OpenRouter(Self.outside)
            let peer = try SimPeer(world, "peer", key: 2, relays: [relay.url], routers: router)
            try world.run(for: .seconds(2))
            let node = peer.node
            let mapped = try world.run(on: peer.machine) { await node.portMapping() }
            #expect(router.open == [SimPeer.port])
            guard case .open(let mapping)? = mapped else {
                Issue.record("nothing is open: \(String(describing: mapped))")
                return
            }
            #expect(mapping.external == Self.outside.with(port: SimPeer.port))
            peer.stop()
            try world.run(for: .seconds(3))
            #expect(router.open.isEmpty)
        }
    }

    @Test("a node that only dials asks no router")
    func dialler() throws {
        try withSimWorld(seed: 5, mayAbandonTasks: true) { world in
            let router = OpenRouter(Self.outside)
            let peer = try SimPeer(world, "peer", key: 2, routers: router)
            try world.run(for: .seconds(2))
            #expect(router.open.isEmpty)
            peer.stop()
            try world.run(for: .seconds(3))
        }
    }
}
