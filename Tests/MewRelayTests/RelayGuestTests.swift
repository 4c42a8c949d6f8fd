import MewBase
import MewIdentity
import MewLoop
import MewTestSupport
import MewWire
import Testing

@testable import MewRelay

/// A dialler comes under a key that is thrown away; a relay with rules about nodes wants to know whose it is (DESIGN §7).
@Suite("Diallers at a relay with rules about nodes", .timeLimit(.minutes(1)))
struct RelayGuestTests {
    /// A leg under the throw-away key 10 + `number`, of the node with key `node`.
    private static func leg(
        _ connector: any RelayConnector, _ url: RelayURL, _ loop: EventLoop, number: UInt8, of node: UInt8,
        offersAccount: Bool = false, isNamed: Bool = false
    ) async throws -> RelayLeg {
        var settings = RelayLeg.Settings(url: url, secret: try key(10 + number))
        settings.account = try key(node)
        settings.showsAccount = offersAccount
        settings.isNamedByOwner = isNamed
        let leg = RelayLeg(settings, connector: connector, loop: loop, entropy: SystemEntropy())
        await leg.start()
        return leg
    }

    private static func stages(
        serving list: [UInt8]? = nil, not denied: [UInt8] = [],
        _ body: (RelayStage, @escaping (UInt8, UInt8) async throws -> RelayLeg) async throws -> Void
    ) async throws {
        var rules = AccessRules.everyone
        rules.allowed = try list.map { Set(try $0.map { try key($0).node }) }
        rules.denied = Set(try denied.map { try key($0).node })
        for certificate in [nil, try TestCertificate(for: "127.0.0.1")] {
            try await RelayStage.run(certificate: certificate, { $0.rules = rules }) { stage in
                let url = try RelayURL("\(certificate == nil ? "http" : "https")://\(stage.address)/")
                let connector = NetworkRelayConnector(on: stage.loop, trust: stage.trust)
                try await body(stage) { try await Self.leg(connector, url, stage.loop, number: $0, of: $1) }
            }
        }
    }

    @Test("several commands of one node on the list have places of their own, with and without TLS")
    func sideBySide() async throws {
        try await Self.stages(serving: [1, 3]) { stage, leg in
            let (watch, prompt) = (try await leg(1, 1), try await leg(2, 1))
            #expect(await watch.connected())
            #expect(await prompt.connected())
            let daemon = try await RelayPeer.join(stage, secret: key(3))
            for guest: UInt8 in [11, 12] { try await daemon.send([guest], to: key(guest).node) }
            try await daemon.send(.ping(1))
            #expect(try await daemon.next() == .pong(1))
            let metrics = await stage.server.metrics
            #expect(metrics.nodes == 3 && metrics.packetsForwarded == 2 && metrics.packetsUnknownReceiver == 0)
            for leg in [watch, prompt] {
                let status = await leg.status
                #expect(!status.isSuperseded)
            }
            #expect(metrics.denied == 0, "the relay asks before it refuses")
            let node = try key(1).node
            let joined = stage.log["client_joined"].filter { $0.fields["account"] == .text(node.z32) }
            #expect(joined.count == 2, "the operator can tell whose they are")
            #expect(joined.first?.fields["node"] != joined.last?.fields["node"])
            for leg in [watch, prompt] { await leg.close() }
            await daemon.close()
        }
    }

    @Test("a node that is not on the list is refused, and told so")
    func stranger() async throws {
        try await Self.stages(serving: [1, 3]) { stage, leg in
            let stranger = try await leg(1, 2)
            var status = await stranger.status
            while status.problem == nil { status = await stranger.changed(from: status) }
            #expect(status.problem == "the relay does not admit us: not authorized")
            #expect(!status.isConnected)
            await stranger.close()
        }
    }

    @Test("a relay for everybody does not learn whose the dialler is")
    func open() async throws {
        try await Self.stages { stage, leg in
            let guest = try await leg(1, 1)
            #expect(await guest.connected())
            let needs = await guest.needsAccount
            #expect(!needs)
            #expect(await stage.server.metrics.denied == 0)
            #expect(stage.log["client_joined"].allSatisfy { $0.fields["account"] == nil })
            await guest.close()
        }
    }

    @Test("who is struck from the list loses the guests as well")
    func struck() async throws {
        try await Self.stages(serving: [1]) { stage, leg in
            let guest = try await leg(1, 1)
            #expect(await guest.connected())
            let seen = await guest.status
            var rules = AccessRules.everyone
            rules.allowed = []
            await stage.server.replace(rules: rules)
            var status = await guest.changed(from: seen)
            while status.isConnected { status = await guest.changed(from: status) }
            #expect(await stage.server.metrics.nodes == 0)
            await guest.close()
        }
    }

