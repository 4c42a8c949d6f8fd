import CQuic
import MewBase
import MewTestSupport
import Testing

@testable import MewQUICCore

/// Damages what a peer encrypts, so that the damage gets past header protection and cipher: what a hostile peer with good
/// keys could send.
///
/// Global, because the library's callback carries no context; the suite runs one test at a time.
private enum Damage {
    nonisolated(unsafe) static var apply: ((inout [UInt8]) -> Void)?

    static var callbacks: ngtcp2_callbacks {
        var table = Callbacks.table
        table.encrypt = { target, aead, context, plaintext, count, nonce, nonceCount, associated, associatedCount in
            guard let plaintext, let apply = Damage.apply else {
                return ngtcp2_crypto_encrypt_cb(
                    target, aead, context, plaintext, count, nonce, nonceCount, associated, associatedCount)
            }
            var bytes = Array(UnsafeBufferPointer(start: plaintext, count: count))
            apply(&bytes)
            return ngtcp2_crypto_encrypt_cb(
                target, aead, context, bytes, count, nonce, nonceCount, associated, associatedCount)
        }
        return table
    }
}

@Suite("Hostile bytes: packets after header protection is off", .serialized)
struct PacketHostileTests {
    /// Frames of every kind (RFC 9000 §19), valid in themselves though not always at the time.
    private static let frames: [[UInt8]] = [
        [0x01], [0x02, 0, 0, 0, 0], [0x02, 5, 0, 1, 1, 0, 2], [0x03, 1, 0, 0, 1, 0, 0, 0],
        [0x04, 0, 7, 5], [0x05, 0, 7], [0x06, 0, 4, 1, 2, 3, 4], [0x07, 3, 9, 9, 9], [0x08, 0, 0x61],
        [0x0a, 0, 2, 0x61, 0x62], [0x0b, 4, 1, 0x61], [0x0e, 0, 0x40, 0x50, 0x61], [0x0f, 8, 0, 2, 0x61, 0x62],
        [0x10, 0x80, 0x10, 0, 0], [0x11, 0, 0x80, 0x10, 0, 0], [0x12, 0x40, 0x80], [0x13, 4], [0x14, 9], [0x15, 0, 9],
        [0x16, 1], [0x17, 1], [0x18, 9, 0, 8] + Array(repeating: 5, count: 24), [0x19, 1],
        [0x1a] + Array(repeating: 6, count: 8), [0x1b] + Array(repeating: 6, count: 8), [0x1c, 1, 0, 2, 0x61, 0x62],
        [0x1d, 7, 1, 0x61], [0x1e], [0x30, 0x61, 0x62], [0x31, 2, 0x61, 0x62], [0x40, 0xaf, 1, 2],
    ]

