import MewBase
import MewHTTP3
import MewIdentity
import MewLoop
import MewQUIC
import MewQUICCore
import MewTestSupport
import MewWire
import Testing

@testable import MewRelay

/// A client over HTTP/3: what it is told is what comes next.
actor HTTP3Peer {
    enum Word: Equatable {
        case happened(HTTP3Leg.Happening)
        case packet([UInt8], NodeID)
    }

    struct Ended: Error {}

    nonisolated let unownedExecutor: UnownedSerialExecutor
    nonisolated let secret: SecretKey
    private let loop: EventLoop
    private var leg: HTTP3Leg?
    private var words: [Word] = []
    private var reader: CheckedContinuation<Void, Never>?

    nonisolated var node: NodeID { secret.node }

    private init(_ secret: SecretKey, on loop: EventLoop) {
        self.secret = secret
        self.loop = loop
        unownedExecutor = loop.asUnownedSerialExecutor()
    }

    /// Sends the request; the relay's decision is still to be read.
    static func open(
        _ stage: HTTP3Stage, secret: SecretKey, demand: ServerDemand = .nothing, account: SecretKey? = nil,
        isGuest: Bool = false, token: String? = nil
    ) async throws -> HTTP3Peer {
        let handle = try await stage.connect(demand)
        let peer = HTTP3Peer(secret, on: stage.loop)
        let identity = HTTP3Leg.Identity(secret: secret, account: account, isGuest: isGuest, token: token)
        try await peer.begin(handle, identity)
        return peer
    }

    static func join(
        _ stage: HTTP3Stage, secret: SecretKey, demand: ServerDemand = .nothing, account: SecretKey? = nil,
        isGuest: Bool = false, token: String? = nil
    ) async throws -> HTTP3Peer {
        let peer = try await open(
            stage, secret: secret, demand: demand, account: account, isGuest: isGuest, token: token)
        guard case .happened(.welcomed(let welcome)) = try await peer.next() else { throw Ended() }
        #expect(welcome.maxPacketBytes == 1_500 && welcome.observed.isLoopback)
        return peer
    }

    private func begin(_ handle: DirectConnection.Handle, _ identity: HTTP3Leg.Identity) throws {
        guard let leg = HTTP3Leg(over: handle.connection, as: identity, at: "relay.test", on: loop) else {
            throw Ended()
        }
        leg.onHappening = { happening in self.assumeIsolated { $0.heard(.happened(happening)) } }
        leg.onPacket = { packet, node in
            let word = Word.packet(Array(packet), node)
            self.assumeIsolated { $0.heard(word) }
        }
        self.leg = leg
    }

    private func heard(_ word: Word) {
        words.append(word)
        reader?.resume()
        reader = nil
    }

    /// The next thing it is told.
    func next() async throws -> Word {
        if words.isEmpty { await withCheckedContinuation { reader = $0 } }
        guard !words.isEmpty else { throw Ended() }
        return words.removeFirst()
    }

    func send(_ bytes: [UInt8], to node: NodeID, segmentSize: Int? = nil) {
        bytes.withUnsafeBytes {
            leg?.send(LegPackets(bytes: $0, segmentSize: segmentSize ?? bytes.count), to: node, numbered: 1)
        }
    }

    func ping(_ value: UInt64) { leg?.ping(value) }

    func close() { leg?.close() }
}

/// A relay with both fronts, and an endpoint that dials it.
struct HTTP3Stage: Sendable {
    let relay: RelayStage
    let loop: EventLoop
    let endpoint: Endpoint
    let address: SocketAddress

    static func run(
        certificate: TestCertificate? = nil, _ adapt: (inout RelaySettings) -> Void = { _ in },
        _ body: (HTTP3Stage) async throws -> Void
    ) async throws {
        try await RelayStage.run(certificate: certificate, adapt) { relay in
            let bound = try await relay.server.listenHTTP3([.loopback(port: 0)])
            let loop = try EventLoop(name: "relay-clients")
            let endpoint = try await Endpoint.bind(
                EndpointConfiguration(
                    secret: SecretKey.generate(entropy: SystemEntropy()), addresses: [.loopback(port: 0)]),
                network: KernelNetwork(), loop: loop, entropy: SystemEntropy())
            let stage = HTTP3Stage(
                relay: relay, loop: loop, endpoint: endpoint, address: try #require(bound.first))
            try await body(stage)
            await endpoint.close(code: 0, reason: "")
            await relay.server.drain()
            loop.stop()
        }
    }

    func connect(_ demand: ServerDemand = .nothing) async throws -> DirectConnection.Handle {
        try await endpoint.connect(
            to: demand, addresses: [address], protocols: ["h3"], transport: HTTP3Front.transport)
    }
}
