import MewBase
import MewIdentity
import MewLoop
import MewQUIC
import MewQUICCore
import MewSim
import MewSimQUIC
import Testing

@Suite("End of a connection on the simulated network")
struct QUICEndTests {
    @Test("a close reaches the peer with its code and sentence, and both ends forget the connection")
    func closes() throws {
        try withSimWorld(seed: 1) { world in
            let couple = try Couple(world)
            try world.run(on: couple.server.node) { await couple.served.close(code: 2, reason: "revoked") }
            let (closure, elapsed) = try couple.end(of: couple.connection, on: couple.client)
            #expect(closure == .peer(code: 2, reason: "revoked"))
            #expect(elapsed < .milliseconds(50))
            for node in [couple.client, couple.server] {
                let gauges = try world.run(on: node.node) { await node.endpoint.gauges }
                #expect(gauges.connections == 0)
                #expect(gauges.connectionIDs == 0)
                #expect(gauges.resetTokens == 0)
            }
        }
    }

    @Test("who was told the end says nothing more, not even to packets that come twice")
    func drains() throws {
        try withSimWorld(seed: 15) { world in
            let couple = try Couple(world)
            world.changeLinks {
                $0.duplicates = 1
                $0.jitter = .milliseconds(5)
            }
            world.keepTrace()
            try world.run(on: couple.client.node) { await couple.connection.close(code: 2, reason: "bye") }
            let (closure, _) = try couple.end(of: couple.served, on: couple.server)
            #expect(closure == .peer(code: 2, reason: "bye"))
            try world.run(for: .seconds(60))
            #expect(world.trace.entries.map(\.from) == [couple.client.address])
            let gauges = try world.run(on: couple.server.node) { await couple.server.endpoint.gauges }
            #expect(gauges.counters.late == 1)
            #expect(gauges.counters.resetsSent == 0)
        }
    }

    @Test("a close that got lost is repeated when the peer still talks")
    func repeatsClose() throws {
        try withSimWorld(seed: 2) { world in
            let couple = try Couple(world)
            world.changeLinks { $0.isDown = true }
            try world.run(on: couple.server.node) { await couple.served.close(code: 5, reason: "bye") }
            try world.run(for: .seconds(1))
            world.changeLinks { $0.isDown = false }
            try world.run(on: couple.client.node) {
                let stream = try await couple.connection.openStream()
                try await stream.write([1])
            }
            let (closure, elapsed) = try couple.end(of: couple.connection, on: couple.client)
            #expect(closure == .peer(code: 5, reason: "bye"))
            #expect(elapsed < .milliseconds(100))
        }
    }

    @Test("a peer that is killed and restarted resets the connections of its former life at once")
    func resetsAfterRestart() throws {
        try withSimWorld(seed: 3) { world in
            let couple = try Couple(world)
            couple.server.node.kill()
            try world.run(for: .seconds(1))
            let again = try QUICNode(world, "server", key: 1, hosts: couple.server.node.hosts)
            try world.run(on: couple.client.node) {
                let stream = try await couple.connection.openStream()
                try await stream.write([1])
            }
            let (closure, elapsed) = try couple.end(of: couple.connection, on: couple.client)
            #expect(closure == .reset)
            #expect(elapsed < .seconds(1))
            let gauges = try world.run(on: again.node) { await again.endpoint.gauges }
            #expect(gauges.counters.resetsSent >= 1)
        }
    }

    @Test("a listener takes the reset of a dialler that moved once and was restarted")
    func acceptsDiallersReset() throws {
        try withSimWorld(seed: 4) { world in
            let hosts = [SocketAddress("10.1.0.1:0")!, SocketAddress("10.1.0.2:0")!]
            let couple = try Couple(world, clientHosts: hosts)
            let address = couple.server.address
            let moved = try world.run(on: couple.client.node) {
                try await couple.connection.migrate(to: .direct(address), from: hosts[1])
            }
            #expect(moved)
            try world.run(for: .seconds(20))
            couple.client.node.kill()
            _ = try QUICNode(world, "client", key: 2, hosts: hosts, accepts: [])
            try world.run(on: couple.server.node) {
                let stream = try await couple.served.openStream()
                try await stream.write([1])
            }
            let (closure, elapsed) = try couple.end(of: couple.served, on: couple.server)
            #expect(closure == .reset)
            #expect(elapsed < .seconds(1))
        }
    }

