internal import MewBase
internal import MewIdentity
internal import MewWire

/// The client's request for the relay protocol, and what it makes of the answer (spec/iroh-wire.md §4.1).
struct LegUpgrade {
    private let key: String

    init(entropy: any Entropy) {
        key = WebSocketKey.nonce(entropy: entropy)
    }

    /// - Parameters:
    ///   - token: shown as bearer to relays that want one.
    ///   - proof: over TLS, saves the challenge.
    func request(to url: RelayURL, token: String?, proof: RelayKeyingMaterialProof?) -> HTTPRequest {
        var fields: HTTPFields = [
            "host": url.authority, "upgrade": "websocket", "connection": "Upgrade", "sec-websocket-key": key,
            "sec-websocket-version": "13",
            "sec-websocket-protocol": RelayVersion.preferred.map(\.rawValue).joined(separator: ", "),
        ]
        if let token { fields.append("authorization", "Bearer \(token)") }
        if let proof { fields.append(RelayKeyingMaterialProof.fieldName, proof.fieldValue) }
        return HTTPRequest("GET", "/relay", fields)
    }

    /// Why the answer opens nothing; half a sentence.
    struct Refusal: Error, Equatable {
        let reason: String
    }

    func version(in response: HTTPResponse) throws(Refusal) -> RelayVersion {
        guard response.status == 101 else {
            throw Refusal(reason: "the relay answered HTTP status \(response.status) instead of 101")
        }
        guard response.fields.contains("websocket", in: "upgrade"),
            response.fields.contains("upgrade", in: "connection")
        else { throw Refusal(reason: "the relay's 101 upgrades to something else") }
        guard response.fields["sec-websocket-accept"] == WebSocketKey.accept(key) else {
            throw Refusal(reason: "the relay's Sec-WebSocket-Accept does not fit our key")
        }
        guard response.fields["sec-websocket-extensions"] == nil else {
            throw Refusal(reason: "the relay chose a WebSocket extension that was not offered")
        }
        guard let version = response.fields["sec-websocket-protocol"].flatMap(RelayVersion.init) else {
            throw Refusal(reason: "the relay speaks no version of the protocol that we speak")
        }
        return version
    }
}
