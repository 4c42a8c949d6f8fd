import MewBase
import MewDaemon
import MewIdentity
import MewWire
import Testing

@testable import mew

@Suite("What a daemon says when it starts")
struct DaemonWordsTests {
    private func readiness(_ relays: [DaemonReadiness.Relay]) throws -> DaemonReadiness {
        let node = try #require(SecretKey(seed: [UInt8](repeating: 3, count: 32))).node
        return DaemonReadiness(
            node: node, name: "desk", addresses: [.loopback(port: 7)], relays: relays, agents: [], warnings: [])
    }

    private func lines(_ relays: [DaemonReadiness.Relay]) throws -> [String] {
        DaemonWords(try readiness(relays)).lines
    }

    @Test("one that mew pair starts says that it is new, and where its relays come from")
    func pairing() throws {
        let relay = DaemonReadiness.Relay(url: try RelayURL("https://one.example/"), isConnected: false)
        #expect(DaemonWords.forPairing(try readiness([])).contains("starts one, without a relay."))
        #expect(DaemonWords.forPairing(try readiness([relay])).hasSuffix("with the relays of config.json."))
    }

    @Test("it can be reached through the relays that are connected, and tries the others: why, and what to do")
    func relays() throws {
        let one = try RelayURL("https://one.example/")
        let two = try RelayURL("https://two.example/")
        let three = try RelayURL("https://three.example/")
        let said = try lines([
            .init(url: one, isConnected: true),
            .init(url: two, isConnected: false, problem: "the certificate is bad", advice: "use another"),
            .init(url: three, isConnected: false),
        ])
        #expect(
            said == [
                "desk listens on UDP 127.0.0.1:7.", "It can be reached through https://one.example/ as well.",
                "It tries the relay https://two.example/: the certificate is bad; use another.",
                "It tries the relay https://three.example/: no answer yet.",
            ])
    }
}
