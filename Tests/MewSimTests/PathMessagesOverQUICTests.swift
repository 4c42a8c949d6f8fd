import MewBase
import MewIdentity
import MewLoop
import MewPath
import MewQUIC
import MewSim
import MewSimQUIC
import Testing

/// A wire that keeps what passes it, both ways; the test may send more.
///
/// `@unchecked Sendable`: a simulated world runs on one thread.
private final class Wire: DatagramCarrier, @unchecked Sendable {
    var onReceive: ((UnsafeRawBufferPointer, Int, UInt64) -> Void)?
    var onReturn: (() -> Void)?
    var onRoom: (() -> Void)?
    var onAbsent: ((UInt64) -> Void)?
    weak var other: Wire?
    let node: SimNode
    var isDown = false
    /// What is taken off the wire, as a peer of an older version takes no notice of it.
    var drops: ([UInt8]) -> Bool = { _ in false }
    private(set) var sent: [[UInt8]] = []

    init(_ node: SimNode) {
        self.node = node
    }

    /// Those that begin like STUN.
    var messages: [[UInt8]] { sent.filter { ($0.first ?? .max) < 4 } }

    func hasRoom(for peer: UInt64) -> Bool { true }

    func send(_ packet: UnsafeRawBufferPointer, to peer: UInt64) {
        let bytes = Array(packet)
        sent.append(bytes)
        if !isDown, !drops(bytes) { other?.arrives(bytes) }
    }

    func arrives(_ bytes: [UInt8]) {
        node.world.plan(at: node.world.now.advanced(by: .milliseconds(20))) { [self] in
            node.loop.enter { bytes.withUnsafeBytes { self.onReceive?($0, $0.count, 7) } }
        }
    }
}

@Suite("Path messages beside QUIC")
struct PathMessagesOverQUICTests {
    private struct Stage {
        let world: SimWorld
        let server: QUICNode
        let client: QUICNode
        let there: Wire
        let here: Wire
        /// The way to the server by the wire.
        let route: Route
        let connection: Connection

        func serverCounters() throws -> EndpointCounters {
            try world.run(on: server.node) { [endpoint = server.endpoint] in await endpoint.gauges.counters }
        }

        /// What the wire carries to the server from now on.
        func deliver(_ bytes: [UInt8]) throws {
            there.arrives(bytes)
            try world.run(for: .milliseconds(100))
        }
    }

    /// - Parameters:
    ///   - authorizes: the server lets the client in.
    ///   - protocols: those whose speakers know path messages.
    private func withStage(
        seed: UInt64 = 1, authorizes: Bool = true, protocols: Set<String> = ["test/1"], direct: Bool = true,
        _ body: (Stage) throws -> Void
    ) throws {
        try withSimWorld(seed: seed) { world in
            let server = try QUICNode(world, "server", key: 1) { $0.pathMessageProtocols = protocols }
            let client = try QUICNode(world, "client", key: 2, accepts: []) { $0.pathMessageProtocols = protocols }
            if authorizes { server.echoAll() } else { Self.keepStrangers(server) }
            let (here, there) = (Wire(client.node), Wire(server.node))
            (here.other, there.other) = (there, here)
            let carrier = try world.run(on: client.node) { [endpoint = client.endpoint] in await endpoint.attach(here) }
            _ = try world.run(on: server.node) { [endpoint = server.endpoint] in await endpoint.attach(there) }
            let route = Route.carried(carrier, peer: 7)
            let (endpoint, node) = (client.endpoint, server.secret.node)
            let routes = [direct ? .direct(server.address) : route]
            let connection = try world.run(on: client.node) {
                try await endpoint.connect(to: node, routes: routes, protocols: ["test/1"])
            }
            try world.run(for: .seconds(1))
            try body(
                Stage(
                    world: world, server: server, client: client, there: there, here: here, route: route,
                    connection: connection))
        }
    }

    /// Accepts, and lets nobody in.
    private static func keepStrangers(_ server: QUICNode) {
        let (loop, endpoint) = (server.node.loop, server.endpoint)
        loop.spawn {
            while let connection = await endpoint.accept() {
                await connection.keepWaiting()
                loop.spawn { _ = try? await connection.closed() }
            }
        }
    }

    private func announce(_ stage: Stage) throws {
        let (connection, route) = (stage.connection, stage.route)
        try stage.world.run(on: stage.client.node) { await connection.announce(route) }
        try stage.world.run(for: .milliseconds(500))
    }

    /// The listener's next call, as the dialler hears it.
    private func nextCall(_ stage: Stage) throws -> PeerCall? {
        let connection = stage.connection
        return try stage.world.run(on: stage.client.node, limit: .seconds(20)) { await connection.nextCall() }
    }

    private func change(_ stage: Stage, machine: Set<SocketAddress>?) throws {
        let endpoint = stage.server.endpoint
        let presence = Presence(candidates: [SocketAddress(ipv4: 0xc000_0201, port: 9)], machine: machine)
        try stage.world.run(on: stage.server.node) { await endpoint.presenceChanged(presence) }
    }

