import MewBase
import MewIdentity
import MewWire
import Testing

@Suite("A relay's proof of its key")
struct RelayKeyProofTests {
    private let secret: SecretKey
    private let binding = RelayKeyProof.Binding(keyingMaterial: [UInt8](repeating: 3, count: 32))

    init() throws {
        secret = try #require(SecretKey(seed: [UInt8](repeating: 0x2a, count: 32)))
    }

    @Test("it reads back as it was written, and holds for its connection alone")
    func roundTrip() throws {
        let proof = try #require(
            RelayKeyProof(fieldValue: RelayKeyProof(secret: secret, binding: binding).fieldValue))
        #expect(proof.node == secret.node)
        #expect(proof.isValid(for: binding))
        #expect(!proof.isValid(for: .init(keyingMaterial: [UInt8](repeating: 4, count: 32))))
        #expect(!proof.isValid(for: .init(webSocketKey: String(repeating: "\u{3}", count: 32))))
    }

    @Test("what has another form is no proof")
    func forms() {
        let text = RelayKeyProof(secret: secret, binding: binding).fieldValue
        for bad in ["", " ", "x", String(text.dropLast()), text + "A", text + " ", text.replacing(" ", with: "  ")] {
            #expect(RelayKeyProof(fieldValue: bad) == nil, "\(bad)")
        }
    }
}
