import MewIdentity
import MewWire
import Testing

@Suite("Proving to a relay who we are")
struct RelayHandshakeTests {
    /// spec/iroh-wire.md §4.3.
    private static let challengeFrame = "00000102030405060708090a0b0c0d0e0f"
    private static let authFrame =
        "01197f6b23e16c8532c6abc838facd5ea789be0c76b2920334039bfa8b3d368d61"
        + "40a28b5ebc6a930b5d80ad5aca2a8e48ad4a064e699c0866674c8b8e61a5f4ea94"
        + "0ee8b9f06732930250ac0735555abe77e8df740165edc3163be432f0e4f3cf0f"
    private static let fieldValue =
        "GX9rI-FshTLGq8g4-s1ep4m-DHaykgM0A5v6iz02jWFAQb98VXtFUshaBKOJKabtiBrsmgnPjpFdRpJqAzcy9jOAPc-kOvzLgXje"
        + "T9vCG8qx2yO7aDoF4n5vbE4kJbh2CBAREhMUFRYXGBkaGxwdHh8"

    @Test("a challenge is answered with the bytes of iroh")
    func answersChallenge() throws {
        var handshake = RelayClientHandshake(secret: try exampleKey())
        let frame = try RelayFrame.decode(try #require(Hex.decode(Self.challengeFrame)))
        guard case .send(let answer) = handshake.receive(frame) else {
            Issue.record("a challenge was not answered")
            return
        }
        #expect(Hex.encode(answer.encoded) == Self.authFrame)
        #expect(handshake.receive(.serverConfirmsAuth) == .confirmed)
    }

    @Test("a relay that has seen enough confirms or denies at once")
    func withoutChallenge() throws {
        var handshake = RelayClientHandshake(secret: try exampleKey())
        #expect(handshake.receive(.serverConfirmsAuth) == .confirmed)
        handshake = RelayClientHandshake(secret: try exampleKey())
        #expect(handshake.receive(.serverDeniesAuth(reason: "no")) == .denied(reason: "no"))
    }

    @Test("a second challenge, and anything else before the decision, breaks the protocol")
    func violations() throws {
        var handshake = RelayClientHandshake(secret: try exampleKey())
        let challenge = try RelayFrame.decode(try #require(Hex.decode(Self.challengeFrame)))
        _ = handshake.receive(challenge)
        #expect(handshake.receive(challenge) == .violation("the relay sent a second challenge"))
        for frame in [RelayFrame.ping(1), .pong(1), .status(.healthy), .endpointGone(try exampleKey().node)] {
            guard case .violation = handshake.receive(frame) else {
                Issue.record("\(frame) was taken for a decision")
                continue
            }
        }
    }

    @Test("the relay accepts a signature over its own challenge only")
    func verifiesAnswer() throws {
        let challenge = try #require(RelayChallenge(bytes: Array(0..<16)))
        let other = try #require(RelayChallenge(bytes: Array(1..<17)))
        let auth = RelayClientAuth(answering: challenge, secret: try exampleKey())
        #expect(auth.isValid(for: challenge))
        #expect(!auth.isValid(for: other))
        var damaged = auth.encoded
        damaged[96] ^= 1
        #expect(RelayClientAuth(encoded: damaged[...])?.isValid(for: challenge) == false)
        damaged = auth.encoded
        damaged[32] = 63
        #expect(RelayClientAuth(encoded: damaged[...]) == nil)
    }

    @Test("a relay asks for a proof over keying material or without, and neither is taken for the other")
    func questions() throws {
        #expect(RelayNodeProof.Question.allCases.map(\.rawValue) == ["0", "1"])
        let challenge = try #require(RelayChallenge(bytes: Array(0..<16)))
        let (guest, node) = (try exampleKey().node, try #require(SecretKey(seed: [UInt8](repeating: 9, count: 32))))
        let (one, other) = ([UInt8](0..<32), [UInt8](1..<33))
        let bindings: [RelayNodeProof.Binding] = [.plain, .keyingMaterial(one), .keyingMaterial(other)]
        #expect(bindings.map(\.question) == [.plain, .keyingMaterial, .keyingMaterial])
        for (index, binding) in bindings.enumerated() {
            let proof = RelayNodeProof(node, as: guest, answering: challenge, binding: binding)
            for (other, wanted) in bindings.enumerated() {
                #expect(proof.isValid(for: guest, challenge, wanted) == (index == other))
            }
        }
    }

    @Test(
        "an answer with a proof of the node key is read back, and is none with a byte less or more",
        arguments: [.plain, .keyingMaterial([UInt8](0..<32))] as [RelayNodeProof.Binding])
    func account(binding: RelayNodeProof.Binding) throws {
        let challenge = try #require(RelayChallenge(bytes: Array(0..<16)))
        let (guest, node) = (try exampleKey(), try #require(SecretKey(seed: [UInt8](repeating: 9, count: 32))))
        var handshake = RelayClientHandshake(secret: guest, account: .init(node, binding: binding))
        guard case .send(.clientAuth(let auth)) = handshake.receive(.serverChallenge(challenge)) else {
            Issue.record("a challenge was not answered")
            return
        }
        #expect(auth.isValid(for: challenge) && auth.node == guest.node)
        #expect(auth.nodeProof?.node == node.node)
        #expect(auth.nodeProof?.isValid(for: guest.node, challenge, binding) == true)
        #expect(auth.encoded.count == 97 + 96)
        #expect(RelayClientAuth(encoded: auth.encoded[...]) == auth)
        for length in [98, 192] { #expect(RelayClientAuth(encoded: auth.encoded[..<length]) == nil) }
        #expect(RelayClientAuth(encoded: (auth.encoded + [0])[...]) == nil)
        // Cut off before the proof it is the answer of a guest on nobody's account.
        #expect(RelayClientAuth(encoded: auth.encoded[..<97])?.nodeProof == nil)
    }

    @Test("the proof over keying material has the text of iroh")
    func keyingMaterialText() throws {
        let material = (0..<32).map { UInt8($0) }
        let proof = RelayKeyingMaterialProof(secret: try exampleKey(), keyingMaterial: material)
        #expect(proof.fieldValue == Self.fieldValue)
        let read = try #require(RelayKeyingMaterialProof(fieldValue: Self.fieldValue))
        #expect(read == proof)
        #expect(read.node == (try exampleKey()).node)
        #expect(read.isValid(for: material))
    }

    @Test("other keying material, or one bit of it, proves nothing")
    func keyingMaterialMismatch() throws {
        let material = (0..<32).map { UInt8($0) }
        let proof = try #require(RelayKeyingMaterialProof(fieldValue: Self.fieldValue))
        for index in material.indices {
            var other = material
            other[index] ^= 1
            #expect(!proof.isValid(for: other))
        }
        #expect(!proof.isValid(for: []))
    }

    @Test("a value of another length or alphabet is refused")
    func malformedText() {
        #expect(RelayKeyingMaterialProof(fieldValue: "") == nil)
        #expect(RelayKeyingMaterialProof(fieldValue: Self.fieldValue + "A") == nil)
        #expect(RelayKeyingMaterialProof(fieldValue: String(Self.fieldValue.dropLast())) == nil)
        #expect(RelayKeyingMaterialProof(fieldValue: "+" + Self.fieldValue.dropFirst()) == nil)
        // The last symbol holds four bits; others in it are no text of any bytes.
        #expect(RelayKeyingMaterialProof(fieldValue: Self.fieldValue.dropLast() + "9") == nil)
    }
}
