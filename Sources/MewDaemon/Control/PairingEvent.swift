package import MewIdentity
package import MewWire

/// What happens to a pairing window, as the screen that shows the code is told (DESIGN §11).
package enum PairingEvent: Equatable, Sendable {
    /// Show name, node and digits and ask. Without digits the peer's screen cannot show any: show the node ID and a warning.
    case knock(KnockNumber, NodeID, name: String?, digits: String?)
    case knockLeft(KnockNumber)
    /// Somebody without the code was turned away; `reason` is a stable code.
    case turnedAway(NodeID, reason: String)
    case wrongCode(NodeID, tries: Int)
    /// Five wrong codes of one key: it is not heard any more.
    case shutOut(NodeID)
    /// From here on, wrong codes from there are answered once a second.
    case slowed(source: String)
    /// The end: a device is in. `proof` is `code`, `confirmed` or `expected`.
    case paired(NodeID, name: String?, scope: Scope, proof: String)
    /// The code was right but could not be written down; it still works.
    case notSaved(NodeID)
    /// Somebody else brought the code after it was used.
    case usedAgain(NodeID)
    /// An answer named a knock that is not waiting any more.
    case noSuchKnock(KnockNumber)
    case expired
    case closed

    package init(_ notice: PairingWindow.Notice) {
        switch notice {
        case .knock(let knock): self = .knock(knock.number, knock.node, name: knock.name, digits: knock.digits)
        case .knockLeft(let number): self = .knockLeft(number)
        case .knockRefused(let node, let refusal): self = .turnedAway(node, reason: refusal.rawValue)
        case .wrongCode(let node, let tries): self = .wrongCode(node, tries: tries)
        case .shutOut(let node): self = .shutOut(node)
        case .slowed(let source): self = .slowed(source: source.description)
        case .paired(let grant):
            self = .paired(grant.node, name: grant.name, scope: grant.scope, proof: grant.proof.rawValue)
        case .notSaved(let node): self = .notSaved(node)
        case .usedAgain(let node): self = .usedAgain(node)
        case .noSuchKnock(let number): self = .noSuchKnock(number)
        case .expired: self = .expired
        case .closed: self = .closed
        }
    }

    /// Nothing follows it.
    package var isLast: Bool {
        switch self {
        case .paired, .expired, .closed: true
        case .knock, .knockLeft, .turnedAway, .wrongCode, .shutOut, .slowed, .notSaved, .usedAgain, .noSuchKnock: false
        }
    }
}

extension PairingEvent {
    package var json: JSON {
        var object = JSONObject()
        object["event"] = .string(name)
        for (key, value) in fields { object[key] = value }
        return .object(object)
    }

    /// Stable: scripts match on it.
    package var name: String {
        switch self {
        case .knock: "knock"
        case .knockLeft: "knock_left"
        case .turnedAway: "turned_away"
        case .wrongCode: "wrong_code"
        case .shutOut: "shut_out"
        case .slowed: "slowed"
        case .paired: "paired"
        case .notSaved: "not_saved"
        case .usedAgain: "used_again"
        case .noSuchKnock: "no_such_knock"
        case .expired: "expired"
        case .closed: "closed"
        }
    }

    private var fields: [(String, JSON)] {
        switch self {
        case .knock(let number, let node, let name, let digits):
            [
                ("knock", .integer(Int64(number.value))), ("node_id", .string(node.hex)),
                ("name", name.map(JSON.string) ?? .null), ("digits", digits.map(JSON.string) ?? .null),
            ]
        case .knockLeft(let number), .noSuchKnock(let number): [("knock", .integer(Int64(number.value)))]
        case .turnedAway(let node, let reason): [("node_id", .string(node.hex)), ("reason", .string(reason))]
        case .wrongCode(let node, let tries): [("node_id", .string(node.hex)), ("tries", .integer(Int64(tries)))]
        case .shutOut(let node), .notSaved(let node), .usedAgain(let node): [("node_id", .string(node.hex))]
        case .slowed(let source): [("source", .string(source))]
        case .paired(let node, let name, let scope, let proof):
            [
                ("node_id", .string(node.hex)), ("name", name.map(JSON.string) ?? .null),
                ("scope", .string(scope.rawValue)), ("proof", .string(proof)),
            ]
        case .expired, .closed: []
        }
    }

    /// Nil for an event of a newer daemon: skip it.
    init?(_ reader: ControlFields) throws(ControlError) {
        switch try reader.text("event") {
        case "knock":
            self = .knock(
                try reader.knock("knock"), try reader.node("node_id"), name: reader.optionalText("name"),
                digits: reader.optionalText("digits"))
        case "knock_left": self = .knockLeft(try reader.knock("knock"))
        case "turned_away": self = .turnedAway(try reader.node("node_id"), reason: try reader.text("reason"))
        case "wrong_code":
            self = .wrongCode(try reader.node("node_id"), tries: Int(clamping: try reader.integer("tries")))
        case "shut_out": self = .shutOut(try reader.node("node_id"))
        case "slowed": self = .slowed(source: try reader.text("source"))
        case "paired":
            self = .paired(
                try reader.node("node_id"), name: reader.optionalText("name"), scope: try reader.scope("scope"),
                proof: try reader.text("proof"))
        case "not_saved": self = .notSaved(try reader.node("node_id"))
        case "used_again": self = .usedAgain(try reader.node("node_id"))
        case "no_such_knock": self = .noSuchKnock(try reader.knock("knock"))
        case "expired": self = .expired
        case "closed": self = .closed
        default: return nil
        }
    }
}
