internal import MewBase
internal import MewIdentity
internal import MewIdentity
internal import MewWire

/// The client's request for the relay protocol, and what it makes of the answer (spec/iroh-wire.md §4.1).
struct LegUpgrade {
    /// The value of `Sec-WebSocket-Key`.
    let key: String

    init(entropy: any Entropy) {
        key = WebSocketKey.nonce(entropy: entropy)
    }

    /// - Parameters:
    ///   - token: shown as bearer to relays that want one.
    ///   - proof: over TLS, saves the challenge.
    ///   - isGuest: says that the key we come under is thrown away.
    ///   - offersAccount: asks whether the relay takes a proof of our node key besides.
    func request(
        to url: RelayURL, token: String?, proof: RelayKeyingMaterialProof?, isGuest: Bool = false,
        offersAccount: Bool = false
    ) -> HTTPRequest {
        var fields: HTTPFields = [
            "host": url.authority, "upgrade": "websocket", "connection": "Upgrade", "sec-websocket-key": key,
            "sec-websocket-version": "13",
            "sec-websocket-protocol": RelayVersion.preferred.map(\.rawValue).joined(separator: ", "),
        ]
        if url.key != nil { fields.append(RelayKeyProof.fieldName, "1") }
        if isGuest { fields.append(RelayNodeProof.guestFieldName, "1") }
        if offersAccount { fields.append(RelayNodeProof.fieldName, "1") }
        if let token { fields.append("authorization", "Bearer \(token)") }
        if let proof { fields.append(RelayKeyingMaterialProof.fieldName, proof.fieldValue) }
        return HTTPRequest("GET", "/relay", fields)
    }

    /// Why the answer opens nothing; half a sentence.
    struct Refusal: Error, Equatable {
        let reason: String
    }

    /// The relay must have the key that its URL pins.
    ///
    /// - Parameter binding: to the connection.
    func checkKey(_ pinned: NodeID, in response: HTTPResponse, binding: RelayKeyProof.Binding) throws(Refusal) {
        guard let proof = response.fields[RelayKeyProof.fieldName].flatMap(RelayKeyProof.init(fieldValue:)) else {
            throw Refusal(reason: "the relay does not prove the key that its URL pins")
        }
        guard proof.node == pinned else {
            throw Refusal(
                reason: "another relay answers there: its key is \(proof.node.z32), not the one that its URL pins")
        }
        guard proof.isValid(for: binding) else {
            throw Refusal(reason: "the relay's proof of its key is not for this connection")
        }
    }

    /// Nobody but a relay of ours says so.
    func takesAccount(_ response: HTTPResponse) -> Bool { response.fields[RelayNodeProof.fieldName] == "1" }

    func version(in response: HTTPResponse) throws(Refusal) -> RelayVersion {
        guard response.status == 101 else {
            throw Refusal(reason: Self.words(status: response.status))
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

    private static func words(status: Int) -> String {
        switch status {
        case 429: "the relay has too many connections from our network already (HTTP status 429)"
        case 503: "the relay takes no more connections now (HTTP status 503)"
        default: "the relay answered HTTP status \(status) instead of 101"
        }
    }
}
