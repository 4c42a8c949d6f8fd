import MewBase
import MewIdentity
import MewLoop
import MewNode
import MewTestSupport
import MewWire
import Testing

/// What carries a link: the laws hold for each.
enum LinkKind: CaseIterable, CustomTestStringConvertible {
    case loopback, quic

    var testDescription: String { self == .loopback ? "inside the process" : "over QUIC" }
}

/// Both ends of one link.
struct LinkEnds: Sendable {
    let dialler: any Link
    let listener: any IncomingLink

    /// A channel that the dialler opened and the listener accepted.
    func channel() async throws -> (near: any MessageChannel, far: any MessageChannel) {
        async let accepted = listener.acceptChannel()
        let near = try await dialler.openChannel()
        try await near.send([0x30])
        let far = try #require(await accepted)
        #expect(try await far.receive() == [0x30])
        return (near, far)
    }
}

/// Lends both ends of a fresh link, authorized, and cleans up.
func withLink(
    _ kind: LinkKind, _ applicationProtocol: ApplicationProtocol = .native, authorized: Bool = true,
    _ body: (LinkEnds) async throws -> Void
) async throws {
    switch kind {
    case .loopback:
        let nodes = [1, 2].compactMap { NodeID(bytes: [UInt8](repeating: $0, count: 32)) }
        let pair = LoopbackLink.pair(dialler: nodes[0], listener: nodes[1], applicationProtocol: applicationProtocol)
        try await body(LinkEnds(dialler: pair.dialler, listener: pair.listener))
    case .quic:
        try await withLoop { loop in
            let near = try await startNode(1, offers: [applicationProtocol], on: loop)
            let far = try await startNode(2, on: loop)
            async let incoming = far.acceptLink()
            let dialler = try await near.dial(DialTarget(node: far.node, addresses: far.addresses))
            let listener = try #require(await incoming)
            if authorized { await listener.authorize(charging: ByteBudget(maxBytes: 64 << 20)) }
            try await body(LinkEnds(dialler: dialler, listener: listener))
            await near.stop()
            await far.stop()
        }
    }
}

/// Lends a loop with real sockets and ends it.
func withLoop<Result>(_ body: (EventLoop) async throws -> Result) async throws -> Result {
    let loop = try EventLoop(name: "node-test")
    defer { loop.stop() }
    return try await body(loop)
}

/// A node on loopback whose key is made of `seed`.
func startNode(
    _ seed: UInt8, accepts: [ApplicationProtocol] = ApplicationProtocol.allCases,
    offers: [ApplicationProtocol] = ApplicationProtocol.allCases, on loop: EventLoop
) async throws -> Node {
    let secret = try #require(SecretKey(seed: [UInt8](repeating: seed, count: 32)))
    let configuration = Node.Configuration(
        secret: secret, addresses: [.loopback(port: 0)], accepts: accepts, offers: offers)
    return try await Node.start(configuration, network: KernelNetwork(), loop: loop, entropy: SystemEntropy())
}
