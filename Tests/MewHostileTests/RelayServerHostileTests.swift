import MewBase
import MewIdentity
import MewLoop
import MewSim
import MewTestSupport
import MewWire
import Testing

@testable import MewRelay

/// A whole relay under damaged bytes: whatever a connection says, it is served or ended, nothing of it stays, and a client that
/// is there receives nothing but what somebody sent who has proven a key.
@Suite("Hostile bytes: a relay")
struct RelayServerHostileTests {
    @Test("what a connection says to a relay", arguments: [11, 12, 13, 14, 15] as [UInt64])
    func connections(seed: UInt64) async {
        HostileRun.show(
            await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) { [seed] in
                try RelayServerHostileTests.runConnections(seed: seed)
            })
    }

    static func runConnections(seed: UInt64) throws {
        let world = SimWorld(seed: 1)
        let machine = world.addNode("relay")
        let auth = RelayPieces.sent(
            .clientAuth(RelayClientAuth(answering: RelayPieces.challenge, secret: RelayPieces.attackerKey)))
        let frames = RelayPieces.clientFrames(to: RelayPieces.witnessKey.node)
        let talks = frames.map { RelayPieces.upgrade + auth + $0 }
        let guest = RelayPieces.sent(.clientAuth(RelayPieces.guestAuth))
        let all = [
            RelayPieces.upgrade + auth + frames.joined(), RelayPieces.upgrade + auth, RelayPieces.upgrade,
            RelayPieces.upgrade + guest + frames.joined(),
        ]
        let relay = machine.loop.enter { HostileRelay(on: machine.loop) }
        try HostileRun(name: "connections to a relay", inputs: 20_000).run(
            corpus: talks + all + RelayPieces.requests, seed: seed, stages: HostileRelay.stages
        ) { random, input in
            let stage = machine.loop.enter { relay.take(input, &random) }
            // The end of the turn.
            try world.run(for: .microseconds(1))
            machine.loop.enter { relay.look(after: input) }
            return stage
        }
        _ = world.shutDown()
    }
}

/// A connection whose bytes a test gives and takes.
private final class HostileEnd: StreamEnd {
    let peer = SocketAddress(ipv4: 0x0a00_0001, port: 1_000)
    private(set) var isOpen = true
    private var toRelay: [UInt8] = []
    private var hasEnded = false
    private(set) var fromRelay: [UInt8] = []
    private var handler: ((Readiness) -> Void)?

    func start(for interest: Readiness, _ handler: @escaping (Readiness) -> Void) { self.handler = handler }
    func wait(for interest: Readiness) {}

    func read(into buffer: UnsafeMutableRawBufferPointer) -> StreamRead {
        guard !toRelay.isEmpty else { return hasEnded ? .end : .nothing }
        let count = min(buffer.count, toRelay.count)
        buffer.copyBytes(from: toRelay[..<count])
        toRelay.removeFirst(count)
        return .bytes(count)
    }

    func write(_ bytes: UnsafeRawBufferPointer) -> StreamWrite {
        fromRelay += bytes
        return .taken(bytes.count)
    }

    func finish() {}

    func close(aborting: Bool) { (isOpen, handler) = (false, nil) }

    // MARK: - The test's side

    func give(_ bytes: [UInt8]) {
        toRelay += bytes
        handler?(.readable)
    }

    func end() {
        hasEnded = true
        handler?([.readable, .hungUp])
    }

    func takeAll() -> [UInt8] {
        defer { fromRelay = [] }
        return fromRelay
    }
}

/// A relay, one client that is there all the time, and one connection after the other that says something.
private final class HostileRelay {
    static let stages =
        ["no whole request", "answered", "refused", "upgraded", "denied", "admitted"]
        + ["forwarded", "recorded", "admitted, then ended", "forwarded, then ended", "upgraded, then ended"]

    private let hub: RelayHub
    private let witness = HostileEnd()
    private let framing = WebSocketFraming(
        role: .client, kind: .binary, maxMessageBytes: 1 << 20,
        entropy: RelayPieces.ConstantEntropy())

