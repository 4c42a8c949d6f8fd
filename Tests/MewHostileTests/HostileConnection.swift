import CQuic
import MewBase
import MewIdentity
import MewTestSupport

@testable import MewQUICCore

/// Seeded randomness as entropy. `@unchecked Sendable`: each test has its own, on one thread.
final class HostileEntropy: Entropy, @unchecked Sendable {
    private var random: SplitMix64

    init(seed: UInt64) {
        random = SplitMix64(state: seed)
    }

    func fill(_ buffer: UnsafeMutableRawBufferPointer) {
        for index in buffer.indices { buffer[index] = UInt8(truncatingIfNeeded: random.next() >> 56) }
    }
}

/// Two connections without a network between them: a packet of one is given to the other when the test says so.
final class HostilePair {
    static let serverKey = SecretKey(seed: Array(repeating: 7, count: 32))!
    static let clientKey = SecretKey(seed: Array(repeating: 9, count: 32))!
    static let clientAddress = SocketAddress(ipv4: 0x0a00_0001, port: 1_000)
    static let path = CorePath(number: 1, remote: clientAddress)

    let client: ConnectionCore
    private(set) var server: ConnectionCore?
    var now = Instant(nanoseconds: 1_000_000_000)
    /// The first datagrams either side has sent: a handshake and what followed.
    private(set) var datagrams: [[UInt8]] = []
    private static let maxDatagrams = 32
    private let entropy: HostileEntropy
    private let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: 65_535, alignment: 16)

    /// Made once: a key is loaded, not a connection opened.
    struct Credentials {
        let server: TLSCredentials
        let client: TLSCredentials

        init() throws {
            server = try TLSCredentials(HostilePair.serverKey)
            client = try TLSCredentials(HostilePair.clientKey)
        }
    }

    private let credentials: Credentials

    init(_ credentials: Credentials, seed: UInt64, callbacks: ngtcp2_callbacks = Callbacks.table) throws {
        self.credentials = credentials
        entropy = HostileEntropy(seed: seed)
        client = try ConnectionCore.dial(
            Self.serverKey.node, protocols: ["test/1"], path: Self.path, credentials: credentials.client,
            resetKey: ResetKey(Self.clientKey), configuration: TransportConfiguration(), entropy: entropy, now: now,
            callbacks: callbacks)
    }

    deinit {
        memory.deallocate()
    }

    /// Everything `core` wants to send now, one datagram each.
    func packets(of core: ConnectionCore) -> [[UInt8]] {
        var packets: [[UInt8]] = []
        core.beginBurst()
        while let batch = core.transmit(into: memory, now: now) {
            for start in stride(from: 0, to: batch.byteCount, by: batch.segmentSize) {
                packets.append(Array(memory[start..<min(start + batch.segmentSize, batch.byteCount)]))
            }
        }
        datagrams += packets.prefix(Self.maxDatagrams - datagrams.count)
        return packets
    }

    func give(_ packet: [UInt8], to core: ConnectionCore) {
        packet.withUnsafeBytes { _ = core.receive($0, on: Self.path, ecn: 0, now: now) }
    }

    /// Gives what the client wants to send to the server, which is made by the first packet.
    func clientSpeaks() throws {
        for packet in packets(of: client) {
            if server == nil { server = try Self.accept(packet, credentials, entropy: entropy, now: now) }
            if let server { give(packet, to: server) }
        }
        server?.takeEvents().forEach { if case .established = $0 { server?.authorize() } }
    }

    func serverSpeaks() {
        guard let server else { return }
        for packet in packets(of: server) { give(packet, to: client) }
        _ = client.takeEvents()
        _ = server.takeEvents()
    }

    static func accept(
        _ packet: [UInt8], _ credentials: Credentials, entropy: HostileEntropy, now: Instant
    ) throws -> ConnectionCore? {
        guard case .initial(let initial) = packet.withUnsafeBytes({ InitialPacket.read($0) }) else { return nil }
        return try ConnectionCore.accept(
            initial, protocols: ["test/1"], path: path, credentials: credentials.server, resetKey: ResetKey(serverKey),
            configuration: TransportConfiguration(), entropy: entropy, now: now)
    }

    /// Exchanges packets until nothing is due: the handshake is over, or it failed.
    func settle() throws {
        for _ in 0..<8 {
            now = now.advanced(by: .milliseconds(1))
            try clientSpeaks()
            serverSpeaks()
        }
    }
}
