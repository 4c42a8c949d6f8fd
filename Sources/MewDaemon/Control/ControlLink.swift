package import MewIdentity
package import MewWire

/// One live connection of a paired device.
package struct ControlLink: Equatable, Sendable {
    package let node: NodeID
    package let name: String
    /// `mew/wire/1` or `mew/wire/0`.
    package let applicationProtocol: String
    /// What the device says it is; nil when it does not.
    package let app: String?
    /// `direct` or `relay`.
    package let path: String
    package let address: String?
    package let relay: String?
    /// How long this path has carried the connection.
    package let sinceMs: Int64
    package let roundTripMs: Double?
    /// The age of the last proof that the peer is there.
    package let lastProofMs: Int64
    package let channels: Int
    /// Why a relay carries it; nil while it is direct.
    package let whyNotDirect: WhyNotDirect?

    package init(
        node: NodeID, name: String, applicationProtocol: String, app: String?, path: String, address: String?,
        relay: String?, sinceMs: Int64, roundTripMs: Double?, lastProofMs: Int64, channels: Int,
        whyNotDirect: WhyNotDirect? = nil
    ) {
        self.node = node
        self.name = name
        self.applicationProtocol = applicationProtocol
        self.app = app
        self.path = path
        self.address = address
        self.relay = relay
        self.sinceMs = sinceMs
        self.roundTripMs = roundTripMs
        self.lastProofMs = lastProofMs
        self.channels = channels
        self.whyNotDirect = whyNotDirect
    }

    var json: JSON {
        [
            "node_id": .string(node.hex), "name": .string(name), "protocol": .string(applicationProtocol),
            "app": app.map(JSON.string) ?? .null, "path": .string(path), "addr": address.map(JSON.string) ?? .null,
            "relay": relay.map(JSON.string) ?? .null, "since_ms": .integer(sinceMs),
            "rtt_ms": roundTripMs.map(JSON.number) ?? .null, "last_proof_ms": .integer(lastProofMs),
            "channels": .integer(Int64(channels)),
            "why_not_direct": whyNotDirect.map { .string($0.code.rawValue) } ?? .null,
            "why_text": whyNotDirect.map { .string($0.text) } ?? .null,
            "why_help": whyNotDirect?.help.map(JSON.string) ?? .null,
        ]
    }

    init(_ reader: ControlFields) throws(ControlError) {
        self.init(
            node: try reader.node("node_id"), name: try reader.text("name"),
            applicationProtocol: try reader.text("protocol"), app: reader.optionalText("app"),
            path: try reader.text("path"), address: reader.optionalText("addr"), relay: reader.optionalText("relay"),
            sinceMs: try reader.integer("since_ms"), roundTripMs: reader.optionalNumber("rtt_ms"),
            lastProofMs: try reader.integer("last_proof_ms"), channels: Int(clamping: try reader.integer("channels")),
            whyNotDirect: Self.reason(reader))
    }

    /// A code of a newer daemon says nothing here.
    private static func reason(_ reader: ControlFields) -> WhyNotDirect? {
        guard let code = reader.optionalText("why_not_direct").flatMap(WhyNotDirect.Code.init(rawValue:)),
            let text = reader.optionalText("why_text")
        else { return nil }
        return WhyNotDirect(code, text: text, help: reader.optionalText("why_help"))
    }
}
