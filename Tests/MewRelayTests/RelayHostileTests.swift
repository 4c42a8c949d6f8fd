import MewBase
import MewIdentity
import MewLoop
import MewRelay
import MewTestSupport
import MewWire
import Testing

@Suite("Strangers at a relay")
struct RelayHostileTests {
    /// What goes wrong on the way in: random bytes, pieces of real requests, real ones with a flipped byte.
    private static func openings(_ random: inout SplitMix64) -> [UInt8] {
        let upgrade = HTTPRequest(
            "GET", "/relay",
            [
                "Host": "relay.test", "Upgrade": "websocket", "Connection": "Upgrade",
                "Sec-WebSocket-Key": "iTRqp7qQPDwXDa+GsATcXA==",
                "Sec-WebSocket-Version": "13", "Sec-WebSocket-Protocol": "iroh-relay-v2",
            ]
        ).encoded
        let put = HTTPRequest("PUT", "/pkarr/x", ["Host": "relay.test", "Content-Length": "100"]).encoded
        var bytes = [upgrade, upgrade, put, []].randomElement(using: &random) ?? []
        if Bool.random(using: &random), !bytes.isEmpty {
            bytes[Int.random(in: 0..<bytes.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
        }
        if Bool.random(using: &random) { bytes = Array(bytes.prefix(Int.random(in: 0...bytes.count, using: &random))) }
        let tail = Int.random(in: 0...300, using: &random)
        return bytes + (0..<tail).map { _ in UInt8.random(in: 0...255, using: &random) }
    }

    @Test("whatever strangers send, with and without TLS, they are gone afterwards, and a client is served meanwhile")
    func strangers() async throws {
        for certificate in [nil, try TestCertificate(for: "127.0.0.1")] {
            try await RelayStage.run(certificate: certificate) { stage in
                var random = SplitMix64(state: 3)
                let client = try await RelayPeer.join(stage, secret: key(1))
                for number in UInt64(0)..<150 {
                    // Half of those on a TLS port do not speak TLS.
                    let stream = try await number % 2 == 0 ? stage.connect() : stage.connectPlain()
                    try? await stream.write(Self.openings(&random))
                    await stream.close()
                    if number % 10 == 0 {
                        try await client.send(.ping(number))
                        #expect(try await client.next() == .pong(number))
                    }
                }
                await client.close()
            }
        }
    }

    @Test("whatever an admitted client sends, it is served or ended, and another one gets only what its sender sent")
    func clients() async throws {
        try await RelayStage.run { stage in
            var random = SplitMix64(state: 4)
            let witness = try await RelayPeer.join(stage, secret: key(1))
            for number in UInt64(0)..<100 {
                let peer = try await RelayPeer.join(stage, secret: key(2))
                let framing = WebSocketFraming(role: .client, kind: .binary, entropy: SystemEntropy())
                var bytes: [UInt8] = []
                for _ in 0..<4 {
                    var frame = [UInt8.random(in: 0...15, using: &random)]
                    if Bool.random(using: &random) { frame += witness.node.bytes }
                    let tail = Int.random(in: 0...60, using: &random)
                    frame += (0..<tail).map { _ in UInt8.random(in: 0...255, using: &random) }
                    bytes += try framing.encode(frame)
                }
                if Bool.random(using: &random) { bytes[Int.random(in: 0..<bytes.count, using: &random)] ^= 0x55 }
                try? await peer.send(raw: bytes)
                await peer.close()
                try await witness.send(.ping(number))
                try await Self.expectPong(number, at: witness, from: peer.node)
            }
            await witness.close()
        }
    }

    private static func expectPong(_ number: UInt64, at witness: RelayPeer, from sender: NodeID) async throws {
        while true {
            switch try await witness.next() {
            case .pong(number): return
            case .relayToClient(let datagrams): #expect(datagrams.peer == sender && !datagrams.contents.isEmpty)
            case .endpointGone(let node): #expect(node == sender)
            case let other: Issue.record("unexpected: \(other)")
            }
        }
    }

    @Test("200 clients that vanish leave no node and no connection, and who heard from them is told")
    func churn() async throws {
        try await RelayStage.run { stage in
            let first = try await RelayPeer.join(stage, secret: key(1))
            for round in UInt8(0)..<4 {
                var peers: [RelayPeer] = []
                for seed in UInt8(2)..<52 {
                    peers.append(try await RelayPeer.join(stage, secret: key(seed &+ round &* 50)))
                }
                let present = await stage.server.metrics
                #expect(present.nodes == 51 && present.connections == 51)
                for peer in peers {
                    try await peer.send([1], to: first.node)
                    _ = try await first.next()
                }
                for peer in peers { await peer.close() }
                // Each has been heard by the first, which is told as the last thing of it.
                for _ in peers {
                    guard case .endpointGone = try await first.next() else {
                        Issue.record("something else than gone")
                        return
                    }
                }
                let after = await stage.server.metrics
                #expect(after.nodes == 1 && after.connections == 1 && after.sources == 1)
            }
            await first.close()
        }
    }
}
