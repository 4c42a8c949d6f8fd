internal import MewBase
internal import MewHTTP3
internal import MewIdentity
internal import MewWire

/// Who may use the relay over HTTP/3: the request that asks for it, judged (ARCHITECTURE.md, "Relay over HTTP/3").
enum HTTP3Admission {
    /// Who has come.
    struct Admitted {
        /// What packets are addressed to.
        let node: NodeID
        /// The node whose guest it is, when it has proved that.
        let account: NodeID?
        let isGuest: Bool
        let token: String?
    }

    enum Verdict {
        case admitted(Admitted)
        /// It is no such request, or proves nothing.
        case refused(HTTPResponse, reason: String)
        /// The rules do not let it in.
        case denied(HTTPResponse, NodeID, AccessRules.Refusal)
    }

    /// What the relay passes on. Nodes send at most 1200 bytes (DESIGN §7) until they have found out that a path takes more, as
    /// it may after a time over a WebSocket.
    static let maxPacketBytes = 1_500
    /// In each direction: with these a client costs no more than some 150 KiB, whatever it does.
    static let handles = 1_024
    /// What must be free on the stream for something that the client can do without.
    static let hintRoom = 32 << 10

    static let acceptance = HTTP3Head([(":status", "200"), ("capsule-protocol", "?1")])

    static func welcome(_ limits: RelayLimits, observed: SocketAddress) -> RelayWelcome {
        RelayWelcome(
            maxPacketBytes: UInt64(maxPacketBytes), handles: UInt64(handles),
            queueMs: UInt64(max(0, limits.queueTime.milliseconds)), queuedPackets: UInt64(limits.queuedPacketsPerPair),
            bytesPerSecond: UInt64(limits.bytesPerSecond ?? 0), observed: observed)
    }

    static func judge(_ head: HTTP3Head, keyingMaterial: [UInt8]?, rules: AccessRules) -> Verdict {
        guard head.protocol == RelayCapsule.protocolName else {
            return .refused(HTTPResponse(501), reason: "no protocol that this relay speaks")
        }
        guard head.path.map({ $0.prefix { $0 != "?" } }) == "/relay" else {
            return .refused(HTTPResponse(404), reason: "Not Found")
        }
        guard let keyingMaterial,
            let name = head[RelayTLSProof.nameFieldName].flatMap({ RelayTLSProof(fieldValue: $0) }),
            name.isValid(for: .name, keyingMaterial: keyingMaterial)
        else { return .refused(HTTPResponse(401), reason: "no proof of the key that it wants to be called by") }
        var account: NodeID?
        if let value = head[RelayTLSProof.accountFieldName] {
            guard let proof = RelayTLSProof(fieldValue: value),
                proof.isValid(for: .account(of: name.node), keyingMaterial: keyingMaterial)
            else { return .refused(HTTPResponse(401), reason: "no proof of the node that it comes for") }
            account = proof.node
        }
        let admitted = Admitted(
            node: name.node, account: account, isGuest: head[RelayNodeProof.guestFieldName] == "1",
            token: HTTPRequest("CONNECT", "/relay", fields(of: head)).bearerToken)
        guard let refusal = refusal(of: admitted, by: rules) else { return .admitted(admitted) }
        return .denied(denial(refusal), account ?? name.node, refusal)
    }

    /// A guest hears that it may come again and say whose it is.
    private static func denial(_ refusal: AccessRules.Refusal) -> HTTPResponse {
        guard case .unknownGuest = refusal else { return HTTPResponse(403) }
        return HTTPResponse(403, [RelayNodeProof.fieldName: RelayNodeProof.Question.keyingMaterial.rawValue])
    }

    static func refusal(of client: Admitted, by rules: AccessRules) -> AccessRules.Refusal? {
        if client.isGuest, client.account == nil, rules.concernNodes { return .unknownGuest }
        return rules.refusal(of: client.account ?? client.node, token: client.token)
    }

    static func fields(of head: HTTP3Head) -> HTTPFields {
        var fields = HTTPFields()
        for field in head.fields where !field.name.hasPrefix(":") { fields.append(field.name, field.value) }
        return fields
    }
}

/// A request that everybody may make: whether the relay is there, and what it knows of where nodes are. Its body is gathered here.
struct HTTP3Request {
    let request: HTTPRequest
    private(set) var body: [UInt8] = []

    /// Nil for everything else, which is not for those that have not said who they are.
    init?(_ head: HTTP3Head) {
        guard let method = head.method, let target = head.path, target.first == "/" else { return nil }
        let path = target.prefix { $0 != "?" }
        guard path == "/ping" || path == "/healthz" || path.hasPrefix("/pkarr/") else { return nil }
        request = HTTPRequest(method, target, HTTP3Admission.fields(of: head))
    }

    /// False when it is larger than any record.
    mutating func append(_ bytes: [UInt8]) -> Bool {
        guard body.count + bytes.count <= SignedRecord.maxBodyBytes else { return false }
        body += bytes
        return true
    }
}
