import MewBase
package import MewIdentity
package import MewWire

/// What the command line asks of the daemon on this machine, over the socket in the state directory.
///
/// The control protocol, version 1: each line is one JSON object and a line feed, at most 1 MiB. The client writes one
/// request and reads one reply; then it may write the next. The request `pair` is different: its reply `window` is followed
/// by one line for everything that happens to the window, until it closes; meanwhile the client may write `confirm` and
/// `refuse`; closing the connection closes the window. Unknown fields are ignored, unknown requests and other versions are
/// refused by name.
package enum ControlRequest: Equatable, Sendable {
    case pair(PairRequest)
    /// Only on the connection that opened the window.
    case confirm(KnockNumber)
    case refuse(KnockNumber)
    case peers
    case rename(NodeID, to: String)
    case setScope(NodeID, Scope)
    case revoke(NodeID)
    case revokeAll
    case status
    /// What this machine's network is like; relays are asked anew, which takes some seconds.
    case net
    /// Ends the daemon as SIGTERM does.
    case shutdown

    /// In every request, as `mew_control`.
    package static let version: Int64 = 1
    /// Both directions. A status of 1,000 connections fits.
    package static let maxLineBytes = 1 << 20

    /// How a pairing window is to be opened.
    package struct PairRequest: Equatable, Sendable {
        package let scope: Scope
        /// SHA-256 of the token; the token itself stays with the client, which shows it.
        package let codeDigest: [UInt8]
        package let expected: NodeID?
        /// A person sits at the terminal and can compare digits.
        package let canConfirm: Bool
        /// 1…3,600.
        package let seconds: Int64

        /// How long a window may be asked to stay open; an hour is for a device that has to be fetched.
        package static let secondsRange: ClosedRange<Int64> = 1...3_600

        package init(scope: Scope, codeDigest: [UInt8], expected: NodeID?, canConfirm: Bool, seconds: Int64) {
            self.scope = scope
            self.codeDigest = codeDigest
            self.expected = expected
            self.canConfirm = canConfirm
            self.seconds = seconds
        }
    }
}

extension ControlRequest {
    package var json: JSON {
        var object = JSONObject()
        object["mew_control"] = .integer(Self.version)
        object["do"] = .string(verb)
        for (key, value) in fields { object[key] = value }
        return .object(object)
    }

    private var verb: String {
        switch self {
        case .pair: "pair"
        case .confirm: "confirm"
        case .refuse: "refuse"
        case .peers: "peers"
        case .rename: "rename"
        case .setScope: "set_scope"
        case .revoke: "revoke"
        case .revokeAll: "revoke_all"
        case .status: "status"
        case .net: "net"
        case .shutdown: "shutdown"
        }
    }

    private var fields: [(String, JSON)] {
        switch self {
        case .pair(let request): request.fields
        case .confirm(let knock), .refuse(let knock): [("knock", .integer(Int64(knock.value)))]
        case .rename(let node, let name): [("node_id", .string(node.hex)), ("name", .string(name))]
        case .setScope(let node, let scope): [("node_id", .string(node.hex)), ("scope", .string(scope.rawValue))]
        case .revoke(let node): [("node_id", .string(node.hex))]
        case .peers, .revokeAll, .status, .net, .shutdown: []
        }
    }

    /// - Throws: a refusal fit for the client: `unknown_version`, `unknown_type` or `bad_input`.
    package init(_ json: JSON) throws(ControlError) {
        guard json["mew_control"]?.asInteger == Self.version else {
            throw ControlError(
                code: "unknown_version",
                message: "this daemon speaks version \(Self.version) of its control protocol; update both sides")
        }
        let reader = ControlFields(json)
        switch try reader.text("do") {
        case "pair": self = .pair(try PairRequest(reader))
        case "confirm": self = .confirm(try reader.knock("knock"))
        case "refuse": self = .refuse(try reader.knock("knock"))
        case "peers": self = .peers
        case "rename": self = .rename(try reader.node("node_id"), to: try reader.text("name"))
        case "set_scope": self = .setScope(try reader.node("node_id"), try reader.scope("scope"))
        case "revoke": self = .revoke(try reader.node("node_id"))
        case "revoke_all": self = .revokeAll
        case "status": self = .status
        case "net": self = .net
        case "shutdown": self = .shutdown
        case let verb:
            throw ControlError(
                code: "unknown_type", message: "this daemon does not know the request \(verb.printable(limit: 40))")
        }
    }
}

extension ControlRequest.PairRequest {
    fileprivate var fields: [(String, JSON)] {
        [
            ("scope", .string(scope.rawValue)), ("code_sha256", .string(Hex.encode(codeDigest))),
            ("expect", expected.map { .string($0.hex) } ?? .null), ("can_confirm", .bool(canConfirm)),
            ("seconds", .integer(seconds)),
        ]
    }

    fileprivate init(_ reader: ControlFields) throws(ControlError) {
        let seconds = try reader.integer("seconds")
        guard Self.secondsRange.contains(seconds) else { throw .badField("seconds") }
        guard let digest = Hex.decode(try reader.text("code_sha256")), digest.count == SHA256.byteCount else {
            throw .badField("code_sha256")
        }
        self.init(
            scope: try reader.scope("scope"), codeDigest: digest, expected: try reader.optionalNode("expect"),
            canConfirm: try reader.flag("can_confirm"), seconds: seconds)
    }
}
