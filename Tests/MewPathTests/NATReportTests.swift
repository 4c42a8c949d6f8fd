import MewBase
import Testing

@testable import MewPath

@Suite("What both sides know about their networks")
struct NATReportTests {
    private static func family(
        _ udp: NATReport.UDP, _ mapping: NATReport.Mapping = .none, _ filtering: NATReport.Filtering = .open
    ) -> NATReport.Finding {
        var family = NATReport.Finding()
        (family.udp, family.mapping, family.filtering) = (udp, mapping, filtering)
        return family
    }

    private static let unknown = NATReport.Finding()
    private static let open = family(.works, .independentOfPort, .open)
    private static let moderate = family(.works, .independentOfPort, .dependsOnPort)
    private static let strict = family(.works, .dependsOnPort, .dependsOnPort)
    private static let blocked = family(.blocked, .unknown, .unknown)

    private static func report(_ ipv4: NATReport.Finding, _ ipv6: NATReport.Finding = unknown) -> NATReport {
        var report = NATReport()
        (report.ipv4, report.ipv6) = (ipv4, ipv6)
        return report
    }

    @Test("a report comes out as it went in, without its addresses, for every value")
    func codec() {
        for udp in NATReport.UDP.allCases {
            for mapping in NATReport.Mapping.allCases {
                for filtering in NATReport.Filtering.allCases {
                    let report = Self.report(Self.family(udp, mapping, filtering), Self.open)
                    let bytes = NATAttribute.encode(report)
                    #expect(bytes.count == NATAttribute.byteCount)
                    #expect(NATAttribute.decode(bytes) == report)
                    #expect(NATAttribute.decode(bytes + [7, 7]) == report)
                    #expect(NATAttribute.decode(Array(bytes.dropLast())) == nil)
                }
            }
        }
    }

    @Test("values of a later version read as unknown")
    func later() {
        #expect(NATAttribute.decode([UInt8](repeating: 200, count: 8)) == NATReport())
    }

    @Test(
        "in IPv4 a punch fails for strict routers against moderate and strict ones, and where UDP is blocked; nowhere else"
    )
    func rule() {
        let kinds = [Self.family(.works), Self.open, Self.moderate, Self.strict, Self.blocked]
        for (here, ours) in kinds.enumerated() {
            for (there, theirs) in kinds.enumerated() {
                let obstacle = PunchObstacle.between(Self.report(ours), Self.report(theirs))
                switch (here, there) {
                case (4, _): #expect(obstacle == .blockedHere)
                case (_, 4): #expect(obstacle == .blockedThere)
                case (3, 2): #expect(obstacle == .portPerDestination(here: true, there: false))
                case (2, 3): #expect(obstacle == .portPerDestination(here: false, there: true))
                case (3, 3): #expect(obstacle == .portPerDestination(here: true, there: true))
                default: #expect(obstacle == nil)
                }
            }
        }
    }

    @Test("a family that may lead there is enough, and nothing is said of what is not known")
    func families() {
        #expect(
            PunchObstacle.between(Self.report(Self.strict, Self.moderate), Self.report(Self.strict, Self.moderate))
                == nil)
        #expect(
            PunchObstacle.between(Self.report(Self.strict, Self.moderate), Self.report(Self.strict))
                == .portPerDestination(here: true, there: true))
        #expect(PunchObstacle.between(nil, nil) == nil)
        #expect(PunchObstacle.between(Self.report(Self.strict), nil) == nil)
        #expect(PunchObstacle.between(Self.report(Self.blocked), nil) == .blockedHere)
        #expect(PunchObstacle.between(nil, Self.report(Self.blocked)) == .blockedThere)
        #expect(PunchObstacle.between(Self.report(Self.blocked, Self.open), Self.report(Self.open)) == .blockedHere)
        #expect(PunchObstacle.between(Self.report(Self.blocked, Self.open), nil) == nil)
    }

    @Test("sixteen candidates: hosts first, and no machine with many addresses crowds out what the outside sees")
    func candidates() throws {
        let hosts = (1...20).map { SocketAddress(ipv4: 0xc0a8_0000 + $0, port: 9) }
        let outside = SocketAddress(ipv4: 0xcb00_7101, port: 9)
        var report = NATReport()
        report.ipv4.reflexive = [outside, hosts[0]]
        let own = OwnCandidates(host: hosts, mapped: [outside], nat: report)
        #expect(own.all.count == Call.maxCandidates)
        #expect(own.all.first == OwnCandidates.Candidate(hosts[0], .host))
        #expect(own.all.last == OwnCandidates.Candidate(outside, .mapped))
        #expect(Set(own.addresses).count == own.all.count)
        #expect(OwnCandidates(host: [.anyIPv4]).all.isEmpty)
    }
}
