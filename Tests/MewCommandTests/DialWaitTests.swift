import MewBase
import MewClient
import MewIdentity
import MewTestSupport
import MewWire
import Testing

@testable import mew

@Suite("While a daemon does not answer", .timeLimit(.minutes(1)))
struct DialWaitTests {
    @Test("a dial that takes long says what is being tried, with at most three routes")
    func dialWait() throws {
        let node = try #require(SecretKey(seed: [UInt8](repeating: 3, count: 32))).node
        func words(_ addresses: [String], _ relays: [String] = [], name: String = "desk") -> String {
            let record = DaemonRecord(
                node: node, name: name, addresses: addresses.compactMap { SocketAddress($0) },
                addedAt: WallTime(milliseconds: 1))
            let target = ClientCommand.Target(
                record: record, routes: DialTarget(node: node, addresses: [], relays: relays))
            return DialWait(target: target).words
        }
        let (address, relay) = ("10.77.1.2:4433", "http://relay.test:3340/")
        #expect(words([address], [relay]) == "(trying desk: \(address), relay \(relay) …)")
        #expect(words([]) == "(looking for desk at the relays that are known …)")
        #expect(words([address], name: "") == "(trying the daemon: \(address) …)")
        let many = (1...5).map { "192.0.2.\($0):1" }
        #expect(words(many).hasSuffix("192.0.2.1:1, 192.0.2.2:1, 192.0.2.3:1 and 2 more …)"))
    }

    @Test("after a second standard error says once what is tried, at no terminal as well", arguments: [true, false])
    func told(isJSON: Bool) async throws {
        let stage = CommandStage()
        try await stage.add()
        let words = ["sessions", "desk"] + (isJSON ? ["--json"] : [])
        let result = try await stage.run(
            words,
            daemonAndPerson: { link, seat in
                #expect(await seat.err.line(containing: "trying") == "(trying desk: 127.0.0.1:1 …)")
                try await link.welcome()
                try await link.list([])
                _ = await link.link.closed()
            })
        #expect(result.exit == .ok, "\(result.err.text)")
        #expect(result.err.lines.count == 1, "\(result.err.text)")
        #expect(!result.out.text.contains("trying"), "\(result.out.text)")
    }
}
