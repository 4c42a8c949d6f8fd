import MewBase
package import MewMapping
package import MewNode
package import MewPath
import MewRelay
package import MewWire

/// The network of this machine as its daemon has just examined it, for `mew net`.
package struct ControlNet: Equatable, Sendable {
    package let nat: NATReport
    /// What came of asking the router to open the port; nil when it is not asked.
    package let mapping: ControlMapping?
    package let relays: [Relay]

    /// One relay by one address family.
    package struct Relay: Equatable, Sendable {
        package let url: String
        /// Nil when none is known.
        package let address: String?
        /// Over UDP, to its STUN; nil without an answer.
        package let udpMs: Double?
        /// Of the connection that is up; nil while there is none.
        package let roundTripMs: Double?
        /// By what the connection goes: `http/3` or `websocket`.
        package let transport: String?
        /// Why there is no connection, or what the relay complains about.
        package let problem: String?

        package init(
            url: String, address: String?, udpMs: Double?, roundTripMs: Double? = nil, transport: String? = nil,
            problem: String? = nil
        ) {
            (self.url, self.address, self.udpMs) = (url, address, udpMs)
            (self.roundTripMs, self.transport, self.problem) = (roundTripMs, transport, problem)
        }
    }

    /// - Parameter homes: those at which the node listens, as they are now.
    package init(_ examination: Discovery.Examination?, mapping: MappingPlan.Result?, homes: [HomeRelay] = []) {
        let found = examination?.relays ?? []
        let unseen = homes.filter { home in !found.contains { $0.url == home.url } }
        self.init(
            nat: examination?.report ?? NATReport(), mapping: mapping.map(ControlMapping.init),
            relays: found.map { relay in
                Relay(
                    relay.url, "\(relay.address)", udp: relay.roundTrip, homes.first { $0.url == relay.url }?.status)
            } + unseen.map { Relay($0.url, nil, udp: nil, $0.status) })
    }

    package init(nat: NATReport, mapping: ControlMapping?, relays: [Relay]) {
        (self.nat, self.mapping, self.relays) = (nat, mapping, relays)
    }

    package var json: JSON {
        [
            "ipv4": ControlNAT.row(nat.ipv4), "ipv6": ControlNAT.row(nat.ipv6), "port_mapping": mapping?.row ?? .null,
            "relays": .array(relays.map(\.json)),
        ]
    }

    init(_ reader: ControlFields) throws(ControlError) {
        var relays: [Relay] = []
        for relay in try reader.list("relays") { relays.append(try Relay(relay)) }
        self.init(
            nat: ControlNAT.report(reader.optionalObject("ipv4"), reader.optionalObject("ipv6")),
            mapping: ControlMapping(reader.optionalObject("port_mapping")), relays: relays)
    }
}

extension ControlNet.Relay {
    fileprivate init(_ url: RelayURL, _ address: String?, udp: Duration?, _ status: RelayLegStatus?) {
        self.init(
            url: url.description, address: address, udpMs: udp?.milliseconds,
            roundTripMs: status?.roundTrip?.milliseconds, transport: status?.transport?.rawValue,
            problem: status?.problem)
    }

    fileprivate var json: JSON {
        [
            "url": .string(url), "addr": address.map(JSON.string) ?? .null,
            "udp_rtt_ms": udpMs.map(JSON.number) ?? .null,
            "rtt_ms": roundTripMs.map(JSON.number) ?? .null, "transport": transport.map(JSON.string) ?? .null,
            "problem": problem.map(JSON.string) ?? .null,
        ]
    }

    fileprivate init(_ reader: ControlFields) throws(ControlError) {
        self.init(
            url: try reader.text("url"), address: reader.optionalText("addr"),
            udpMs: reader.optionalNumber("udp_rtt_ms"),
            roundTripMs: reader.optionalNumber("rtt_ms"), transport: reader.optionalText("transport"),
            problem: reader.optionalText("problem"))
    }
}

/// What the daemon knows of the routers before it, as `mew net` shows it: one object for each address family.
package enum ControlNAT {
    /// One object of `mew net --json`.
    package static func row(_ finding: NATReport.Finding) -> JSON {
        [
            "udp": .string(name(finding.udp)), "mapping": .string(name(finding.mapping)),
            "filtering": .string(name(finding.filtering)), "hairpin": .string(name(finding.hairpin)),
            "addresses": .array(finding.reflexive.map { .string("\($0)") }),
        ]
    }

    /// What a newer daemon may say besides is unknown.
    fileprivate static func report(_ ipv4: JSON?, _ ipv6: JSON?) -> NATReport {
        var report = NATReport()
        (report.ipv4, report.ipv6) = (finding(ipv4), finding(ipv6))
        return report
    }

    private static func finding(_ json: JSON?) -> NATReport.Finding {
        var finding = NATReport.Finding()
        finding.udp = NATReport.UDP.allCases.first { name($0) == json?["udp"]?.asString } ?? .unknown
        finding.mapping = NATReport.Mapping.allCases.first { name($0) == json?["mapping"]?.asString } ?? .unknown
        finding.filtering = NATReport.Filtering.allCases.first { name($0) == json?["filtering"]?.asString } ?? .unknown
        finding.hairpin = NATReport.Hairpin.allCases.first { name($0) == json?["hairpin"]?.asString } ?? .unknown
        finding.reflexive = (json?["addresses"]?.asArray ?? []).compactMap { $0.asString.flatMap { SocketAddress($0) } }
        return finding
    }

    private static func name(_ udp: NATReport.UDP) -> String {
        switch udp {
        case .unknown: "unknown"
        case .works: "works"
        case .blocked: "blocked"
        }
    }

    private static func name(_ mapping: NATReport.Mapping) -> String {
        switch mapping {
        case .unknown: "unknown"
        case .none: "none"
        case .endpointIndependent: "endpoint_independent"
        case .independentOfPort: "independent_of_port"
        case .dependsOnPort: "depends_on_port"
        case .dependsOnAddress: "depends_on_address"
        }
    }

    private static func name(_ hairpin: NATReport.Hairpin) -> String {
        switch hairpin {
        case .unknown: "unknown"
        case .works: "works"
        case .fails: "fails"
        }
    }

    private static func name(_ filtering: NATReport.Filtering) -> String {
        switch filtering {
        case .unknown: "unknown"
        case .open: "open"
        case .dependsOnPort: "depends_on_port"
        }
    }
}
