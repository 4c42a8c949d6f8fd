import MewBase
import MewIdentity
import MewLoop
import MewQUIC
import MewQUICCore
import MewSim
import MewSimQUIC
import Testing

@Suite("Dialling")
struct QUICDialTests {
    private struct Dialled: Sendable {
        let peer: NodeID?
        let failure: DialFailure?
        let elapsed: Duration
        let route: Route?
    }

    /// Dials and says how it went.
    private func dial(
        _ world: SimWorld, _ client: QUICNode, _ target: NodeID, _ addresses: [SocketAddress],
        protocols: [String] = ["test/1"]
    ) throws -> Dialled {
        let endpoint = client.endpoint
        let start = world.now
        let result: Result<(NodeID, Route?), DialFailure> = try world.run(on: client.node) {
            do throws(DialFailure) {
                let connection = try await endpoint.connect(to: target, addresses: addresses, protocols: protocols)
                guard let peer = try? await connection.peer else { return .failure(.cancelled) }
                return .success((peer, try? await connection.status.route))
            } catch {
                return .failure(error)
            }
        }
        let elapsed = start.duration(to: world.now)
        switch result {
        case .success(let (peer, route)): return Dialled(peer: peer, failure: nil, elapsed: elapsed, route: route)
        case .failure(let failure): return Dialled(peer: nil, failure: failure, elapsed: elapsed, route: nil)
        }
    }

    @Test("the first address that answers has the connection, whatever the others do")
    func races() throws {
        try withSimWorld(seed: 1) { world in
            let slow = SocketAddress("10.1.0.1:0")!
            let fast = SocketAddress("10.1.0.2:0")!
            let server = try QUICNode(world, "server", key: 1, hosts: [slow, fast])
            let client = try QUICNode(world, "client", key: 2, accepts: [])
            server.acceptAll { _ in }
            world.changeLink(from: client.node.hosts[0], to: slow) { $0.latency = .milliseconds(80) }
            let port = QUICNode.port
            let dead = SocketAddress("10.9.9.9:4000")!
            let result = try dial(
                world, client, server.secret.node, [dead, slow.with(port: port), fast.with(port: port)])
            #expect(result.peer == server.secret.node)
            #expect(result.route == .direct(fast.with(port: port)))
            #expect(result.elapsed < .milliseconds(60))
            let gauges = try world.run(on: server.node) { await server.endpoint.gauges }
            #expect(gauges.connections == 1)
        }
    }

    @Test("an address where another node answers is struck off, and the right one is found")
    func skipsWrongNode() throws {
        try withSimWorld(seed: 2) { world in
            let impostor = try QUICNode(world, "impostor", key: 3)
            let server = try QUICNode(world, "server", key: 1)
            let client = try QUICNode(world, "client", key: 2, accepts: [])
            world.changeLinks(between: client.node, and: server.node) { $0.latency = .milliseconds(90) }
            let result = try dial(world, client, server.secret.node, [impostor.address, server.address])
            #expect(result.peer == server.secret.node)
            let alone = try dial(world, client, server.secret.node, [impostor.address])
            #expect(alone.failure == .wrongNode(at: .direct(impostor.address), impostor.secret.node))
        }
    }

    @Test("a closed port ends the dial at once, and says so")
    func refusedPort() throws {
        try withSimWorld(seed: 3) { world in
            let server = world.addNode("server")
            let client = try QUICNode(world, "client", key: 2, accepts: [])
            let address = server.address(port: 9)
            let result = try dial(world, client, client.secret.node, [address])
            #expect(result.failure == .unreachable([.init(address: address, outcome: "connection refused")]))
            #expect(result.elapsed < .milliseconds(100))
        }
    }

