import MewLoop
import MewRelay
import MewTestSupport
import Testing

@Suite("Streams and the loop they share", .timeLimit(.minutes(1)))
struct StreamTurnTests {
    /// Memory that is lent in small pieces, and what is done when the first of them is.
    ///
    /// `@unchecked Sendable`: touched on the loop of its stream only.
    private final class Pieces: StreamInput, @unchecked Sendable {
        var onFirst: (() -> Void)?
        private let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: 10, alignment: 1)

        deinit { memory.deallocate() }

        func fill(_ read: (UnsafeMutableRawBufferPointer) -> Int) {
            guard read(memory) > 0 else { return }
            onFirst?()
            onFirst = nil
        }
    }

    private actor Reader {
        nonisolated let unownedExecutor: UnownedSerialExecutor
        private let loop: EventLoop
        private var reads = 0
        private var readsBefore: Int?

        init(_ loop: EventLoop) {
            self.loop = loop
            unownedExecutor = loop.asUnownedSerialExecutor()
        }

        /// How many reads there were, and how many of them before a timer that was due at the first.
        func run(_ stream: any TCPStream) async throws -> (all: Int, before: Int?) {
            let pieces = Pieces()
            pieces.onFirst = { [loop] in
                _ = loop.schedule(at: loop.now) { self.assumeIsolated { $0.readsBefore = $0.reads } }
            }
            while try await stream.read(into: pieces) { reads += 1 }
            return (reads, readsBefore)
        }
    }

    @Test("whoever sends without end leaves the loop to others: a timer comes between two reads")
    func turns() async throws {
        let loop = try EventLoop(name: "test")
        defer { loop.stop() }
        let (near, far) = try StreamSocket.pair(on: loop)
        try await far.write([UInt8](repeating: 1, count: 50_000))
        await far.close()
        let reads = try await Reader(loop).run(PlainStream(near))
        #expect(reads.all == 5_000)
        #expect(reads.before.map { $0 <= 2 } == true, "\(String(describing: reads.before))")
        await near.close()
    }

    @Test("the same inside TLS, where one read takes many records")
    func turnsInsideTLS() async throws {
        let loop = try EventLoop(name: "test")
        defer { loop.stop() }
        let certificate = try TestCertificate(for: "relay.test")
        let trust = try TLSTrust(authoritiesFile: certificate.certificateFile)
        let identity = try TLSIdentity(certificateFile: certificate.certificateFile, keyFile: certificate.keyFile)
        let (near, far) = try StreamSocket.pair(on: loop)
        async let connected = TLSStream.connect(over: near, trust: trust, host: "relay.test", on: loop)
        let engine = try await Self.serve(far, identity)
        let stream = try await connected
        // More than one read takes, and less than the socket holds.
        try [UInt8](repeating: 1, count: 150_000).withUnsafeBytes { try engine.write($0) }
        try await far.write(engine.takeOutput())
        await far.close()
        let reads = try await Reader(loop).run(stream)
        #expect(reads.all > 1)
        #expect(reads.before.map { $0 < reads.all } == true, "\(String(describing: reads.before))")
        await stream.close()
    }

    /// Shakes hands as the other end.
    private static func serve(_ socket: StreamSocket, _ identity: TLSIdentity) async throws -> TLSEngine {
        let engine = try TLSEngine(server: identity)
        while !engine.isEstablished {
            let bytes = try #require(try await socket.read(maxBytes: 1 << 16))
            try bytes.withUnsafeBytes { try engine.receive($0) { _ in } }
            if engine.hasOutput { try await socket.write(engine.takeOutput()) }
        }
        return engine
    }
}
