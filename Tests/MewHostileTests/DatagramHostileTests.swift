import MewBase
import MewIdentity
import MewTestSupport
import Testing

@testable import MewQUICCore

/// Datagrams from anywhere, before anything about them is known to be genuine.
@Suite("Hostile bytes: UDP datagrams")
struct DatagramHostileTests {
    private static let stray: [[UInt8]] = [
        [0, 1, 0, 0, 0x21, 0x12, 0xa4, 0x42] + Array(repeating: 1, count: 12),
        [0xc0, 0xba, 0xba, 0xba, 0xba, 8] + Array(repeating: 2, count: 8) + [8] + Array(repeating: 3, count: 1_180),
        [0x80, 0, 0, 0, 0, 8] + Array(repeating: 2, count: 8) + [0, 0, 0, 0, 1],
        [0x40] + Array(repeating: 4, count: 42), [0xff],
    ]

    /// A listener's first decisions, as the endpoint takes them.
    private static func listen(
        _ input: [UInt8], _ demultiplexer: inout Demultiplexer, _ credentials: HostilePair.Credentials,
        _ packets: StatelessPackets, now: Instant, seed: UInt64
    ) throws -> String {
        switch input.withUnsafeBytes({ demultiplexer.route($0, now: now) }) {
        case .stun: return "STUN"
        case .noise: return "noise"
        case .stranger, .late, .connection: return "short packet"
        case .foreignVersion(let destination, let source):
            let answer = StatelessPackets.versionNegotiation(
                destination: destination, source: source, answering: input.count, entropy: SystemEntropy())
            HostileRun.require(answer?.count ?? 0 < max(1, input.count), "an answer larger than the question")
            return "another version"
        case .initial: break
        }
        guard case .initial(let initial) = input.withUnsafeBytes({ InitialPacket.read($0) }) else {
            return "unreadable Initial"
        }
        let retry = packets.retry(initial, source: HostilePair.clientAddress, entropy: SystemEntropy(), now: now)
        HostileRun.require(retry?.count ?? 0 < input.count, "a Retry larger than its cause")
        guard packets.verify(initial, source: HostilePair.clientAddress, now: now) != .invalid else {
            return "bad token"
        }
        let pair = try HostilePair(credentials, seed: seed)
        let core = try HostilePair.accept(input, credentials, entropy: HostileEntropy(seed: seed), now: now)
        guard let core else { return "unreadable Initial" }
        input.withUnsafeBytes { _ = core.receive($0, on: HostilePair.path, ecn: 0, now: now) }
        let sent = pair.packets(of: core)
        // RFC 9000 §8.1: before the address is proven, three times what came in.
        HostileRun.require(sent.joined().count <= 3 * input.count, "amplified \(input.count) bytes")
        if sent.isEmpty { return "Initial that does not decrypt" }
        return core.closure == nil ? "handshake begun" : "handshake refused"
    }

    @Test("datagrams to a listener")
    func listener() throws {
        let credentials = try HostilePair.Credentials()
        let packets = StatelessPackets(HostilePair.serverKey)
        let pair = try HostilePair(credentials, seed: 1)
        let first = pair.packets(of: pair.client)[0]
        guard case .initial(let initial) = first.withUnsafeBytes({ InitialPacket.read($0) }) else {
            throw QUICError.refused("the first packet is no Initial")
        }
        let retry = packets.retry(initial, source: HostilePair.clientAddress, entropy: SystemEntropy(), now: pair.now)
        pair.give(try #require(retry), to: pair.client)
        let second = pair.packets(of: pair.client)[0]
        let whole = try HostilePair(credentials, seed: 2)
        try whole.settle()
        let now = pair.now
        var demultiplexer = Demultiplexer()
        var seed: UInt64 = 0
        try HostileRun(name: "UDP datagrams to a listener").run(
            corpus: [first, second] + Self.stray + whole.datagrams.suffix(4), seed: 1,
            stages: [
                "STUN", "noise", "short packet", "another version", "unreadable Initial", "bad token",
                "Initial that does not decrypt", "handshake begun",
            ]
        ) { _, input in
            seed += 1
            return try Self.listen(input, &demultiplexer, credentials, packets, now: now, seed: seed)
        }
    }

    @Test("datagrams to an established connection cannot end it")
    func established() throws {
        let pair = try HostilePair(try HostilePair.Credentials(), seed: 3)
        try pair.settle()
        let server = try #require(pair.server)
        let stream = try #require(try pair.client.openStream(.bidirectional))
        _ = try [1, 2, 3].withUnsafeBytes { try pair.client.write($0, to: stream) }
        try pair.settle()
        let stages = ["dropped", "genuine"]
        try HostileRun(name: "UDP datagrams to a connection").run(
            corpus: pair.datagrams + Self.stray, seed: 2, stages: stages
        ) { random, input in
            pair.now = pair.now.advanced(by: .microseconds(Int64(random.next() % 1_000)))
            let isProof = input.withUnsafeBytes { server.receive($0, on: HostilePair.path, ecn: 0, now: pair.now) }
            if server.deadline <= pair.now { server.expire(now: pair.now) }
            _ = server.takeEvents()
            // The true peer is still there.
            if random.next() % 256 == 0 { try pair.settle() }
            HostileRun.require(server.closure == nil, "ended by \(input): \(String(describing: server.closure))")
            return isProof ? "genuine" : "dropped"
        }
    }
}
