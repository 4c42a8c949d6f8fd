import MewBase
import MewIdentity
import MewQUIC
import MewQUICCore
import MewSim
import MewSimQUIC

/// A server and a client with one connection between them.
///
/// `@unchecked Sendable`: a simulated world runs on one thread.
final class Couple: @unchecked Sendable {
    let world: SimWorld
    let server: QUICNode
    let client: QUICNode
    let connection: Connection
    private(set) var served: Connection!

    init(_ world: SimWorld, clientHosts: [SocketAddress] = [], authorizes: Bool = true) throws {
        self.world = world
        server = try QUICNode(world, "server", key: 1)
        client = try QUICNode(world, "client", key: 2, hosts: clientHosts, accepts: [])
        let accepted = Shared<Connection?>(nil)
        let listener = server.endpoint
        server.node.loop.spawn {
            accepted.value = await listener.accept()
            if authorizes { await accepted.value?.authorize() }
        }
        connection = try Couple.dial(world, client, server)
        try world.run(until: { accepted.value != nil })
        try world.run(for: .milliseconds(100))
        served = accepted.value
    }

    static func dial(_ world: SimWorld, _ client: QUICNode, _ server: QUICNode) throws -> Connection {
        let (endpoint, node, address) = (client.endpoint, server.secret.node, server.address)
        return try world.run(on: client.node) {
            try await endpoint.connect(to: node, addresses: [address], protocols: ["test/1"])
        }
    }

    /// Waits for the end of one side and says how it came and how long it took.
    func end(of connection: Connection, on node: QUICNode) throws -> (QUICClosure, Duration) {
        let start = world.now
        let closure = try world.run(on: node.node) { try await connection.closed() }
        return (closure, start.duration(to: world.now))
    }
}
