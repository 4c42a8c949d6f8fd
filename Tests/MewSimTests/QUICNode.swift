import MewBase
import MewIdentity
import MewLoop
import MewQUIC
import MewQUICCore
import MewSim

/// A machine of the simulated world with a QUIC endpoint on it.
///
/// `@unchecked Sendable`: a simulated world runs on one thread.
final class QUICNode: @unchecked Sendable {
    let node: SimNode
    let secret: SecretKey
    private(set) var endpoint: Endpoint!

    static let port: UInt16 = 4_000

    var address: SocketAddress { node.address(port: Self.port) }

    init(
        _ world: SimWorld, _ name: String, key: UInt8, hosts: [SocketAddress] = [], accepts: [String] = ["test/1"],
        _ configure: (inout EndpointConfiguration) -> Void = { _ in }
    ) throws {
        node = world.addNode(name, hosts: hosts)
        secret = SecretKey(seed: Array(repeating: key, count: 32))!
        var configuration = EndpointConfiguration(
            secret: secret, addresses: [SocketAddress.anyIPv4.with(port: Self.port)], acceptedProtocols: accepts)
        configure(&configuration)
        let (node, final) = (node, configuration)
        endpoint = try world.run(on: node) {
            try await Endpoint.bind(final, network: node.network, loop: node.loop, entropy: node.entropy)
        }
    }

    /// Accepts and authorizes everyone and hands each connection to `serve`.
    func acceptAll(_ serve: @escaping @Sendable (Connection) async -> Void) {
        let (loop, endpoint) = (node.loop, endpoint!)
        loop.spawn {
            while let connection = await endpoint.accept() {
                await connection.authorize()
                loop.spawn { await serve(connection) }
            }
        }
    }

    /// Sends back what comes on every stream.
    func echoAll() {
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

/// A value that one simulated thread shares among its tasks.
final class Shared<Value>: @unchecked Sendable {
    var value: Value

    init(_ value: Value) {
        self.value = value
    }
}

/// A byte sequence in which a piece that is out of place shows: it repeats only after a prime number of bytes.
enum Pattern {
    private static let period = 65_521
    private static let table: [UInt8] = (0..<(3 * period)).map {
        UInt8(truncatingIfNeeded: ($0 % period) &* 31 &+ ($0 % period) >> 8)
    }

    /// At most 64 KiB of it.
    static func bytes(at offset: Int, count: Int, salt: Int) -> [UInt8] {
        let start = (offset + salt) % period
        return Array(table[start..<(start + min(count, 64 << 10))])
    }
}

/// Writes the pattern to a stream, ends it, and checks the pattern that comes back.
enum Exchange {
    static func write(_ byteCount: Int, salt: Int, to stream: QUICStream) async throws {
        var offset = 0
        while offset < byteCount {
            let bytes = Pattern.bytes(at: offset, count: byteCount - offset, salt: salt)
            try await stream.write(bytes)
            offset += bytes.count
        }
        await stream.finish()
    }

    /// How many bytes came, or nil when one of them was wrong.
    static func read(_ stream: QUICStream, salt: Int) async throws -> Int? {
        var offset = 0
        while let bytes = try await stream.read() {
            guard bytes == Pattern.bytes(at: offset, count: bytes.count, salt: salt) else { return nil }
            offset += bytes.count
        }
        return offset
    }
}
