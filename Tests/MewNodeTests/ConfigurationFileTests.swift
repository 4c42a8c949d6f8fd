import MewNode
import MewWire
import Testing

@Suite("config.json")
struct ConfigurationFileTests {
    private func failure(_ text: String) -> ConfigurationFile.Malformed? {
        do throws(ConfigurationFile.Malformed) {
            _ = try ConfigurationFile(Array(text.utf8))
            return nil
        } catch {
            return error
        }
    }

    @Test("every known key is taken, and each may be absent")
    func keys() throws {
        let relays = #""relays": ["https://relay.test/"], "relay_token": "s3cret", "relay_trust": "ca.pem""#
        let text = "{\(relays), \"port_map\": false}"
        let file = try ConfigurationFile(Array(text.utf8))
        #expect(file.relays.map(\.description) == ["https://relay.test/"])
        #expect(file.relayToken == "s3cret" && file.relayTrust == "ca.pem" && file.mapsPort == false)
        #expect(failure("{}") == nil)
        for key in ConfigurationFile.keys { #expect(failure("{\"\(key)\": 1}")?.unknownKey == nil) }
    }

    @Test("a key that is not known is an error that names it", arguments: ["relay", "relay_tokens", "Relays", ""])
    func unknown(key: String) {
        let failure = failure("{\"relays\": [], \"\(key)\": \"https://relay.test/\"}")
        #expect(failure?.unknownKey == key)
        #expect(failure?.description == "there is no key \"\(key)\"")
    }

    @Test(
        "a relay with a path, a query or a user is refused in words",
        arguments: [
            ("https://relay.test/path", "path"), ("https://relay.test//", "path"), ("https://relay.test/?a=b", "query"),
            ("https://ada@relay.test/", "user"),
        ])
    func relays(url: String, word: String) {
        #expect(failure("{\"relays\": [\"\(url)\"]}")?.description.contains("has a \(word)") == true)
        // What peers send is read as before.
        if word == "path" { #expect((try? RelayURL(url))?.description == "https://relay.test/") }
    }

    @Test("a slash and a pinned key are no path", arguments: ["", "/", "#", "/#"])
    func slash(end: String) {
        #expect(failure("{\"relays\": [\"https://relay.test:4433\(end)\"]}") == nil)
    }
}
