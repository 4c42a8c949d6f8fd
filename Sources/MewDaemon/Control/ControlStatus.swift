package import MewIdentity
import MewWire

/// The state of this machine's daemon, as `mew status` shows it.
package struct ControlStatus: Equatable, Sendable {
    package let node: NodeID
    package let name: String
    package let version: String
    /// Since the daemon started.
    package let upMs: Int64
    package let addresses: [String]
    package let relays: [String]
    package let links: [ControlLink]
    package let sessions: Int
    package let runningSessions: Int
    package let pairedDevices: Int
    /// What is left of an open pairing window; nil when none is open.
    package let windowSecondsLeft: Int64?
    package let isSaving: Bool
    /// Half a sentence, when nothing is being saved.
    package let notSavingReason: String?

    package init(
        node: NodeID, name: String, version: String, upMs: Int64, addresses: [String], relays: [String],
        links: [ControlLink], sessions: Int, runningSessions: Int, pairedDevices: Int, windowSecondsLeft: Int64?,
        isSaving: Bool, notSavingReason: String?
    ) {
        self.node = node
        self.name = name
        self.version = version
        self.upMs = upMs
        self.addresses = addresses
        self.relays = relays
        self.links = links
        self.sessions = sessions
        self.runningSessions = runningSessions
        self.pairedDevices = pairedDevices
        self.windowSecondsLeft = windowSecondsLeft
        self.isSaving = isSaving
        self.notSavingReason = notSavingReason
    }

    var json: JSON {
        [
            "node_id": .string(node.hex), "name": .string(name), "version": .string(version), "up_ms": .integer(upMs),
            "addrs": .array(addresses.map(JSON.string)), "relays": .array(relays.map(JSON.string)),
            "links": .array(links.map(\.json)), "sessions": .integer(Int64(sessions)),
            "running_sessions": .integer(Int64(runningSessions)), "paired_devices": .integer(Int64(pairedDevices)),
            "window_seconds_left": windowSecondsLeft.map(JSON.integer) ?? .null, "saving": .bool(isSaving),
            "reason": notSavingReason.map(JSON.string) ?? .null,
        ]
    }

    init(_ reader: ControlFields) throws(ControlError) {
        var links: [ControlLink] = []
        for link in try reader.list("links") { links.append(try ControlLink(link)) }
        self.init(
            node: try reader.node("node_id"), name: try reader.text("name"), version: try reader.text("version"),
            upMs: try reader.integer("up_ms"), addresses: try reader.texts("addrs"),
            relays: try reader.texts("relays"), links: links, sessions: Int(clamping: try reader.integer("sessions")),
            runningSessions: Int(clamping: try reader.integer("running_sessions")),
            pairedDevices: Int(clamping: try reader.integer("paired_devices")),
            windowSecondsLeft: reader.optionalInteger("window_seconds_left"), isSaving: try reader.flag("saving"),
            notSavingReason: reader.optionalText("reason"))
    }
}

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

    package init(
        node: NodeID, name: String, applicationProtocol: String, app: String?, path: String, address: String?,
        relay: String?, sinceMs: Int64, roundTripMs: Double?, lastProofMs: Int64, channels: Int
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
    }

    var json: JSON {
        [
            "node_id": .string(node.hex), "name": .string(name), "protocol": .string(applicationProtocol),
            "app": app.map(JSON.string) ?? .null, "path": .string(path), "addr": address.map(JSON.string) ?? .null,
            "relay": relay.map(JSON.string) ?? .null, "since_ms": .integer(sinceMs),
            "rtt_ms": roundTripMs.map(JSON.number) ?? .null, "last_proof_ms": .integer(lastProofMs),
            "channels": .integer(Int64(channels)),
        ]
    }

    init(_ reader: ControlFields) throws(ControlError) {
        self.init(
            node: try reader.node("node_id"), name: try reader.text("name"),
            applicationProtocol: try reader.text("protocol"), app: reader.optionalText("app"),
            path: try reader.text("path"), address: reader.optionalText("addr"), relay: reader.optionalText("relay"),
            sinceMs: try reader.integer("since_ms"), roundTripMs: reader.optionalNumber("rtt_ms"),
            lastProofMs: try reader.integer("last_proof_ms"), channels: Int(clamping: try reader.integer("channels")))
    }
}
