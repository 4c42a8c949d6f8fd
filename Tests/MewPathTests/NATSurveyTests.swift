import MewBase
import MewTestSupport
import Testing

@testable import MewPath

@Suite("Asking relays what the routers do")
struct NATSurveyTests {
    typealias Dependence = ModelNAT.Dependence

    private static let locals = [SocketAddress(ipv4: 0xc0a8_0102, port: 4_000)]

    /// Runs a survey to its end against `nat`.
    static func run(
        _ survey: inout NATSurvey, _ nat: inout ModelNAT, start: Instant = Instant(nanoseconds: 1_000_000_000),
        each: (NATSurvey, Instant) -> Void = { _, _ in }
    ) -> Instant {
        let entropy = TestEntropy()
        var now = start
        var arrivals: [ModelNAT.Arrival] = []
        repeat {
            for packet in survey.look(now: now, entropy: entropy) { arrivals += nat.send(packet, now: now) }
            arrivals.sort { $0.at < $1.at }
            each(survey, now)
            let next = [survey.deadline, arrivals.first?.at].compactMap(\.self).min()
            guard let next else { break }
            now = max(now, next)
            while let first = arrivals.first, first.at <= now {
                arrivals.removeFirst()
                _ = survey.hear(first.bytes, from: first.from, now: now, entropy: entropy)
            }
        } while !survey.isOver
        return now
    }

    private static func servers(_ count: Int) -> [NATSurvey.Server] {
        (0..<count).map { NATSurvey.Server(ModelNAT.server($0)) }
    }

    private func survey(_ nat: ModelNAT, servers: Int, arePresent: Bool = true) -> NATReport.Finding {
        var (nat, survey) = (nat, NATSurvey(Self.servers(servers), own: Self.locals))
        if arePresent { survey.note(present: Set(Self.servers(servers).map(\.address))) }
        _ = Self.run(&survey, &nat)
        #expect(survey.isOver && survey.deadline == nil)
        return survey.report.ipv4
    }

    @Test("whether routers send back what goes to where they show this node is asked when it is wanted, and told")
    func hairpin() {
        for (isWanted, isSentBack, expected) in [
            (true, true, NATReport.Hairpin.works), (true, false, .fails), (false, true, .unknown),
        ] {
            let entropy = TestEntropy()
            let server = Self.servers(1)[0].address
            let mapped = SocketAddress(ipv4: 0xc633_6407, port: 9)
            var survey = NATSurvey(Self.servers(1), own: Self.locals, asksHairpin: isWanted)
            var now = Instant.zero
            while !survey.isOver {
                for packet in survey.look(now: now, entropy: entropy) {
                    if packet.to == mapped {
                        if isSentBack { _ = survey.hear(packet.bytes, from: mapped, now: now, entropy: entropy) }
                        continue
                    }
                    guard case .request(let request)? = StunRequest.read(packet.bytes) else { continue }
                    let content = StunReply.Content.success(.init(mapped: mapped))
                    let reply = StunReply(transaction: request.transaction, content: content)
                    _ = survey.hear(reply.encoded, from: server, now: now, entropy: entropy)
                }
                now = survey.deadline ?? now
            }
            #expect(survey.report.ipv4.hairpin == expected)
        }
    }

    @Test("two relays tell what mappings depend on", arguments: Dependence.allCases)
    func mapping(_ dependence: Dependence) {
        let finding = survey(ModelNAT(mapping: dependence, filtering: .port), servers: 2)
        #expect(finding.udp == .works)
        switch dependence {
        case .nothing: #expect(finding.mapping == .endpointIndependent && finding.reflexive.count == 1)
        case .address: #expect(finding.mapping == .dependsOnAddress && finding.reflexive.count == 2)
        case .port: #expect(finding.mapping == .dependsOnPort && finding.reflexive.count == 4)
        }
    }

