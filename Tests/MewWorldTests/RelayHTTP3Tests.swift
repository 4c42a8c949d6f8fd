import MewBase
import MewIdentity
import MewLoop
import MewQUIC
import MewRelay
import MewSim
import MewSimNode
import MewWire
import Testing

/// One relay with both fronts, and a leg of a machine behind a box that may pass no UDP:
///
///     client ── box ── (Internet) ── relay
@Suite("A leg whose network passes UDP now and then")
struct RelayHTTP3Tests {
    /// `@unchecked Sendable`: a simulated world runs on one thread.
    private struct Stage: @unchecked Sendable {
        let world: SimWorld
        let box: SimRouter
        let client: SimNode
        let relay: SimNode
        let server: RelayServer
        let endpoint: Endpoint
        let leg: RelayLeg

        static let address = SocketAddress(ipv4: 0x0a02_0001, port: 3_340)

        init(_ world: SimWorld, passesUDP: Bool) throws {
            self.world = world
            let box = world.addRouter("box") { $0.passesUDP = passesUDP }
            let client = world.addNode("client", behind: box)
            let relay = world.addNode("relay", hosts: [Self.address])
            let server = relay.loop.enter {
                RelayServer(RelaySettings(programVersion: "test"), on: relay.loop, entropy: relay.entropy)
            }
            (self.box, self.client, self.relay, self.server) = (box, client, relay, server)
            let machines = Machines(client: client, relay: relay)
            try world.run(on: relay) {
                try await server.listen(Self.address, network: machines.relay.streams)
                try await server.listenHTTP3([Self.address], network: machines.relay.network)
            }
            (endpoint, leg) = try world.run(on: client) {
                let secret = SecretKey.generate(entropy: machines.client.entropy)
                let endpoint = try await Endpoint.bind(
                    EndpointConfiguration(secret: secret, addresses: [.anyIPv4]), network: machines.client.network,
                    loop: machines.client.loop, entropy: machines.client.entropy)
                let leg = RelayLeg(
                    .init(url: try RelayURL("http://\(Self.address)/"), secret: secret),
                    connector: SimRelayConnector(machines.client, triesHTTP3: true), endpoint: endpoint,
                    loop: machines.client.loop, entropy: machines.client.entropy)
                await leg.start()
                return (endpoint, leg)
            }
        }

        private struct Machines: @unchecked Sendable {
            let client: SimNode
            let relay: SimNode
        }

        func connectsWithin(_ limit: Duration) throws {
            let isConnected = try world.run(on: client, limit: limit) { [leg] in await leg.connected() }
            #expect(isConnected)
        }

        var status: RelayLegStatus {
            get throws { try world.run(on: client) { [leg] in await leg.status } }
        }

        /// Connections at the relay, and those of them over HTTP/3.
        var fronts: [Int] {
            get throws {
                let metrics = try world.run(on: relay) { [server] in await server.metrics }
                return [metrics.connections, metrics.http3Connections]
            }
        }

        /// Sends packets of that size to nobody, and waits until they have arrived, if they do.
        ///
        /// - Returns: how many the relay has had in all, and how many of these in capsules.
        func packets(after count: Int, of byteCount: Int) throws -> [Int] {
            try world.run(on: client) { [leg] in
                await leg.flood(count, of: byteCount)
            }
            try world.run(for: .seconds(1))
            let metrics = try world.run(on: relay) { [server] in await server.metrics }
            return [metrics.packetsUnknownReceiver, metrics.capsulePackets]
        }

        /// A packet to nobody, and 100 ms.
        func sendOne() throws {
            try world.run(on: client) { [leg] in await leg.flood(1, of: 100) }
            try world.run(for: .milliseconds(100))
        }

        func end() throws {
            try world.run(on: client) { [leg] in await leg.close() }
        }
    }

    @Test("HTTP/3 carries it where UDP passes, within three round trips")
    func open() throws {
        for seed in UInt64(1)...10 {
            try withSimWorld(seed: seed) { world in
                let stage = try Stage(world, passesUDP: true)
                try stage.connectsWithin(.seconds(1))
                #expect(try stage.fronts == [1, 1])
                try world.run(for: .seconds(120))
                #expect(try stage.fronts == [1, 1] && stage.status.isConnected)
                try stage.end()
            }
        }
    }

    @Test("packets leave in datagrams up to what most paths carry; larger ones are lost, and come in no capsule")
    func sizes() throws {
        try withSimWorld(seed: 1) { world in
            let stage = try Stage(world, passesUDP: true)
            try stage.connectsWithin(.seconds(1))
            try world.run(for: .seconds(10))
            // The first one binds the handle.
            #expect(try stage.packets(after: 1, of: 100) == [1, 1])
            #expect(try stage.packets(after: 20, of: 1_342) == [21, 1])
            #expect(try stage.packets(after: 5, of: 1_343) == [21, 1])
            try stage.end()
        }
    }

