import MewBase
import MewDaemon
import MewWire

/// The relays of this machine's daemon in words, for `mew status`.
struct RelayLines {
    let lines: [String]
    /// Where what is said of one relay begins, as in the lines around it.
    static let indent = 9

    init(_ relays: [ControlRelay]) {
        var lines = relays.enumerated().map { index, relay in
            (index == 0 ? "relays   " : String(repeating: " ", count: Self.indent)) + Self.line(relay)
        }
        for relay in relays where relay.isAdvertised && relay.state != "connected" {
            lines.append(
                "Warning: devices are told of \(Self.url(relay)), which this daemon is not connected to just now.")
        }
        if relays.contains(where: \.isElsewhere) {
            lines.append(
                "Warning: this node's identity is in use in another place as well, which gets its packets. Give one of the "
                    + "two a state directory of its own (--home DIR).")
        }
        self.lines = lines
    }

    private static func url(_ relay: ControlRelay) -> String { relay.url.printable(limit: 100) }

    private static func line(_ relay: ControlRelay) -> String {
        var words = [relay.role, state(relay)]
        if let roundTrip = relay.roundTripMs, relay.state == "connected" {
            words.append("round trip \(Words.roundTrip(.nanoseconds(Int64(roundTrip * 1_000_000))))")
        }
        if let problem = relay.problem { words.append(problem.printable(limit: 160)) }
        if let record = record(relay) { words.append(record) }
        return "\(url(relay)) (\(words.joined(separator: ", ")))"
    }

    private static func state(_ relay: ControlRelay) -> String {
        switch relay.state {
        case "connected": "connected for \(Words.duration(milliseconds: relay.stateMs ?? 0))\(transport(relay))"
        case "waiting": "not connected, next try in \(Words.duration(milliseconds: relay.stateMs ?? 0))"
        case "connecting": "connecting"
        default: "not in use"
        }
    }

    private static func transport(_ relay: ControlRelay) -> String {
        switch relay.transport {
        case "http/3": " over HTTP/3"
        case "websocket": " over WebSocket"
        default: ""
        }
    }

    /// Only what is not as it should be.
    private static func record(_ relay: ControlRelay) -> String? {
        switch relay.record {
        case nil, "published", "pending": nil
        case "none": "keeps no records"
        case .some(let reason): "record not published: \(reason.printable(limit: 120))"
        }
    }
}
