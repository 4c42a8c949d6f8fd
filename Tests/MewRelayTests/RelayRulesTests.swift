import MewBase
import MewIdentity
import MewWire
import Testing

@testable import MewRelay

func key(_ seed: UInt8) throws -> SecretKey { try #require(SecretKey(seed: [UInt8](repeating: seed, count: 32))) }

@Suite("Who is who at a relay")
struct RelayRulesTests {
    private func number(_ raw: UInt64) -> ConnectionNumber { ConnectionNumber(raw: raw) }

    @Test("the newest connection of a node gets its packets, and the one before it takes over again")
    func table() throws {
        let node = try key(1).node
        var table = RelayTable(inactivePerNode: 4)
        #expect(table.enter(node, number(1)) == [])
        #expect(table.enter(node, number(2)) == [.displaced(number(1))])
        #expect(table.enter(node, number(3)) == [.displaced(number(2))])
        #expect(table.active(node) == number(3))
        #expect(table.leave(node, number(2)) == [])
        #expect(table.leave(node, number(3)) == [.promoted(number(1))])
        #expect(table.leave(node, number(3)) == [], "leaving twice is nothing")
        #expect(table.leave(node, number(1)) == [.gone])
        #expect(table.nodeCount == 0)
    }

    @Test("a node has so many older connections and no more: the oldest goes")
    func eviction() throws {
        let node = try key(1).node
        var table = RelayTable(inactivePerNode: 2)
        for raw in UInt64(1)...3 { #expect(!table.enter(node, number(raw)).contains(.evict(number(1)))) }
        #expect(table.enter(node, number(4)) == [.displaced(number(3)), .evict(number(1))])
        #expect(table.leave(node, number(1)) == [])
        #expect(table.active(node) == number(4))
    }

    @Test(
        "new rules without any of a kind that there was are told by that kind: the relay would open")
    func kindsLost() throws {
        var full = AccessRules()
        (full.allowed, full.denied, full.tokens) = ([try key(1).node], [try key(2).node], ["t"])
        #expect(full.kindsLost(since: .everyone) == [])
        #expect(full.kindsLost(since: full) == [])
        #expect(AccessRules.everyone.kindsLost(since: full) == ["allow", "deny", "token"])
        var tokensOnly = AccessRules()
        tokensOnly.tokens = ["other"]
        #expect(tokensOnly.kindsLost(since: full) == ["allow", "deny"])
        var nobody = full
        nobody.allowed = []
        #expect(nobody.kindsLost(since: full) == [], "an empty list lets nobody in")
    }

    @Test("lists and tokens: every rule that is set must allow it")
    func access() throws {
        let (one, two, three) = (try key(1).node, try key(2).node, try key(3).node)
        #expect(AccessRules.everyone.allow(one, token: nil))
        var rules = AccessRules.everyone
        rules.denied = [two]
        #expect(rules.allow(one, token: nil) && !rules.allow(two, token: nil))
        rules.allowed = [one, two]
        #expect(rules.allow(one, token: nil) && !rules.allow(two, token: nil) && !rules.allow(three, token: nil))
        rules.tokens = ["a", "bc"]
        #expect(!rules.allow(one, token: nil) && !rules.allow(one, token: "b") && !rules.allow(one, token: "bcd"))
        #expect(rules.allow(one, token: "a") && rules.allow(one, token: "bc") && !rules.allow(two, token: "a"))
    }

    @Test("a rule file adds to the rules, and a line that is no rule is named")
    func accessFile() throws {
        let (one, two) = (try key(1).node, try key(2).node)
        var rules = AccessRules.everyone
        try AccessFile.read("# mine\nallow \(one.z32)\n\n deny\t\(two.hex) # old\r\ntoken x\n", into: &rules)
        #expect(rules.allowed == [one] && rules.denied == [two] && rules.tokens == ["x"])
        for (text, line) in [("permit \(one.z32)", 1), ("\nallow", 2), ("token a b", 1), ("\n\ndeny x", 3)] {
            let error = #expect(throws: AccessFile.Malformed.self) { try AccessFile.read(text, into: &rules) }
            #expect(error?.line == line)
        }
    }

    @Test("a valid answer proves the node, a wrong signature is told, anything else breaks the protocol")
    func admission() throws {
        let secret = try key(7)
        let challenge = try #require(RelayChallenge(bytes: Array(0..<16)))
        let other = try #require(RelayChallenge(bytes: Array(1..<17)))
        let admission = RelayAdmission(challenge: challenge)
        #expect(admission.begin(proof: nil) { _ in nil } == .send(.serverChallenge(challenge)))
        let answer = RelayFrame.clientAuth(RelayClientAuth(answering: challenge, secret: secret))
        #expect(admission.receive(answer) == .proven(secret.node))
        let wrong = RelayFrame.clientAuth(RelayClientAuth(answering: other, secret: secret))
        #expect(admission.receive(wrong) == .deny(.key, secret.node))
        guard case .violation = admission.receive(.ping(1)) else {
            Issue.record("a ping before the answer was taken")
            return
        }
    }

    @Test("a guest proves its node, for itself and this connection, and under its own name")
    func guests() throws {
        let (guest, node) = (try key(7), try key(8))
        let challenge = try #require(RelayChallenge(bytes: Array(0..<16)))
        let binding = RelayNodeProof.Binding.keyingMaterial([UInt8](0..<32))
        let admission = RelayAdmission(challenge: challenge, binding: binding)
        func answer(_ proof: RelayNodeProof) -> RelayAdmission.Step {
            var auth = RelayClientAuth(answering: challenge, secret: guest)
            auth.nodeProof = proof
            return admission.receive(.clientAuth(auth))
        }
        let proof = RelayNodeProof(node, as: guest.node, answering: challenge, binding: binding)
        #expect(answer(proof) == .proven(guest.node, account: node.node))
        let other = try #require(RelayChallenge(bytes: Array(1..<17)))
        for proof in [
            RelayNodeProof(node, as: node.node, answering: challenge, binding: binding),
            RelayNodeProof(node, as: guest.node, answering: other, binding: binding),
            RelayNodeProof(node, as: guest.node, answering: challenge, binding: .plain),
            RelayNodeProof(node, as: guest.node, answering: challenge, binding: .keyingMaterial([UInt8](1..<33))),
        ] {
            #expect(answer(proof) == .deny(.account(.keyingMaterial), node.node))
        }
    }

    @Test(
        "keying material proves the node without a round trip; without TLS, or when it differs, the challenge decides")
    func keyingMaterial() throws {
        let secret = try key(7)
        let challenge = try #require(RelayChallenge(bytes: Array(0..<16)))
        let admission = RelayAdmission(challenge: challenge)
        let material = [UInt8](0..<32)
        let proof = RelayKeyingMaterialProof(secret: secret, keyingMaterial: material)
        #expect(admission.begin(proof: proof) { $0 == secret.node ? material : nil } == .proven(secret.node))
        let challenged = RelayAdmission.Step.send(.serverChallenge(challenge))
        #expect(admission.begin(proof: proof) { _ in nil } == challenged)
        #expect(admission.begin(proof: proof) { _ in [UInt8](1..<33) } == challenged)
    }
}

@Suite("The upgrade to the relay protocol")
struct RelayUpgradeTests {
    private static let good: [(String, String)] = [
        ("Upgrade", "websocket"), ("Connection", "Upgrade"), ("Sec-WebSocket-Key", "iTRqp7qQPDwXDa+GsATcXA=="),
        ("Sec-WebSocket-Version", "13"), ("sec-websocket-protocol", "iroh-relay-v2, iroh-relay-v1"),
    ]

    private func request(
        target: String = "/relay", without: String? = nil, _ more: [(String, String)] = []
    ) -> HTTPRequest {
        var fields = HTTPFields()
        for (name, value) in Self.good where name != without { fields.append(name, value) }
        for (name, value) in more { fields.append(name, value) }
        return HTTPRequest("GET", target, fields)
    }

    private func accepted(_ request: HTTPRequest) -> RelayUpgrade? {
        if case .accepted(let upgrade) = RelayUpgrade.read(request) { upgrade } else { nil }
    }

    @Test("a real client's request is answered with the proof of its key and the best version both speak")
    func answer() throws {
        let upgrade = try #require(accepted(request()))
        #expect(upgrade.version == .v2)
        #expect(upgrade.response.status == 101)
        #expect(upgrade.response.fields["sec-websocket-accept"] == "Psz/OSWBMu0RC+rgRrjISox0d2w=")
        #expect(upgrade.response.fields["sec-websocket-protocol"] == "iroh-relay-v2")
        let old = request(without: "sec-websocket-protocol", [("sec-websocket-protocol", "x, iroh-relay-v1")])
        #expect(accepted(old)?.version == .v1)
    }

    @Test("a relay says that it answers STUN, but not to whom a proxy stands for: UDP does not pass it")
    func stun() throws {
        var upgrade = try #require(accepted(request()))
        #expect(!StunField.says(upgrade.response))
        upgrade.tellOfStun()
        #expect(StunField.says(upgrade.response))
        #expect(StunField.isPossible(request()))
        for field in ["Forwarded", "Via", "X-Forwarded-For"] {
            #expect(!StunField.isPossible(request([(field, "x")])), "\(field)")
        }
    }

    @Test("each missing or wrong field is refused with 400")
    func refusals() {
        let wrong = [
            request([("Content-Length", "5")]), request([("Content-Length", "-0")]),
            request([("Content-Length", "0"), ("Content-Length", "0")]), request([("Transfer-Encoding", "chunked")]),
            request(without: "Upgrade"), request(without: "Sec-WebSocket-Key"),
            request(without: "Sec-WebSocket-Version"),
            request(without: "sec-websocket-protocol"),
            request(without: "Sec-WebSocket-Version", [("Sec-WebSocket-Version", "12")]),
            request(without: "sec-websocket-protocol", [("sec-websocket-protocol", "iroh-relay-v3")]),
        ]
        for request in wrong {
            guard case .refused(let response, _) = RelayUpgrade.read(request) else {
                Issue.record("not refused: \(request)")
                continue
            }
            #expect(response.status == 400)
        }
        let old = request(without: "Sec-WebSocket-Version", [("Sec-WebSocket-Version", "12")])
        guard case .refused(let response, _) = RelayUpgrade.read(old) else { return }
        #expect(response.fields["sec-websocket-version"] == "13")
    }

    @Test("the token stands in a field, or for browsers in the query, and the field wins")
    func token() {
        #expect(accepted(request())?.token == nil)
        #expect(accepted(request(target: "/relay?token=a%2Fb"))?.token == "a/b")
        let both = request(target: "/relay?token=q", [("Authorization", "Basic x"), ("Authorization", "bearer t")])
        #expect(accepted(both)?.token == "t")
    }

    @Test("a proof that is none ends the connection without an answer")
    func brokenProof() {
        guard case .hangUp = RelayUpgrade.read(request(target: "/relay", [(RelayKeyingMaterialProof.fieldName, "x")]))
        else {
            Issue.record("answered")
            return
        }
    }
}
