import MewLoop
import MewRelay
import MewTestSupport
import Testing

/// One end is a stream, the other an engine that the test drives, between them a pair of sockets.
@Suite("TLS over a socket", .timeLimit(.minutes(1)))
struct TLSStreamTests {
    private struct Far {
        let socket: StreamSocket
        let engine: TLSEngine

        /// Reads once, and answers; false at the end.
        func step() async throws -> Bool {
            guard let bytes = try await socket.read(maxBytes: 1 << 16) else { return false }
            try bytes.withUnsafeBytes { try engine.receive($0) { _ in } }
            if engine.hasOutput { try await socket.write(engine.takeOutput()) }
            return true
        }
    }

    private static func with(
        trusting: (TestCertificate) throws -> TestCertificate,
        _ body: (Far, @Sendable @escaping () async -> Result<TLSStream, StreamFailure>) async throws -> Void
    ) async throws {
        let loop = try EventLoop(name: "tls-test")
        defer { loop.stop() }
        let certificate = try TestCertificate(for: "relay.test")
        let authority = try trusting(certificate)
        let trust = try withExtendedLifetime(authority) { try TLSTrust(authoritiesFile: authority.certificateFile) }
        let (near, far) = try StreamSocket.pair(on: loop)
        let identity = try TLSIdentity(certificateFile: certificate.certificateFile, keyFile: certificate.keyFile)
        try await body(Far(socket: far, engine: try TLSEngine(server: identity))) {
            do throws(StreamFailure) {
                return .success(try await TLSStream.connect(over: near, trust: trust, host: "relay.test", on: loop))
            } catch {
                return .failure(error)
            }
        }
        await far.close()
    }

    @Test("a certificate that is not believed is the reason, also when the other end is gone before it is told")
    func reasonStays() async throws {
        try await Self.with(trusting: { _ in try TestCertificate(for: "relay.test") }) { far, connect in
            async let connected = connect()
            // It has said everything, and takes no alert.
            let isThere = try await far.step()
            #expect(isThere)
            await far.socket.close()
            guard case .failure(.tls(let failure)) = await connected else {
                Issue.record("not refused")
                return
            }
            #expect(failure.description.contains("certificate"), "\(failure)")
        }
    }

    /// The two ways to read, and what they gave.
    enum Reading: CaseIterable {
        case blocks, poured

        fileprivate func once(_ stream: TLSStream) async -> Result<[UInt8]?, StreamFailure> {
            do throws(StreamFailure) {
                switch self {
                case .blocks: return .success(try await stream.read(maxBytes: 1 << 16))
                case .poured:
                    let memory = Memory()
                    return .success(try await stream.read(into: memory) ? memory.bytes : nil)
                }
            } catch {
                return .failure(error)
            }
        }
    }

    /// `@unchecked Sendable`: touched on the loop of its stream only, and when that has returned.
    private final class Memory: StreamInput, @unchecked Sendable {
        private(set) var bytes: [UInt8] = []

        func fill(_ read: (UnsafeMutableRawBufferPointer) -> Int) {
            bytes += [UInt8](unsafeUninitializedCapacity: 1 << 16) { room, count in
                count = read(UnsafeMutableRawBufferPointer(room))
            }
        }
    }

    private static func established(
        _ far: Far, _ connect: @Sendable @escaping () async -> Result<TLSStream, StreamFailure>
    ) async throws -> TLSStream {
        async let connected = connect()
        while !far.engine.isEstablished {
            let isThere = try await far.step()
            try #require(isThere)
        }
        return try await connected.get()
    }

    /// A record of application data that nobody has sealed (RFC 8446 §5.2).
    private static let broken: [UInt8] = [23, 3, 3, 0, 32] + [UInt8](repeating: 7, count: 32)

    @Test(
        "an alert is the reason, behind what was said before it, however often one reads", arguments: Reading.allCases)
    func alert(reading: Reading) async throws {
        try await Self.with(trusting: { $0 }) { far, connect in
            let stream = try await Self.established(far, connect)
            let words = Array("you may not".utf8)
            try words.withUnsafeBytes { try far.engine.write($0) }
            // What it cannot read makes it say why it goes.
            #expect(throws: TLSFailure.self) {
                try Self.broken.withUnsafeBytes { try far.engine.receive($0) { _ in } }
            }
            try await far.socket.write(far.engine.takeOutput())
            await far.socket.close()
            #expect(await reading.once(stream) == .success(words))
            for _ in 0..<2 {
                guard case .failure(.tls(.alert)) = await reading.once(stream) else {
                    Issue.record("not the alert")
                    return
                }
            }
        }
    }

    @Test(
        "what breaks TLS is the reason, also when the other end is gone before it is told, however often one reads",
        arguments: Reading.allCases)
    func brokenStays(reading: Reading) async throws {
        try await Self.with(trusting: { $0 }) { far, connect in
            let stream = try await Self.established(far, connect)
            try await far.socket.write(Self.broken)
            await far.socket.close()
            for _ in 0..<2 {
                guard case .failure(.tls(.broken)) = await reading.once(stream) else {
                    Issue.record("not what broke it")
                    return
                }
            }
        }
    }

    @Test("what breaks TLS right behind the handshake is the reason why there is no connection")
    func brokenAtOnce() async throws {
        try await Self.with(trusting: { $0 }) { far, connect in
            async let connected = connect()
            let hello = try #require(try await far.socket.read(maxBytes: 1 << 16))
            try hello.withUnsafeBytes { try far.engine.receive($0) { _ in } }
            try await far.socket.write(far.engine.takeOutput() + Self.broken)
            guard case .failure(.tls(.broken)) = await connected else {
                Issue.record("not what broke it")
                return
            }
        }
    }

    @Test("whoever closes says goodbye: nothing was cut off")
    func goodbye() async throws {
        try await Self.with(trusting: { $0 }) { far, connect in
            let stream = try await Self.established(far, connect)
            await stream.close()
            while try await far.step() {}
            #expect(far.engine.isEnded)
        }
    }
}
