import MewBase
import MewIdentity
import MewQUIC
import MewQUICCore
import MewTestSupport
import MewWire
import Testing

@testable import MewRelay

@Suite("A relay over HTTP/3 on real sockets")
struct HTTP3RelayTests {
    @Test("packets of one client reach the other, before and after the handles are understood, and pings are answered")
    func forwarding() async throws {
        try await HTTP3Stage.run { stage in
            let one = try await HTTP3Peer.join(stage, secret: key(1))
            let two = try await HTTP3Peer.join(stage, secret: key(2))
            for round in 0..<UInt8(20) {
                await one.send([1, round], to: two.node)
                #expect(try await two.next() == .packet([1, round], one.node))
                await two.send([2, round], to: one.node)
                #expect(try await one.next() == .packet([2, round], two.node))
            }
            let full = [UInt8](repeating: 7, count: 1_200)
            await one.send(full, to: two.node)
            #expect(try await two.next() == .packet(full, one.node))
            await one.ping(42)
            #expect(try await one.next() == .happened(.ponged(42)))
            let metrics = await stage.relay.server.metrics
            #expect(metrics.packetsForwarded == 41 && metrics.nodes == 2 && metrics.http3Connections == 2)
            // All but the first ones were datagrams.
            #expect(metrics.capsulePackets < 10)
            await one.close()
            #expect(try await two.next() == .happened(.gone(one.node)))
            await two.close()
        }
    }

    @Test("a client over HTTP/3 and one over WebSocket reach each other; a batch comes as its packets")
    func acrossFronts() async throws {
        try await HTTP3Stage.run { stage in
            let one = try await HTTP3Peer.join(stage, secret: key(1))
            let two = try await RelayPeer.join(stage.relay, secret: key(2))
            for round in 0..<UInt8(5) {
                await one.send([1, round], to: two.node)
                #expect(
                    try await two.next()
                        == .relayToClient(RelayDatagrams(peer: one.node, contents: [1, round][...])))
                try await two.send([2, round], to: one.node)
                #expect(try await one.next() == .packet([2, round], two.node))
            }
            let batch = [UInt8](repeating: 3, count: 2_500)
            try await two.send(
                .clientToRelay(RelayDatagrams(peer: one.node, segmentSize: 1_200, contents: batch[...])))
            for size in [1_200, 1_200, 100] {
                #expect(try await one.next() == .packet([UInt8](repeating: 3, count: size), two.node))
            }
            await two.close()
            #expect(try await one.next() == .happened(.gone(two.node)))
            await one.close()
        }
    }

    @Test("the same node twice: the newer gets the packets, the older is told, whichever front each came by")
    func duplicates() async throws {
        try await HTTP3Stage.run { stage in
            let sender = try await HTTP3Peer.join(stage, secret: key(1))
            let older = try await RelayPeer.join(stage.relay, secret: key(2))
            let newer = try await HTTP3Peer.join(stage, secret: key(2))
            #expect(try await older.next() == .status(.sameNodeConnectedElsewhere))
            await sender.send([1], to: newer.node)
            #expect(try await newer.next() == .packet([1], sender.node))
            await newer.close()
            #expect(try await older.next() == .status(.healthy))
            await sender.close()
            await older.close()
        }
    }

    @Test("the relay's own key answers a client that knows it, and no other key does")
    func pinnedKey() async throws {
        let (own, other) = (try key(9), try key(8).node)
        try await HTTP3Stage.run {
            $0.secret = own
        } _: { stage in
            let peer = try await HTTP3Peer.join(stage, secret: key(1), demand: .key(own.node))
            await peer.close()
            await #expect(throws: DialFailure.wrongNode(at: .direct(stage.address), own.node)) {
                _ = try await stage.connect(.key(other))
            }
        }
    }

    @Test("a certificate is checked for the host that was dialled, by the authorities that are believed")
    func certificate() async throws {
        let certificate = try TestCertificate(for: "127.0.0.1")
        let stranger = try TestCertificate(for: "127.0.0.1")
        let own = try key(9)
        try await HTTP3Stage.run(certificate: certificate) {
            $0.secret = own
        } _: { stage in
            let trust = try #require(stage.relay.trust).store
            let peer = try await HTTP3Peer.join(stage, secret: key(1), demand: .host("127.0.0.1", trust))
            await peer.close()
            let pinned = try await HTTP3Peer.join(stage, secret: key(2), demand: .key(own.node))
            await pinned.close()
            await #expect(throws: DialFailure.self) { _ = try await stage.connect(.host("relay.test", trust)) }
            let other = try TLSTrust(authoritiesFile: stranger.certificateFile).store
            await #expect(throws: DialFailure.self) { _ = try await stage.connect(.host("127.0.0.1", other)) }
        }
    }

    @Test("a guest of an allowed node is let in when it proves whose it is, and not before; a token is asked for")
    func rules() async throws {
        let allowed = try key(5).node
        try await HTTP3Stage.run {
            $0.rules.allowed = [allowed]
            $0.rules.tokens = ["open-sesame"]
        } _: { stage in
            let stranger = try await HTTP3Peer.open(stage, secret: key(1), isGuest: true, token: "open-sesame")
            #expect(try await stranger.next() == .happened(.ended(.refused(status: 403, wantsAccount: true))))
            let wrong = try await HTTP3Peer.open(stage, secret: key(1), account: key(5), isGuest: true, token: "x")
            #expect(try await wrong.next() == .happened(.ended(.refused(status: 403, wantsAccount: false))))
            let guest = try await HTTP3Peer.join(
                stage, secret: key(1), account: key(5), isGuest: true, token: "open-sesame")
            await guest.close()
            let metrics = await stage.relay.server.metrics
            #expect(metrics.denied == 2 && metrics.admitted == 1)
        }
    }

    @Test("a relay that ends says when to come back, and why")
    func goodbye() async throws {
        try await HTTP3Stage.run { stage in
            let peer = try await HTTP3Peer.join(stage, secret: key(1))
            await stage.relay.server.drain()
            #expect(
                try await peer.next()
                    == .happened(.warned(returnIn: .milliseconds(2_000), reason: "the relay restarts")))
            #expect(
                try await peer.next() == .happened(.ended(.closed(code: 1, reason: "the relay restarts"))))
        }
    }

    @Test("packets larger than the relay takes go nowhere, and the next one arrives")
    func tooLarge() async throws {
        try await HTTP3Stage.run { stage in
            let one = try await HTTP3Peer.join(stage, secret: key(1))
            let two = try await RelayPeer.join(stage.relay, secret: key(2))
            try await two.send([UInt8](repeating: 1, count: 1_501), to: one.node)
            try await two.send([2], to: one.node)
            #expect(try await one.next() == .packet([2], two.node))
            await one.send([UInt8](repeating: 1, count: 1_501), to: two.node)
            await one.send([3], to: two.node)
            #expect(
                try await two.next() == .relayToClient(RelayDatagrams(peer: one.node, contents: [3][...])))
            await one.close()
            await two.close()
        }
    }
}
