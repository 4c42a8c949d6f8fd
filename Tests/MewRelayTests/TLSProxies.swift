import MewBase
import MewLoop
import MewRelay
import MewTestSupport
import MewWire

/// Ends TLS in front of a relay without it, as a web server does that passes connections on.
struct TLSEndingProxy: RelayConnector {
    let url: RelayURL
    private let loop: EventLoop
    private let identity: TLSIdentity
    private let trust: TLSTrust
    private let relay: RelayURL

    init(_ certificate: TestCertificate, before stage: RelayStage) throws {
        loop = stage.loop
        identity = try TLSIdentity(certificateFile: certificate.certificateFile, keyFile: certificate.keyFile)
        trust = try TLSTrust(authoritiesFile: certificate.certificateFile)
        url = try RelayURL("https://\(stage.address)/")
        relay = try RelayURL("http://\(stage.address)/")
    }

    func connect(to url: RelayURL) async throws(StreamFailure) -> any TCPStream {
        let back = try await NetworkRelayConnector(on: loop).connect(to: relay)
        let (near, far) = try pair()
        let middle: TLSMiddle
        do throws(TLSFailure) {
            middle = try TLSMiddle(far, identity, back, on: loop)
        } catch {
            throw .tls(error)
        }
        loop.spawn { await middle.carryIn() }
        loop.spawn { await middle.carryOut() }
        return try await TLSStream.connect(over: near, trust: trust, host: "127.0.0.1", on: loop)
    }

    private func pair() throws(StreamFailure) -> (StreamSocket, StreamSocket) {
        do throws(SystemError) {
            return try StreamSocket.pair(on: loop)
        } catch {
            throw .system(error)
        }
    }
}

/// The two directions of one connection through the proxy.
private actor TLSMiddle {
    nonisolated let unownedExecutor: UnownedSerialExecutor
    private let engine: TLSEngine
    private let front: StreamSocket
    private let back: any TCPStream

    init(
        _ front: StreamSocket, _ identity: TLSIdentity, _ back: any TCPStream, on loop: EventLoop
    ) throws(TLSFailure) {
        engine = try TLSEngine(server: identity)
        (self.front, self.back) = (front, back)
        unownedExecutor = loop.asUnownedSerialExecutor()
    }

    /// To the relay, until either end is gone.
    func carryIn() async {
        while let sealed = try? await front.read(maxBytes: 1 << 14) {
            var plain: [UInt8] = []
            let result = sealed.withUnsafeBytes { bytes in Result { try engine.receive(bytes) { plain += $0 } } }
            guard case .success = result, await flush(), (try? await back.write(plain)) != nil else { break }
        }
        await close()
    }

    /// To the client.
    func carryOut() async {
        while let plain = try? await back.read(maxBytes: 1 << 14) {
            let result = plain.withUnsafeBytes { bytes in Result { try engine.write(bytes) } }
            guard case .success = result, await flush() else { break }
        }
        await close()
    }

    private func flush() async -> Bool {
        guard engine.hasOutput else { return true }
        return (try? await front.write(engine.takeOutput())) != nil
    }

    private func close() async {
        await front.close()
        await back.close()
    }
}

/// Begins TLS on the way to a relay: the client's end has none.
struct TLSBeginningProxy: RelayConnector {
    let stage: RelayStage

    func connect(to url: RelayURL) async throws(StreamFailure) -> any TCPStream {
        Veiled(
            inner: try await StreamDialler(on: stage.loop).connect(
                host: stage.address.host, port: stage.address.port, tls: stage.trust))
    }

    private struct Veiled: TCPStream {
        let inner: any TCPStream

        func read(maxBytes: Int) async throws(StreamFailure) -> [UInt8]? { try await inner.read(maxBytes: maxBytes) }
        func write(_ bytes: [UInt8]) async throws(StreamFailure) { try await inner.write(bytes) }
        func read(into input: any StreamInput) async throws(StreamFailure) -> Bool { try await inner.read(into: input) }
        func write(from output: any StreamOutput) async throws(StreamFailure) { try await inner.write(from: output) }
        func close() async { await inner.close() }
        func exportKeyingMaterial(label: String, context: [UInt8], byteCount: Int) async -> [UInt8]? { nil }
    }
}
