import MewBase
import MewDaemon
import MewPath
import MewWire
import Testing

@testable import mew

@Suite("The report on this network")
struct NetReportTests {
    private static let seen = SocketAddress("198.51.100.7:4433")!  // a literal that is one

    private static func report(_ change: (inout NATReport) -> Void) -> NetReport {
        var nat = NATReport()
        change(&nat)
        return NetReport(ControlNet(nat: nat, mapping: nil, relays: []))
    }

    @Test("what nobody has told is not claimed")
    func nothing() {
        let report = Self.report { _ in }
        #expect(
            report.lines == [
                "IPv4: no relay has told anything of it", "IPv6: no relay has told anything of it",
                "port mapping: no router is asked",
            ])
    }

    @Test("with one relay, a router that changes the port does so at least by the port")
    func strict() {
        let report = Self.report {
            $0.ipv4.udp = .works
            ($0.ipv4.mapping, $0.ipv4.filtering, $0.ipv4.reflexive) = (.dependsOnPort, .dependsOnPort, [Self.seen])
        }
        #expect(
            report.lines.prefix(3) == [
                "IPv4: UDP works, relays see 198.51.100.7:4433",
                "  out: the router shows another port to each destination: it depends at least on the port",
                "  in:  only what was written to is let in: it depends at least on the port",
            ])
    }

    @Test("blocked UDP says nothing of routers")
    func blocked() {
        let report = Self.report { $0.ipv6.udp = .blocked }
        #expect(
            report.lines.dropFirst().first == "IPv6: UDP is blocked: TCP reaches a relay, and nothing comes back on UDP"
        )
        #expect(report.lines.count == 3)
    }

    @Test("what comes back in from where relays see this machine is told when it was asked")
    func hairpin() {
        for (hairpin, word) in [(NATReport.Hairpin.works, "comes back in"), (.fails, "does not come back")] {
            let report = Self.report { ($0.ipv4.udp, $0.ipv4.hairpin) = (.works, hairpin) }
            #expect(report.lines[3].hasPrefix("  back: ") && report.lines[3].contains(word))
        }
    }

    @Test("how a relay is reached: by UDP, by its connection, and what is wrong")
    func relays() {
        let relays = [
            ControlNet.Relay(
                url: "http://a/", address: "192.0.2.1:3340", udpMs: 1.5, roundTripMs: 2.5, transport: "http/3"),
            ControlNet.Relay(url: "http://b/", address: nil, udpMs: nil, problem: "connection refused"),
        ]
        let report = NetReport(ControlNet(nat: NATReport(), mapping: nil, relays: relays))
        #expect(
            report.lines.suffix(2) == [
                "relay http://a/ (192.0.2.1:3340): UDP 1.500 ms; connected by HTTP/3, round trip 2.500 ms",
                "relay http://b/: nothing on UDP; connection refused",
            ])
    }

    @Test("what a router and a relay say is cleaned for the screen")
    func strangers() {
        let relay = ControlNet.Relay(
            url: "https://one.example/", address: "192.0.2.1:443\u{7}", udpMs: 12, problem: "no\u{1b}[2J")
        let report = NetReport(ControlNet(nat: NATReport(), mapping: .failed("no\u{7}"), relays: [relay]))
        #expect(!report.lines.contains { $0.contains("\u{1b}") || $0.contains("\u{7}") })
        #expect(report.lines.last?.contains("UDP 12.000 ms; no") == true)
    }
}
