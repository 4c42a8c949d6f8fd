import MewBase
import MewIdentity
import MewLoop
import MewQUIC
import MewQUICCore
import MewWire
import Testing

@testable import MewNode

@Suite("Nodes that dial one another", .timeLimit(.minutes(1)))
struct NodeTests {
    @Test("native comes before stock when both sides speak both; either alone is taken")
    func protocolChoice() async throws {
        try await withLoop { loop in
            let choices: [([ApplicationProtocol], [ApplicationProtocol], ApplicationProtocol)] = [
                ([.native, .stock], [.native, .stock], .native), ([.stock], [.native, .stock], .stock),
                ([.native, .stock], [.stock], .stock), ([.native, .stock], [.native], .native),
            ]
            for (offers, accepts, expected) in choices {
                let near = try await startNode(1, offers: offers, on: loop)
                let far = try await startNode(2, accepts: accepts, on: loop)
                async let incoming = far.acceptLink()
                let link = try await near.dial(DialTarget(node: far.node, addresses: far.addresses))
                #expect(link.applicationProtocol == expected)
                let accepted = try #require(await incoming)
                #expect(accepted.applicationProtocol == expected)
                #expect(link.peer == far.node && accepted.peer == near.node)
                await near.stop()
                await far.stop()
            }
        }
    }

    @Test("one node listens and dials on the same port, and two nodes may dial each other at once")
    func bothWays() async throws {
        try await withLoop { loop in
            let one = try await startNode(1, on: loop)
            let two = try await startNode(2, on: loop)
            async let first = one.dial(DialTarget(node: two.node, addresses: two.addresses))
            async let second = two.dial(DialTarget(node: one.node, addresses: one.addresses))
            async let atTwo = two.acceptLink()
            async let atOne = one.acceptLink()
            #expect(try await first.peer == two.node)
            #expect(try await second.peer == one.node)
            let route = try #require(await atTwo).status
            #expect(await route().path == .direct(one.addresses[0]))
            #expect(await atOne?.peer == two.node)
            await one.stop()
            await two.stop()
        }
    }

