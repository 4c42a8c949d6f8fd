package import MewLoop
package import MewRelay
package import MewWire

/// A stream of a test that has blocks only, which a reader and a writer get whole. What comes in pieces is `SimTCPStream`'s to show.
package protocol BlockStream: TCPStream {}

extension BlockStream {
    package func read(into input: any StreamInput) async throws(StreamFailure) -> Bool {
        guard let block = try await read(maxBytes: 64 << 10) else { return false }
        input.append(block)
        return true
    }

    package func write(from output: any StreamOutput) async throws(StreamFailure) {
        while true {
            let bytes = Array(output.next(atMost: 16 << 10))
            if bytes.isEmpty { return }
            output.left(bytes.count)
            try await write(bytes)
        }
    }

    package func exportKeyingMaterial(label: String, context: [UInt8], byteCount: Int) async -> [UInt8]? { nil }
}

/// Says the same to everyone and hangs up.
package struct CannedRelay: RelayConnector {
    private let answer: [UInt8]

    package init(answer: [UInt8]) {
        self.answer = answer
    }

    package func connect(to url: RelayURL) async throws(StreamFailure) -> any TCPStream { CannedStream(answer) }
}

private actor CannedStream: BlockStream {
    private var rest: [UInt8]

    init(_ rest: [UInt8]) { self.rest = rest }

    func read(maxBytes: Int) async throws(StreamFailure) -> [UInt8]? {
        guard !rest.isEmpty else { return nil }
        defer { rest.removeFirst(min(maxBytes, rest.count)) }
        return Array(rest.prefix(maxBytes))
    }

    func write(_ bytes: [UInt8]) async throws(StreamFailure) {}
    func close() async {}
}
