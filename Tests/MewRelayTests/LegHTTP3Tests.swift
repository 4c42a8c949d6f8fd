import MewBase
import MewIdentity
import MewLoop
import MewQUIC
import MewQUICCore
import MewTestSupport
import MewWire
import Synchronization
import Testing

@testable import MewRelay

/// Reaches one relay by both fronts, as far as the test lets it.
private final class TwoWayConnector: RelayConnector {
    private let tcp: SocketAddress
    private let loop: EventLoop
    /// Where HTTP/3 is looked for.
    private let udp: Mutex<SocketAddress?>
    /// Streams that were asked for.
    private let asked = Mutex(0)

    init(tcp: SocketAddress, udp: SocketAddress?, on loop: EventLoop) {
        self.tcp = tcp
        self.udp = Mutex(udp)
        self.loop = loop
    }

    var streams: Int { asked.withLock { $0 } }

    func point(at address: SocketAddress) { udp.withLock { $0 = address } }

    func connect(to url: RelayURL) async throws(StreamFailure) -> any TCPStream {
        asked.withLock { $0 += 1 }
        return try await StreamDialler(on: loop).connect(host: tcp.host, port: tcp.port, tls: nil)
    }

    func http3Target(of url: RelayURL) async throws(StreamFailure) -> HTTP3Target? {
        udp.withLock { $0 }.map { HTTP3Target(addresses: [$0], demand: .nothing) }
    }
}

@Suite("A leg over HTTP/3 and WebSocket")
struct LegHTTP3Tests {
    private func leg(_ stage: HTTP3Stage, _ connector: TwoWayConnector, _ seed: UInt8) throws -> RelayLeg {
        RelayLeg(
            .init(url: try RelayURL("http://\(stage.relay.address)/"), secret: try key(seed)), connector: connector,
            endpoint: stage.endpoint, loop: stage.loop, entropy: SystemEntropy())
    }

    private func connector(_ stage: HTTP3Stage, udp: SocketAddress?) -> TwoWayConnector {
        TwoWayConnector(tcp: stage.relay.address, udp: udp, on: stage.loop)
    }

    private func fronts(_ stage: HTTP3Stage) async -> (all: Int, http3: Int) {
        let metrics = await stage.relay.server.metrics
        return (metrics.connections, metrics.http3Connections)
    }

    @Test("where HTTP/3 works it carries the leg, and no stream is asked for")
    func prefersHTTP3() async throws {
        try await HTTP3Stage.run { stage in
            let connector = connector(stage, udp: stage.address)
            let leg = try leg(stage, connector, 1)
            await leg.start()
            #expect(await leg.connected())
            #expect(await fronts(stage) == (1, 1))
            #expect(connector.streams == 0)
            #expect(await leg.status.transport == .http3)
            let peer = try await RelayPeer.join(stage.relay, secret: key(2))
            let received = Mutex<[[UInt8]]>([])
            let (heard, told) = AsyncStream.makeStream(of: Void.self)
            await leg.receive { bytes in
                received.withLock { $0.append(bytes) }
                told.yield()
            }
            try await peer.send([1, 2, 3], to: key(1).node)
            for await _ in heard { break }
            #expect(received.withLock { $0 } == [[1, 2, 3]])
            await leg.send([9], to: try key(2).node)
            #expect(
                try await peer.next()
                    == .relayToClient(RelayDatagrams(peer: key(1).node, contents: [9][...])))
            await peer.close()
            await leg.close()
        }
    }

    @Test(
        "where nobody answers on UDP, WebSocket carries the leg; when HTTP/3 works, it takes over and the leg stays up")
    func returns() async throws {
        try await HTTP3Stage.run { stage in
            let connector = connector(stage, udp: .loopback(port: 9))
            let leg = try leg(stage, connector, 1)
            await leg.start()
            #expect(await leg.connected())
            #expect(await fronts(stage) == (1, 0))
            let status = await leg.status
            #expect(status.transport == .webSocket)
            connector.point(at: stage.address)
            // The network has changed: nobody waits for the end of a pause.
            await leg.networkChanged()
            while await fronts(stage) != (1, 1) { await Task.yield() }
            let after = await leg.changed(from: status)
            #expect(after.transport == .http3 && after.phase == status.phase && !after.isSuperseded)
            await leg.close()
        }
    }

    @Test("a relay without HTTP/3 is reached by WebSocket at once")
    func absent() async throws {
        try await HTTP3Stage.run { stage in
            let leg = try leg(stage, connector(stage, udp: nil), 1)
            await leg.start()
            #expect(await leg.connected())
            #expect(await fronts(stage) == (1, 0))
            await leg.close()
        }
    }
}

extension RelayLeg {
    fileprivate func receive(_ deliver: @escaping @Sendable ([UInt8]) -> Void) {
        receiver = LegReceiver(deliver: { bytes, _, _ in deliver(Array(bytes)) }, returned: nil, room: nil, absent: nil)
    }

    fileprivate func send(_ bytes: [UInt8], to node: NodeID) {
        let number = number(of: node)
        bytes.withUnsafeBytes { enqueue(LegPackets(bytes: $0, segmentSize: bytes.count), to: number) }
    }
}