    @Test("one relay tells no more than whether they depend on the port", arguments: Dependence.allCases)
    func oneRelay(_ dependence: Dependence) {
        let finding = survey(ModelNAT(mapping: dependence, filtering: .port), servers: 1)
        switch dependence {
        case .nothing, .address: #expect(finding.mapping == .independentOfPort && finding.mapping.isPredictable == nil)
        case .port: #expect(finding.mapping == .dependsOnPort && finding.mapping.isPredictable == false)
        }
    }

    @Test("filtering is open to another port of the same host, or is not", arguments: Dependence.allCases)
    func filtering(_ dependence: Dependence) {
        for mapping in Dependence.allCases {
            for count in 1...3 {
                let finding = survey(ModelNAT(mapping: mapping, filtering: dependence), servers: count)
                #expect(finding.filtering == (dependence == .port ? .dependsOnPort : .open))
            }
        }
    }

    @Test("without a NAT servers see an address of this machine, and a firewall is still one")
    func firewall() {
        for (filtering, expected) in [
            (Dependence.nothing, NATReport.Filtering.open), (.port, .dependsOnPort),
        ] {
            let finding = survey(ModelNAT(mapping: nil, filtering: filtering), servers: 1)
            #expect(finding.mapping == .none && finding.reflexive.isEmpty && finding.filtering == expected)
        }
    }

    @Test("UDP is blocked only when a relay is known to be there and neither of its ports answers")
    func blocked() {
        var nat = ModelNAT(mapping: .nothing, filtering: .port)
        nat.isBlocked = true
        #expect(survey(nat, servers: 2, arePresent: false) == NATReport.Finding())
        #expect(survey(nat, servers: 2).udp == .blocked)
        nat.isBlocked = false
        nat.shutPorts = [ModelNAT.mainPort]
        #expect(survey(nat, servers: 2).udp == .works)
    }

    @Test("as long as an answer is waited for, UDP is not called blocked")
    func blockedInTime() {
        var nat = ModelNAT(mapping: .nothing, filtering: .port)
        nat.isBlocked = true
        var survey = NATSurvey(Self.servers(1), own: Self.locals)
        survey.note(present: [ModelNAT.server(0)])
        let start = Instant(nanoseconds: 1_000_000_000)
        let end = Self.run(&survey, &nat, start: start) { survey, now in
            #expect(survey.report.ipv4.udp == (survey.isOver ? .blocked : .unknown))
            #expect(survey.stage == (survey.isOver ? .over : .unanswered))
        }
        #expect(start.duration(to: end) == .seconds(3))
        #expect(nat.sent.count(where: { $0.port == 3_340 }) == 4 && nat.sent.count(where: { $0.port == 7_842 }) == 4)
    }

    @Test("a relay that turns out to be there when all is over is a reason to call UDP blocked then")
    func presentLater() {
        var nat = ModelNAT(mapping: .nothing, filtering: .port)
        nat.isBlocked = true
        var survey = NATSurvey(Self.servers(1), own: Self.locals)
        _ = Self.run(&survey, &nat)
        #expect(survey.report.ipv4.udp == .unknown)
        survey.note(present: [ModelNAT.server(1)])
        #expect(survey.report.ipv4.udp == .unknown)
        survey.note(present: [ModelNAT.server(0)])
        #expect(survey.report.ipv4.udp == .blocked)
    }

    @Test("a main port that answers late, when the alternate one was asked, says nothing of filtering")
    func lateMain() {
        var nat = ModelNAT(mapping: .nothing, filtering: .port)
        nat.lateUntil = Instant(nanoseconds: 2_500_000_000)
        var survey = NATSurvey(Self.servers(1), own: Self.locals)
        _ = Self.run(&survey, &nat)
        #expect(survey.report.ipv4.mapping == .independentOfPort && survey.report.ipv4.filtering == .unknown)
    }

