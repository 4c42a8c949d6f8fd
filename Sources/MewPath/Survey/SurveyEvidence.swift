internal import MewBase

/// What the servers of one family said, and what follows from it.
struct SurveyEvidence: Sendable {
    /// One answer to a plain request.
    struct Observation: Sendable {
        let server: SocketAddress
        let mapped: SocketAddress
    }

    private(set) var observations: [Observation] = []
    var filtering = NATReport.Filtering.unknown
    var hairpin = NATReport.Hairpin.unknown
    /// Those that were asked on all their ports, and did not answer.
    var silent: Set<SocketAddress> = []

    mutating func saw(_ mapped: SocketAddress, at server: SocketAddress) {
        observations.removeAll { $0.server == server }
        observations.append(Observation(server: server, mapped: mapped))
    }

    /// - Parameters:
    ///   - own: addresses of this machine with the port of the socket that asked.
    ///   - present: servers that answer whoever reaches them.
    ///   - isOver: no answer is waited for any more.
    func finding(own: Set<SocketAddress>, present: Set<SocketAddress>, isOver: Bool) -> NATReport.Finding {
        var finding = NATReport.Finding()
        let isBlocked = isOver && !silent.isDisjoint(with: present)
        finding.udp = observations.isEmpty ? (isBlocked ? .blocked : .unknown) : .works
        finding.mapping = mapping(own)
        finding.filtering = filtering
        finding.hairpin = hairpin
        finding.reflexive = seen.filter { !own.contains($0) }
        return finding
    }

    /// What was seen, most often first, and then in the order it came.
    private var seen: [SocketAddress] {
        var counts: [(address: SocketAddress, count: Int)] = []
        for observation in observations {
            if let index = counts.firstIndex(where: { $0.address == observation.mapped }) {
                counts[index].count += 1
            } else {
                counts.append((observation.mapped, 1))
            }
        }
        // Stable: Swift's sort keeps the order of equals.
        return counts.sorted { $0.count > $1.count }.map(\.address)
    }

    private func mapping(_ own: Set<SocketAddress>) -> NATReport.Mapping {
        let mapped = Set(observations.map(\.mapped))
        guard !mapped.isEmpty else { return .unknown }
        if mapped.isSubset(of: own) { return .none }
        guard mapped.count == 1 else { return isPortSeen ? .dependsOnPort : .dependsOnAddress }
        if hosts.count > 1 { return .endpointIndependent }
        return observations.count > 1 ? .independentOfPort : .unknown
    }

    /// Servers without their ports.
    private var hosts: Set<SocketAddress> { Set(observations.map { $0.server.with(port: 0) }) }

    /// One host saw different addresses at different ports of its.
    private var isPortSeen: Bool {
        hosts.contains { host in
            Set(observations.filter { $0.server.with(port: 0) == host }.map(\.mapped)).count > 1
        }
    }
}
