import MewBase
import MewIdentity
import MewLoop
import MewQUIC
import MewQUICCore
import MewSim
import MewSimQUIC
import Testing

/// A relay's leg in one object: a queue of 64 packets that a slow wire empties, one packet each 100 µs.
///
/// `@unchecked Sendable`: a simulated world runs on one thread.
private final class NarrowCarrier: DatagramCarrier, @unchecked Sendable {
    var onReceive: ((UnsafeRawBufferPointer, Int, UInt64) -> Void)?
    var onReturn: (() -> Void)?
    var onRoom: (() -> Void)?
    var onAbsent: ((UInt64) -> Void)?
    weak var other: NarrowCarrier?
    let node: SimNode
    var tellsWhetherItHasRoom = true
    var tellsWhenItHasRoom = true
    var isStuck = false
    private var waiting: [[UInt8]] = []
    private var isSending = false
    private(set) var dropped = 0
    private(set) var largest = 0

    init(_ node: SimNode) {
        self.node = node
    }

    func hasRoom(for peer: UInt64) -> Bool { !tellsWhetherItHasRoom || waiting.count <= 20 }

    func send(_ packet: UnsafeRawBufferPointer, to peer: UInt64) {
        guard waiting.count < 64 else { return dropped += 1 }
        waiting.append(Array(packet))
        largest = max(largest, waiting.count)
        if !isSending { sendNext() }
    }

    private func sendNext() {
        isSending = !waiting.isEmpty
        guard isSending else { return }
        node.world.plan(at: node.world.now.advanced(by: .microseconds(100))) { [self] in
            guard !isStuck else { return sendNext() }
            other?.arrives(waiting.removeFirst())
            if tellsWhenItHasRoom { node.loop.enter { self.onRoom?() } }
            sendNext()
        }
    }

    private func arrives(_ packet: [UInt8]) {
        node.loop.enter { packet.withUnsafeBytes { onReceive?($0, $0.count, 7) } }
    }
}

@Suite("A carrier that is full")
struct CarrierRoomTests {
    private struct Pair {
        let server: QUICNode
        let client: QUICNode
        let here: NarrowCarrier
        private let there: NarrowCarrier
        let route: Route

        init(_ world: SimWorld) throws {
            server = try QUICNode(world, "server", key: 1)
            client = try QUICNode(world, "client", key: 2, accepts: [])
            server.echoAll()
            (here, there) = (NarrowCarrier(client.node), NarrowCarrier(server.node))
            (here.other, there.other) = (there, here)
            let (endpoint, listener) = (client.endpoint, server.endpoint)
            route = .carried(try world.run(on: client.node) { [here] in await endpoint.attach(here) }, peer: 7)
            _ = try world.run(on: server.node) { [there] in await listener.attach(there) }
        }

        func connect(_ world: SimWorld) throws -> Connection {
            try world.run(on: client.node) { [endpoint = client.endpoint, node = server.secret.node, route] in
                try await endpoint.connect(to: node, routes: [route], protocols: ["test/1"])
            }
        }

        /// Sends bytes to the server and reads them all back.
        func echo(_ byteCount: Int, by connection: Connection, _ world: SimWorld) throws {
            let back = try world.run(on: client.node) { [loop = client.node.loop] in
                let stream = try await connection.openStream()
                let writer = loop.spawn {
                    try? await stream.write([UInt8](repeating: 5, count: byteCount))
                    await stream.finish()
                }
                var count = 0
                while let bytes = try await stream.read() { count += bytes.count }
                await writer.value
                return count
            }
            #expect(back == byteCount)
        }
    }

    @Test("who is told that there is no room waits: nothing is dropped, and nothing lost")
    func nothingDropped() throws {
        try withSimWorld(seed: 1) { world in
            let pair = try Pair(world)
            let connection = try pair.connect(world)
            try pair.echo(4_000_000, by: connection, world)
            let status = try world.run(on: pair.client.node) { try await connection.status }
            #expect(pair.here.dropped == 0)
            #expect(pair.here.largest > 44)
            #expect(status.statistics.lostStreamPackets == 0)
        }
    }

    @Test("the same carrier without a word drops: the one above would show it")
    func withoutAWord() throws {
        try withSimWorld(seed: 1) { world in
            let pair = try Pair(world)
            pair.here.tellsWhetherItHasRoom = false
            let connection = try pair.connect(world)
            try pair.echo(4_000_000, by: connection, world)
            #expect(pair.here.dropped > 0)
        }
    }

    @Test("who is never told that there is room again looks itself")
    func neverTold() throws {
        try withSimWorld(seed: 2) { world in
            let pair = try Pair(world)
            pair.here.tellsWhenItHasRoom = false
            let connection = try pair.connect(world)
            try pair.echo(1_000_000, by: connection, world)
            #expect(pair.here.dropped == 0)
        }
    }

    @Test("while a carrier is stuck the connection stays calm, ends when it should, and says so once")
    func stuck() throws {
        try withSimWorld(seed: 3) { world in
            let pair = try Pair(world)
            let connection = try pair.connect(world)
            try pair.echo(10_000, by: connection, world)
            pair.here.isStuck = true
            pair.client.node.loop.spawn {
                guard let stream = try? await connection.openStream() else { return }
                try? await stream.write([UInt8](repeating: 5, count: 1_000_000))
            }
            try world.run(for: .seconds(5))
            #expect(pair.here.dropped == 0)
            try world.run(on: pair.client.node) { await connection.close(code: 3, reason: "enough") }
            try world.run(for: .milliseconds(1))
            let isClosed = try world.run(on: pair.client.node) { await !connection.isOpen }
            #expect(isClosed)
        }
    }
}