    @Test("a forged reset, or a true one from elsewhere, changes nothing")
    func ignoresForgedResets() throws {
        try withSimWorld(seed: 5) { world in
            let couple = try Couple(world)
            let attacker = world.addNode("attacker")
            let socket = try attacker.loop.enter {
                try attacker.network.bind(attacker.address(port: 1), on: attacker.loop)
            }
            // The attacker even knows the key of the tokens, but not the address of the path.
            let key = ResetKey(couple.server.secret)
            attacker.loop.enter {
                for number in UInt64(0)..<100 {
                    let packet = key.packet(
                        for: LocalConnectionID(value: number), answering: 60, entropy: attacker.entropy)!
                    socket.reserve(packet.count).copyBytes(from: packet)
                    socket.commit(
                        packet.count, segmentSize: packet.count, to: couple.client.address, from: nil, ecn: 0)
                }
                socket.flush()
            }
            try world.run(for: .seconds(1))
            let gauges = try world.run(on: couple.client.node) { await couple.client.endpoint.gauges }
            #expect(gauges.connections == 1)
            #expect(gauges.counters.resetsAccepted == 0)
        }
    }

    @Test("a frozen peer ends the connection by the idle time-out, on both sides")
    func freezes() throws {
        try withSimWorld(seed: 6) { world in
            let couple = try Couple(world)
            couple.server.node.sleep()
            let (closure, elapsed) = try couple.end(of: couple.connection, on: couple.client)
            #expect(closure == .idle)
            #expect(elapsed > .seconds(29) && elapsed < .seconds(40))
            try world.run(for: .seconds(3_600))
            couple.server.node.resume()
            let (other, late) = try couple.end(of: couple.served, on: couple.server)
            #expect(other == .idle)
            #expect(late < .seconds(1))
        }
    }

    @Test("the end of a connection ends every wait on it with the reason, after what had arrived was read")
    func endsWaits() throws {
        try withSimWorld(seed: 12) { world in
            let couple = try Couple(world)
            let (connection, served) = (couple.connection, couple.served!)
            let heard = Shared<[String]>([])
            let kept = Shared<QUICStream?>(nil)
            couple.server.node.loop.spawn {
                kept.value = await served.acceptStream()
                try? await kept.value?.write(Array("last words".utf8))
            }
            couple.client.node.loop.spawn {
                guard let stream = try? await connection.openStream() else { return }
                try? await stream.write([1])
                _ = try? await connection.closed()
                do {
                    while let bytes = try await stream.read() {
                        heard.value.append(String(decoding: bytes, as: UTF8.self))
                    }
                } catch {
                    heard.value.append("\(error)")
                }
                let refused = try? await connection.openStream()
                heard.value.append(refused == nil ? "no stream" : "a stream")
                heard.value.append(await connection.acceptStream() == nil ? "no more" : "more")
            }
            try world.run(for: .seconds(1))
            try world.run(on: couple.server.node) { await served.close(code: 3, reason: "over") }
            try world.run(until: { heard.value.count == 4 })
            #expect(
                heard.value == [
                    "last words", "closed(MewQUICCore.QUICClosure.peer(code: 3, reason: \"over\"))", "no stream",
                    "no more",
                ])
        }
    }

    @Test("closing an endpoint tells every peer, takes nothing new and ends its waits")
    func closesEndpoint() throws {
        try withSimWorld(seed: 13) { world in
            let couple = try Couple(world)
            let endpoint = couple.server.endpoint
            try world.run(on: couple.server.node) { await endpoint.close(code: 5, reason: "restarting") }
            let (closure, _) = try couple.end(of: couple.connection, on: couple.client)
            #expect(closure == .peer(code: 5, reason: "restarting"))
            #expect(try world.run(on: couple.server.node) { await endpoint.accept() == nil })
            let (client, node, address) = (couple.client.endpoint, couple.server.secret.node, couple.server.address)
            let failure: DialFailure? = try world.run(on: couple.client.node) {
                do throws(DialFailure) {
                    _ = try await client.connect(to: node, addresses: [address], protocols: ["test/1"])
                    return nil
                } catch {
                    return error
                }
            }
            #expect(failure == .unreachable([.init(address: address, outcome: "connection refused")]))
        }
    }

    @Test("connections that were opened and closed leave nothing behind")
    func leaksNothing() throws {
        try withSimWorld(seed: 14) { world in
            let server = try QUICNode(world, "server", key: 1)
            let client = try QUICNode(world, "client", key: 2, accepts: [])
            server.echoAll()
            let (endpoint, node, address) = (client.endpoint, server.secret.node, server.address)
            for _ in 0..<200 {
                try world.run(on: client.node) {
                    let connection = try await endpoint.connect(to: node, addresses: [address], protocols: ["test/1"])
                    let stream = try await connection.openStream()
                    try await stream.write([7, 7])
                    _ = try await stream.read()
                    await connection.close(code: 0, reason: "")
                }
            }
            try world.run(for: .seconds(11))
            for node in [server, client] {
                let gauges = try world.run(on: node.node) { await node.endpoint.gauges }
                #expect(gauges.connections == 0)
                #expect(gauges.halfOpen == 0)
                #expect(gauges.strangers == 0)
                #expect(gauges.connectionIDs == 0)
                #expect(gauges.resetTokens == 0)
            }
        }
    }
}
