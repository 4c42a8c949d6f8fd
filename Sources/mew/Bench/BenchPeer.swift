import MewBase
import MewIdentity
import MewLoop
import MewQUIC
import MewWire

/// One end of the measurements of `mew bench`: an endpoint of its own with a key that is thrown away, on loopback.
///
/// Everything runs in tasks of one loop, as in the daemon, so that what is measured is what is shipped.
///
/// Wire: ALPN `mew/bench/0`; a stream begins with a request of 9 bytes from the dialler, a letter and a number (big endian):
/// - `E`, 0: the listener sends back what it receives.
/// - `S`, n: the listener sends n bytes.
struct BenchPeer: Sendable {
    static let applicationProtocol = "mew/bench/0"

    let loop: EventLoop
    let endpoint: Endpoint
    let secret: SecretKey

    /// - Parameters:
    ///   - listening: where to bind; nil binds a free port and accepts nobody.
    ///   - reachingOut: other machines can be reached from that port.
    static func start(
        on loop: EventLoop, listening address: SocketAddress? = nil, reachingOut: Bool = false, usingBBR: Bool = false
    ) async throws(CommandFailure) -> BenchPeer {
        let secret = SecretKey.generate(entropy: SystemEntropy())
        var configuration = EndpointConfiguration(
            secret: secret, addresses: [address ?? (reachingOut ? .anyIPv4 : .loopback(port: 0))],
            acceptedProtocols: address == nil ? [] : [applicationProtocol])
        if usingBBR { configuration.useBBR() }
        do throws(BindFailure) {
            let endpoint = try await Endpoint.bind(
                configuration, network: KernelNetwork(), loop: loop, entropy: SystemEntropy())
            return BenchPeer(loop: loop, endpoint: endpoint, secret: secret)
        } catch {
            throw CommandFailure(.portTaken, "cannot bind \(address?.description ?? "a port"): \(error)")
        }
    }

    /// Runs `body` on the loop.
    func measure<Value: Sendable>(
        _ body: @escaping @Sendable (Endpoint) async -> Result<Value, CommandFailure>
    ) async throws(CommandFailure) -> Value {
        let result = await loop.spawn { [endpoint] in await body(endpoint) }.value
        await endpoint.close(code: 0, reason: "measured", linger: .zero)
        return try result.get()
    }

    // MARK: - Listening

    /// Serves until the endpoint is closed.
    func serve() async {
        await loop.spawn { [loop, endpoint] in
            while let connection = await endpoint.accept() {
                await connection.authorize()
                loop.spawn { [loop] in
                    while let stream = await connection.acceptStream() {
                        loop.spawn { await Self.serve(stream) }
                    }
                }
            }
        }.value
    }

    private static func serve(_ stream: QUICStream) async {
        do {
            guard var head = try await stream.read() else { return }
            while head.count < BenchRequest.byteCount, let more = try await stream.read() { head += more }
            switch BenchRequest(head.prefix(BenchRequest.byteCount)) {
            case .echo: try await echo(head.dropFirst(BenchRequest.byteCount), on: stream)
            case .send(let byteCount): try await send(byteCount, on: stream)
            case nil: await stream.reset(code: 1)
            }
        } catch {
            // The dialler is done with it, or gone.
            await stream.reset(code: 0)
        }
    }

    private static func echo(_ first: ArraySlice<UInt8>, on stream: QUICStream) async throws {
        if !first.isEmpty { try await stream.write(Array(first)) }
        while let bytes = try await stream.read() { try await stream.write(bytes) }
        await stream.finish()
    }

    private static func send(_ byteCount: UInt64, on stream: QUICStream) async throws {
        let chunk = [UInt8](repeating: 0x6d, count: 64 << 10)
        var left = byteCount
        while left >= chunk.count {
            try await stream.write(chunk)
            left -= UInt64(chunk.count)
        }
        if left > 0 { try await stream.write(Array(chunk.prefix(Int(left)))) }
        await stream.finish()
    }
}

/// How a stream of the bench begins.
enum BenchRequest {
    case echo
    case send(UInt64)

    static let byteCount = 9

    init?(_ bytes: ArraySlice<UInt8>) {
        guard bytes.count == Self.byteCount else { return nil }
        let number = bytes.dropFirst().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        switch bytes.first {
        case UInt8(ascii: "E"): self = .echo
        case UInt8(ascii: "S"): self = .send(number)
        default: return nil
        }
    }

    var bytes: [UInt8] {
        let (letter, number): (UInt8, UInt64) =
            switch self {
            case .echo: (UInt8(ascii: "E"), 0)
            case .send(let byteCount): (UInt8(ascii: "S"), byteCount)
            }
        return [letter] + (0..<8).map { UInt8(truncatingIfNeeded: number >> UInt64(56 - 8 * $0)) }
    }
}