    @Test("a way that the dialler shows is answered once, and from then on the listener calls by it as well")
    func announced() throws {
        try withStage { stage in
            try announce(stage)
            #expect(stage.here.messages.count == 1)
            #expect(stage.there.messages.count == 1)
            stage.world.changeLinks { $0.isDown = true }
            try change(stage, machine: [])
            let call = try #require(try nextCall(stage))
            #expect(call.route == stage.route)
            #expect(call.isUnheard)
            #expect(call.call.candidates == [SocketAddress(ipv4: 0xc000_0201, port: 9)])
        }
    }

    /// The calls that the dialler hears from now on. `@unchecked Sendable`: a simulated world runs on one thread.
    private final class Calls: @unchecked Sendable {
        var all: [PeerCall] = []
    }

    private func listen(_ stage: Stage) -> Calls {
        let (calls, connection) = (Calls(), stage.connection)
        stage.client.node.loop.spawn { while let call = await connection.nextCall() { calls.all.append(call) } }
        return calls
    }

    @Test("a call that comes by two ways is one call")
    func copies() throws {
        try withStage { stage in
            try announce(stage)
            let calls = listen(stage)
            try change(stage, machine: nil)
            try stage.world.run(for: .seconds(1))
            #expect(calls.all.count == 1)
        }
    }

    @Test("a listener whose address is still there does not say that it hears nothing")
    func news() throws {
        try withStage { stage in
            try change(stage, machine: [stage.server.node.hosts[0]])
            let call = try #require(try nextCall(stage))
            #expect(!call.isUnheard)
            #expect(call.route == .direct(stage.server.address))
            // The dialler has answered: nobody is called again.
            try stage.world.run(for: .seconds(30))
            let calls = try stage.serverCounters().callsSent
            #expect(calls == 1)
        }
    }

    @Test("a call about a path that the dialler has left since is no reason to move")
    func stale() throws {
        try withStage { stage in
            try announce(stage)
            // The call leaves before the dialler's first packet by the wire can come.
            try change(stage, machine: [])
            let (connection, route) = (stage.connection, stage.route)
            try stage.world.run(on: stage.client.node) { try await connection.migrateImmediately(to: route) }
            let call = try #require(try nextCall(stage))
            #expect(call.call.unheard != nil)
            #expect(!call.isUnheard)
        }
    }

    @Test("a listener that has something under way and hears nothing calls, and again until it hears something")
    func silence() throws {
        try withStage { stage in
            try announce(stage)
            let (connection, server) = (stage.connection, stage.server)
            try stage.world.run(on: stage.client.node) {
                let stream = try await connection.openStream()
                try await stream.write([1])
                _ = try await stream.read()
                // The echo of these is on its way when the wire is cut.
                try await stream.write([UInt8](repeating: 2, count: 50_000))
            }
            stage.world.plan(at: stage.world.now.advanced(by: .milliseconds(12))) {
                stage.world.changeLinks { $0.isDown = true }
            }
            let began = stage.world.now
            let call = try #require(try nextCall(stage))
            #expect(call.isUnheard)
            #expect(began.duration(to: stage.world.now) <= .milliseconds(1_500))
            try stage.world.run(for: .seconds(6))
            let calls = try stage.serverCounters().callsSent
            #expect((3...6).contains(calls))
            let route = stage.route
            try stage.world.run(on: stage.client.node) { try await connection.migrateImmediately(to: route) }
            try stage.world.run(for: .seconds(1))
            let after = try stage.serverCounters().callsSent
            try stage.world.run(for: .seconds(5))
            let last = try stage.serverCounters().callsSent
            #expect(last == after)
            _ = server
        }
    }

    @Test(
        "a carrier that is back makes the listener call those that it carries, and nobody else",
        arguments: [true, false])
    func carrierReturns(_ direct: Bool) throws {
        try withStage(direct: direct) { stage in
            let before = try stage.serverCounters().callsSent
            let there = stage.there
            try stage.world.run(on: stage.server.node) { there.onReturn?() }
            try stage.world.run(for: .milliseconds(100))
            let calls = try stage.serverCounters().callsSent - before
            #expect(calls == (direct ? 0 : 1))
            guard !direct else { return }
            let call = try #require(try nextCall(stage))
            #expect(call.isUnheard)
        }
    }

    // MARK: - Offers

    private func offer(_ candidates: [SocketAddress], _ stage: Stage) throws {
        let (connection, route) = (stage.connection, stage.route)
        try stage.world.run(on: stage.client.node) {
            await connection.offer(Offer(candidates: candidates), by: route)
        }
    }

    /// Datagrams of the listener to these from now on.
    private func watch(_ stage: Stage, _ targets: [SocketAddress]) -> Shared<[Int]> {
        let (sizes, source) = (Shared<[Int]>([]), stage.server.address.with(port: 0))
        stage.world.watch { entry, bytes in
            if entry.from.with(port: 0) == source, targets.contains(entry.to) { sizes.value.append(bytes.count) }
        }
        return sizes
    }

