import Glibc
import MewBase
import MewIdentity
import MewTestSupport
import MewWire
import Testing

@testable import MewLoop
@testable import MewRelay

/// A whole relay under damaged bytes: whatever a connection says, it is served or ended, nothing of it stays, and a client that
/// is there receives nothing but what somebody sent who has proven a key.
@Suite("Hostile bytes: a relay")
struct RelayServerHostileTests {
    @Test("what a connection says to a relay")
    func connections() async {
        HostileRun.show(
            await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
                try await RelayServerHostileTests.runConnections()
            })
    }

    static func runConnections() async throws {
        let loop = try EventLoop(name: "hostile-relay")
        let auth = RelayPieces.sent(
            .clientAuth(RelayClientAuth(answering: RelayPieces.challenge, secret: RelayPieces.attackerKey)))
        let frames = RelayPieces.clientFrames(to: RelayPieces.witnessKey.node)
        let talks = frames.map { RelayPieces.upgrade + auth + $0 }
        let all = [RelayPieces.upgrade + auth + frames.joined(), RelayPieces.upgrade + auth, RelayPieces.upgrade]
        let stage = await loop.spawn { HostileRelay(on: loop) }.value
        try await HostileRun(name: "connections to a relay").run(
            corpus: talks + all + RelayPieces.requests, seed: 11, stages: HostileRelay.stages, inPortionsOf: 50
        ) { inputs in
            await loop.spawn { inputs.map { stage.take($0) } }.value
        }
        loop.stop()
    }
}

/// A relay, one client that is there all the time, and one connection after the other that says something. Its sockets are
/// pairs, and it is called as the loop would call it, so that nothing else happens in between.
///
/// `@unchecked Sendable`: touched on its loop's thread only.
private final class HostileRelay: @unchecked Sendable {
    static let stages =
        ["no whole request", "answered", "refused", "upgraded", "denied", "admitted"]
        + ["forwarded", "recorded", "admitted, then ended", "forwarded, then ended", "upgraded, then ended"]

    private let hub: RelayHub
    private let loop: EventLoop
    private let witness: Int32
    private let framing = WebSocketFraming(
        role: .client, kind: .binary, maxMessageBytes: RelayFrame.maxMessageBytes,
        entropy: RelayPieces.ConstantEntropy())
    private var random = SplitMix64(state: 12)
    private var block = [UInt8](repeating: 0, count: 256 << 10)

    init(on loop: EventLoop) {
        self.loop = loop
        var settings = RelaySettings(programVersion: "1")
        // The clock stands almost still here, and a witness is what many write to.
        settings.limits.queuedPacketsPerPair = .max
        hub = RelayHub(settings, on: loop, entropy: RelayPieces.ConstantEntropy(), diagnostics: NoDiagnostics())
        let auth = RelayClientAuth(answering: RelayPieces.challenge, secret: RelayPieces.witnessKey)
        witness = Self.connect(to: hub, on: loop)
        Self.give(RelayPieces.upgrade + RelayPieces.sent(.clientAuth(auth)), to: witness, of: hub)
        HostileRun.require(hub.snapshot.nodes == 1, "the witness is not there")
        let opening = drain(witness)
        guard case .head(_, let byteCount) = HTTPResponse.parse(opening) else { preconditionFailure("no upgrade") }
        framing.receive(Array(opening[byteCount...]))
        _ = takeFrames()
    }

    // MARK: - One input

    func take(_ input: [UInt8]) -> String {
        let before = hub.metrics
        let peer = Self.connect(to: hub, on: loop)
        var rest = input[...]
        repeat {
            let size = Bool.random(using: &random) ? rest.count : Int.random(in: 0...rest.count, using: &random)
            Self.give(Array(rest.prefix(size)), to: peer, of: hub)
            rest = rest.dropFirst(size)
        } while !rest.isEmpty && hub.connections.count > 1
        let answer = drain(peer)
        HostileRun.require(answer.count <= 64 << 10, "\(answer.count) bytes for \(input.count)")
        let stage = stage(before, answer)
        close(peer)
        Self.newest(hub)?.readSome(isOver: true)
        HostileRun.require(hub.connections.count == 1, "a connection stayed after: \(input)")
        HostileRun.require(hub.snapshot.nodes == 1 && hub.snapshot.sources == 1, "a node stayed after: \(input)")
        lookAtWitness(input)
        return stage
    }

    private func stage(_ before: RelayMetrics, _ answer: [UInt8]) -> String {
        let now = hub.metrics
        let hasForwarded = now.framesForwarded > before.framesForwarded
        switch Self.newest(hub)?.stage {
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

    private func lookAtWitness(_ input: [UInt8]) {
        if let connection = hub.connections.values.first { connection.flush() }
        for frame in takeFrames() {
            switch frame {
            case .relayToClient(let datagrams):
                HostileRun.require(datagrams.peer == RelayPieces.attackerKey.node, "from somebody else: \(input)")
                HostileRun.require(!datagrams.contents.isEmpty, "nothing in it: \(input)")
            case .endpointGone(let node):
                HostileRun.require(node == RelayPieces.attackerKey.node, "somebody else is gone: \(input)")
            case .ping(let value): Self.give(RelayPieces.sent(.pong(value)), to: witness, of: hub, newest: false)
            default: HostileRun.require(false, "the witness got \(frame) after: \(input)")
            }
        }
    }

    private func takeFrames() -> [RelayFrame] {
        framing.receive(drain(witness))
        var frames: [RelayFrame] = []
        while case .message(let message)? = try? framing.next() {
            guard let frame = try? RelayFrame.decode(message) else { preconditionFailure("a relay writes frames") }
            frames.append(frame)
        }
        return frames
    }

    // MARK: - Sockets

    private static func connect(to hub: RelayHub, on loop: EventLoop) -> Int32 {
        var ends: [Int32] = [-1, -1]
        let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        guard socketpair(AF_UNIX, type, 0, &ends) == 0 else { preconditionFailure("no pair of sockets") }
        let address = SocketAddress(ipv4: 0x0a00_0001, port: 1_000)
        hub.accept(TCPSocket(owning: ends[0], peer: address, on: loop), sealed: false)
        return ends[1]
    }

    private static func newest(_ hub: RelayHub) -> RelayConnection? {
        hub.connections.max { $0.key < $1.key }.flatMap { hub.connections.count > 1 ? $0.value : nil }
    }

    /// Writes it and has the relay read it, and say what it has to say.
    private static func give(_ bytes: [UInt8], to peer: Int32, of hub: RelayHub, newest isNewest: Bool = true) {
        _ = write(peer, bytes, bytes.count)
        let connections = hub.connections.sorted { $0.key < $1.key }
        guard let connection = isNewest ? connections.last?.value : connections.first?.value else { return }
        if !bytes.isEmpty { connection.readSome(isOver: false) }
        connection.flush()
    }

    private func drain(_ peer: Int32) -> [UInt8] {
        var bytes: [UInt8] = []
        while true {
            let count = read(peer, &block, block.count)
            guard count > 0 else { return bytes }
            bytes += block[..<count]
        }
    }
}
