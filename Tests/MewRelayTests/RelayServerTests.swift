import MewBase
import MewIdentity
import MewLoop
import MewRelay
import MewTestSupport
import MewWire
import Testing

@Suite("A relay on real sockets")
struct RelayServerTests {
    private static func certificates() throws -> [TestCertificate?] { [nil, try TestCertificate(for: "127.0.0.1")] }

    @Test("packets and batches of one node reach the other, with and without TLS, and pings are answered")
    func forwarding() async throws {
        for certificate in try Self.certificates() {
            try await RelayStage.run(certificate: certificate) { stage in
                let one = try await RelayPeer.join(stage, secret: key(1))
                let two = try await RelayPeer.join(stage, secret: key(2), version: .v1)
                try await one.send([1, 2, 3], to: two.node)
                #expect(
                    try await two.next() == .relayToClient(RelayDatagrams(peer: one.node, contents: [1, 2, 3][...])))
                let large = [UInt8](repeating: 7, count: 60_000)
                let batch = RelayDatagrams(peer: one.node, ecn: 2, segmentSize: 1_200, contents: large[...])
                try await two.send(.clientToRelay(batch))
                #expect(
                    try await one.next()
                        == .relayToClient(
                            RelayDatagrams(peer: two.node, ecn: 2, segmentSize: 1_200, contents: large[...])))
                try await one.send(.ping(42))
                #expect(try await one.next() == .pong(42))
                let metrics = await stage.server.metrics
                #expect(metrics.framesForwarded == 2 && metrics.packetsForwarded == 51 && metrics.nodes == 2)
                await one.close()
                #expect(try await two.next() == .endpointGone(one.node))
                await two.close()
            }
        }
    }

    @Test("over TLS keying material lets a client in without a challenge")
    func keyingMaterial() async throws {
        try await RelayStage.run(certificate: TestCertificate(for: "127.0.0.1")) { stage in
            let peer = try await RelayPeer.open(stage, secret: key(3), proving: true)
            #expect(try await peer.next() == .serverConfirmsAuth)
            await peer.close()
        }
    }

    @Test("a packet for a node that is not here goes nowhere, and its sender is told, once for a flight")
    func unknownReceiver() async throws {
        try await RelayStage.run { stage in
            let peer = try await RelayPeer.join(stage, secret: key(1))
            try await peer.send([1], to: key(9).node)
            try await peer.send([2], to: key(9).node)
            try await peer.send(.ping(1))
            #expect(try await peer.next() == .endpointGone(key(9).node))
            #expect(try await peer.next() == .pong(1))
            #expect(await stage.server.metrics.packetsUnknownReceiver == 2)
            await peer.close()
        }
    }

    @Test("the same node twice: the newer gets the packets, the older is told, and told again when it takes over")
    func duplicates() async throws {
        try await RelayStage.run { stage in
            let sender = try await RelayPeer.join(stage, secret: key(1))
            let older = try await RelayPeer.join(stage, secret: key(2))
            let old = try await RelayPeer.join(stage, secret: key(2), version: .v1)
            #expect(try await older.next() == .status(.sameNodeConnectedElsewhere))
            let newest = try await RelayPeer.join(stage, secret: key(2))
            guard case .health = try await old.next() else {
                Issue.record("a client of protocol 1 is told in words")
                return
            }
            try await sender.send([1], to: newest.node)
            #expect(try await newest.next() == .relayToClient(RelayDatagrams(peer: sender.node, contents: [1][...])))
            await newest.close()
            await old.close()
            #expect(try await older.next() == .status(.healthy))
            try await sender.send([2], to: older.node)
            #expect(try await older.next() == .relayToClient(RelayDatagrams(peer: sender.node, contents: [2][...])))
            await older.close()
            await sender.close()
        }
    }

    @Test("who may not is told why: a wrong signature, a denied node, a missing token")
    func denial() async throws {
        let denied = try key(4)
        try await RelayStage.run {
            $0.rules.denied = [denied.node]
            $0.rules.tokens = ["secret"]
        } _: { stage in
            for (secret, fields) in [
                (denied, [("Authorization", "Bearer secret")]), (try key(1), []),
                (try key(1), [("Authorization", "Bearer wrong")]),
            ] {
                let peer = try await RelayPeer.open(stage, secret: secret, fields)
                guard case .serverChallenge(let challenge) = try await peer.next() else { throw RelayPeer.Ended() }
                try await peer.send(.clientAuth(RelayClientAuth(answering: challenge, secret: secret)))
                #expect(try await peer.next() == .serverDeniesAuth(reason: "not authorized"))
                await #expect(throws: RelayPeer.Ended.self) { try await peer.next() }
                await peer.close()
            }
            let forger = try await RelayPeer.open(stage, secret: key(1), [("Authorization", "Bearer secret")])
            let other = try #require(RelayChallenge(bytes: [UInt8](repeating: 0, count: 16)))
            guard case .serverChallenge = try await forger.next() else { throw RelayPeer.Ended() }
            try await forger.send(.clientAuth(RelayClientAuth(answering: other, secret: key(1))))
            #expect(try await forger.next() == .serverDeniesAuth(reason: "signature invalid"))
            await forger.close()
            let good = try await RelayPeer.join(stage, secret: key(1), [("Authorization", "Bearer secret")])
            await good.close()
            #expect(await stage.server.metrics.denied == 4)
        }
    }

    @Test("rules that change while somebody proves who it is hold for that one too")
    func changedMeanwhile() async throws {
        try await RelayStage.run { stage in
            let peer = try await RelayPeer.open(stage, secret: key(1))
            guard case .serverChallenge(let challenge) = try await peer.next() else { throw RelayPeer.Ended() }
            var rules = AccessRules.everyone
            rules.denied = [peer.node]
            await stage.server.replace(rules: rules)
            try await peer.send(.clientAuth(RelayClientAuth(answering: challenge, secret: peer.secret)))
            #expect(try await peer.next() == .serverDeniesAuth(reason: "not authorized"))
            #expect(await stage.server.metrics.nodes == 0)
            await peer.close()
        }
    }

    @Test("rules that change end who may no more, and nobody else")
    func changedRules() async throws {
        try await RelayStage.run { stage in
            let one = try await RelayPeer.join(stage, secret: key(1))
            let two = try await RelayPeer.join(stage, secret: key(2))
            var rules = AccessRules.everyone
            rules.allowed = [two.node]
            await stage.server.replace(rules: rules)
            await #expect(throws: RelayPeer.Ended.self) { try await one.next() }
            try await two.send(.ping(1))
            #expect(try await two.next() == .pong(1))
            await one.close()
            await two.close()
        }
    }

    @Test(
        "a frame that breaks the protocol ends its connection",
        arguments: [
            [UInt8](), [14], [9, 1, 2], [4, 1, 2], [6] + [UInt8](repeating: 0, count: 40), [2],
            [12, 0, 0, 0, 1, 0, 0, 0, 1],
            [0x40],
        ])
    func violations(frame: [UInt8]) async throws {
        try await RelayStage.run { stage in
            let peer = try await RelayPeer.join(stage, secret: key(1))
            let framing = WebSocketFraming(role: .client, kind: .binary, entropy: SystemEntropy())
            try await peer.send(raw: framing.encode(frame))
            await #expect(throws: RelayPeer.Ended.self) { try await peer.next() }
            await peer.close()
            #expect(await stage.server.metrics.violations == 1)
        }
    }

    @Test("what is no harm is passed over: text, an empty datagram, a type in a longer form")
    func tolerance() async throws {
        try await RelayStage.run { stage in
            let one = try await RelayPeer.join(stage, secret: key(1))
            let two = try await RelayPeer.join(stage, secret: key(2))
            let text = WebSocketFraming(role: .client, kind: .text, entropy: SystemEntropy())
            try await one.send(raw: text.encode(Array("hello".utf8)))
            try await one.send([], to: two.node)
            let binary = WebSocketFraming(role: .client, kind: .binary, entropy: SystemEntropy())
            try await one.send(raw: binary.encode([0x40, 4] + two.node.bytes + [0, 5]))
            #expect(try await two.next() == .relayToClient(RelayDatagrams(peer: one.node, contents: [5][...])))
            await one.close()
            await two.close()
        }
    }

    /// More than the burst of a limited client, as bytes of one write, with a ping as the last frame.
    private static func flood() throws -> [UInt8] {
        let framing = WebSocketFraming(role: .client, kind: .binary, entropy: SystemEntropy())
        let packet = RelayFrame.clientToRelay(
            RelayDatagrams(peer: try key(9).node, contents: [UInt8](repeating: 0, count: 60_000)[...]))
        return try (0..<3).flatMap { _ in try framing.encode(packet.encoded) }
            + framing.encode(RelayFrame.ping(5).encoded)
    }

    @Test("a client beyond its rate is told, and is read no further")
    func rateLimit() async throws {
        try await RelayStage.run {
            $0.limits.bytesPerSecond = 1
        } _: { stage in
            for version in RelayVersion.allCases {
                let peer = try await RelayPeer.join(stage, secret: key(1), version: version)
                let flood = try Self.flood()
                // It never gets rid of all of it.
                let sending = Task { try await peer.send(raw: flood) }
                var told = try await peer.next()
                // That nobody is there to get it.
                while case .endpointGone = told { told = try await peer.next() }
                switch (version, told) {
                case (.v2, .status(.rateLimited)), (.v1, .health): break
                case (_, let frame): Issue.record("\(frame)")
                }
                await peer.close()
                await #expect(throws: (any Error).self) { try await sending.value }
            }
            #expect(await stage.server.metrics.rateLimited >= 2)
        }
    }

    @Test("a client that had to wait loses nothing")
    func rateLimitEnds() async throws {
        try await RelayStage.run {
            $0.limits.bytesPerSecond = 10_000_000
        } _: { stage in
            let peer = try await RelayPeer.join(stage, secret: key(1))
            for _ in 0..<8 { try await peer.send(raw: Self.flood()) }
            var pongs = 0
            while pongs < 8 {
                if case .pong(5) = try await peer.next() { pongs += 1 }
            }
            #expect(await stage.server.metrics.packetsUnknownReceiver == 24)
            await peer.close()
        }
    }

    @Test("a relay that ends tells its clients when to come back, and why it closes")
    func drain() async throws {
        let stage = try await RelayStage()
        let peer = try await RelayPeer.join(stage, secret: key(1))
        async let drained: Void = stage.server.drain()
        #expect(try await peer.next() == .restarting(reconnectInMs: 2_000, tryForMs: 30_000))
        await #expect(throws: RelayPeer.Ended.self) { try await peer.next() }
        await peer.close()
        await drained
        await #expect(throws: (any Error).self) { _ = try await stage.connect() }
        stage.loop.stop()
    }

    @Test(
        "more strangers of one source than are allowed are told so, and there is room again when one has proven itself")
    func strangers() async throws {
        try await RelayStage.run {
            $0.limits.strangersPerSource = 2
            // However slow the machine is: nobody gives way here (`RelayPressureTests`).
            $0.limits.admissionWhenFull = .seconds(3_600)
        } _: { stage in
            let one = try await RelayPeer.open(stage, secret: key(1))
            let two = try await RelayPeer.open(stage, secret: key(2))
            let (answer, words) = try await stage.ask(HTTPRequest("GET", "/ping"))
            #expect(answer.status == 429 && words == Array("too many connections from your network\n".utf8))
            let told = stage.log["connection_refused"].map(\.message)
            #expect(
                told == [
                    "a connection was refused: of the network 127.0.0.0/24 2 have not said who they are, and no more of these "
                        + "may wait"
                ])
            try await one.authenticate()
            let three = try await RelayPeer.join(stage, secret: key(3))
            for peer in [one, two, three] { await peer.close() }
        }
    }
}

