import MewBase
import MewIdentity
import MewLoop
import MewQUIC
import MewQUICCore
import Testing

/// An endpoint on the kernel's loopback, on a loop of its own.
struct LoopbackNode {
    let loop: EventLoop
    let endpoint: Endpoint
    let secret: SecretKey

    static func start(
        _ name: String, accepts: [String] = ["test/1"], addresses: [SocketAddress] = [.anyIPv4, .anyIPv6],
        network: KernelNetwork = KernelNetwork(), _ configure: (inout EndpointConfiguration) -> Void = { _ in }
    ) async throws -> LoopbackNode {
        let secret = SecretKey.generate(entropy: SystemEntropy())
        let loop = try EventLoop(name: name)
        var configuration = EndpointConfiguration(secret: secret, addresses: addresses, acceptedProtocols: accepts)
        configure(&configuration)
        let endpoint = try await Endpoint.bind(
            configuration, network: network, loop: loop, entropy: SystemEntropy())
        return LoopbackNode(loop: loop, endpoint: endpoint, secret: secret)
    }

    func address(_ family: SocketAddress.Family = .ipv4) async throws -> SocketAddress {
        let bound = try #require(await endpoint.localAddresses.first { $0.family == family })
        return family == .ipv4
            ? .loopback(port: bound.port) : SocketAddress(ipv6High: 0, low: 1, port: bound.port)
    }

    func stop() async {
        await endpoint.close(code: 0, reason: "", linger: .zero)
        loop.stop()
    }

    /// Accepts and authorizes everyone and sends back what comes on every stream.
    func echoAll() {
        let (loop, endpoint) = (loop, endpoint)
        loop.spawn {
            while let connection = await endpoint.accept() {
                await connection.authorize()
                loop.spawn {
                    while let stream = await connection.acceptStream() {
                        loop.spawn { await Self.echo(stream) }
                    }
                }
            }
        }
    }

    private static func echo(_ stream: QUICStream) async {
        do {
            while let bytes = try await stream.read() { try await stream.write(bytes) }
            await stream.finish()
        } catch {
            await stream.reset(code: 1)
        }
    }
}

@Suite("QUIC over the kernel's loopback")
struct LoopbackTests {
    /// Runs `body` with an echoing server and a client.
    private func pair(
        network: KernelNetwork = KernelNetwork(), _ body: (LoopbackNode, LoopbackNode) async throws -> Void
    ) async throws {
        let server = try await LoopbackNode.start("server", network: network)
        let client = try await LoopbackNode.start("client", accepts: [], network: network)
        server.echoAll()
        do {
            try await body(server, client)
        } catch {
            await client.stop()
            await server.stop()
            throw error
        }
        await client.stop()
        await server.stop()
    }

    private func connect(
        _ client: LoopbackNode, _ server: LoopbackNode, _ family: SocketAddress.Family = .ipv4
    ) async throws -> Connection {
        try await client.endpoint.connect(
            to: server.secret.node, addresses: [server.address(family)], protocols: ["test/1"])
    }

    @Test("bytes come back over both address families", arguments: [SocketAddress.Family.ipv4, .ipv6])
    func echoes(family: SocketAddress.Family) async throws {
        try await pair { server, client in
            let connection = try await connect(client, server, family)
            #expect(try await connection.peer == server.secret.node)
            let address = try await server.address(family)
            #expect(try await connection.status.route == .direct(address))
            let stream = try await connection.openStream()
            try await stream.write(Array("hello".utf8))
            #expect(try await stream.read() == Array("hello".utf8))
            await stream.finish()
            #expect(try await stream.read() == nil)
        }
    }

