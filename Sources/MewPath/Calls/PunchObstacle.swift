internal import MewBase

/// Why no punch can succeed, from what both sides have found out about their own networks; the rule of RFC 4787 behavior that
/// forbids it. A value.
enum PunchObstacle: Hashable, Sendable {
    case blockedHere
    case blockedThere
    /// Here or there a router gives each destination a port of its own, so that nobody else can be told where to send; and the
    /// other side lets in only whom it has written to.
    case portPerDestination(here: Bool, there: Bool)

    /// Nil while some family may lead to the peer, or too little is known to say that none does.
    static func between(_ ours: NATReport?, _ theirs: NATReport?) -> PunchObstacle? {
        let here = families(ours), there = families(theirs)
        if isBlocked(here) { return .blockedHere }
        if isBlocked(there) { return .blockedThere }
        let common = zip(here, there).filter { $0.udp != .unknown && $1.udp != .unknown }
        let obstacles = common.compactMap { between($0, $1) }
        return obstacles.count == common.count ? obstacles.first : nil
    }

    private static func families(_ report: NATReport?) -> [NATReport.Finding] {
        report.map { [$0.ipv4, $0.ipv6] } ?? [NATReport.Finding(), NATReport.Finding()]
    }

    private static func isBlocked(_ families: [NATReport.Finding]) -> Bool {
        let known = families.filter { $0.udp != .unknown }
        return !known.isEmpty && known.allSatisfy { $0.udp == .blocked }
    }

    private static func between(_ ours: NATReport.Finding, _ theirs: NATReport.Finding) -> PunchObstacle? {
        if ours.udp == .blocked { return .blockedHere }
        if theirs.udp == .blocked { return .blockedThere }
        let (here, there) = (ours.mapping.isPredictable == false, theirs.mapping.isPredictable == false)
        let isForbidden = here && theirs.filtering == .dependsOnPort || there && ours.filtering == .dependsOnPort
        return isForbidden ? .portPerDestination(here: here, there: there) : nil
    }
}
