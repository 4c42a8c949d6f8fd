internal import MewBase
internal import MewIdentity
internal import MewWire

extension RelayConnection {
    /// Serves the request that `input` begins with, once it is whole. What belongs to an opened WebSocket is left in `input`.
    func readRequest(_ input: inout UnsafeMutableRawBufferPointer) {
        switch HTTPRequest.parse(Array(input.prefix(HTTPHead.maxBytes))) {
        case .needMore:
            break
        case .malformed(let reason):
            respond(HTTPResponse(400), Array("\(reason)\n".utf8), .violation(reason))
        case .head(let request, let byteCount):
            if let turnedAway { return turnAway(turnedAway) }
            guard request.fields.values("host").count == 1 else { return hostless() }
            let rest = UnsafeMutableRawBufferPointer(rebasing: input[byteCount...])
            if request.path == "/relay" {
                guard request.method == "GET" else { return notFound() }
                input = rest
                upgrade(request)
            } else {
                serve(request, rest)
            }
        }
    }

    private func upgrade(_ request: HTTPRequest) {
        switch RelayUpgrade.read(request) {
        case .refused(let response, let reason):
            respond(response, Array("\(reason)\n".utf8), .violation(reason))
        case .hangUp(let reason):
            hub.drop(self, .violation(reason))
        case .accepted(var upgrade):
            proveKey(&upgrade)
            if hub.stun.isOpen, StunField.isPossible(request) { upgrade.tellOfStun() }
            isGuest = upgrade.isGuest
            guard let binding = accountBinding else {
                return respond(HTTPResponse(500), [], .violation("TLS exports no keying material for it"))
            }
            if upgrade.offersAccount || isGuest && hub.rules.concernNodes { upgrade.askForAccount(binding.question) }
            version = upgrade.version
            token = upgrade.token
            send(upgrade.response.encoded)
            let admission = RelayAdmission(challenge: RelayChallenge(entropy: hub.entropy), binding: binding)
            stage = .admission(admission)
            proceed(
                admission.begin(proof: upgrade.proof) { node in
                    tls?.exportKeyingMaterial(
                        label: RelayKeyingMaterialProof.exporterLabel, context: node.bytes,
                        byteCount: RelayKeyingMaterialProof.exporterByteCount)
                })
        }
    }

    /// What a proof of an account has to be for; nil when TLS does not say which connection this is: without that it would be for
    /// any.
    private var accountBinding: RelayNodeProof.Binding? {
        guard let tls else { return .plain }
        let material = tls.exportKeyingMaterial(
            label: RelayNodeProof.exporterLabel, context: [], byteCount: RelayNodeProof.exporterByteCount)
        return material.map { .keyingMaterial($0) }
    }

    private func proveKey(_ upgrade: inout RelayUpgrade) {
        guard let key = upgrade.proofWanted, let secret = hub.secret else { return }
        guard let tls else { return upgrade.prove(secret, binding: .init(webSocketKey: key)) }
        let material = tls.exportKeyingMaterial(
            label: RelayKeyProof.exporterLabel, context: [], byteCount: RelayKeyProof.exporterByteCount)
        if let material { upgrade.prove(secret, binding: .init(keyingMaterial: material)) }
    }

    private func serve(_ request: HTTPRequest, _ rest: UnsafeMutableRawBufferPointer) {
        switch HTTPBody.of(request, rest, maxBytes: SignedRecord.maxBodyBytes) {
        case .needMore: break
        case .refused(let response): respond(response, [], .closed)
        case .body(let body):
            let answer = HTTPService(hub: hub, client: self).answer(request, body)
            respond(answer.response, answer.body, .closed)
        }
    }

    /// RFC 9112 §3.2: "A server MUST respond with a 400 (Bad Request) status code to any HTTP/1.1 request message that lacks a
    /// Host header field and to any request message that contains more than one Host header field line".
    private func hostless() {
        let reason = "a request has one Host"
        respond(HTTPResponse(400), Array("\(reason)\n".utf8), .violation(reason))
    }

    /// There is no place for it.
    private func turnAway(_ refusal: SourceBudget.Refusal) {
        switch refusal {
        case .sourceConnections, .sourceStrangers:
            turnAway(.network, "too many connections from your network\n")
        case .connections, .strangers: turnAway(.relay, "too many connections at this relay\n")
        }
    }

    private func turnAway(_ crowding: RelayCrowding, _ reason: String) {
        respond(HTTPResponse(crowding.rawValue), Array(reason.utf8), .closed)
    }

    private func notFound() {
        respond(HTTPResponse(404), Array("Not Found".utf8), .closed)
    }

    /// One answer a connection: whoever wants more connects again.
    private func respond(_ response: HTTPResponse, _ body: [UInt8], _ cause: RelayHub.Cause) {
        var fields = response.fields
        // RFC 9110 §8.6: a 204 has no Content-Length.
        if response.status != 204 { fields.append("content-length", String(body.count)) }
        fields.append("connection", "close")
        finish(with: HTTPResponse(response.status, fields).encoded + body, cause)
    }
}

/// The body of a request, as far as a relay takes one.
enum HTTPBody {
    case needMore
    case body([UInt8])
    case refused(HTTPResponse)

    static func of(_ request: HTTPRequest, _ rest: UnsafeMutableRawBufferPointer, maxBytes: Int) -> HTTPBody {
        // RFC 9112 §6.3: a request with both could be read in two ways. We take no chunks at all.
        guard request.fields["transfer-encoding"] == nil else { return .refused(HTTPResponse(411)) }
        switch request.fields.contentLength {
        case .malformed: return .refused(HTTPResponse(400))
        case .absent: return .body([])
        case .bytes(let length):
            guard length <= maxBytes else { return .refused(HTTPResponse(413)) }
            return rest.count < length ? .needMore : .body(Array(rest[..<length]))
        }
    }
}
