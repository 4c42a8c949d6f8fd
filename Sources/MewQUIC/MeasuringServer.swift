internal import MewLoop
internal import MewQUICCore

/// What `mew bench` speaks on its own application protocol: each stream begins with eight bytes, big endian. Zero asks for
/// an echo of all that follows; any other number asks for that many bytes.
package enum Measuring {
    package static let applicationProtocol = "mew/bench/0"

    static let headerBytes = 8
    static let echo: UInt64 = 0

    /// What one stream may ask for: a terabyte is more than anybody waits for.
    static let maxBytes: UInt64 = 1 << 40

    static func header(_ request: UInt64) -> [UInt8] {
        (0..<headerBytes).map { UInt8(truncatingIfNeeded: request >> UInt64(56 - 8 * $0)) }
    }
}

/// The serving half of the benchmarks. It authorizes everybody: run it on an endpoint of its own only.
package struct MeasuringServer: Sendable {
    private let endpoint: Endpoint

    package init(_ endpoint: Endpoint) {
        self.endpoint = endpoint
    }

    /// Serves until the endpoint is closed or the task is cancelled.
    package func run() async {
        while let connection = await endpoint.accept() {
            await connection.authorize()
            endpoint.loop.spawn { await serve(connection) }
        }
    }

    private func serve(_ connection: Connection) async {
        while let stream = await connection.acceptStream() {
            endpoint.loop.spawn {
                do throws(QUICError) {
                    try await answer(stream)
                } catch {
                    await stream.reset(code: 1)
                }
            }
        }
    }

    private func answer(_ stream: QUICStream) async throws(QUICError) {
        var head: [UInt8] = []
        while head.count < Measuring.headerBytes {
            guard let bytes = try await stream.read() else { return await stream.finish() }
            head += bytes
        }
        let request = head.prefix(Measuring.headerBytes).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        if request == Measuring.echo {
            try await echo(stream, rest: Array(head.dropFirst(Measuring.headerBytes)))
        } else {
            try await send(min(request, Measuring.maxBytes), to: stream)
        }
        await stream.finish()
    }

    private func echo(_ stream: QUICStream, rest: [UInt8]) async throws(QUICError) {
        if !rest.isEmpty { try await stream.write(rest) }
        while let bytes = try await stream.read() { try await stream.write(bytes) }
    }

    private func send(_ byteCount: UInt64, to stream: QUICStream) async throws(QUICError) {
        let piece = [UInt8](repeating: 0x6d, count: 64 << 10)
        var left = byteCount
        while left > 0 {
            let count = Int(min(left, UInt64(piece.count)))
            try await stream.write(count == piece.count ? piece : Array(piece[..<count]))
            left -= UInt64(count)
        }
    }
}
