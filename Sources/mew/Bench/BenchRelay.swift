import MewBase
import MewIdentity
import MewLoop
import MewQUIC
import MewRelay
import MewWire

/// Where a measurement finds its listener.
enum BenchPlace: Sendable {
    case address(SocketAddress)
    /// On this relay, and nowhere else.
    case relay(RelayURL)

    static func read(_ text: String) throws(UsageError) -> BenchPlace {
        if text.contains("://") { return .relay(try Readers.relayURL("WHERE")(text)) }
        return .address(try Readers.socketAddress("WHERE")(text))
    }
}

/// A leg of one end of the measurements: all its packets go through the relay, there is nobody who looks for a better way.
struct BenchLeg: Sendable {
    let leg: RelayLeg
    let carrier: CarrierID

    /// A relay on the same machine answers in milliseconds.
    static let limit: Duration = .seconds(10)

    /// Returns when the relay forwards for the peer.
    /// - Parameter overHTTP3: as soon as the relay answers it; otherwise WebSocket alone is tried.
    static func open(
        _ url: RelayURL, of peer: BenchPeer, _ connector: NetworkRelayConnector, overHTTP3: Bool
    ) async throws(CommandFailure) -> BenchLeg {
        let leg = BenchCrowd.leg(url, peer.secret, connector, overHTTP3 ? peer.endpoint : nil, peer.loop)
        let carrier = await peer.endpoint.attach(RelayCarrier(leg))
        try await BenchCrowd.connect([leg], on: peer.loop)
        return BenchLeg(leg: leg, carrier: carrier)
    }

    func route(to node: NodeID) async -> Route {
        .carried(carrier, peer: await leg.number(of: node))
    }
}

/// Clients of a relay that are there and do nothing.
struct BenchCrowd: Sendable {
    let legs: [RelayLeg]

    /// A relay lets no more strangers in at once from one network.
    private static let atOnce = 32

    /// - Parameter endpoint: whose socket all go by over HTTP/3; nil: over WebSocket.
    static func open(
        _ count: Int, on url: RelayURL, _ connector: NetworkRelayConnector, _ endpoint: Endpoint?, _ loop: EventLoop
    ) async throws(CommandFailure) -> BenchCrowd {
        var legs: [RelayLeg] = []
        while legs.count < count {
            let more = (0..<min(atOnce, count - legs.count)).map { _ in
                leg(url, .generate(entropy: SystemEntropy()), connector, endpoint, loop)
            }
            try await connect(more, on: loop)
            legs += more
        }
        return BenchCrowd(legs: legs)
    }

    /// Believes whom `--relay-trust` names.
    static func connector(_ invocation: Invocation) throws(CommandFailure) -> NetworkRelayConnector {
        let trust = try invocation[Common.relayTrust].map { path throws(CommandFailure) in
            try RelayUse.trust(path)
        }
        return NetworkRelayConnector(on: invocation.context.runtime.loop, trust: trust)
    }

    static func leg(
        _ url: RelayURL, _ secret: SecretKey, _ connector: NetworkRelayConnector, _ endpoint: Endpoint?,
        _ loop: EventLoop
    ) -> RelayLeg {
        RelayLeg(
            .init(url: url, secret: secret), connector: connector, endpoint: endpoint, loop: loop,
            entropy: SystemEntropy())
    }

    static func connect(_ legs: [RelayLeg], on loop: EventLoop) async throws(CommandFailure) {
        let areConnected = await loop.spawn {
            let timer = loop.schedule(at: loop.now.advanced(by: BenchLeg.limit)) {
                loop.spawn { for leg in legs { await leg.close() } }
            }
            for leg in legs { await leg.start() }
            var count = 0
            for leg in legs where await leg.connected() { count += 1 }
            loop.cancel(timer)
            return count == legs.count
        }.value
        guard !areConnected else { return }
        let problem = await legs.first?.status.problem ?? "it does not answer"
        throw CommandFailure(.unreachable, "cannot use the relay: \(problem)")
    }

    /// How many of them HTTP/3 carries.
    var overHTTP3: Int {
        get async {
            var count = 0
            for leg in legs where await leg.status.transport == .http3 { count += 1 }
            return count
        }
    }

    /// Returns when no leg has its first connection any more.
    func untilLost() async {
        for leg in legs {
            let phase = await leg.status.phase
            if case .connected = phase { _ = await leg.phase(after: phase) }
        }
    }
}
