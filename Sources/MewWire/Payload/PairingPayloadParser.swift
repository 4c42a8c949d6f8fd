internal import MewBase
internal import MewIdentity

extension PairingPayload {
    /// Parses every form of spec/mew-wire.md §2.1, the JSON of DESIGN §11 and a bare node ID in each alphabet; refuses
    /// everything else by name. White space around it is trimmed.
    ///
    /// - Parameter text: what was typed, pasted or scanned; a command line joins its words with spaces first, so that a
    ///   payload that the shell took apart is recognised.
    public init(parsing text: String) throws(PairingPayloadError) {
        guard text.utf8.count <= Self.maxBytes else { throw .tooLong(bytes: text.utf8.count) }
        let payload = text.trimmed
        if payload.isEmpty { throw .empty }
        if payload.hasPrefix(Self.linkPrefix) {
            self = try Self.link(payload.dropFirst(Self.linkPrefix.count))
        } else if let version = Self.version(of: payload) {
            guard version + ":" == Self.versionPrefix else { throw .unknownVersion(String(version.prefix(12))) }
            self = try Self.versioned(payload.dropFirst(Self.versionPrefix.count))
        } else {
            try Self.checkSurroundings(payload)
            self.init(node: try Self.node(payload))
        }
    }

    // MARK: Forms

    /// `<node_id>` or `<node_id>?token=<token>`; the token is everything after the first `?token=`, verbatim.
    private static func link(_ rest: Substring) throws(PairingPayloadError) -> PairingPayload {
        let marker = "?token="
        guard let start = rest.indices.first(where: { rest[$0...].hasPrefix(marker) }) else {
            return PairingPayload(node: try node(rest))
        }
        let token = String(rest[start...].dropFirst(marker.count))
        return PairingPayload(node: try node(rest[..<start]), token: try self.token(.string(token)))
    }

    /// What stands after `mew001:`: JSON, or a node ID.
    private static func versioned(_ rest: Substring) throws(PairingPayloadError) -> PairingPayload {
        if looksExpandedByShell(rest) { throw .expandedByShell }
        guard rest.hasPrefix("{") else { return PairingPayload(node: try node(rest)) }
        let json: JSON
        do {
            json = try JSON(parsing: String(rest), limits: .init(maxBytes: maxBytes, maxNesting: 8, maxValues: 256))
        } catch {
            throw .notJSON(error.description)
        }
        guard let object = json.asObject else { throw .missingNodeID }
        return try fields(object)
    }

    /// Unknown members are ignored: newer versions may add some.
    private static func fields(_ object: JSONObject) throws(PairingPayloadError) -> PairingPayload {
        guard let id = object["node_id"] else { throw .missingNodeID }
        let node = try node(try string(id, .nodeID)[...])
        let home = try object["relay"].present.map { (json) throws(PairingPayloadError) in try relay(json, .relay) }
        let others = try list(object["relays"], .relays, max: maxRelays) { (json) throws(PairingPayloadError) in
            try relay(json, .relays)
        }
        return PairingPayload(
            node: node,
            name: try object["name"].present.map { (json) throws(PairingPayloadError) in try string(json, .name) },
            token: try object["token"].present.map(token),
            relays: (home.map { [$0] } ?? []) + others.filter { $0 != home },
            addresses: try list(object["addrs"], .addrs, max: maxAddresses, read: address))
    }

    // MARK: Parts

    private static func node(_ text: Substring) throws(PairingPayloadError) -> NodeID {
        do {
            return try NodeID(text: text)
        } catch {
            throw .node(error)
        }
    }

    private static func string(_ json: JSON, _ part: PairingPayloadError.Part) throws(PairingPayloadError) -> String {
        guard let text = json.asString else { throw .part(part, "is \(json.kindName) instead of a string") }
        return text
    }

    private static func token(_ json: JSON) throws(PairingPayloadError) -> PairingToken {
        let text = try string(json, .token)
        guard let token = PairingToken(text) else {
            throw .part(.token, tokenProblem(text))
        }
        return token
    }

