import MewBase
package import MewWire

/// What a state directory's `config.json` says: what would otherwise have to stand on every command line.
///
///     {"relays": ["https://relay.example.com/"], "relay_token": "secret", "relay_trust": "our-ca.pem"}
///
/// Every key may be absent; the command line wins. Keys that are not known are for other versions and are passed over.
package struct ConfigurationFile: Hashable, Sendable {
    /// Where this machine's daemon can be reached, the nearest is home, and where commands look for nodes they do not know.
    package var relays: [RelayURL] = []
    /// For relays that let in only who has it.
    package var relayToken: String?
    /// A PEM file of certificate authorities that relays are believed by instead of the system's. A relative path starts at
    /// the state directory.
    package var relayTrust: String?

    /// Written by hand; a larger one is something else.
    package static let maxBytes = 64 << 10

    package init() {}

    /// Half a sentence that names the key.
    package struct Malformed: Error, Hashable, CustomStringConvertible {
        package let description: String
    }

    package init(_ bytes: [UInt8]) throws(Malformed) {
        let json: JSON
        do throws(JSONError) {
            json = try JSON(parsing: bytes)
        } catch {
            throw Malformed(description: "it is no JSON: \(error)")
        }
        guard json.asObject != nil else { throw Malformed(description: "it is no JSON object") }
        relays = try Self.relays(json["relays"])
        relayToken = try Self.text(json["relay_token"], "relay_token")
        if let relayToken, !RelayToken.isOne(relayToken) {
            throw Malformed(description: "\"relay_token\" \(RelayToken.rule)")
        }
        relayTrust = try Self.text(json["relay_trust"], "relay_trust")
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
                relays.append(try RelayURL(text))
            } catch {
                throw Malformed(description: "\"relays\" holds '\(text.printable(limit: 80))', which \(error)")
            }
        }
        return relays
    }

    private static func text(_ value: JSON?, _ key: String) throws(Malformed) -> String? {
        guard let value else { return nil }
        guard let text = value.asString, !text.isEmpty else { throw Malformed(description: "\"\(key)\" is no text") }
        return text
    }
}
