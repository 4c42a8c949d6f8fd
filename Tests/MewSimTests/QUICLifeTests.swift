import MewBase
import MewIdentity
import MewLoop
import MewQUIC
import MewQUICCore
import MewSim
import MewSimQUIC
import Testing

@Suite("Life of a connection on the simulated network")
struct QUICLifeTests {
    @Test("a stranger is dropped after ten seconds, unless it is authorized or waits for a decision")
    func dropsStrangers() throws {
        try withSimWorld(seed: 7) { world in
            let couple = try Couple(world, authorizes: false)
            let (closure, elapsed) = try couple.end(of: couple.connection, on: couple.client)
            #expect(
                closure
                    == .transport(code: QUICClosure.connectionRefused, byPeer: true, reason: "not authorized in time"))
            #expect(elapsed > .seconds(9) && elapsed < .seconds(11))
        }
        try withSimWorld(seed: 7) { world in
            let couple = try Couple(world, authorizes: false)
            try world.run(on: couple.server.node) { await couple.served.keepWaiting() }
            try world.run(for: .seconds(60))
            let gauges = try world.run(on: couple.server.node) { await couple.server.endpoint.gauges }
            #expect(gauges.strangers == 1)
            try world.run(on: couple.server.node) { await couple.served.authorize() }
            let after = try world.run(on: couple.server.node) { await couple.server.endpoint.gauges }
            #expect(after.strangers == 0)
            #expect(after.connections == 1)
        }
    }

    @Test("strangers that nobody accepts are not kept longer than they last")
    func forgetsUnaccepted() throws {
        try withSimWorld(seed: 16) { world in
            let server = try QUICNode(world, "server", key: 1)
            let client = try QUICNode(world, "client", key: 2, accepts: [])
            let connections = try (0..<5).map { _ in try Couple.dial(world, client, server) }
            try world.run(for: .milliseconds(100))
            let before = try world.run(on: server.node) { await server.endpoint.gauges }
            #expect(before.incoming == 5)
            for connection in connections { _ = try world.run(on: client.node) { try await connection.closed() } }
            let after = try world.run(on: server.node) { await server.endpoint.gauges }
            #expect(after.incoming == 0)
            #expect(after.strangers == 0)
        }
    }

    @Test("a dialler moves between two of its addresses while data flows, and nothing is lost")
    func migrates() throws {
        try withSimWorld(seed: 8) { world in
            let hosts = [SocketAddress("10.1.0.1:0")!, SocketAddress("10.1.0.2:0")!]
            let couple = try Couple(world, clientHosts: hosts)
            world.changeLink(from: hosts[1], to: couple.server.node.hosts[0]) { $0.latency = .milliseconds(3) }
            let read = Shared<Int??>(nil)
            let moves = Shared<[String]>([])
            let (connection, served, address) = (couple.connection, couple.served!, couple.server.address)
            couple.server.node.loop.spawn {
                guard let stream = await served.acceptStream() else { return }
                read.value = .some(try? await Exchange.read(stream, salt: 4))
            }
            couple.client.node.loop.spawn {
                guard let stream = try? await connection.openStream() else { return }
                try? await Exchange.write(20 << 20, salt: 4, to: stream)
            }
            couple.client.node.loop.spawn {
                for turn in 0..<6 {
                    try? await LoopClock(couple.client.node.loop).sleep(for: .milliseconds(150))
                    do {
                        let moved = try await connection.migrate(to: .direct(address), from: hosts[(turn + 1) % 2])
                        moves.value.append("\(moved)")
                    } catch {
                        moves.value.append("\(error)")
                    }
                }
            }
            try world.run(until: { read.value != nil && moves.value.count == 6 })
            #expect(read.value == 20 << 20)
            #expect(moves.value == Array(repeating: "true", count: 6))
        }
    }

    @Test("a path that does not answer is not taken, and the connection goes on")
    func keepsPath() throws {
        try withSimWorld(seed: 9) { world in
            let couple = try Couple(world)
            let moved = try world.run(on: couple.client.node) {
                try await couple.connection.migrate(to: .direct(SocketAddress("10.9.9.9:9")!))
            }
            #expect(!moved)
            let address = couple.server.address
            let route = try world.run(on: couple.client.node) { try await couple.connection.status.route }
            #expect(route == .direct(address))
        }
    }

    @Test(
        "a check under way is widened by an address that gets its packets at once, and wins when it answers; others get no more"
    )
    func widenedCheck() throws {
        try withSimWorld(seed: 9) { world in
            let couple = try Couple(world)
            let (connection, address, nobody) = (couple.connection, couple.server.address, SocketAddress("10.9.9.9:9")!)
            let sent = Shared<[SocketAddress: Int]>([:])
            world.watch { entry, _ in if entry.size >= 1_200 { sent.value[entry.to, default: 0] += 1 } }
            let notices = Shared<[PathNotice]>([])
            let path = try world.run(on: couple.client.node) {
                await connection.observePaths { notices.value.append($0) }
                return try await connection.probe([.direct(nobody)])
            }
            try world.run(for: .milliseconds(50))
            #expect(sent.value == [nobody: 2])
            try world.run(on: couple.client.node) { await connection.widen(path, by: [.direct(address)]) }
            let over = PathNotice.probed(path, answeredBy: .direct(address))
            try world.run(until: { notices.value.contains(over) }, limit: .milliseconds(200))
            #expect(sent.value[nobody] == 2)
            // What is over is not widened.
            try world.run(on: couple.client.node) { await connection.widen(path, by: [.direct(nobody)]) }
            try world.run(for: .seconds(5))
            #expect(sent.value[nobody] == 2)
        }
    }

    @Test("a reader that stops reading stops the writer, and memory stays bounded")
    func backPressure() throws {
        try withSimWorld(seed: 10) { world in
            let couple = try Couple(world)
            let written = Shared(0)
            let (connection, served) = (couple.connection, couple.served!)
            let kept = Shared<QUICStream?>(nil)
            couple.client.node.loop.spawn {
                guard let stream = try? await connection.openStream() else { return }
                for _ in 0..<1_000 {
                    guard (try? await stream.write([UInt8](repeating: 1, count: 64 << 10))) != nil else { return }
                    written.value += 64 << 10
                }
            }
            couple.server.node.loop.spawn { kept.value = await served.acceptStream() }
            try world.run(for: .seconds(30))
            let configuration = TransportConfiguration()
            let bound = Int(configuration.streamWindow) + configuration.unsentBytesPerStream
            #expect(written.value <= bound)
            #expect(written.value >= bound - configuration.unsentBytesPerStream / 2 - 64 << 10)
            let stopped = written.value
            try world.run(for: .seconds(60))
            #expect(written.value == stopped)
            let read = try world.run(on: couple.server.node) {
                var total = 0
                while total < 10 << 20, let bytes = try await kept.value!.read() { total += bytes.count }
                return total
            }
            #expect(read >= 10 << 20)
        }
    }

    @Test("every wait ends when its task is cancelled")
    func cancels() throws {
        try withSimWorld(seed: 11) { world in
            let couple = try Couple(world)
            let (connection, endpoint, loop) = (couple.connection, couple.client.endpoint, couple.client.node.loop)
            let stream = try world.run(on: couple.client.node) { try await connection.openStream() }
            let ended = Shared<[String]>([])
            func note(_ name: String, _ body: @escaping @Sendable () async throws -> Void) -> Task<Void, Never> {
                loop.spawn {
                    do {
                        try await body()
                        ended.value.append("\(name) returned")
                    } catch {
                        ended.value.append("\(name): \(error)")
                    }
                }
            }
            let tasks = [
                note("read") { _ = try await stream.read() },
                note("write") { try await stream.write([UInt8](repeating: 1, count: 8 << 20)) },
                note("acceptStream") { _ = await connection.acceptStream() },
                note("datagram") { _ = try await connection.receiveDatagram() },
                note("closed") { _ = try await connection.closed() },
                note("open") {
                    var streams: [QUICStream] = []
                    while true { streams.append(try await connection.openStream()) }
                },
                note("accept") { _ = await endpoint.accept() },
            ]
            try world.run(for: .seconds(5))
            #expect(ended.value == [])
            for task in tasks { task.cancel() }
            try world.run(for: .milliseconds(1))
            #expect(
                ended.value.sorted() == [
                    "accept returned", "acceptStream returned", "closed: cancelled", "datagram: cancelled",
                    "open: cancelled", "read: cancelled", "write: cancelled",
                ])
        }
    }

    @Test("who is established is served before those who want to come in, whoever was heard first")
    func servesEstablishedFirst() throws {
        for seed in UInt64(0)..<10 {
            try withSimWorld(seed: seed) { world in
                let server = try QUICNode(world, "server", key: 1)
                let known = try QUICNode(world, "known", key: 2, accepts: [])
                let stranger = try QUICNode(world, "stranger", key: 3, accepts: [])
                server.echoAll()
                let connection = try Couple.dial(world, known, server)
                let stream = try world.run(on: known.node) { try await connection.openStream() }
                try world.run(for: .seconds(1))
                world.keepTrace()
                let (endpoint, node, address) = (stranger.endpoint, server.secret.node, server.address)
                stranger.node.loop.spawn {
                    _ = try? await endpoint.connect(to: node, addresses: [address], protocols: ["test/1"])
                }
                known.node.loop.spawn { try? await stream.write([1]) }
                // One latency: both packets are there, and the answers have left.
                try world.run(for: .milliseconds(11))
                let answers = world.trace.entries.filter { $0.from == address }
                #expect(Set(answers.map(\.to)) == [known.address, stranger.address], "seed \(seed)")
                #expect(answers.first?.to == known.address, "seed \(seed)")
            }
        }
    }
}