    /// Never quotes the token: it may be right but for one character.
    private static func tokenProblem(_ text: String) -> String {
        guard text.hasPrefix(PairingToken.prefix) else { return "does not begin with mew_" }
        let body = text.dropFirst(PairingToken.prefix.count)
        guard body.utf8.count == 26 else { return "has \(body.utf8.count) characters after mew_ instead of 26" }
        let position = body.enumerated().first { ULID("0000000000000000000000000\($1)") == nil }?.offset ?? 0
        return "cannot have what stands at character \(position + 1) after mew_ (no I, L, O, U; no lower case)"
    }

    /// Printable ASCII in angle-free URL form; what exactly stands in it is the relay client's business.
    private static func relay(
        _ json: JSON, _ part: PairingPayloadError.Part
    ) throws(PairingPayloadError) -> String {
        let url = try string(json, part)
        guard url.utf8.count <= 256 else { throw .part(part, "is longer than 256 bytes") }
        guard url.hasPrefix("https://") || url.hasPrefix("http://"), url.utf8.allSatisfy({ (0x21...0x7e).contains($0) })
        else { throw .part(part, "is no http or https URL") }
        return url
    }

    private static func address(_ json: JSON) throws(PairingPayloadError) -> SocketAddress {
        guard let address = SocketAddress(try string(json, .addrs)), address.port != 0, !address.isUnspecified else {
            throw .part(.addrs, "holds something that is no IP:PORT to dial")
        }
        return address
    }

    private static func list<Element>(
        _ json: JSON?, _ part: PairingPayloadError.Part, max: Int,
        read: (JSON) throws(PairingPayloadError) -> Element
    ) throws(PairingPayloadError) -> [Element] {
        guard let json = json.present else { return [] }
        guard let elements = json.asArray else { throw .part(part, "is \(json.kindName) instead of an array") }
        guard elements.count <= max else { throw .part(part, "has \(elements.count) entries; \(max) are allowed") }
        return try elements.map(read)
    }

    // MARK: Near misses

    /// `mew` and digits before a colon, without the colon.
    private static func version(of text: Substring) -> String? {
        guard text.hasPrefix("mew"), let colon = text.firstIndex(of: ":") else { return nil }
        let version = text[..<colon]
        let digits = version.dropFirst(3).utf8
        guard !digits.isEmpty, digits.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else {
            return nil
        }
        return String(version)
    }

    /// Bash and zsh turn `mew001:{"node_id":"X","name":"Y"}` into the words `mew001:node_id:X mew001:name:Y`; shells without
    /// brace expansion leave `{node_id:X,name:Y}`.
    private static func looksExpandedByShell(_ rest: Substring) -> Bool {
        let bare = rest.hasPrefix("{") ? rest.dropFirst() : rest
        return ["node_id", "name", "token", "relay", "relays", "addrs"].contains { bare.hasPrefix($0 + ":") }
    }

    private static func checkSurroundings(_ text: Substring) throws(PairingPayloadError) {
        if text.hasPrefix("mew ") { throw .surroundings(.command) }
        if text.hasPrefix("'") || text.hasPrefix("\"") { throw .surroundings(.quotes) }
        for label in ["mew-node-id:", "iroh-node-id:"] where text.hasPrefix(label) {
            throw .surroundings(.label(label))
        }
        if text.contains(where: \.isWhitespace) { throw .surroundings(.severalWords) }
    }
}

extension JSON? {
    /// `null` counts as absent (spec/mew-wire.md §0.2).
    fileprivate var present: JSON? { self?.isNull == true ? nil : self }
}

extension String {
    fileprivate var trimmed: Substring {
        let start = drop(while: \.isWhitespace)
        return start[..<(start.lastIndex { !$0.isWhitespace }.map(start.index(after:)) ?? start.startIndex)]
    }
}
