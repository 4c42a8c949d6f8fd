internal import MewBase
internal import MewLoop
internal import MewPath
internal import MewSim

/// What STUN servers at two ports of one relay would say of a machine's socket: the boxes on the way make the mappings that packets
/// there would make, and each question takes its time.
///
/// `@unchecked Sendable`: a simulated world runs on one thread.
final class SimSurvey: @unchecked Sendable {
    private let machine: SimNode
    private let families: [SocketAddress.Family]
    private let latency: Duration
    private var last: (report: NATReport, at: Instant)?

    /// A mapping of 30 s that a question refreshed is still there.
    private static let maxAge: Duration = .seconds(20)
    /// Until the last of four questions is given up.
    private static let patience: Duration = .milliseconds(2_000)

    init(_ machine: SimNode, families: [SocketAddress.Family], latency: Duration) {
        (self.machine, self.families, self.latency) = (machine, families, latency)
    }

    func report() async -> NATReport {
        let loop = machine.loop
        if let last, last.at.duration(to: loop.now) < Self.maxAge { return last.report }
        var report = NATReport()
        for family in families {
            switch family {
            case .ipv4: report.ipv4 = survey(SocketAddress(ipv4: 0x0a02_0001, port: SimRelay.port))
            case .ipv6: report.ipv6 = survey(SocketAddress(ipv6High: Self.relayPrefix, low: 1, port: SimRelay.port))
            }
        }
        let isBlocked = [report.ipv4, report.ipv6].contains { $0.udp == .blocked }
        _ = await LoopClock(loop).pause(for: isBlocked ? Self.patience : latency * 2)
        last = (report, loop.now)
        return report
    }

    private static let relayPrefix: UInt64 = 0x2001_0db8_00ff_0000

    private func survey(_ relay: SocketAddress) -> NATReport.Finding {
        var family = NATReport.Finding()
        guard let first = machine.observed(port: SimPeer.port, from: relay),
            let second = machine.observed(port: SimPeer.port, from: relay.with(port: 7_842))
        else {
            family.udp = .blocked
            return family
        }
        family.udp = .works
        family.reflexive = [first]
        let isOwn = machine.hosts.contains(first.with(port: 0))
        family.mapping = first != second ? .dependsOnPort : isOwn ? .none : .independentOfPort
        let isOpen = machine.boxes.allSatisfy { $0.behaviour.filtering != .addressAndPortDependent }
        family.filtering = isOpen ? .open : .dependsOnPort
        return family
    }
}