@Suite("What a relay answers over HTTP")
struct RelayHTTPTests {
    @Test("the probes of iroh, health and metrics")
    func endpoints() async throws {
        try await RelayStage.run { stage in
            let (ping, nothing) = try await stage.ask(HTTPRequest("GET", "/ping"))
            #expect(ping.status == 200 && ping.fields["access-control-allow-origin"] == "*" && nothing.isEmpty)
            let challenge: HTTPFields = ["X-Iroh-Challenge": "ts_relay.test"]
            let (proof, _) = try await stage.ask(HTTPRequest("GET", "/generate_204", challenge))
            #expect(proof.status == 204 && proof.fields["x-iroh-response"] == "response ts_relay.test")
            let unfit: HTTPFields = ["X-Iroh-Challenge": "a b"]
            #expect(try await stage.ask(HTTPRequest("GET", "/generate_204", unfit)).0.fields["x-iroh-response"] == nil)
            let (health, body) = try await stage.ask(HTTPRequest("GET", "/healthz"))
            #expect(health.fields["content-type"] == "application/json")
            #expect(String(decoding: body, as: UTF8.self) == #"{"status":"ok","version":"1.2.3","git_hash":""}"#)
            let (_, metrics) = try await stage.ask(HTTPRequest("GET", "/metrics"))
            let text = String(decoding: metrics, as: UTF8.self)
            #expect(text.contains("\nmew_relay_connections_accepted_total 5\n") && text.hasSuffix("\n"))
            for target in ["/", "/index.html", "/robots.txt"] {
                #expect(try await stage.ask(HTTPRequest("GET", target)).0.status == 200)
            }
            for request in [HTTPRequest("GET", "/x"), HTTPRequest("POST", "/ping"), HTTPRequest("PUT", "/relay")] {
                #expect(try await stage.ask(request).0.status == 404)
            }
        }
    }

