import MewBase
import MewDaemon
import MewPath
import MewWire

/// What `mew net` says of this machine's network, for people. Each line says what was seen and no more.
struct NetReport {
    private let net: ControlNet

    init(_ net: ControlNet) {
        self.net = net
    }

    var lines: [String] {
        Self.lines("IPv4", net.nat.ipv4) + Self.lines("IPv6", net.nat.ipv6) + [Self.words(net.mapping)]
            + net.relays.map(Self.words)
    }

    private static func lines(_ family: String, _ finding: NATReport.Finding) -> [String] {
        switch finding.udp {
        case .unknown: return ["\(family): no relay has told anything of it"]
        case .blocked: return ["\(family): UDP is blocked: TCP reaches a relay, and nothing comes back on UDP"]
        case .works: break
        }
        let seen = finding.reflexive.map { "\($0)" }.joined(separator: ", ")
        let lines = [
            "\(family): UDP works" + (seen.isEmpty ? "" : ", relays see \(seen)"),
            "  out: \(words(finding.mapping))", "  in:  \(words(finding.filtering))",
        ]
        return lines + (words(finding.hairpin).map { ["  back: \($0)"] } ?? [])
    }

    private static func words(_ mapping: NATReport.Mapping) -> String {
        switch mapping {
        case .unknown: "it is not known whether a router changes the port"
        case .none: "no router changes the address"
        case .endpointIndependent: "the router shows one port to every destination"
        case .independentOfPort: "the router shows one port to both ports of the only relay; others may see another"
        case .dependsOnPort: "the router shows another port to each destination: it depends at least on the port"
        case .dependsOnAddress: "the router shows another port to each destination"
        }
    }

    private static func words(_ filtering: NATReport.Filtering) -> String {
        switch filtering {
        case .unknown: "it is not known what is let in"
        case .open: "what comes from another port of a host that was written to is let in"
        case .dependsOnPort: "only what was written to is let in: it depends at least on the port"
        }
    }

    private static func words(_ hairpin: NATReport.Hairpin) -> String? {
        switch hairpin {
        case .unknown: nil
        case .works: "what goes from inside to that address comes back in (hairpin)"
        case .fails: "what goes from inside to that address does not come back (no hairpin); nothing depends on it"
        }
    }

    private static func words(_ mapping: ControlMapping?) -> String {
        switch mapping {
        case nil: "port mapping: no router is asked"
        case .asking: "port mapping: the router is being asked"
        case .open(let address, let method):
            "port mapping: the router keeps \(address.printable(limit: 80)) open (\(method.printable(limit: 20)))"
        case .failed(let reason): "port mapping: \(reason.printable(limit: 200))"
        }
    }

    private static func words(_ relay: ControlNet.Relay) -> String {
        let place = relay.address.map { " (\($0.printable(limit: 60)))" } ?? ""
        let udp = relay.udpMs.map { "UDP \(roundTrip($0))" } ?? "nothing on UDP"
        let leg = relay.roundTripMs.map { "connected by \(name(relay.transport)), round trip \(roundTrip($0))" }
        let problem = relay.problem.map { $0.printable(limit: 160) }
        return "relay \(relay.url.printable(limit: 100))\(place): "
            + [udp, leg, problem].compactMap(\.self).joined(separator: "; ")
    }

    private static func name(_ transport: String?) -> String {
        switch transport {
        case "http/3": "HTTP/3"
        case "websocket": "WebSocket"
        case let other: other?.printable(limit: 20) ?? "TCP"
        }
    }

    private static func roundTrip(_ milliseconds: Double) -> String {
        Words.roundTrip(.nanoseconds(Int64(clamping: Int(milliseconds * 1_000_000))))
    }
}