    @Test("a denied node is denied as a guest as well, and others are served")
    func denied() async throws {
        try await Self.stages(not: [2]) { stage, leg in
            let (denied, other) = (try await leg(1, 2), try await leg(2, 1))
            #expect(await other.connected())
            var status = await denied.status
            while status.problem == nil { status = await denied.changed(from: status) }
            #expect(status.problem == "the relay does not admit us: not authorized")
            #expect(await stage.server.metrics.nodes == 1)
            let refusal = stage.log["client_refused"].first
            #expect(refusal?.message == "a client was refused: its node is denied")
            #expect(try refusal?.fields["account"] == .text(key(2).node.z32))
            for leg in [denied, other] { await leg.close() }
        }
    }

    @Test("a rule about a node that comes later ends its guests, and others come again and say whose they are")
    func deniedLater() async throws {
        try await Self.stages { stage, leg in
            let (denied, other) = (try await leg(1, 2), try await leg(2, 1))
            for leg in [denied, other] { #expect(await leg.connected()) }
            var (seen, others) = (await denied.status, await other.status)
            var rules = AccessRules.everyone
            rules.denied = [try key(2).node]
            await stage.server.replace(rules: rules)
            while seen.problem?.contains("does not admit us") != true { seen = await denied.changed(from: seen) }
            #expect(!seen.isConnected)
            let node = try key(1).node
            while !stage.log["client_joined"].contains(where: { $0.fields["account"] == .text(node.z32) }) {
                others = await other.changed(from: others)
            }
            #expect(await other.connected())
            for leg in [denied, other] { await leg.close() }
        }
    }

    @Test("who says that it is a guest has to say whose; who makes up a key and says nothing is unknown, and served")
    func silent() async throws {
        try await Self.stages(not: [2]) { stage, _ in
            let guest = try await RelayPeer.open(stage, secret: key(11), [(RelayNodeProof.guestFieldName, "1")])
            guard case .serverChallenge(let challenge) = try await guest.next() else { throw RelayPeer.Ended() }
            try await guest.send(.clientAuth(RelayClientAuth(answering: challenge, secret: key(11))))
            #expect(try await guest.next() == .serverDeniesAuth(reason: "not authorized"))
            #expect(stage.log["client_refused"].first?.message.hasSuffix("did not prove which node it is") == true)
            let unknown = try await RelayPeer.join(stage, secret: key(12))
            for peer in [guest, unknown] { await peer.close() }
        }
    }

    /// What becomes of a leg that has begun: nil when it is connected, otherwise why it is not.
    private static func problem(_ leg: RelayLeg) async -> String? {
        var status = await leg.status
        while !status.isConnected, status.problem == nil { status = await leg.changed(from: status) }
        return status.isConnected ? nil : status.problem
    }

    @Test(
        "behind a proxy that ends TLS a guest whose node is on the list comes in, asked or by its own offer, and others do not",
        arguments: [false, true])
    func behindProxy(offersAccount: Bool) async throws {
        let certificate = try TestCertificate(for: "127.0.0.1")
        var rules = AccessRules.everyone
        rules.allowed = [try key(1).node]
        try await RelayStage.run({ [rules] in $0.rules = rules }) { stage in
            let proxy = try TLSEndingProxy(certificate, before: stage)
            func leg(_ number: UInt8, _ node: UInt8) async throws -> RelayLeg {
                try await Self.leg(
                    proxy, proxy.url, stage.loop, number: number, of: node, offersAccount: offersAccount,
                    isNamed: true)
            }
            let (guest, stranger) = (try await leg(1, 1), try await leg(2, 2))
            #expect(await Self.problem(guest) == nil)
            let node = try key(1).node
            #expect(stage.log["client_joined"].first?.fields["account"] == .text(node.z32))
            #expect(await Self.problem(stranger) == "the relay does not admit us: not authorized")
            for leg in [guest, stranger] { await leg.close() }
        }
    }

    @Test(
        "over TLS a relay that only a peer has named gets no proof that it could pass on, asked or by the guest's own offer",
        arguments: [false, true])
    func namedByOthers(offersAccount: Bool) async throws {
        let certificate = try TestCertificate(for: "127.0.0.1")
        let node = try key(1).node
        try await RelayStage.run({ $0.rules.allowed = [node] }) { stage in
            let proxy = try TLSEndingProxy(certificate, before: stage)
            let guest = try await Self.leg(
                proxy, proxy.url, stage.loop, number: 1, of: 1, offersAccount: offersAccount)
            let problem = await Self.problem(guest)
            #expect(problem?.hasPrefix("the relay wants a proof of our node key that it could") == true)
            #expect(await guest.status.lastFailure == .namedByOthers)
            #expect(stage.log["client_joined"].isEmpty)
            await guest.close()
        }
    }

    @Test("where the relay has TLS and the guest's end has none, it is refused, and the operator hears of the proxy")
    func onlyTheRelayHasTLS() async throws {
        try await RelayStage.run(
            certificate: TestCertificate(for: "127.0.0.1"), { $0.rules.allowed = [] }
        ) { stage in
            let url = try RelayURL("http://\(stage.address)/")
            let guest = try await Self.leg(
                TLSBeginningProxy(stage: stage), url, stage.loop, number: 1, of: 1)
            let problem = await Self.problem(guest)
            #expect(problem == "the relay does not admit us: signature invalid")
            #expect(stage.log["client_refused"].first?.message.contains("a proxy on the way") == true)
            await guest.close()
        }
    }

    @Test("a relay asks for what it can check itself: keying material with TLS, nothing without")
    func question() async throws {
        try await Self.stages(serving: [1]) { stage, _ in
            let stream = try await stage.connect()
            let request = LegUpgrade(entropy: SystemEntropy())
                .request(to: try RelayURL("http://relay.test/"), token: nil, proof: nil, isGuest: true)
            try await stream.write(request.encoded)
            var bytes: [UInt8] = []
            while case .needMore = HTTPResponse.parse(bytes), let more = try await stream.read(maxBytes: 1 << 14) {
                bytes += more
            }
            guard case .head(let response, _) = HTTPResponse.parse(bytes) else { throw RelayPeer.Ended() }
            #expect(response.fields[RelayNodeProof.fieldName] == (stage.trust == nil ? "0" : "1"))
            await stream.close()
        }
    }

    @Test(
        "a proof that proves nothing is refused, and the operator hears what was wrong with it",
        arguments: [false, true])
    func unproven(hasNode: Bool) async throws {
        try await Self.stages(serving: [1]) { stage, _ in
            let peer = try await RelayPeer.open(stage, secret: key(11), [(RelayNodeProof.guestFieldName, "1")])
            guard case .serverChallenge(let challenge) = try await peer.next() else { throw RelayPeer.Ended() }
            let other = try #require(RelayChallenge(bytes: [UInt8](repeating: 0, count: 16)))
            var auth = RelayClientAuth(answering: hasNode ? challenge : other, secret: try key(11))
            if hasNode {
                auth.nodeProof = RelayNodeProof(
                    try key(1), as: auth.node, answering: challenge,
                    binding: .keyingMaterial([UInt8](repeating: 1, count: RelayNodeProof.exporterByteCount)))
            }
            try await peer.send(.clientAuth(auth))
            #expect(try await peer.next() == .serverDeniesAuth(reason: "signature invalid"))
            let refusal = try #require(stage.log["client_refused"].first)
            #expect(refusal.message.hasPrefix("a client was refused: the node that it says to "))
            #expect(refusal.message.contains("come for") == hasNode)
            #expect(refusal.message.contains("ends TLS") == (hasNode && stage.trust != nil))
            let claimed = try key(hasNode ? 1 : 11).node
            #expect(refusal.fields["claims"] == .text(claimed.z32))
            await peer.close()
        }
    }

    @Test("a relay of others knows the dialler by its node key, and serves its commands in turn")
    func foreign() async throws {
        let loop = try EventLoop(name: "test")
        defer { loop.stop() }
        let relay = TestRelay()
        relay.serve(only: [try key(1).node])
        let guest = try await Self.leg(relay, TestRelay.url, loop, number: 1, of: 1, isNamed: true)
        #expect(await guest.connected())
        let node = try key(1).node
        #expect(relay.nodes == [node])
        #expect(relay.refusals == 1)
        let seen = await guest.status
        relay.tell(.status(.sameNodeConnectedElsewhere))
        var status = await guest.changed(from: seen)
        while status.problem == nil { status = await guest.changed(from: status) }
        #expect(status.problem?.contains("one command of this node at a time") == true)
        await guest.close()
    }

    @Test(
        "a relay of others that only a peer named gets no answer of our node key, which it could pass on")
    func foreignAndNamedByPeers() async throws {
        let loop = try EventLoop(name: "test")
        defer { loop.stop() }
        let relay = TestRelay()
        relay.serve(only: [try key(1).node])
        let guest = try await Self.leg(relay, TestRelay.url, loop, number: 1, of: 1)
        var status = await guest.status
        while status.problem?.contains("did not name itself") != true { status = await guest.changed(from: status) }
        #expect(relay.nodes == [])
        await guest.close()
    }
}
