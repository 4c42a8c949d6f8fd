import MewIdentity
import MewRelay
import MewSim
import MewTestSupport
import MewWire
import Testing

@testable import MewNode

@Suite("Which relays a node's own side has named")
struct RelayNamingTests {
    @Test("legs of a dialler know whether its owner named their relay, in any spelling, or only a peer did")
    func named() throws {
        try withSimWorld(seed: 1) { world in
            let machine = world.addNode("near")
            let secret = try #require(SecretKey(seed: [UInt8](repeating: 1, count: 32)))
            var configuration = Node.Configuration(secret: secret, accepts: [])
            configuration.knownRelays = [try RelayURL("https://known.test/")]
            configuration.namedRelays = [try RelayURL("https://named.test/")]
            let ready = configuration
            let node = try world.run(on: machine) { [machine = Lent(machine)] in
                try await Node.start(
                    ready, network: machine.value.network, relays: CannedRelay(answer: []), loop: machine.value.loop,
                    entropy: machine.value.entropy)
            }
            let expected = [
                ("https://named.test", true), ("wss://NAMED.test:443/", true), ("http://named.test/", false),
                ("https://known.test/", false), ("https://other.test/", false),
            ]
            for (text, isNamed) in expected {
                let url = try RelayURL(text)
                let leg = try world.run(on: machine) { await node.relays?.visit(url).leg }
                #expect(leg?.settings.isNamedByOwner == isNamed, "\(text)")
            }
            try world.run(on: machine) { await node.stop() }
        }
    }
}
