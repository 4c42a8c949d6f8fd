import MewBase
import MewIdentity
import MewLoop
import MewQUIC
import MewQUICCore
import MewSim
import MewSimQUIC
import Testing

/// A relay in one object: gives every packet to the other half after a while.
///
/// `@unchecked Sendable`: a simulated world runs on one thread.
private final class Pipe: DatagramCarrier, @unchecked Sendable {
    var onReceive: ((UnsafeRawBufferPointer, Int, UInt64) -> Void)?
    var onReturn: (() -> Void)?
    var onRoom: (() -> Void)?
    var onAbsent: ((UInt64) -> Void)?
    weak var other: Pipe?
    let node: SimNode
    /// How this half names the other one's owner.
    static let peerNumber: UInt64 = 77
    /// What relays take (DESIGN §7).
    static let maxPacketBytes = 1_200
    private(set) var largest = 0

    init(_ node: SimNode) {
        self.node = node
    }

    func hasRoom(for peer: UInt64) -> Bool { true }

    func send(_ packet: UnsafeRawBufferPointer, to peer: UInt64) {
        guard peer == Self.peerNumber, packet.count <= Self.maxPacketBytes else { return }
        largest = max(largest, packet.count)
        let (bytes, other) = (Array(packet), other)
        let arrival = node.world.now.advanced(by: .milliseconds(40))
        node.world.plan(at: arrival) {
            other?.node.loop.enter { bytes.withUnsafeBytes { other?.onReceive?($0, $0.count, Self.peerNumber) } }
        }
    }
}

@Suite("Carriers: the seam of the relay")
struct QUICCarrierTests {
    /// An echoing server, a client, and a carrier between them.
    private struct Pair {
        let server: QUICNode
        let client: QUICNode
        let here: Pipe
        private let there: Pipe
        /// The way from the client to the server through the carrier.
        let carried: Route

        init(_ world: SimWorld, _ configure: (inout EndpointConfiguration) -> Void = { _ in }) throws {
            server = try QUICNode(world, "server", key: 1, configure)
            client = try QUICNode(world, "client", key: 2, accepts: [])
            server.echoAll()
            (here, there) = (Pipe(client.node), Pipe(server.node))
            (here.other, there.other) = (there, here)
            carried = .carried(try Self.attach(world, here, to: client), peer: Pipe.peerNumber)
            _ = try Self.attach(world, there, to: server)
        }

        private static func attach(_ world: SimWorld, _ pipe: Pipe, to node: QUICNode) throws -> CarrierID {
            let endpoint = node.endpoint
            return try world.run(on: node.node) { await endpoint.attach(pipe) }
        }
    }

    @Test("a connection starts over a carrier, moves to the direct path and back, and loses nothing")
    func movesBetweenCarrierAndSocket() throws {
        try withSimWorld(seed: 1) { world in
            let pair = try Pair(world)
            let (endpoint, node, address) = (pair.client.endpoint, pair.server.secret.node, pair.server.address)
            let route = pair.carried
            let routes: [Route?] = try world.run(on: pair.client.node) {
                let connection = try await endpoint.connect(to: node, routes: [route], protocols: ["test/1"])
                let stream = try await connection.openStream()
                var seen = [try await connection.status.route]
                for step in 0..<4 {
                    let bytes = [UInt8](repeating: UInt8(step), count: 50_000)
                    try await stream.write(bytes)
                    var got = 0
                    while got < bytes.count, let more = try await stream.read() { got += more.count }
                    if step == 1 { _ = try await connection.migrate(to: .direct(address)) }
                    if step == 2 { try await connection.migrateImmediately(to: route) }
                    seen.append(try await connection.status.route)
                }
                return seen
            }
            #expect(routes == [route, route, .direct(address), route, route])
            #expect(pair.here.largest > 1_000)
        }
    }

    @Test("a first flight goes to the carrier and the address alike, and the faster one wins")
    func racesCarrierAndSocket() throws {
        try withSimWorld(seed: 2) { world in
            let pair = try Pair(world)
            let (endpoint, node, address) = (pair.client.endpoint, pair.server.secret.node, pair.server.address)
            let routes: [Route] = [pair.carried, .direct(address)]
            let won = try world.run(on: pair.client.node) {
                try await endpoint.connect(to: node, routes: routes, protocols: ["test/1"]).status.route
            }
            #expect(won == .direct(address))
            try world.run(for: .seconds(20))
            let gauges = try world.run(on: pair.server.node) { await pair.server.endpoint.gauges }
            // The late copy of the first flight has made no second connection.
            #expect(gauges.connections == 1)
            #expect(gauges.halfOpen == 0)
        }
    }

    @Test("what comes through a carrier needs no Retry: its sender cannot be forged")
    func noRetryForRelayed() throws {
        try withSimWorld(seed: 3) { world in
            let pair = try Pair(world) { $0.admission.retryFrom = 0 }
            let (endpoint, node, route) = (pair.client.endpoint, pair.server.secret.node, pair.carried)
            _ = try world.run(on: pair.client.node) {
                try await endpoint.connect(to: node, routes: [route], protocols: ["test/1"])
            }
            let gauges = try world.run(on: pair.server.node) { await pair.server.endpoint.gauges }
            #expect(gauges.counters.retriesSent == 0)
        }
    }
}
