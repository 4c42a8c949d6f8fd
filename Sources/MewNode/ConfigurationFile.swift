import MewBase
package import MewWire

/// What a state directory's `config.json` says: what would otherwise have to stand on every command line.
///
///     {"relays": ["https://relay.example.com/"], "relay_token": "secret", "relay_trust": "our-ca.pem", "port_map": false}
///
/// Every key may be absent; the command line wins. A key that is not known is an error: whoever wrote it by hand believes that it
/// does something.
package struct ConfigurationFile: Hashable, Sendable {
    /// Where this machine's daemon can be reached, the nearest is home, and where commands look for nodes they do not know.
    package var relays: [RelayURL] = []
    /// For relays that let in only who has it.
    package var relayToken: String?
    /// A PEM file of certificate authorities that relays are believed by instead of the system's. A relative path starts at
    /// the state directory.
    package var relayTrust: String?
    /// Whether the router is asked to open the daemon's port.
    package var mapsPort: Bool?

    /// Written by hand; a larger one is something else.
    package static let maxBytes = 64 << 10

    package init() {}

    private enum Key {
        static let relays = "relays"
        static let relayToken = "relay_token"
        static let relayTrust = "relay_trust"
        static let mapsPort = "port_map"
    }

    /// All that there are.
    package static let keys = [Key.relays, Key.relayToken, Key.relayTrust, Key.mapsPort]

    /// Half a sentence that names the key.
    package struct Malformed: Error, Hashable, CustomStringConvertible {
        package let description: String
        /// A key that does not exist, when that is what is wrong.
        package var unknownKey: String?
    }

    package init(_ bytes: [UInt8]) throws(Malformed) {
        let json: JSON
        do throws(JSONError) {
            json = try JSON(parsing: bytes)
        } catch {
            throw Malformed(description: "it is no JSON: \(error)")
        }
        guard let object = json.asObject else { throw Malformed(description: "it is no JSON object") }
        try Self.checkKeys(object)
        relays = try Self.relays(json[Key.relays])
        relayToken = try Self.text(json[Key.relayToken], Key.relayToken)
        if let relayToken, !RelayToken.isOne(relayToken) {
            throw Malformed(description: "\"relay_token\" \(RelayToken.rule)")
        }
        relayTrust = try Self.text(json[Key.relayTrust], Key.relayTrust)
        mapsPort = try Self.flag(json[Key.mapsPort], Key.mapsPort)
    }

    private static func checkKeys(_ object: JSONObject) throws(Malformed) {
        guard let key = object.keys.sorted().first(where: { !keys.contains($0) }) else { return }
        throw Malformed(description: "there is no key \"\(key.printable(limit: 80))\"", unknownKey: key)
    }

    private static func relays(_ value: JSON?) throws(Malformed) -> [RelayURL] {
        guard let value else { return [] }
        guard let list = value.asArray else { throw Malformed(description: "\"relays\" is no list") }
        var relays: [RelayURL] = []
        for element in list {
            guard let text = element.asString else {
                throw Malformed(description: "\"relays\" holds something else than text")
            }
            do throws(RelayURLError) {
                relays.append(try RelayURL(typed: text))
            } catch {
                throw Malformed(description: "\"relays\" holds '\(text.printable(limit: 80))', which \(error)")
            }
        }
        return relays
    }

    private static func flag(_ value: JSON?, _ key: String) throws(Malformed) -> Bool? {
        guard let value else { return nil }
        guard let flag = value.asBool else { throw Malformed(description: "\"\(key)\" is neither true nor false") }
        return flag
    }

    private static func text(_ value: JSON?, _ key: String) throws(Malformed) -> String? {
        guard let value else { return nil }
        guard let text = value.asString, !text.isEmpty else { throw Malformed(description: "\"\(key)\" is no text") }
        return text
    }
}
