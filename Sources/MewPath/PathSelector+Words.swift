package import MewBase
package import MewWire

// What people and programs are told about the paths.

extension PathSelector {
    /// Why a relay carries the connection.
    ///
    /// - Parameter isSurveying: our relays are being asked what our routers do, and that may be the reason.
    package func whyNotDirect(now: Instant, isSurveying: Bool = false) -> WhyNotDirect {
        let known = candidates.all
        // A router that forbids it is the reason for all that is seen; a packet that was answered proves that none does.
        if let obstacle, !known.contains(where: { $0.objection == .largePacketsLost }) { return Self.words(obstacle) }
        guard !known.isEmpty else { return unroutable > 0 ? noSuchFamily : Self.noAddress }
        if isProbing, known.contains(where: { $0.failures == 0 }) { return checking }
        guard let worst = Self.severity.first(where: { code in known.contains { $0.objection == code } }) else {
            return checking
        }
        if worst == .noAnswer, isSurveying { return checking }
        return objection(worst, known.filter { $0.objection == worst }, now)
    }

    /// What says most comes first.
    private static let severity: [WhyNotDirect.Code] = [.largePacketsLost, .fellSilent, .notHeard, .noAnswer]

    private static let noAddress = WhyNotDirect(
        .noAddress, text: "no address of the peer is known, only relays",
        help:
            "Bring both into one network, or let the UDP port of its daemon through its router and give the address it has to the "
            + "outside with --addr PUBLIC-IP:PORT."
    )

    private static func words(_ obstacle: PunchObstacle) -> WhyNotDirect {
        switch obstacle {
        case .blockedHere:
            WhyNotDirect(
                .udpBlockedHere, text: "the network here lets no UDP out, only relays can be reached",
                help: "Let UDP out through the firewall of this network, or use another network.")
        case .blockedThere:
            WhyNotDirect(
                .udpBlockedThere,
                text: "the network of the peer lets no UDP out, only relays can be reached from there",
                help: "Let UDP out through the firewall of the peer's network, or use another network there.")
        case .portPerDestination(let here, let there):
            WhyNotDirect(
                .portPerDestination, text: portPerDestination(here: here, there: there), help: portPerDestinationHelp)
        }
    }

    private static func portPerDestination(here: Bool, there: Bool) -> String {
        let rule = "gives each destination a port of its own"
        return switch (here, there) {
        case (true, true): "the router on either side \(rule), so that neither can be told where to send"
        case (true, false):
            "the router here \(rule), and the one in front of the peer lets in only answers from exactly where it has sent to"
        case (false, _):
            "the router in front of the peer \(rule), and the one here lets in only answers from exactly where it has sent to"
        }
    }

    private static let portPerDestinationHelp =
        "Switch on port mapping (UPnP or NAT-PMP) on one of the two routers, use IPv6 on both sides, or let the UDP port of the "
        + "daemon through its router and give the address it has to the outside with --addr PUBLIC-IP:PORT."

    private var noSuchFamily: WhyNotDirect {
        WhyNotDirect(
            .noSuchFamily,
            text: "all \(unroutable) addresses of the peer are of a family (IPv4, IPv6) that is off here",
            help: "Switch that family on here, or give the peer an address of the other one.")
    }

    private var checking: WhyNotDirect {
        WhyNotDirect(.checking, text: "its addresses are being tried: \(Self.list(candidates.all.map(\.address)))")
    }

    private func objection(
        _ code: WhyNotDirect.Code, _ guilty: [CandidateList.Candidate], _ now: Instant
    ) -> WhyNotDirect {
        let list = Self.list(guilty.map(\.address))
        let wait = guilty.map(\.notBefore).min().map { max(.zero, now.duration(to: $0)) } ?? .zero
        let again = isProbing || wait == .zero ? "being tried again" : "tried again in \(Self.seconds(wait)) s"
        let ports = Set(guilty.map(\.address.port)).sorted().map(String.init).joined(separator: ", ")
        switch code {
        case .largePacketsLost:
            return WhyNotDirect(
                code, text: "\(list) passes small packets only; \(again)",
                help: "A tunnel or VPN on the way drops large packets: its MTU has to be at least 1280.")
        case .fellSilent:
            return WhyNotDirect(
                code, text: "\(list) answered and then fell silent; \(again)",
                help: "A firewall or router on the way forgets or drops UDP to port \(ports).")
        case .notHeard:
            return WhyNotDirect(
                code, text: "the peer does not hear us at \(list); \(again)",
                help: "A firewall or router on the way drops what we send to UDP port \(ports).")
        case .noAnswer, .noAddress, .noSuchFamily, .checking, .otherSideDecides, .udpBlockedHere, .udpBlockedThere,
            .portPerDestination:
            return WhyNotDirect(
                .noAnswer, text: "no answer at \(list); \(again)",
                help:
                    "Let UDP port \(ports) through the firewall or router in front of the peer, and if it has another address to the "
                    + "outside, give that here with --addr PUBLIC-IP:PORT; or bring both into one network."
            )
        }
    }

    /// What a person still reads.
    private static let maxNamed = 3

    private static func list(_ addresses: [SocketAddress]) -> String {
        let named = addresses.prefix(maxNamed).map(\.description).joined(separator: ", ")
        return addresses.count > maxNamed ? "\(named) and \(addresses.count - maxNamed) more" : named
    }

    private static func seconds(_ duration: Duration) -> Int64 {
        max(1, duration.components.seconds + (duration.components.attoseconds > 0 ? 1 : 0))
    }

    // MARK: - Lists

    /// The addresses, best known first.
    package func candidateStates(using way: PathWay?, now: Instant) -> [PathCandidate] {
        candidates.all.map { candidate in
            let state = state(of: candidate, using: way, now)
            let isPlanned = way?.address == nil && state != .checking
            return PathCandidate(
                address: candidate.address, state: state, failures: candidate.failures,
                nextTry: isPlanned ? max(candidate.notBefore, now) : nil)
        }
    }

    private func state(
        of candidate: CandidateList.Candidate, using way: PathWay?, _ now: Instant
    ) -> PathCandidate.State {
        if way == .direct(candidate.address) { return .inUse }
        if isProbing(candidate.address) { return .checking }
        if let objection = candidate.objection { return .quarantined(objection) }
        return candidate.isProven ? .works : .untried
    }

    /// The relays in the order in which they would be used, the one that carries the connection first.
    package func rankedRelays(using way: PathWay?, now: Instant) -> [RelayNumber] {
        var ranked = relays.ranked(now: now)
        ranked += relays.all.indices.map(RelayNumber.init).filter { !ranked.contains($0) }
        guard case .relay(let number)? = way else { return ranked }
        return [number] + ranked.filter { $0 != number }
    }

    package func url(of number: RelayNumber) -> String { relays[number]?.url ?? "" }
}
