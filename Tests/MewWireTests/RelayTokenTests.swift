import MewWire
import Testing

@Suite("Relay tokens")
struct RelayTokenTests {
    @Test("1 to 1024 bytes are a token, and not one more")
    func bounds() {
        #expect(!RelayToken.isOne(""))
        #expect(RelayToken.isOne("x"))
        #expect(RelayToken.isOne(String(repeating: "x", count: 1_024)))
        #expect(!RelayToken.isOne(String(repeating: "x", count: 1_025)))
    }

    @Test(
        "what would end its field, or arrive as something else, is none",
        arguments: ["abc\n", "\r", "a b", "\tab", "\0", "a\u{7f}"])
    func controls(_ text: String) {
        #expect(!RelayToken.isOne(text))
    }

    @Test("what people make up is one", arguments: ["let-me-in", "aGVsbG8=", "ключ", "a,b;c"])
    func usual(_ text: String) {
        #expect(RelayToken.isOne(text))
    }
}