    @Test("a request without a Host, or with two, could mean different things to two readers: it is refused")
    func hosts() async throws {
        try await RelayStage.run { stage in
            for head in ["", "Host: a\r\nHost: a\r\n"] {
                for target in ["/ping", "/relay"] {
                    let stream = try await stage.connect()
                    try await stream.write(Array("GET \(target) HTTP/1.1\r\n\(head)\r\n".utf8))
                    var bytes: [UInt8] = []
                    while let more = try await stream.read(maxBytes: 1 << 16) { bytes += more }
                    await stream.close()
                    #expect(String(decoding: bytes, as: UTF8.self).hasPrefix("HTTP/1.1 400 "))
                }
            }
            #expect(await stage.server.metrics.violations == 4)
        }
    }

    @Test("records are kept for those the relay serves, and served to everybody")
    func recordRules() async throws {
        let (served, stranger) = (try key(8), try key(7))
        try await RelayStage.run {
            $0.rules.denied = [stranger.node]
            $0.rules.tokens = ["open"]
        } _: { stage in
            func put(_ secret: SecretKey, _ more: [(String, String)]) async throws -> Int {
                let body = SignedRecord(AddressRecord(relays: []), timestamp: 5, secret: secret).body
                var fields: HTTPFields = ["Content-Length": "\(body.count)"]
                for (name, value) in more { fields.append(name, value) }
                return try await stage.ask(HTTPRequest("PUT", "/pkarr/\(secret.node.z32)", fields), body).0.status
            }
            let shown = [("Authorization", "Bearer open")]
            let answers = try await [put(served, []), put(stranger, shown), put(served, shown)]
            #expect(answers == [403, 403, 204])
            #expect(try await stage.ask(HTTPRequest("GET", "/pkarr/\(served.node.z32)")).0.status == 200)
            #expect(await stage.server.metrics.recordsRefused == 2)
        }
    }

