import MewBase
import MewIdentity
import MewLoop
import MewRelay
import MewTestSupport
import MewWire
import Testing

@Suite("A relay whose URL pins its key")
struct RelayPinTests {
    private static func pinned(_ stage: RelayStage, _ node: NodeID) throws -> RelayURL {
        try RelayURL("\(stage.trust == nil ? "http" : "https")://\(stage.address)/#\(node.z32)")
    }

    /// How a leg to `url` fares: nil when it is connected.
    private static func problem(_ stage: RelayStage, _ url: RelayURL) async throws -> String? {
        let connector = NetworkRelayConnector(on: stage.loop, trust: stage.trust)
        let leg = RelayLeg(
            .init(url: url, secret: try key(1)), connector: connector, loop: stage.loop, entropy: SystemEntropy())
        await leg.start()
        var status = await leg.status
        while !status.isConnected, status.problem == nil { status = await leg.changed(from: status) }
        await leg.close()
        return status.isConnected ? nil : status.problem
    }

    private static func stages(
        proving secret: SecretKey?, _ body: (RelayStage) async throws -> Void
    ) async throws {
        for certificate in [nil, try TestCertificate(for: "127.0.0.1")] {
            try await RelayStage.run(certificate: certificate, { $0.secret = secret }, body)
        }
    }

    @Test("the relay that has the key is used, with and without TLS")
    func rightKey() async throws {
        let secret = try key(7)
        try await Self.stages(proving: secret) { stage in
            let problem = try await Self.problem(stage, Self.pinned(stage, secret.node))
            #expect(problem == nil)
        }
    }

    @Test("another relay at the address is named and not used")
    func otherKey() async throws {
        let (pinned, there) = (try key(7), try key(8))
        try await Self.stages(proving: there) { stage in
            let problem = try await Self.problem(stage, Self.pinned(stage, pinned.node))
            #expect(problem?.contains("another relay answers there: its key is \(there.node.z32)") == true)
        }
    }

    @Test("a relay that proves nothing is not used when its URL pins a key")
    func noProof() async throws {
        try await Self.stages(proving: nil) { stage in
            let problem = try await Self.problem(stage, Self.pinned(stage, key(7).node))
            #expect(problem == "the relay does not prove the key that its URL pins")
        }
    }

    @Test("nobody who does not ask gets a proof")
    func unasked() async throws {
        try await Self.stages(proving: key(7)) { stage in
            let fields: HTTPFields = [
                "Host": "relay.test", "Upgrade": "websocket", "Connection": "Upgrade",
                "Sec-WebSocket-Key": "iTRqp7qQPDwXDa+GsATcXA==", "Sec-WebSocket-Version": "13",
                "Sec-WebSocket-Protocol": RelayVersion.v2.rawValue,
            ]
            let stream = try await stage.connect()
            try await stream.write(HTTPRequest("GET", "/relay", fields).encoded)
            let bytes = try await stream.read(maxBytes: 1 << 16) ?? []
            await stream.close()
            #expect(!String(decoding: bytes, as: UTF8.self).lowercased().contains(RelayKeyProof.fieldName))
        }
    }
}
