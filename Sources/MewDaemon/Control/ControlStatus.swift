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
    /// What devices are told, home first.
    package let relays: [String]
    package let relayLegs: [ControlRelay]
    package let links: [ControlLink]
    package let sessions: Int
    package let runningSessions: Int
    /// Sessions that wait for an answer.
    package let sessionsNeedingYou: Int
    package let pairedDevices: Int
    /// What is left of an open pairing window; nil when none is open.
    package let windowSecondsLeft: Int64?
    package let isSaving: Bool
    /// Half a sentence, when nothing is being saved.
    package let notSavingReason: String?
    package let damage: StoreDamage
    /// Nil when no router is asked, and from an older daemon.
    package let mapping: ControlMapping?

    package init(
        node: NodeID, name: String, version: String, upMs: Int64, addresses: [String], relays: [String],
        relayLegs: [ControlRelay] = [], links: [ControlLink], sessions: Int, runningSessions: Int,
        sessionsNeedingYou: Int = 0, pairedDevices: Int, windowSecondsLeft: Int64?,
        isSaving: Bool, notSavingReason: String?, damage: StoreDamage = StoreDamage(),
        mapping: ControlMapping? = nil
    ) {
        self.node = node
        self.name = name
        self.version = version
        self.upMs = upMs
        self.addresses = addresses
        self.relays = relays
        self.relayLegs = relayLegs
        self.links = links
        self.sessions = sessions
        self.runningSessions = runningSessions
        self.sessionsNeedingYou = sessionsNeedingYou
        self.pairedDevices = pairedDevices
        self.windowSecondsLeft = windowSecondsLeft
        self.isSaving = isSaving
        self.notSavingReason = notSavingReason
        self.damage = damage
        self.mapping = mapping
    }

    var json: JSON {
        let status: JSONObject = [
            "node_id": .string(node.hex), "name": .string(name), "version": .string(version), "up_ms": .integer(upMs),
            "addrs": .array(addresses.map(JSON.string)), "relays": .array(relays.map(JSON.string)),
            "relay_legs": .array(relayLegs.map(\.json)), "links": .array(links.map(\.json)),
            "sessions": .integer(Int64(sessions)),
            "running_sessions": .integer(Int64(runningSessions)), "needs_you": .integer(Int64(sessionsNeedingYou)),
            "paired_devices": .integer(Int64(pairedDevices)),
            "window_seconds_left": windowSecondsLeft.map(JSON.integer) ?? .null, "saving": .bool(isSaving),
            "reason": notSavingReason.map(JSON.string) ?? .null, "port_mapping": mapping?.row ?? .null,
        ]
        return .object(damage.fields.reduce(into: status) { $0[$1.0] = $1.1 })
    }

    init(_ reader: ControlFields) throws(ControlError) {
        var legs: [ControlRelay] = []
        for leg in try reader.list("relay_legs") { legs.append(try ControlRelay(leg)) }
        var links: [ControlLink] = []
        for link in try reader.list("links") { links.append(try ControlLink(link)) }
        self.init(
            node: try reader.node("node_id"), name: try reader.text("name"), version: try reader.text("version"),
            upMs: try reader.integer("up_ms"), addresses: try reader.texts("addrs"),
            relays: try reader.texts("relays"), relayLegs: legs, links: links,
            sessions: Int(clamping: try reader.integer("sessions")),
            runningSessions: Int(clamping: try reader.integer("running_sessions")),
            // An older daemon does not say it.
            sessionsNeedingYou: Int(clamping: reader.optionalInteger("needs_you") ?? 0),
            pairedDevices: Int(clamping: try reader.integer("paired_devices")),
            windowSecondsLeft: reader.optionalInteger("window_seconds_left"), isSaving: try reader.flag("saving"),
            notSavingReason: reader.optionalText("reason"), damage: try StoreDamage(reader),
            mapping: ControlMapping(reader.optionalObject("port_mapping")))
    }
}