    @Test("each request is sent at 0, 250, 750 and 1750 ms, with one transaction, and not once it is answered")
    func schedule() throws {
        var survey = NATSurvey(Self.servers(1), own: Self.locals)
        let start = Instant(nanoseconds: 0)
        let entropy = TestEntropy()
        var packets: [Int64: [UInt8]] = [:]
        for time in Int64(0)...2_000 {
            let now = start.advanced(by: .milliseconds(time))
            for packet in survey.look(now: now, entropy: entropy) where packet.to == ModelNAT.server(0) {
                packets[time] = packet.bytes
            }
        }
        #expect(packets.keys.sorted() == [0, 250, 750, 1_750])
        #expect(Set(packets.values).count == 1)
    }

    @Test("a server that keeps its other port to itself says nothing of routers, and is no sign of filtering")
    func noOtherPort() {
        var nat = ModelNAT(mapping: .nothing, filtering: .nothing)
        nat.answersElsewhere = false
        let finding = survey(nat, servers: 2)
        #expect(finding.mapping == .endpointIndependent && finding.filtering == .unknown)
    }

    @Test("an other port that is shut for everybody is no sign of filtering")
    func shutOtherPort() {
        var nat = ModelNAT(mapping: .nothing, filtering: .nothing)
        nat.shutPorts = [ModelNAT.otherPort]
        #expect(survey(nat, servers: 1).filtering == .unknown)
    }

    private func expect(
        _ survey: inout NATSurvey, _ bytes: [UInt8], from source: SocketAddress, _ isMeant: Bool,
        at location: SourceLocation = #_sourceLocation
    ) {
        let isTaken = survey.hear(bytes, from: source, now: Instant(nanoseconds: 0), entropy: TestEntropy())
        #expect(isTaken == isMeant, sourceLocation: location)
    }

    @Test("a forged answer from elsewhere, one to another request, and one with an impossible address say nothing")
    func forged() throws {
        var survey = NATSurvey(Self.servers(1), own: Self.locals)
        let (start, entropy) = (Instant(nanoseconds: 0), TestEntropy())
        let packets = survey.look(now: start, entropy: entropy)
        let packet = try #require(packets.first)
        guard case .request(let request)? = StunRequest.read(packet.bytes) else {
            Issue.record("no request")
            return
        }
        let mapped = SocketAddress(ipv4: 0xcb00_7101, port: 9)
        let seen = StunReply.Content.success(.init(mapped: mapped))
        let right = StunReply(transaction: request.transaction, content: seen).encoded
        expect(&survey, right, from: packet.to.with(port: 1), false)
        let other = StunReply(transaction: TransactionID(random: entropy), content: seen).encoded
        expect(&survey, other, from: packet.to, false)
        expect(&survey, packet.bytes, from: packet.to, false)
        #expect(survey.report == NATReport())
        let impossible = StunReply(
            transaction: request.transaction, content: .success(.init(mapped: mapped.with(port: 0))))
        expect(&survey, impossible.encoded, from: packet.to, true)
        #expect(survey.report.ipv4.reflexive.isEmpty && survey.isOver)
    }

    @Test("OTHER-ADDRESS that names another host is not followed: nobody makes us ask third parties")
    func reflection() throws {
        var survey = NATSurvey(Self.servers(1), own: Self.locals)
        let (start, entropy) = (Instant(nanoseconds: 0), TestEntropy())
        let packets = survey.look(now: start, entropy: entropy)
        let packet = try #require(packets.first)
        guard case .request(let request)? = StunRequest.read(packet.bytes) else {
            Issue.record("no request")
            return
        }
        let seen = StunReply.Seen(
            mapped: SocketAddress(ipv4: 0xcb00_7101, port: 9), other: SocketAddress(ipv4: 0xcb00_7199, port: 53))
        let reply = StunReply(transaction: request.transaction, content: .success(seen)).encoded
        expect(&survey, reply, from: packet.to, true)
        let more = survey.look(now: start, entropy: entropy)
        #expect(more.isEmpty && survey.isOver)
    }

