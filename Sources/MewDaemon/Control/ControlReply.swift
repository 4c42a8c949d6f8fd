package import MewIdentity
package import MewWire

/// What the daemon answers on its control socket.
package enum ControlReply: Equatable, Sendable {
    case done
    case refused(ControlError)
    case peers([ControlPeer])
    /// How many live connections were closed.
    case revoked(connections: Int)
    case status(ControlStatus)
    case net(ControlNet)
    /// The window is open; its events follow.
    case window(ControlWindow)
    case event(PairingEvent)

    package var json: JSON {
        switch self {
        case .done: ["ok": true]
        case .refused(let error): ["error": ["code": .string(error.code), "message": .string(error.message)]]
        case .peers(let peers): ["peers": .array(peers.map(\.json))]
        case .revoked(let connections): ["revoked": .integer(Int64(connections))]
        case .status(let status): ["status": status.json]
        case .net(let net): ["net": net.json]
        case .window(let window): ["window": window.json]
        case .event(let event): event.json
        }
    }

    /// Nil for a pairing event that only a newer client knows.
    package init?(_ json: JSON) throws(ControlError) {
        let reader = ControlFields(json)
        switch json.asObject?.keys.first {
        case "ok": self = .done
        case "error":
            let error = try reader.object("error")
            self = .refused(ControlError(code: try error.text("code"), message: try error.text("message")))
        case "peers":
            var peers: [ControlPeer] = []
            for peer in try reader.list("peers") { peers.append(try ControlPeer(peer)) }
            self = .peers(peers)
        case "revoked": self = .revoked(connections: Int(clamping: try reader.integer("revoked")))
        case "status": self = .status(try ControlStatus(try reader.object("status")))
        case "net": self = .net(try ControlNet(try reader.object("net")))
        case "window": self = .window(try ControlWindow(try reader.object("window")))
        case "event":
            guard let event = try PairingEvent(reader) else { return nil }
            self = .event(event)
        default: throw .badField("reply")
        }
    }
}

/// The pairing window that was opened: what the payload needs beside the token.
package struct ControlWindow: Equatable, Sendable {
    package let node: NodeID
    /// How the daemon calls itself.
    package let name: String
    package let secondsLeft: Int64
    /// Where it can be dialled, as `IP:PORT`.
    package let addresses: [String]
    package let relays: [String]
    /// Those of them that the daemon shows a token, which no payload holds.
    package let tokenRelays: [String]

    package init(
        node: NodeID, name: String, secondsLeft: Int64, addresses: [String], relays: [String],
        tokenRelays: [String] = []
    ) {
        self.node = node
        self.name = name
        self.secondsLeft = secondsLeft
        self.addresses = addresses
        self.relays = relays
        self.tokenRelays = tokenRelays
    }

    var json: JSON {
        [
            "node_id": .string(node.hex), "name": .string(name), "seconds_left": .integer(secondsLeft),
            "addrs": .array(addresses.map(JSON.string)), "relays": .array(relays.map(JSON.string)),
            "token_relays": .array(tokenRelays.map(JSON.string)),
        ]
    }

    init(_ reader: ControlFields) throws(ControlError) {
        self.init(
            node: try reader.node("node_id"), name: try reader.text("name"),
            secondsLeft: try reader.integer("seconds_left"), addresses: try reader.texts("addrs"),
            relays: try reader.texts("relays"), tokenRelays: reader.optionalTexts("token_relays"))
    }
}

/// A device in `mew peers`.
package struct ControlPeer: Equatable, Sendable {
    package let node: NodeID
    package let name: String
    package let scope: Scope
    package let pairedAtMs: Int64
    package let revokedAtMs: Int64?
    /// How many connections it has now.
    package let connections: Int

    package init(
        node: NodeID, name: String, scope: Scope, pairedAtMs: Int64, revokedAtMs: Int64?, connections: Int
    ) {
        self.node = node
        self.name = name
        self.scope = scope
        self.pairedAtMs = pairedAtMs
        self.revokedAtMs = revokedAtMs
        self.connections = connections
    }

    var json: JSON {
        [
            "node_id": .string(node.hex), "name": .string(name), "scope": .string(scope.rawValue),
            "paired_at_ms": .integer(pairedAtMs), "revoked_at_ms": revokedAtMs.map(JSON.integer) ?? .null,
            "connections": .integer(Int64(connections)),
        ]
    }

    init(_ reader: ControlFields) throws(ControlError) {
        self.init(
            node: try reader.node("node_id"), name: try reader.text("name"), scope: try reader.scope("scope"),
            pairedAtMs: try reader.integer("paired_at_ms"), revokedAtMs: reader.optionalInteger("revoked_at_ms"),
            connections: Int(clamping: try reader.integer("connections")))
    }
}
