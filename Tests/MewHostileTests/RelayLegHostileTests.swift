import MewBase
import MewIdentity
import MewLoop
import MewSim
import MewTestSupport
import MewWire
import Testing

@testable import MewRelay

/// The client of a relay under damaged bytes: a relay can end its connections, and no more. Each input is what one connection
/// receives; the leg itself lives through all of them, in simulated time.
@Suite("Hostile bytes: a relay's client")
struct RelayLegHostileTests {
    @Test("what a relay says to its client", arguments: [31, 32, 33, 34, 35] as [UInt64])
    func leg(seed: UInt64) async {
        HostileRun.show(
            await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) { [seed] in
                try RelayLegHostileTests.runLeg(seed: seed)
            })
    }

    static func runLeg(seed: UInt64) throws {
        let world = SimWorld(seed: 1)
        let machine = world.addNode("client")
        let script = Script()
        let leg = RelayLeg(
            .init(url: try RelayURL("http://relay.test/"), secret: RelayPieces.attackerKey, diagnostics: script),
            connector: script, loop: machine.loop, entropy: RelayPieces.ConstantEntropy())
        let carrier = RelayCarrier(leg)
        machine.loop.enter {
            carrier.onReceive = { packets, size, _ in
                HostileRun.require(size >= 1 && size <= packets.count, "packets of \(size) bytes in \(packets.count)")
                script.packets += (packets.count + size - 1) / size
                script.packetBytes += packets.count
            }
        }
        try world.run(on: machine) { await leg.start() }
        try HostileRun(name: "a relay to its client", inputs: 20_000).run(
            corpus: try Self.corpus(), seed: seed,
            stages: ["refused", "denied", "violation", "ended", "connected, then violation", "connected, then ended"]
                + ["packets, then violation", "packets, then ended"]
        ) { random, input in
            script.begin(Mutations.pieces(input, &random))
            try world.run(until: { script.isOver })
            HostileRun.require(script.packetBytes <= input.count, "more out than in: \(input)")
            HostileRun.require(script.packets == 0 || script.isConnected, "packets of a stranger: \(input)")
            HostileRun.require(script.writtenBytes <= 4 * input.count + 4_096, "too much to answer: \(input)")
            let end = try Self.end(try world.run(on: machine) { await leg.status.problem }, input)
            return (script.packets > 0 ? "packets, then " : script.isConnected ? "connected, then " : "") + end
        }
        try world.run(on: machine) { await leg.close() }
        HostileRun.require(world.shutDown() == 0, "tasks that did not end")
    }

    /// By what the status says of it: that is what a person reads.
    private static func end(_ problem: String?, _ input: [UInt8]) throws -> String {
        let problem = problem ?? ""
        HostileRun.require(!problem.isEmpty, "no reason after: \(input)")
        HostileRun.require(
            problem.utf8.count < 400 && problem.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7f },
            "disturbs a terminal: \(problem.debugDescription)")
        if problem.hasPrefix("the relay does not admit us") { return "denied" }
        if problem == "the relay ended the connection" { return "ended" }
        if problem.hasPrefix("the relay sent") || problem.hasPrefix("the relay broke") { return "violation" }
        return "refused"
    }

    private static func corpus() throws -> [[UInt8]] {
        func said(_ frame: RelayFrame) -> [UInt8] { RelayPieces.webSocket(0x82, frame.encoded, mask: nil) }
        let (head, opening) = (try RelayPieces.upgraded(), try RelayPieces.admission())
        let frames = RelayPieces.relayFrames(from: RelayPieces.witnessKey.node).map(said)
        let others = [
            RelayPieces.webSocket(0x89, [1, 2], mask: nil), RelayPieces.webSocket(0x88, [0x03, 0xe8], mask: nil),
            RelayPieces.webSocket(0x02, [9, 0], mask: nil) + RelayPieces.webSocket(0x80, [1], mask: nil),
        ]
        return [opening, opening + frames[3...].joined() + others[0], HTTPResponse(503).encoded]
            + (frames + others).map { opening + $0 }
            + [head + said(.serverChallenge(RelayPieces.challenge)) + said(.serverDeniesAuth(reason: "n\u{1b}o"))]
    }
}

/// A relay that says on each connection what it was told to, and then ends it.
///
/// `@unchecked Sendable`: a simulated world runs on one thread.
private final class Script: RelayConnector, BlockStream, DiagnosticSink, @unchecked Sendable {
    private var pieces: [[UInt8]] = []
    private(set) var isOver = false
    private(set) var isConnected = false
    private(set) var writtenBytes = 0
    var packets = 0
    var packetBytes = 0

    func begin(_ pieces: [[UInt8]]) {
        self.pieces = pieces
        (isOver, isConnected, writtenBytes, packets, packetBytes) = (false, false, 0, 0, 0)
    }

    func connect(to url: RelayURL) async throws(StreamFailure) -> any TCPStream { self }

    func read(maxBytes: Int) async throws(StreamFailure) -> [UInt8]? {
        guard !pieces.isEmpty else { return nil }
        return pieces.removeFirst()
    }

    func write(_ bytes: [UInt8]) async throws(StreamFailure) { writtenBytes += bytes.count }

    func close() async {}

    // MARK: - Diagnostics

    // A reason that was given before is a matter of debugging.
    func wants(_ level: Diagnostic.Level) -> Bool { true }

    func record(_ diagnostic: Diagnostic) {
        switch diagnostic.name {
        case "relay_connected": isConnected = true
        // By then the status says why.
        case "relay_lost": isOver = true
        default: break
        }
    }
}

extension RelayPieces {
    /// The answer to the upgrade of a client with `ConstantEntropy`.
    static func upgraded() throws -> [UInt8] {
        let upgrade = LegUpgrade(entropy: ConstantEntropy())
        let request = upgrade.request(to: try RelayURL("http://relay.test/"), token: nil, proof: nil)
        guard case .accepted(let taken) = RelayUpgrade.read(request) else { preconditionFailure("our own request") }
        return taken.response.encoded
    }

    /// All that a relay says to let that client in.
    static func admission() throws -> [UInt8] {
        try upgraded()
            + [.serverChallenge(challenge), .serverConfirmsAuth].flatMap { (frame: RelayFrame) in
                webSocket(0x82, frame.encoded, mask: nil)
            }
    }
}