    @Test("a signed record is stored and served; a forged one, a foreign one and a large one are not")
    func records() async throws {
        try await RelayStage.run { stage in
            let secret = try key(8)
            let target = "/pkarr/\(secret.node.z32)"
            #expect(try await stage.ask(HTTPRequest("GET", target)).0.status == 404)
            func put(_ body: [UInt8], to target: String) async throws -> Int {
                let fields: HTTPFields = ["Content-Length": "\(body.count)"]
                return try await stage.ask(HTTPRequest("PUT", target, fields), body).0.status
            }
            let record = SignedRecord(
                AddressRecord(relays: [try RelayURL("https://relay.test/")]), timestamp: 5, secret: secret)
            #expect(try await put(record.body, to: target) == 204)
            let older = SignedRecord(AddressRecord(relays: []), timestamp: 4, secret: secret)
            #expect(try await put(older.body, to: target) == 204)
            let (response, body) = try await stage.ask(HTTPRequest("GET", target))
            #expect(response.fields["content-type"] == "application/x-pkarr-signed-packet")
            #expect(body == record.body)
            var forged = record.body
            forged[80] ^= 1
            #expect(try await put(forged, to: target) == 400)
            #expect(try await put(record.body, to: "/pkarr/\(try key(7).node.z32)") == 400)
            #expect(try await put(record.body, to: "/pkarr/x") == 400)
            #expect(try await put([UInt8](repeating: 0, count: SignedRecord.maxBodyBytes + 1), to: target) == 413)
            let chunked: HTTPFields = ["Transfer-Encoding": "chunked"]
            #expect(try await stage.ask(HTTPRequest("PUT", target, chunked)).0.status == 411)
            #expect(await stage.server.metrics.recordsRefused == 3)
        }
    }
}
