import MewBase
import MewDaemon
import MewIdentity
import MewWire
import Testing

@testable import mew

@Suite("What a daemon says when it starts")
struct DaemonWordsTests {
    private func lines(_ relays: [DaemonReadiness.Relay]) throws -> [String] {
        let node = try #require(SecretKey(seed: [UInt8](repeating: 3, count: 32))).node
        return DaemonWords(
            DaemonReadiness(
                node: node, name: "desk", addresses: [.loopback(port: 7)], relays: relays, agents: [], warnings: [])
        ).lines
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