    @Test("on a path for small packets those of 1,200 bytes still arrive, in capsules, and larger ones do not")
    func smallPath() throws {
        try withSimWorld(seed: 1) { world in
            world.changeLinks { $0.mtu = 1_280 }
            let stage = try Stage(world, passesUDP: true)
            try stage.connectsWithin(.seconds(1))
            // While the path's size is being found out, everything arrives.
            #expect(try stage.packets(after: 5, of: 1_342) == [5, 5])
            try world.run(for: .seconds(10))
            #expect(try stage.packets(after: 5, of: 1_200) == [10, 10])
            #expect(try stage.packets(after: 5, of: 1_201) == [10, 10])
            #expect(try stage.packets(after: 5, of: 1_100) == [15, 10])
            try stage.end()
        }
    }

    @Test("WebSocket carries it where UDP does not pass; HTTP/3 takes over when it does, and the leg does not notice")
    func comesBack() throws {
        for seed in UInt64(1)...10 {
            try withSimWorld(seed: seed) { world in
                let stage = try Stage(world, passesUDP: false)
                try stage.connectsWithin(.seconds(2))
                #expect(try stage.fronts == [1, 0])
                let phase = try stage.status.phase
                try world.run(for: .seconds(60))
                #expect(try stage.fronts == [1, 0] && stage.status.phase == phase)
                stage.box.behaviour.passesUDP = true
                try world.run(for: .seconds(300))
                #expect(try stage.fronts == [1, 1])
                let status = try stage.status
                #expect(status.phase == phase && !status.isSuperseded && status.problem == nil)
                try stage.end()
            }
        }
    }

    @Test("when UDP stops passing, WebSocket carries it again within half a minute")
    func fallsBack() throws {
        for seed in UInt64(1)...10 {
            try withSimWorld(seed: seed) { world in
                let stage = try Stage(world, passesUDP: true)
                try stage.connectsWithin(.seconds(1))
                stage.box.behaviour.passesUDP = false
                try world.run(for: .seconds(30))
                try stage.connectsWithin(.seconds(2))
                // The relay has not given the other one up yet, or it has.
                let fronts = try stage.fronts
                #expect(fronts[0] - fronts[1] == 1)
                try world.run(for: .seconds(60))
                #expect(try stage.fronts == [1, 0])
                try stage.end()
            }
        }
    }

    @Test("with packets under way, WebSocket carries it 1.5 s after UDP stopped passing, and it never counts as away")
    func fallsBackBusy() throws {
        for seed in UInt64(1)...10 {
            try withSimWorld(seed: seed) { world in
                let stage = try Stage(world, passesUDP: true)
                try stage.connectsWithin(.seconds(1))
                try world.run(for: .seconds(10))
                stage.box.behaviour.passesUDP = false
                for _ in 0..<15 {
                    try stage.sendOne()
                    #expect(try stage.status.isConnected)
                }
                #expect(try stage.status.transport == .webSocket)
                let arrived = try stage.packets(after: 0, of: 100)[0]
                #expect(try stage.packets(after: 10, of: 100)[0] == arrived + 10)
                try stage.end()
            }
        }
    }

    @Test("who closes its endpoint ends the leg last, over HTTP/3, and does not come to the relay again")
    func closing() throws {
        try withSimWorld(seed: 1) { world in
            let stage = try Stage(world, passesUDP: true)
            try stage.connectsWithin(.seconds(1))
            try world.run(on: stage.client) { [endpoint = stage.endpoint, leg = stage.leg] in
                await endpoint.close(code: 0, reason: "") { await leg.close() }
            }
            try world.run(for: .seconds(2))
            let metrics = try world.run(on: stage.relay) { [server = stage.server] in await server.metrics }
            #expect(metrics.admitted == 1 && metrics.connections == 0)
        }
    }

    @Test("UDP that stops passing for a moment of any length leaves one connection, which carries everything again")
    func shortSilence() throws {
        for seed in UInt64(1)...20 {
            try withSimWorld(seed: seed) { world in
                let stage = try Stage(world, passesUDP: true)
                try stage.connectsWithin(.seconds(1))
                try world.run(for: .seconds(10))
                stage.box.behaviour.passesUDP = false
                for _ in 0..<seed { try stage.sendOne() }
                stage.box.behaviour.passesUDP = true
                for _ in 0..<100 { try stage.sendOne() }
                #expect(try stage.fronts == [1, 1])
                let arrived = try stage.packets(after: 0, of: 100)[0]
                #expect(try stage.packets(after: 10, of: 100)[0] == arrived + 10)
                try stage.end()
            }
        }
    }
}

extension RelayLeg {
    /// Packets to a node that is not there.
    fileprivate func flood(_ count: Int, of byteCount: Int) {
        guard let nobody = SecretKey(seed: [UInt8](repeating: 9, count: 32))?.node else { return }
        let number = number(of: nobody)
        let carrier = RelayCarrier(self)
        for _ in 0..<count {
            [UInt8](repeating: 0x40, count: byteCount).withUnsafeBytes { carrier.send($0, to: number) }
        }
    }
}