    /// Replaces the payload, same length: frames one after the other, the rest padding; or flips a little of what it was.
    private static func damage(_ bytes: inout [UInt8], _ random: inout SplitMix64) {
        guard bytes.count > 1 else { return }
        if random.next() % 4 == 0 {
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                bytes[Int.random(in: bytes.indices, using: &random)] = UInt8.random(in: 0...255, using: &random)
            }
            return
        }
        var payload: [UInt8] = []
        for _ in 0..<Int.random(in: 1...3, using: &random) {
            var frame = frames[Int.random(in: frames.indices, using: &random)]
            if random.next() % 3 == 0 { frame = Mutations.mutate([frame], &random) }
            payload += frame
        }
        bytes = Array((payload + Array(repeating: 0, count: bytes.count)).prefix(bytes.count))
    }

    @Test("a ClientHello without QUIC transport parameters is refused: ngtcp2 1.11 would end the process")
    func missingTransportParameters() throws {
        let pair = try HostilePair(try HostilePair.Credentials(), seed: 1, callbacks: Damage.callbacks)
        // The extension's number and its length: 57 and 2 bytes, in the TLS message inside the first packet.
        Damage.apply = { bytes in
            for index in bytes.indices.dropLast(3) where bytes[index] == 0 && bytes[index + 1] == 0x39 {
                let length = Int(bytes[index + 2]) << 8 | Int(bytes[index + 3])
                if (20...200).contains(length) { bytes[index] = 0x39 }
            }
        }
        try pair.settle()
        Damage.apply = nil
        #expect(pair.server?.isEstablished == false)
        #expect(pair.server?.closure == .transport(code: 0x16d, byPeer: false, reason: "TLS alert 109"))
    }

    private static let stages = [
        "taken", "refused", "the peer's own close", "the client stumbled itself", "the handshake failed",
    ]

    @Test("frames of a hostile peer are taken or refused, and never more")
    func frames() throws {
        let credentials = try HostilePair.Credentials()
        var seed: UInt64 = 0
        var pair: HostilePair?
        try HostileRun(name: "packets after header protection is off").run(
            corpus: [[0]], seed: 5, stages: Self.stages
        ) { random, _ in
            seed += 1
            let current = try pair ?? Self.freshPair(credentials, seed: seed, damagesHandshake: seed % 8 == 0, &random)
            let stage = try Self.speak(current, &random)
            // A connection that has seen much refuses in other ways than a young one; both are worth meeting.
            pair = stage == "taken" && random.next() % 32 > 0 ? current : nil
            return stage
        }
    }

    /// In one of eight the handshake itself is damaged; it then fails, or survives by luck.
    private static func freshPair(
        _ credentials: HostilePair.Credentials, seed: UInt64, damagesHandshake: Bool, _ random: inout SplitMix64
    ) throws -> HostilePair {
        let pair = try HostilePair(credentials, seed: seed, callbacks: Damage.callbacks)
        var own = SplitMix64(state: random.next())
        Damage.apply = damagesHandshake ? { bytes in if own.next() % 3 == 0 { damage(&bytes, &own) } } : nil
        try pair.settle()
        Damage.apply = nil
        return pair
    }

    /// One damaged packet from the client; what the server made of it.
    private static func speak(_ pair: HostilePair, _ random: inout SplitMix64) throws -> String {
        guard let server = pair.server, pair.client.closure == nil, pair.client.isEstablished else {
            return "the handshake failed"
        }
        // Something to send, or there would be no packet to damage.
        let payload = [UInt8](repeating: 1, count: Int.random(in: 20...400, using: &random))
        guard (try? pair.client.sendDatagram(payload)) != nil else { return "the client stumbled itself" }
        if random.next() % 8 == 0, let stream = try? pair.client.openStream(.bidirectional) {
            _ = try? [UInt8](repeating: 1, count: 300).withUnsafeBytes { try pair.client.write($0, to: stream) }
        }
        var own = SplitMix64(state: random.next())
        Damage.apply = { bytes in damage(&bytes, &own) }
        pair.now = pair.now.advanced(by: .milliseconds(30))
        for core in [pair.client, server] where core.deadline <= pair.now { core.expire(now: pair.now) }
        try pair.clientSpeaks()
        Damage.apply = nil
        pair.serverSpeaks()
        let configuration = TransportConfiguration()
        let held = server.streams.byID.values.reduce(0) { $0 + $1.unreadBytes }
        HostileRun.require(held <= Int(configuration.connectionWindow), "\(held) bytes held")
        HostileRun.require(
            server.streams.byID.count <= Int(configuration.bidirectionalStreams), "\(server.streams.byID.count) streams"
        )
        return stage(of: server)
    }

    private static func stage(of server: ConnectionCore?) -> String {
        switch server?.closure {
        case nil: "taken"
        case .peer, .transport(_, byPeer: true, _), .noProtocol: "the peer's own close"
        case .local, .idle, .reset, .handshakeTimeout, .wrongPeer, .noPeerKey, .transport: "refused"
        }
    }
}