    init(on loop: any Loop) {
        hub = RelayHub(
            RelaySettings(programVersion: "1"), on: loop, entropy: RelayPieces.ConstantEntropy(),
            diagnostics: NoDiagnostics())
        let auth = RelayClientAuth(answering: RelayPieces.challenge, secret: RelayPieces.witnessKey)
        hub.accept(witness, sealed: false)
        witness.give(RelayPieces.upgrade + RelayPieces.sent(.clientAuth(auth)))
        HostileRun.require(hub.snapshot.nodes == 1, "the witness is not there")
        hub.connections.values.first?.flush()
        let opening = witness.takeAll()
        guard case .head(_, let byteCount) = HTTPResponse.parse(opening) else { preconditionFailure("no upgrade") }
        framing.receive(Array(opening[byteCount...]))
        HostileRun.require((try? takeFrames().count) == 2, "a challenge and its confirmation")
    }

    func take(_ input: [UInt8], _ random: inout SplitMix64) -> String {
        let before = hub.metrics
        let peer = HostileEnd()
        hub.accept(peer, sealed: false)
        // A head is read anew with each piece, which takes most of the time.
        let isCut = Int.random(in: 0..<8, using: &random) == 0
        for piece in isCut ? Mutations.pieces(input, &random) : [input] where peer.isOpen { peer.give(piece) }
        newest?.flush()
        let answer = peer.takeAll()
        HostileRun.require(answer.count <= 64 << 10, "\(answer.count) bytes for \(input.count)")
        let stage = stage(before, answer)
        if peer.isOpen { peer.end() }
        HostileRun.require(!peer.isOpen && hub.connections.count == 1, "a connection stayed after: \(input)")
        HostileRun.require(hub.snapshot.nodes == 1 && hub.snapshot.sources == 1, "a node stayed after: \(input)")
        return stage
    }

    private var newest: RelayConnection? {
        hub.connections.count > 1 ? hub.connections.max { $0.key < $1.key }?.value : nil
    }

    private func stage(_ before: RelayMetrics, _ answer: [UInt8]) -> String {
        let now = hub.metrics
        let hasForwarded = now.framesForwarded > before.framesForwarded
        switch newest?.stage {
        case .request: return "no whole request"
        case .admission: return "upgraded"
        case .serving: return hasForwarded ? "forwarded" : "admitted"
        case .closing, nil:
            if now.recordsStored > before.recordsStored { return "recorded" }
            if now.denied > before.denied { return "denied" }
            if hasForwarded { return "forwarded, then ended" }
            if now.admitted > before.admitted { return "admitted, then ended" }
            if answer.starts(with: "HTTP/1.1 101".utf8) { return "upgraded, then ended" }
            return now.violations > before.violations ? "refused" : "answered"
        }
    }

    /// What the witness has got by the end of the turn.
    func look(after input: [UInt8]) {
        guard let frames = try? takeFrames() else { return HostileRun.require(false, "no frames after: \(input)") }
        for frame in frames {
            switch frame {
            case .relayToClient(let datagrams):
                HostileRun.require(datagrams.peer == RelayPieces.attackerKey.node, "from somebody else: \(input)")
                HostileRun.require(!datagrams.contents.isEmpty, "nothing in it: \(input)")
            case .endpointGone(let node):
                HostileRun.require(node == RelayPieces.attackerKey.node, "somebody else is gone: \(input)")
            case .ping(let value): witness.give(RelayPieces.sent(.pong(value)))
            default: HostileRun.require(false, "the witness got \(frame) after: \(input)")
            }
        }
    }

    private func takeFrames() throws -> [RelayFrame] {
        framing.receive(witness.takeAll())
        var frames: [RelayFrame] = []
        while case .message(let message) = try framing.next() { frames.append(try RelayFrame.decode(message)) }
        return frames
    }
}
