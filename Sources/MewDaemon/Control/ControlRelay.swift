import MewLookup
import MewBase
import MewNode
import MewRelay
package import MewWire

/// One of the daemon's relays, as `mew status` shows it.
package struct ControlRelay: Equatable, Sendable {
    package let url: String
    /// `home`, `standby` or `spare`.
    package let role: String
    /// `connected`, `connecting`, `waiting` or `unused`.
    package let state: String
    /// How long it has been connected; or until the next try, while waiting.
    package let stateMs: Int64?
    /// `http/3` or `websocket`: what carries the connection; nil without one, and of an older daemon.
    package let transport: String?
    package let roundTripMs: Double?
    /// Half a sentence: why there is no connection, or what the relay complains about.
    package let problem: String?
    /// Devices and records are told of it.
    package let isAdvertised: Bool
    /// The same identity is connected to it from elsewhere, and gets the packets.
    package let isElsewhere: Bool
    /// `published`, `pending`, `none` (the relay keeps no records) or half a sentence that says what failed; nil when nothing is
    /// published.
    package let record: String?

    package init(
        url: String, role: String, state: String, stateMs: Int64?, roundTripMs: Double?, problem: String?,
        isAdvertised: Bool, isElsewhere: Bool, record: String?, transport: String? = nil
    ) {
        (self.url, self.role, self.state, self.stateMs) = (url, role, state, stateMs)
        (self.roundTripMs, self.problem, self.isAdvertised) = (roundTripMs, problem, isAdvertised)
        (self.isElsewhere, self.record, self.transport) = (isElsewhere, record, transport)
    }

    /// One object of `mew status --json`.
    package var row: JSON { json }

    var json: JSON {
        [
            "url": .string(url), "role": .string(role), "state": .string(state),
            "state_ms": stateMs.map(JSON.integer) ?? .null, "rtt_ms": roundTripMs.map(JSON.number) ?? .null,
            "problem": problem.map(JSON.string) ?? .null, "advertised": .bool(isAdvertised),
            "elsewhere": .bool(isElsewhere), "record": record.map(JSON.string) ?? .null,
            "transport": transport.map(JSON.string) ?? .null,
        ]
    }

    init(_ reader: ControlFields) throws(ControlError) {
        self.init(
            url: try reader.text("url"), role: try reader.text("role"), state: try reader.text("state"),
            stateMs: reader.optionalInteger("state_ms"), roundTripMs: reader.optionalNumber("rtt_ms"),
            problem: reader.optionalText("problem"), isAdvertised: try reader.flag("advertised"),
            isElsewhere: try reader.flag("elsewhere"), record: reader.optionalText("record"),
            transport: reader.optionalText("transport"))
    }
}

extension ControlRelay {
    init(_ relay: HomeRelay, now: Instant) {
        let (state, stateMs): (String, Int64?) =
            switch relay.status?.phase {
            case .connecting: ("connecting", nil)
            case .connected(let since): ("connected", since.duration(to: now).saturatingNanoseconds / 1_000_000)
            case .waiting(let until): ("waiting", max(0, now.duration(to: until).saturatingNanoseconds / 1_000_000))
            case .closed, nil: ("unused", nil)
            }
        let record: String? =
            switch relay.record {
            case .pending: "pending"
            case .published: "published"
            case .keepsNone: "none"
            case .failed(let reason): reason
            case nil: nil
            }
        self.init(
            url: relay.url.description, role: relay.role.rawValue, state: state, stateMs: stateMs,
            roundTripMs: relay.status?.roundTrip?.milliseconds, problem: relay.status?.problem,
            isAdvertised: relay.isAdvertised, isElsewhere: relay.status?.isSuperseded ?? false, record: record,
            transport: relay.status?.transport?.rawValue)
    }
}