    @Test("silence is told apart from refusal, address by address, after ten seconds")
    func noAnswer() throws {
        try withSimWorld(seed: 4) { world in
            let server = world.addNode("server")
            let client = try QUICNode(world, "client", key: 2, accepts: [])
            let closed = server.address(port: 9)
            let silent = SocketAddress("10.9.9.9:9")!
            let result = try dial(world, client, client.secret.node, [closed, silent])
            #expect(
                result.failure
                    == .unreachable([
                        .init(address: closed, outcome: "connection refused"),
                        .init(address: silent, outcome: "no answer in 10 s"),
                    ]))
            #expect(result.elapsed >= .seconds(10) && result.elapsed < .seconds(11))
        }
    }

    @Test("without an address, or with one of a family we have no socket for, nothing is tried")
    func noRoute() throws {
        try withSimWorld(seed: 5) { world in
            let client = try QUICNode(world, "client", key: 2, accepts: [])
            #expect(try dial(world, client, client.secret.node, []).failure == .noRoute([]))
            let v6 = SocketAddress("[2001:db8::1]:9")!
            #expect(
                try dial(world, client, client.secret.node, [v6]).failure
                    == .noRoute([.init(address: v6, outcome: "no IPv6 here")]))
        }
    }

    @Test("no protocol in common is a refusal")
    func noProtocol() throws {
        try withSimWorld(seed: 6) { world in
            let server = try QUICNode(world, "server", key: 1)
            let client = try QUICNode(world, "client", key: 2, accepts: [])
            let result = try dial(world, client, server.secret.node, [server.address], protocols: ["other/1"])
            #expect(result.failure == .refused(.noProtocol))
        }
    }

    @Test("a dial that is cancelled ends at once and leaves nothing behind")
    func cancelled() throws {
        try withSimWorld(seed: 7) { world in
            let client = try QUICNode(world, "client", key: 2, accepts: [])
            let (endpoint, target) = (client.endpoint, client.secret.node)
            let outcome = Shared<DialFailure?>(nil)
            let task = client.node.loop.spawn {
                do throws(DialFailure) {
                    _ = try await endpoint.connect(
                        to: target, addresses: [SocketAddress("10.9.9.9:9")!], protocols: ["test/1"])
                } catch {
                    outcome.value = error
                }
            }
            try world.run(for: .milliseconds(500))
            #expect(outcome.value == nil)
            task.cancel()
            try world.run(for: .milliseconds(1))
            #expect(outcome.value == .cancelled)
            let gauges = try world.run(on: client.node) { await endpoint.gauges }
            #expect(gauges.connections == 0)
            #expect(gauges.connectionIDs == 0)
        }
    }

    @Test("from the limit on a stranger must prove its address, and gets in all the same")
    func retry() throws {
        try withSimWorld(seed: 8) { world in
            let server = try QUICNode(world, "server", key: 1) { $0.admission.retryFrom = 0 }
            let client = try QUICNode(world, "client", key: 2, accepts: [])
            server.acceptAll { _ in }
            let result = try dial(world, client, server.secret.node, [server.address])
            #expect(result.peer == server.secret.node)
            let gauges = try world.run(on: server.node) { await server.endpoint.gauges }
            #expect(gauges.counters.retriesSent == 1)
        }
    }

    @Test("whoever forges first flights in a network's name holds nobody of it up: the ninth proves its address")
    func forgedFirstFlights() throws {
        try withSimWorld(seed: 9) { world in
            let server = try QUICNode(world, "server", key: 1)
            server.acceptAll { _ in }
            func client(_ number: Int) throws -> QUICNode {
                try QUICNode(
                    world, "client \(number)", key: UInt8(10 + number),
                    hosts: [SocketAddress(ipv4: 0xc000_0201 + UInt32(number), port: 0)], accepts: [])
            }
            for forger in try (0..<8).map(client) {
                // What goes to a forged sender is never seen by the forger.
                world.changeLink(from: server.node.hosts[0], to: forger.node.hosts[0]) { $0.isDown = true }
                let (endpoint, node, address) = (forger.endpoint, server.secret.node, server.address)
                forger.node.loop.spawn {
                    _ = try? await endpoint.connect(to: node, addresses: [address], protocols: ["test/1"])
                }
            }
            try world.run(for: .milliseconds(200))
            #expect(try world.run(on: server.node) { await server.endpoint.gauges.halfOpen } == 8)
            let result = try dial(world, try client(8), server.secret.node, [server.address])
            #expect(result.peer == server.secret.node)
            #expect(result.elapsed < .milliseconds(100))
            #expect(try world.run(on: server.node) { await server.endpoint.gauges.counters.retriesSent } == 1)
        }
    }

    /// Dials and keeps what went wrong.
    private func failingDial(_ client: QUICNode, _ address: SocketAddress, into failure: Shared<DialFailure?>) {
        let (endpoint, target) = (client.endpoint, client.secret.node)
        client.node.loop.spawn {
            do throws(DialFailure) {
                _ = try await endpoint.connect(to: target, addresses: [address], protocols: ["test/1"])
            } catch {
                failure.value = error
            }
        }
    }

    @Test("a dial that begins in the turn in which another one fails does not get mixed up with it")
    func neighbours() throws {
        try withSimWorld(seed: 10) { world in
            let server = world.addNode("server")
            let client = try QUICNode(world, "client", key: 2, accepts: [])
            let (silent, closed) = (SocketAddress("10.9.9.9:9")!, server.address(port: 9))
            let (first, second) = (Shared<DialFailure?>(nil), Shared<DialFailure?>(nil))
            let loop = client.node.loop
            loop.enter {
                // Due with the time-out of the first dial, and before it because it was set before it.
                _ = loop.schedule(at: world.now.advanced(by: TransportConfiguration().handshakeTimeout)) {
                    failingDial(client, closed, into: second)
                }
            }
            failingDial(client, silent, into: first)
            try world.run(until: { first.value != nil && second.value != nil })
            #expect(first.value == .unreachable([.init(address: silent, outcome: "no answer in 10 s")]))
            #expect(second.value == .unreachable([.init(address: closed, outcome: "connection refused")]))
            #expect(SimWorld.start.duration(to: world.now) < .seconds(11))
        }
    }

    @Test("a dial that is under way when its endpoint is closed says so, and at once")
    func endpointCloses() throws {
        try withSimWorld(seed: 11) { world in
            let client = try QUICNode(world, "client", key: 2, accepts: [])
            let failure = Shared<DialFailure?>(nil)
            failingDial(client, SocketAddress("10.9.9.9:9")!, into: failure)
            try world.run(for: .milliseconds(500))
            let endpoint = client.endpoint
            try world.run(on: client.node) { await endpoint.close(code: 0, reason: "") }
            #expect(failure.value == .endpointClosed)
        }
    }

    @Test("a peer whose key is known takes no stranger's place, and stays restricted until it is authorized")
    func recognized() throws {
        try withSimWorld(seed: 10) { world in
            let server = try QUICNode(world, "server", key: 1) {
                ($0.admission.strangers, $0.admission.provisional) = (1, 0)
            }
            let endpoint = server.endpoint
            server.node.loop.spawn { while let peer = await endpoint.accept() { await peer.recognize() } }
            for number in UInt8(0)..<3 {
                let client = try QUICNode(world, "client \(number)", key: 10 + number, accepts: [])
                #expect(try dial(world, client, server.secret.node, [server.address]).peer == server.secret.node)
                try world.run(for: .seconds(1))
            }
            try world.run(for: .seconds(15))
            let gauges = try world.run(on: server.node) { await endpoint.gauges }
            #expect(gauges.connections == 3)
            #expect(gauges.strangers == 0)
            #expect(gauges.counters.strangersRefused == 0)
        }
    }
}
