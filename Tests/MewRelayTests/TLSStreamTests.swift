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

    @Test("whoever closes says goodbye: nothing was cut off")
    func goodbye() async throws {
        try await Self.with(trusting: { $0 }) { far, connect in
            async let connected = connect()
            while !far.engine.isEstablished {
                let isThere = try await far.step()
                try #require(isThere)
            }
            let stream = try await connected.get()
            await stream.close()
            while try await far.step() {}
            #expect(far.engine.isEnded)
        }
    }
}
