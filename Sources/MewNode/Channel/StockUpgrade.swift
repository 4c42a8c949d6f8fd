package import MewBase
package import MewWire

/// Turns the one stream of `mew/wire/0` into WebSocket frames (spec/mew-wire.md §1.2).
package enum StockUpgrade {
    /// The dialling side's half: the request, which is what makes the stream visible to the peer.
    package struct Request: Sendable {
        private let client: WebSocketUpgradeClient

        package init(entropy: any Entropy) {
            client = WebSocketUpgradeClient(entropy: entropy)
        }

        /// Writes the request and reads the answer; returns the bytes of frames that came behind it.
        package func perform(on stream: any ByteStream) async throws(ChannelError) -> [UInt8] {
            try await writeAll(client.request, to: stream)
            var received: [UInt8] = []
            while true {
                switch client.step(received) {
                case .needMore:
                    try await readMore(&received, from: stream)
                case .accepted(let consumed):
                    return Array(received[consumed...])
                case .refused(let reason):
                    await stream.stop(code: ChannelResetCode.violation)
                    await stream.reset(code: ChannelResetCode.violation)
                    throw .protocolViolation(reason)
                }
            }
        }
    }

    /// The listening side's half: reads the request and answers; returns the bytes of frames that came behind it.
    package static func answer(on stream: any ByteStream) async throws(ChannelError) -> [UInt8] {
        var received: [UInt8] = []
        while true {
            switch WebSocketUpgradeServer.step(received) {
            case .needMore:
                try await readMore(&received, from: stream)
            case .accepted(let response, let consumed):
                try await writeAll(response, to: stream)
                return Array(received[consumed...])
            case .refused(let response, let reason):
                try await writeAll(response, to: stream)
                await stream.finish()
                await stream.stop(code: ChannelResetCode.violation)
                throw .protocolViolation(reason)
            }
        }
    }

    /// Bounded: the head is refused beyond 16 KiB, so at most one read more than that is held.
    private static func readMore(_ received: inout [UInt8], from stream: any ByteStream) async throws(ChannelError) {
        guard let bytes = try await stream.read() else {
            throw .protocolViolation("the stream ended before the WebSocket upgrade")
        }
        received += bytes
    }

    private static func writeAll(_ bytes: [UInt8], to stream: any ByteStream) async throws(ChannelError) {
        var offset = 0
        while offset < bytes.count { offset += try await stream.write(bytes, from: offset) }
    }
}