    @Test("a port where nobody listens is named, with what happened there")
    func refusedPort() async throws {
        try await withLoop { loop in
            let near = try await startNode(1, on: loop)
            let far = try await startNode(2, on: loop)
            let target = DialTarget(node: far.node, addresses: far.addresses)
            await far.stop()
            await #expect {
                try await near.dial(target)
            } throws: { error in
                guard case .unreachable(let attempts) = error as? DialError else { return false }
                return attempts == [.init(route: .direct(target.addresses[0]), outcome: "connection refused")]
            }
            await near.stop()
        }
    }

    @Test("another key at the address is no answer, and the address is named")
    func wrongNode() async throws {
        try await withLoop { loop in
            let near = try await startNode(1, on: loop)
            let far = try await startNode(2, on: loop)
            await #expect(throws: DialError.wrongNode(at: far.addresses[0])) {
                try await near.dial(DialTarget(node: near.node, addresses: far.addresses))
            }
            await near.stop()
            await far.stop()
        }
    }

    @Test("no address at all, and no protocol in common")
    func noRoute() async throws {
        try await withLoop { loop in
            let near = try await startNode(1, offers: [.native], on: loop)
            let far = try await startNode(2, accepts: [.stock], on: loop)
            await #expect(throws: DialError.noRoute) {
                try await near.dial(DialTarget(node: far.node, addresses: []))
            }
            await #expect(throws: DialError.refused(.transport("no application protocol in common"))) {
                try await near.dial(DialTarget(node: far.node, addresses: far.addresses))
            }
            await near.stop()
            await far.stop()
        }
    }

    @Test("a stopped node tells its peers why, frees its port, and accepts and dials no more")
    func stop() async throws {
        try await withLoop { loop in
            let near = try await startNode(1, on: loop)
            let far = try await startNode(2, on: loop)
            let link = try await near.dial(DialTarget(node: far.node, addresses: far.addresses))
            _ = await far.acceptLink()
            await far.stop(code: .shuttingDown, reason: "restarting, back in 2 s")
            #expect(await link.closed() == .peer(.shuttingDown, reason: "restarting, back in 2 s"))
            #expect(await far.acceptLink() == nil)
            await #expect(throws: DialError.refused(.local(.shuttingDown))) {
                try await far.dial(DialTarget(node: near.node, addresses: near.addresses))
            }
            let again = Node.Configuration(
                secret: try #require(SecretKey(seed: [UInt8](repeating: 3, count: 32))), addresses: far.addresses)
            let other = try await Node.start(
                again, network: KernelNetwork(), loop: loop, entropy: SystemEntropy())
            #expect(other.addresses == far.addresses)
            await other.stop()
            await near.stop()
        }
    }

    @Test("a taken port is refused by a sentence that names it")
    func portTaken() async throws {
        try await withLoop { loop in
            let first = try await startNode(1, on: loop)
            let secret = try #require(SecretKey(seed: [UInt8](repeating: 2, count: 32)))
            await #expect {
                try await Node.start(
                    Node.Configuration(secret: secret, addresses: first.addresses), network: KernelNetwork(),
                    loop: loop, entropy: SystemEntropy())
            } throws: { error in
                guard case .portTaken(let address) = error as? NodeError else { return false }
                return address == first.addresses[0] && "\(error)".contains("\(address)")
            }
            await first.stop()
        }
    }

    @Test("an unauthorized peer is closed before any stream, and sees the code and the reason")
    func unauthorized() async throws {
        try await withLink(.quic, .stock, authorized: false) { ends in
            await ends.listener.close(code: .unauthorized, reason: "unauthorized")
            #expect(await ends.dialler.closed() == .peer(.unauthorized, reason: "unauthorized"))
        }
    }

    /// A peer that speaks QUIC and nothing above it.
    private func withRawPeer(_ body: (Connection, any IncomingLink) async throws -> Void) async throws {
        try await withLoop { loop in
            let far = try await startNode(2, on: loop)
            let secret = try #require(SecretKey(seed: [UInt8](repeating: 1, count: 32)))
            let endpoint = try await Endpoint.bind(
                EndpointConfiguration(secret: secret, addresses: [.loopback(port: 0)]), network: KernelNetwork(),
                loop: loop, entropy: SystemEntropy())
            async let incoming = far.acceptLink()
            let connection = try await endpoint.connect(
                to: far.node, addresses: far.addresses, protocols: [ApplicationProtocol.stock.rawValue])
            let link = try #require(await incoming)
            await link.authorize(charging: ByteBudget(maxBytes: 64 << 20))
            try await body(connection, link)
            await endpoint.close(code: 0, reason: "")
            await far.stop()
        }
    }

    @Test("what is no WebSocket upgrade ends a stock link, and the reason says so")
    func noUpgrade() async throws {
        try await withRawPeer { connection, link in
            // Held to the end: a stream that nobody holds is reset.
            let stream = try await connection.openStream()
            try await stream.write(Array("POST / HTTP/1.1\r\n\r\n".utf8))
            #expect(await link.acceptChannel() == nil)
            #expect(await link.closed() == .local(.protocolViolation))
            let closure = try await connection.closed()
            #expect(
                LinkClosure(closure) == .peer(.protocolViolation, reason: "the request line is no GET of HTTP/1.1"))
            await stream.finish()
        }
    }

    @Test("a second stream of a stock peer is never read")
    func secondStockStream() async throws {
        try await withRawPeer { connection, link in
            let upgrade =
                Array(
                    "GET / HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n".utf8)
                + Array("Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n".utf8)
            let first = try await connection.openStream()
            try await first.write(upgrade)
            let channel = try #require(await link.acceptChannel())
            #expect(try await first.read() != nil)
            let second = try await connection.openStream()
            try await second.write(upgrade)
            async let accepted = link.acceptChannel()
            let answer = Task { try await second.read() }
            await connection.close(code: 0, reason: "")
            #expect(await accepted == nil)
            await #expect(throws: QUICError.closed(.local(code: 0, reason: ""))) { try await answer.value }
            await channel.finish()
        }
    }

    @Test("a stranger may open one stream; the second waits until it is authorized")
    func strangerStreams() async throws {
        try await withLink(.quic, authorized: false) { ends in
            let (near, far) = try await ends.channel()
            let second = Task { try await ends.dialler.openChannel() }
            try await near.send([1])
            #expect(try await far.receive() == [1])
            await ends.listener.authorize(charging: ByteBudget(maxBytes: 64 << 20))
            let opened = try await second.value
            try await opened.send([2])
            #expect(try await ends.listener.acceptChannel()?.receive() == [2])
        }
    }
}