    @Test(
        "megabytes come back whole, with and without the kernel's offloads",
        arguments: [
            KernelNetwork.Missing(), .segmentation, .coalescing, [.segmentation, .coalescing], .checksumOffload,
        ])
    func carriesBulk(missing: KernelNetwork.Missing) async throws {
        try await pair(network: KernelNetwork(missing: missing)) { server, client in
            let connection = try await connect(client, server)
            let stream = try await connection.openStream()
            let sent = (0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ $0 >> 10) }
            let writer = client.loop.spawn {
                do {
                    try await stream.write(sent)
                    await stream.finish()
                    return true
                } catch {
                    return false
                }
            }
            var received: [UInt8] = []
            while let bytes = try await stream.read() { received += bytes }
            #expect(await writer.value)
            #expect(received == sent)
        }
    }

    @Test("a closed port is known at once from the kernel's error")
    func closedPort() async throws {
        try await pair { server, client in
            let address = try await server.address()
            await server.stop()
            await #expect(throws: DialFailure.unreachable([.init(address: address, outcome: "connection refused")])) {
                _ = try await client.endpoint.connect(
                    to: server.secret.node, addresses: [address], protocols: ["test/1"])
            }
        }
    }

    @Test("two endpoints dial each other through the sockets they listen on")
    func dialsFromListeningSocket() async throws {
        try await pair { server, client in
            _ = client
            let other = try await LoopbackNode.start("other")
            other.echoAll()
            let there = try await connect(server, other)
            let here = try await connect(other, server)
            for connection in [there, here] {
                let stream = try await connection.openStream()
                try await stream.write([1, 2, 3])
                #expect(try await stream.read() == [1, 2, 3])
            }
            await other.stop()
        }
    }

    @Test("a task of the loop that reads and writes costs no wake of another thread")
    func costsNoHops() async throws {
        try await pair { server, client in
            let connection = try await connect(client, server)
            let loop = client.loop
            let counts = await loop.spawn { () -> (before: Int, after: Int)? in
                guard let stream = try? await connection.openStream() else { return nil }
                try? await stream.write([1])
                _ = try? await stream.read()
                let before = loop.signalCount + server.loop.signalCount
                for _ in 0..<500 {
                    try? await stream.write([1])
                    _ = try? await stream.read()
                }
                return (before, loop.signalCount + server.loop.signalCount)
            }.value
            let (before, after) = try #require(counts)
            #expect(after - before <= 5)
        }
    }

    @Test("a port that is taken is an error that names it")
    func portTaken() async throws {
        try await pair { server, _ in
            let taken = try #require(await server.endpoint.localAddresses.first)
            await #expect {
                _ = try await LoopbackNode.start("second", addresses: [taken])
            } throws: { error in
                guard case .socket(.addressInUse(taken))? = error as? BindFailure else { return false }
                return true
            }
        }
    }

    /// A task that does not prefer the loop may be suspended a turn later than it looked (spec/swift-notes.md §4).
    @Test("a wait in a task of another executor misses nothing that happens before it begins", .timeLimit(.minutes(1)))
    func missesNoWakeUp() async throws {
        try await pair { server, client in
            let connection = try await connect(client, server)
            var held: [QUICStream] = []
            for _ in 0..<2_000 {
                // At the limit: each waits until the peer has allowed one more for the one that ends here.
                if held.count == 100 { try await Self.end(held.removeFirst()) }
                held.append(try await connection.openStream())
            }
        }
    }

    private static func end(_ stream: QUICStream) async throws {
        await stream.finish()
        while try await stream.read() != nil {}
    }

    @Test("datagrams of two tasks that answer each other on other executors all arrive", .timeLimit(.minutes(1)))
    func missesNoDatagram() async throws {
        let server = try await LoopbackNode.start("server")
        let client = try await LoopbackNode.start("client", accepts: [])
        async let accepted = server.endpoint.accept()
        let connection = try await connect(client, server)
        let served = try #require(await accepted)
        // Otherwise a busy machine makes it a stranger that has not said who it is in time.
        await served.authorize()
        async let echoed: Void = {
            for _ in 0..<2_000 { try await served.sendDatagram(served.receiveDatagram()) }
        }()
        for number in 0..<2_000 {
            let bytes = [UInt8(truncatingIfNeeded: number)]
            try await connection.sendDatagram(bytes)
            #expect(try await connection.receiveDatagram() == bytes)
        }
        try await echoed
        await client.stop()
        await server.stop()
    }
}
