import MewDaemon
import MewIdentity
import Testing

@testable import mew

@Suite("What stands below the command for the other machine")
struct PairingWordsTests {
    private func said(_ tokenRelays: [String]) throws -> [String] {
        let node = try #require(SecretKey(seed: [UInt8](repeating: 3, count: 32))).node
        return PairingWords.tokens(
            ControlWindow(
                node: node, name: "desk", secondsLeft: 120, addresses: [],
                relays: ["https://a.test/", "https://b.test/", "http://c.test/"], tokenRelays: tokenRelays))
    }

    @Test("the relays that are shown a token are named with the option for it, once, and no others")
    func tokens() throws {
        #expect(try said([]).isEmpty)
        #expect(try said(["https://b.test/"]).contains("  --relay https://b.test/ --relay-token TOKEN"))
        #expect(
            try said(["https://a.test/", "https://b.test/"]).contains(
                "  --relay https://a.test/ --relay https://b.test/ --relay-token TOKEN"))
    }
}
