import MewBase
import MewDaemon
import MewIdentity
import MewWire
import Testing

@testable import mew

@Suite("A link in mew status")
struct LinkReportTests {
    private static let now = Instant(nanoseconds: 100_000_000_000)
    private static let address = SocketAddress.loopback(port: 7)

    private func report(_ status: LinkStatus?, isInTwoPlaces: Bool = false) throws -> LinkReport {
        let node = try #require(SecretKey(seed: [UInt8](repeating: 3, count: 32))).node
        return LinkReport(daemon: "desk", node: node, status, isInTwoPlaces: isInTwoPlaces, now: Self.now)
    }

    private static func status(_ path: LinkPath) -> LinkStatus {
        LinkStatus(
            path: path, roundTrip: .milliseconds(12), since: now.advanced(by: .seconds(-90)),
            lastProof: now.advanced(by: .seconds(-2)))
    }

    @Test("a direct link is one line with its times; an address that works is named")
    func direct() throws {
        var status = Self.status(.direct(Self.address))
        status.candidates = [PathCandidate(address: Self.address, state: .inUse)]
        let report = try report(status)
        #expect(
            report.lines == [
                "desk: direct to 127.0.0.1:7", "  for 1 min, round trip 12.000 ms, last proof 2 s ago",
                "  address 127.0.0.1:7: in use",
            ])
        #expect(report.json["since_ms"] == 90_000 && report.json["last_proof_ms"] == 2_000)
        #expect(report.json["why_not_direct"] == .null && report.json["path"] == "direct")
    }

    @Test("programs are told when the daemon's identity is in use in two places", arguments: [true, false])
    func twoPlaces(_ isTrue: Bool) throws {
        let report = try report(Self.status(.direct(Self.address)), isInTwoPlaces: isTrue)
        #expect(report.json["in_two_places"] == .bool(isTrue))
    }

    @Test("a relayed link says why, what would help, what was tried and which relay stands by")
    func relayed() throws {
        var status = Self.status(.relay(url: "https://one.example/"))
        status.whyNotDirect = WhyNotDirect(.noAnswer, text: "No address answers.", help: "Open UDP port 7.")
        status.candidates = [
            PathCandidate(
                address: Self.address, state: .quarantined(.fellSilent), failures: 2,
                nextTry: Self.now.advanced(by: .seconds(20)))
        ]
        status.relays = [
            RelayCandidate(url: "https://one.example/", .connected(complaint: nil)),
            RelayCandidate(url: "https://two.example/", .connected(complaint: nil)),
            RelayCandidate(url: "https://three.example/", .failed("the connection was refused")),
        ]
        let report = try report(status)
        #expect(
            report.lines.dropFirst(2) == [
                "  not direct: No address answers.", "  what would help: Open UDP port 7.",
                "  address 127.0.0.1:7: answered, then fell silent, tried again in 20 s",
                "  relay https://one.example/: in use", "  relay https://two.example/: standby",
                "  relay https://three.example/: the connection was refused",
            ])
        #expect(report.json["why_not_direct"] == "no_answer" && report.json["why_help"] == "Open UDP port 7.")
        let candidate = try #require(report.json["candidates"]?.asArray?.first)
        #expect(candidate["state"] == "quarantined" && candidate["reason"] == "fell_silent")
        #expect(candidate["next_try_in_ms"] == 20_000 && candidate["failures"] == 2)
    }

    @Test("a relay that is not wanted, one on its way, one that failed and one that complains are told apart")
    func relays() throws {
        let states: [(state: RelayCandidate.State, words: String, name: JSON, problem: JSON)] = [
            (.connected(complaint: nil), "connected", "connected", .null),
            (.connected(complaint: "it is old"), "connected, but it is old", "connected", "it is old"),
            (.connecting, "being connected to", "connecting", .null),
            (.failed("connection refused"), "connection refused", "failed", "connection refused"),
            (.notWanted, "not needed now", "not_wanted", .null),
        ]
        for row in states {
            var status = Self.status(.direct(Self.address))
            status.relays = [RelayCandidate(url: "https://one.example/", row.state)]
            let report = try report(status)
            #expect(report.lines.last == "  relay https://one.example/: \(row.words)")
            let relay = try #require(report.json["relays"]?.asArray?.first)
            #expect(relay["state"] == row.name && relay["problem"] == row.problem)
            #expect(relay["connected"] == .bool(row.name == "connected"))
        }
    }

    @Test("without a link there is nothing to tell but that")
    func none() throws {
        let report = try report(nil)
        #expect(report.lines.first == "desk: not connected")
        #expect(report.json["path"] == .null && report.json["since_ms"] == .null)
    }

    @Test("every reason an address is left alone for has words of its own", arguments: WhyNotDirect.Code.allCases)
    func reasons(code: WhyNotDirect.Code) throws {
        var status = Self.status(.relay(url: "https://one.example/"))
        status.candidates = [PathCandidate(address: Self.address, state: .quarantined(code))]
        let line = try #require(report(status).lines.last)
        #expect(line.count > "  address 127.0.0.1:7: ".count)
        #expect(!line.contains("_"))
    }
}
