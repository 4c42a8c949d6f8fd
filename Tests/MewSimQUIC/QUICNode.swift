package import MewBase
package import MewIdentity
internal import MewLoop
package import MewQUIC
package import MewSim

/// A machine of the simulated world with a QUIC endpoint on it.
///
/// `@unchecked Sendable`: a simulated world runs on one thread.
package final class QUICNode: @unchecked Sendable {
    package let node: SimNode
    package let secret: SecretKey
    package let endpoint: Endpoint

    package static let port: UInt16 = 4_000

    package var address: SocketAddress { node.address(port: Self.port) }

    /// - Parameter key: fills the 32 bytes of the node key.
    package init(
        _ world: SimWorld, _ name: String, key: UInt8, hosts: [SocketAddress] = [], accepts: [String] = ["test/1"],
        _ configure: (inout EndpointConfiguration) -> Void = { _ in }
    ) throws {
        guard let secret = SecretKey(seed: Array(repeating: key, count: 32)) else {
            preconditionFailure("32 bytes are a seed")
        }
        var configuration = EndpointConfiguration(
            secret: secret, addresses: [SocketAddress.anyIPv4.with(port: Self.port)], acceptedProtocols: accepts)
        configure(&configuration)
        let (node, final) = (world.addNode(name, hosts: hosts), configuration)
        self.node = node
        self.secret = secret
        endpoint = try world.run(on: node) {
            try await Endpoint.bind(final, network: node.network, loop: node.loop, entropy: node.entropy)
        }
        node.afterKill { [endpoint] in await endpoint.close(code: 0, reason: "", linger: .zero) }
    }

    /// Accepts and authorizes everyone and hands each connection to `serve`.
    package func acceptAll(_ serve: @escaping @Sendable (Connection) async -> Void) {
        let (loop, endpoint) = (node.loop, endpoint)
        loop.spawn {
            while let connection = await endpoint.accept() {
                await connection.authorize()
                loop.spawn { await serve(connection) }
            }
        }
    }

    /// Sends back what comes on every stream.
    package func echoAll() {
        let loop = node.loop
        acceptAll { connection in
            while let stream = await connection.acceptStream() {
                loop.spawn { await Self.echo(stream) }
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

/// Writes `Pattern` to a stream, ends it, and checks the pattern that comes back.
package enum Exchange {
    package static func write(_ byteCount: Int, salt: Int, to stream: QUICStream) async throws {
        var offset = 0
        while offset < byteCount {
            let bytes = Pattern.bytes(at: offset, count: byteCount - offset, salt: salt)
            try await stream.write(bytes)
            offset += bytes.count
        }
        await stream.finish()
    }

    /// How many bytes came, or nil when one of them was wrong.
    package static func read(_ stream: QUICStream, salt: Int) async throws -> Int? {
        var offset = 0
        while let bytes = try await stream.read() {
            guard bytes == Pattern.bytes(at: offset, count: bytes.count, salt: salt) else { return nil }
            offset += bytes.count
        }
        return offset
    }
}
