import CQuic
import MewBase
import MewIdentity
import Testing

@testable import MewQUICCore

@Suite("Handshake")
struct HandshakeTests {
    @Test("both ends learn each other's key and agree on a protocol and on keying material")
    func establishes() throws {
        let pair = try CorePair(protocols: ["test/1", "test/0"])
        pair.authorizesAtOnce = false
        #expect(try pair.run { pair.isEstablished && pair.client.isConfirmed })
        let server = try #require(pair.server)
        #expect(server.isConfirmed, "RFC 9001 §4.1.2: at a server when the handshake is complete")
        #expect(pair.client.peer == CorePair.serverKey.node)
        #expect(server.peer == CorePair.clientKey.node)
        #expect(pair.client.applicationProtocol == "test/1")
        #expect(server.applicationProtocol == "test/1")
        let material = pair.client.export(label: "EXPORTER-test", byteCount: 32)
        #expect(material != nil)
        #expect(material == server.export(label: "EXPORTER-test", byteCount: 32))
        #expect(material != pair.client.export(label: "EXPORTER-other", byteCount: 32))
        server.authorize()
        #expect(server.export(label: "EXPORTER-test", byteCount: 32) == nil)
        #expect(server.peer == CorePair.clientKey.node)
        #expect(server.applicationProtocol == "test/1")
    }

    @Test("a TLS message after the handshake ends the connection: ours have none to expect")
    func refusesLateTLSMessage() throws {
        let pair = try CorePair()
        #expect(try pair.run { pair.isEstablished && pair.client.isConfirmed })
        let finished: [UInt8] = [20, 0, 0, 0]
        #expect(
            ngtcp2_conn_submit_crypto_data(
                pair.client.connection, NGTCP2_ENCRYPTION_LEVEL_1RTT, finished, finished.count) == 0)
        try pair.run { pair.client.closure != nil }
        guard case .transport(0x10a, byPeer: true, _) = pair.client.closure else {
            Issue.record("closed with \(String(describing: pair.client.closure))")
            return
        }
    }

    @Test("the listener takes the first of its own protocols that was offered")
    func choosesByListenersOrder() throws {
        let pair = try CorePair(protocols: ["test/0", "unknown", "test/1"])
        #expect(try pair.run { pair.isEstablished })
        #expect(pair.client.applicationProtocol == "test/1")
    }

    @Test("without a common protocol both ends say so")
    func refusesUnknownProtocol() throws {
        let pair = try CorePair(protocols: ["unknown"])
        try pair.run { pair.client.closure != nil && pair.server?.closure != nil }
        #expect(pair.client.closure == .noProtocol)
        #expect(pair.server?.closure == .noProtocol)
    }

    @Test("another key than the one dialled is refused, and named")
    func refusesWrongKey() throws {
        let pair = try CorePair(dialling: CorePair.clientKey.node)
        try pair.run { pair.client.closure != nil }
        #expect(pair.client.closure == .wrongPeer(CorePair.serverKey.node))
        #expect(pair.client.isEstablished == false)
        try pair.run { pair.server?.closure != nil }
        #expect(pair.server?.isEstablished == false)
    }

    @Test("a handshake that gets no answer ends after its time-out and not before")
    func timesOut() throws {
        let pair = try CorePair()
        pair.wire.isCut = true
        try pair.run { pair.client.closure != nil }
        #expect(pair.client.closure == .handshakeTimeout)
        let elapsed = CorePair.start.duration(to: pair.now)
        #expect(elapsed >= pair.configuration.handshakeTimeout)
        #expect(elapsed < pair.configuration.handshakeTimeout + .milliseconds(1))
    }

    @Test("time that jumps back harms nothing")
    func survivesClockJumps() throws {
        let pair = try CorePair()
        try pair.run { pair.isEstablished }
        let later = pair.now
        pair.now = CorePair.start
        pair.flush(.client)
        pair.client.expire(now: pair.now)
        #expect(pair.client.closure == nil)
        pair.now = later
        let stream = try #require(try pair.client.openStream(.bidirectional))
        _ = try pair.client.write([1, 2, 3], to: stream)
        #expect(try pair.run { pair.server?.statistics.bytesReceived ?? 0 > 3_000 })
    }
}