    @Test("of each family the first three servers are asked, and each family is judged by itself")
    func families() {
        let six = (0..<4).map { SocketAddress(ipv6High: 0x2001_0db8_0000_0000, low: UInt64($0 + 1), port: 3_340) }
        var nat = ModelNAT(mapping: .port, filtering: .port)
        nat.isFamilyBlocked = .ipv6
        var survey = NATSurvey(Self.servers(5) + six.map { NATSurvey.Server($0) }, own: Self.locals)
        survey.note(present: Set(Self.servers(5).map(\.address) + six))
        _ = Self.run(&survey, &nat)
        #expect(survey.report.ipv4.mapping == .dependsOnPort && survey.report.ipv4.udp == .works)
        #expect(survey.report.ipv6.udp == .blocked && survey.report.ipv6.mapping == .unknown)
        #expect(Set(nat.sent.map { $0.with(port: 0) }).count == 6)
    }

    @Test("a second survey from the same socket is not fooled by the leave to enter that the first one got")
    func again() {
        for mapping in Dependence.allCases {
            for filtering in Dependence.allCases {
                var nat = ModelNAT(mapping: mapping, filtering: filtering)
                var first = NATSurvey(Self.servers(2), own: Self.locals)
                let end = Self.run(&first, &nat)
                var second = NATSurvey(Self.servers(2).reversed(), own: Self.locals, previous: first.report)
                let over = Self.run(&second, &nat, start: end.advanced(by: .seconds(20)))
                #expect(second.report.ipv4.filtering == first.report.ipv4.filtering)
                #expect(second.report.ipv4.mapping == first.report.ipv4.mapping)
                #expect(end.duration(to: over) < .seconds(21), "nothing is waited for that is known")
            }
        }
    }

    @Test(
        "with any losses a survey ends in time, and what it says of mappings is true; without losses all of it is found"
    )
    func property() {
        for seed in UInt64(0)..<2_000 {
            var random = SplitMix64(state: seed)
            let mapping = Dependence.allCases.randomElement(using: &random)
            let filtering = Dependence.allCases[Int(random.next() % 3)]
            var nat = ModelNAT(mapping: random.next() % 4 == 0 ? nil : mapping, filtering: filtering)
            nat.lossPerThousand = [0, 50, 300, 900][Int(random.next() % 4)]
            nat.random = random
            let count = Int(random.next() % 4)
            var survey = NATSurvey(Self.servers(count), own: Self.locals)
            if random.next() % 2 == 0 { survey.note(present: Set(Self.servers(count).map(\.address))) }
            let start = Instant(nanoseconds: 1_000_000_000)
            let end = Self.run(&survey, &nat, start: start)
            #expect(survey.isOver && start.duration(to: end) <= .seconds(9), "seed \(seed)")
            let finding = survey.report.ipv4
            #expect(nat.allows(finding, servers: count), "seed \(seed): \(finding)")
        }
    }
}

extension ModelNAT {
    /// Whether `finding` is something that this NAT can have shown, and all of it when nothing was lost.
    fileprivate func allows(_ finding: NATReport.Finding, servers: Int) -> Bool {
        let isTrue =
            switch finding.mapping {
            case .unknown: true
            case .none: mapping == nil
            case .endpointIndependent: mapping == .nothing
            case .independentOfPort: mapping == .nothing || mapping == .address
            case .dependsOnAddress: mapping == .address || mapping == .port
            case .dependsOnPort: mapping == .port
            }
        // An answer that was lost four times looks like one that was kept out: only `open` is proof.
        let isOpenTrue = finding.filtering != .open || filtering != .port
        guard lossPerThousand == 0, servers > 0 else { return isTrue && isOpenTrue }
        return isTrue && isOpenTrue && finding.udp == .works && finding.mapping != .unknown
            && finding.filtering == (filtering == .port ? .dependsOnPort : .open)
    }
}
