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

    /// Why the answer opens nothing.
    enum Refusal: Error, Equatable {
        /// Half a sentence.
        case reason(String)
        case crowded(RelayCrowding)
    }

    /// The relay must have the key that its URL pins.
    ///
    /// - Parameter binding: to the connection.
    func checkKey(_ pinned: NodeID, in response: HTTPResponse, binding: RelayKeyProof.Binding) throws(Refusal) {
        guard let proof = response.fields[RelayKeyProof.fieldName].flatMap(RelayKeyProof.init(fieldValue:)) else {
            throw .reason("the relay does not prove the key that its URL pins")
        }
        guard proof.node == pinned else {
            throw .reason("another relay answers there: its key is \(proof.node.z32), not the one that its URL pins")
        }
        guard proof.isValid(for: binding) else {
            throw .reason("the relay's proof of its key is not for this connection")
        }
    }

    /// How the relay wants our node key proved; nil when it does not. Nobody but a relay of ours says so.
    func question(in response: HTTPResponse) -> RelayNodeProof.Question? {
        response.fields[RelayNodeProof.fieldName].flatMap(RelayNodeProof.Question.init(rawValue:))
    }

    func version(in response: HTTPResponse) throws(Refusal) -> RelayVersion {
        if let crowding = RelayCrowding(rawValue: response.status) { throw .crowded(crowding) }
        guard response.status == 101 else {
            throw .reason("the relay answered HTTP status \(response.status) instead of 101")
        }
        guard response.fields.contains("websocket", in: "upgrade"),
            response.fields.contains("upgrade", in: "connection")
        else { throw .reason("the relay's 101 upgrades to something else") }
        guard response.fields["sec-websocket-accept"] == WebSocketKey.accept(key) else {
            throw .reason("the relay's Sec-WebSocket-Accept does not fit our key")
        }
        guard response.fields["sec-websocket-extensions"] == nil else {
            throw .reason("the relay chose a WebSocket extension that was not offered")
        }
        guard let version = response.fields["sec-websocket-protocol"].flatMap(RelayVersion.init) else {
            throw .reason("the relay speaks no version of the protocol that we speak")
        }
        return version
    }
}
