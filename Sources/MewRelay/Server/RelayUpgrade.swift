internal import MewIdentity
internal import MewWire

/// What a client asks for with `GET /relay` (spec/iroh-wire.md §4.1).
struct RelayUpgrade {
    let version: RelayVersion
    let token: String?
    /// Of the key it comes under; nil when the challenge decides.
    var proof: RelayKeyingMaterialProof?
    /// To be written before the first frame.
    var response: HTTPResponse
    /// `Sec-WebSocket-Key`, when the client wants the relay's key proved.
    let proofWanted: String?
    /// The client says that its key is one that is thrown away.
    let isGuest: Bool
    /// The client wants to prove its node key.
    let offersAccount: Bool

    enum Outcome {
        case accepted(RelayUpgrade)
        case refused(HTTPResponse, reason: String)
        /// A proof that is none: the connection ends without an answer, as at the reference server.
        case hangUp(reason: String)
    }

    static func read(_ request: HTTPRequest) -> Outcome {
        guard request.fields["upgrade"]?.lowercased() == "websocket" else {
            return .refused(HTTPResponse(400), reason: "no upgrade to websocket")
        }
        // A body would be read as the first frames: whoever stands between may see one request where we see a connection.
        guard request.fields["transfer-encoding"] == nil, [.absent, .bytes(0)].contains(request.fields.contentLength)
        else { return .refused(HTTPResponse(400), reason: "an upgrade has no body") }
        guard let key = request.fields["sec-websocket-key"], !key.isEmpty else {
            return .refused(HTTPResponse(400), reason: "no Sec-WebSocket-Key")
        }
        guard request.fields["sec-websocket-version"] == "13" else {
            return .refused(
                HTTPResponse(400, ["Sec-WebSocket-Version": "13"]), reason: "the WebSocket version is not 13")
        }
        let offered = request.fields.list("sec-websocket-protocol")
        guard let version = RelayVersion.preferred.first(where: { offered.contains($0.rawValue) }) else {
            return .refused(HTTPResponse(400), reason: "no version of the relay protocol that we speak")
        }
        var proof: RelayKeyingMaterialProof?
        if let value = request.fields[RelayKeyingMaterialProof.fieldName] {
            proof = RelayKeyingMaterialProof(fieldValue: value)
            guard proof != nil else { return .hangUp(reason: "a proof of keying material that is none") }
        }
        return .accepted(
            RelayUpgrade(
                version: version, token: request.bearerToken, proof: proof, response: response(key: key, version),
                proofWanted: request.fields[RelayKeyProof.fieldName] == "1" ? key : nil,
                isGuest: request.fields[RelayNodeProof.guestFieldName] == "1",
                offersAccount: request.fields[RelayNodeProof.fieldName] == "1"))
    }

    /// The client compares the key's proof and the subprotocol; an extension would make it fail.
    private static func response(key: String, _ version: RelayVersion) -> HTTPResponse {
        HTTPResponse(
            101,
            [
                "upgrade": "websocket", "connection": "upgrade", "sec-websocket-accept": WebSocketKey.accept(key),
                "sec-websocket-protocol": version.rawValue,
            ])
    }

    /// Asks for the proof of the node key, which stands behind the answer to the challenge: keying material alone is not enough.
    mutating func askForAccount(_ question: RelayNodeProof.Question) {
        response = response.with(RelayNodeProof.fieldName, question.rawValue)
        proof = nil
    }

    mutating func tellOfStun() {
        response = response.with(StunField.name, "1")
    }

    /// Adds the relay's proof of its key.
    mutating func prove(_ secret: SecretKey, binding: RelayKeyProof.Binding) {
        response = response.with(
            RelayKeyProof.fieldName, RelayKeyProof(secret: secret, binding: binding).fieldValue)
    }
}

extension HTTPRequest {
    /// The first `Authorization` of scheme Bearer, else what a browser, which cannot set fields, puts into the query.
    var bearerToken: String? {
        for value in fields.values("authorization") {
            let parts = value.split(separator: " ", maxSplits: 1)
            if parts.count == 2, parts[0].lowercased() == "bearer" { return HTTPText.trimmed(parts[1]) }
        }
        return query("token")
    }
}