    @Test("an offer is answered by a call, and the dialler is asked where it says it is, until it answers")
    func offered() throws {
        try withStage { stage in
            let own = stage.client.address
            let sizes = watch(stage, [own])
            try offer([own], stage)
            let call = try #require(try nextCall(stage))
            #expect(!call.isUnheard)
            #expect(call.route == stage.route)
            try stage.world.run(for: .seconds(5))
            #expect(sizes.value.count { $0 == 88 } == 1)
        }
    }

    @Test(
        "an offer that names sixteen strangers costs each five packets of 88 bytes, and nothing large; ten of them a second no more than 16 a second"
    )
    func strangersOffered() throws {
        try withStage { stage in
            let strangers = (1...16).map { SocketAddress(ipv4: 0xc633_6400 + $0, port: 443) }
            let sizes = watch(stage, strangers)
            try offer(strangers, stage)
            try stage.world.run(for: .seconds(10))
            #expect(sizes.value.count <= 5 * 16)
            // 32 at once, and 16 a second until the last round 1.7 s later.
            #expect(sizes.value.count <= 32 + 28)
            #expect(sizes.value.count >= 32)
            #expect(sizes.value.allSatisfy { $0 == 88 })
            sizes.value = []
            for _ in 0..<50 {
                try offer(strangers, stage)
                try stage.world.run(for: .milliseconds(100))
            }
            try stage.world.run(for: .seconds(5))
            #expect(sizes.value.count <= 32 + 16 * 7)
            #expect(sizes.value.allSatisfy { $0 == 88 })
        }
    }

    @Test("a peer that knows no offers takes no harm from them")
    func oldPeer() throws {
        try withStage { stage in
            stage.here.drops = { $0.starts(with: [0x02, 0x8b]) }
            let sizes = watch(stage, [stage.client.address])
            for _ in 0..<3 { try offer([stage.client.address], stage) }
            try announce(stage)
            #expect(stage.there.messages.count == 1)
            try change(stage, machine: nil)
            let call = try #require(try nextCall(stage))
            #expect(!call.isUnheard)
            #expect(sizes.value.allSatisfy { $0 != 88 })
        }
    }

    @Test("an offer that comes back to its sender is nothing to it")
    func offeredBackwards() throws {
        try withStage { stage in
            try offer([stage.client.address], stage)
            try stage.world.run(for: .seconds(1))
            let offer = try #require(stage.here.messages.first { $0.starts(with: [0x02, 0x8b]) })
            let before = stage.here.messages.count
            stage.here.arrives(offer)
            try stage.world.run(for: .seconds(1))
            #expect(stage.here.messages.count == before)
        }
    }

    // MARK: - Strangers

    @Test("a message with a byte changed, a repeated one, and one for nobody get no answer")
    func forged() throws {
        try withStage { stage in
            try announce(stage)
            let probe = try #require(stage.here.messages.first)
            let answers = stage.there.messages.count
            let before = try stage.serverCounters()
            try stage.deliver(probe)
            for index in [9, 30, 40, 60, probe.count - 1] {
                var changed = probe
                changed[index] ^= 1
                try stage.deliver(changed)
            }
            try stage.deliver([0, 1, 0, 0, 0x21, 0x12, 0xa4, 0x42] + [UInt8](repeating: 0, count: 12))
            #expect(stage.there.messages.count == answers)
            let after = try stage.serverCounters()
            #expect(after.pathMessagesHeard == before.pathMessagesHeard)
            // One of the changed bytes belongs to the tag: that message is nobody's.
            #expect(after.pathMessagesIgnored == before.pathMessagesIgnored + 5)
            #expect(after.noise == before.noise + 2)
        }
    }

    @Test("a peer that is not authorized is told nothing")
    func stranger() throws {
        try withStage(authorizes: false) { stage in
            try announce(stage)
            #expect(stage.here.messages.count >= 2)
            #expect(stage.there.messages.isEmpty)
            try change(stage, machine: [])
            let calls = try stage.serverCounters().callsSent
            #expect(calls == 0)
        }
    }

    @Test("who speaks another protocol is sent none")
    func foreign() throws {
        try withStage(protocols: []) { stage in
            try announce(stage)
            try change(stage, machine: [])
            #expect(stage.here.messages.isEmpty)
            #expect(stage.there.messages.isEmpty)
            let calls = try stage.serverCounters().callsSent
            #expect(calls == 0)
        }
    }

    @Test("random bytes that begin like path messages are dropped without an answer, and the connection goes on")
    func noise() throws {
        try withStage { stage in
            try announce(stage)
            let probe = try #require(stage.here.messages.first)
            let answers = stage.there.messages.count
            var random = SeededGenerator(seed: 5)
            for _ in 0..<2_000 {
                var bytes = Array(probe.prefix(32 + Int(random.below(64))))
                for index in 32..<bytes.count { bytes[index] = UInt8(truncatingIfNeeded: random.next()) }
                stage.there.arrives(bytes)
            }
            try stage.world.run(for: .seconds(1))
            #expect(stage.there.messages.count == answers)
            let connection = stage.connection
            try stage.world.run(on: stage.client.node) {
                let stream = try await connection.openStream()
                try await stream.write([1])
                let echo = try await stream.read()
                #expect(echo == [1])
            }
        }
    }
}
