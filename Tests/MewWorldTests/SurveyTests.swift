import MewBase
import MewLoop
import MewPath
import MewSim
import MewSimNode
import Testing

/// A machine behind a box asks real relays in the simulated network.
///
///     machine ── box ──┬── relay 1
///                      └── relay 2
@Suite("What a survey says of simulated routers")
struct SurveyTests {
    private typealias Dependence = SimRouter.Dependence

    /// Surveys with one socket on one machine, by the timers of its loop.
    ///
    /// `@unchecked Sendable`: a simulated world runs on one thread.
    private final class Asker: @unchecked Sendable {
        private let machine: SimNode
        private let socket: any DatagramSocket
        private(set) var survey: NATSurvey?
        private var timer: LoopTimer?

        init(_ machine: SimNode) throws {
            self.machine = machine
            socket = try machine.loop.enter {
                try machine.network.bind(SocketAddress.anyIPv4.with(port: SimPeer.port), on: machine.loop)
            }
            socket.onReceive = { [unowned self] received in
                for start in stride(from: 0, to: received.bytes.count, by: received.segmentSize) {
                    let end = min(start + received.segmentSize, received.bytes.count)
                    _ = survey?.hear(
                        Array(received.bytes[start..<end]), from: received.from, now: machine.loop.now,
                        entropy: machine.entropy)
                }
                look()
            }
        }

        func begin(_ servers: [SocketAddress], arePresent: Bool) {
            let own = machine.hosts.map { $0.with(port: SimPeer.port) }
            let previous = survey?.report ?? NATReport()
            survey = NATSurvey(servers.map { NATSurvey.Server($0) }, own: own, previous: previous)
            if arePresent { survey?.note(present: Set(servers)) }
            machine.loop.enter { look() }
        }

        private func look() {
            for packet in survey?.look(now: machine.loop.now, entropy: machine.entropy) ?? [] {
                socket.reserve(packet.bytes.count).copyBytes(from: packet.bytes)
                socket.commit(packet.bytes.count, segmentSize: packet.bytes.count, to: packet.to, from: nil, ecn: 0)
            }
            socket.flush()
            if let timer { machine.loop.cancel(timer) }
            timer = survey?.deadline.map { deadline in
                machine.loop.schedule(at: deadline) { [unowned self] in look() }
            }
        }
    }

    private func surveys(
        relays count: UInt32, times: Int = 1, arePresent: Bool = true, _ configure: (inout SimRouter.Behaviour) -> Void
    ) throws -> [NATReport.Finding] {
        try withSimWorld(seed: 1, mayAbandonTasks: true) { world in
            let relays = (1...count).map { SimRelay(world, number: $0) }
            let box = world.addRouter("box", configure)
            let asker = try Asker(world.addNode("machine", behind: box))
            try world.run(for: .seconds(1))
            return try (0..<times).map { _ in
                asker.begin(relays.map(\.address), arePresent: arePresent)
                try world.run(until: { asker.survey?.isOver == true }, limit: .seconds(10))
                try world.run(for: .seconds(5))
                return try #require(asker.survey).report.ipv4
            }
        }
    }

    @Test(
        "every mapping and every filtering of RFC 4787 is told by two relays, and again by a second survey",
        arguments: [
            true, false,
        ])
    func everyBehaviour(preservesPorts: Bool) throws {
        for mapping in Dependence.allCases {
            for filtering in Dependence.allCases {
                let findings = try surveys(relays: 2, times: 2) {
                    ($0.mapping, $0.filtering, $0.preservesPorts) = (mapping, filtering, preservesPorts)
                }
                for finding in findings {
                    #expect(finding.udp == .works)
                    #expect(finding.mapping == Self.told(mapping, byTwo: true), "\(mapping) \(filtering)")
                    #expect(
                        finding.filtering == (filtering == .addressAndPortDependent ? .dependsOnPort : .open),
                        "\(mapping) \(filtering)")
                }
            }
        }
    }

    private static func told(_ mapping: Dependence, byTwo: Bool) -> NATReport.Mapping {
        switch mapping {
        case .endpointIndependent: byTwo ? .endpointIndependent : .independentOfPort
        case .addressDependent: byTwo ? .dependsOnAddress : .independentOfPort
        case .addressAndPortDependent: .dependsOnPort
        }
    }

    @Test("one relay tells what depends on the port, and no more", arguments: SimRouter.Dependence.allCases)
    func oneRelay(_ mapping: SimRouter.Dependence) throws {
        let finding = try surveys(relays: 1) { $0.mapping = mapping }[0]
        #expect(finding.mapping == Self.told(mapping, byTwo: false))
        #expect(finding.filtering == .dependsOnPort)
    }

    @Test("a firewall shows the machine's own address, and a network without UDP is called blocked")
    func noNAT() throws {
        let firewall = try surveys(relays: 2) { $0.translates = false }[0]
        #expect(firewall.mapping == .none && firewall.reflexive.isEmpty && firewall.filtering == .dependsOnPort)
        #expect(try surveys(relays: 2) { $0.passesUDP = false }[0].udp == .blocked)
        #expect(try surveys(relays: 2, arePresent: false) { $0.passesUDP = false }[0].udp == .unknown)
    }
}
