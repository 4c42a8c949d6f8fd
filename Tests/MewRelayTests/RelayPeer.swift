import MewBase
import MewIdentity
import MewLoop
import MewRelay
import MewTestSupport
import MewWire
import Synchronization
import Testing

/// A client of the relay protocol as simple as can be: what it is told is what comes next.
actor RelayPeer {
    struct Ended: Error {}

    let secret: SecretKey
    private let stream: any TCPStream
    private let framing = WebSocketFraming(
        role: .client, kind: .binary, maxMessageBytes: 1 << 20, entropy: SystemEntropy())

    nonisolated var node: NodeID { secret.node }

    private init(_ stream: any TCPStream, _ secret: SecretKey) {
        self.stream = stream
        self.secret = secret
    }

    /// Opens the WebSocket; the relay's first frame is still to be read.
    static func open(
        _ stage: RelayStage, secret: SecretKey, version: RelayVersion = .v2, _ more: [(String, String)] = [],
        proving: Bool = false
    ) async throws -> RelayPeer {
        let stream = try await stage.connect()
        var fields: HTTPFields = [
            "Host": "relay.test", "Upgrade": "websocket", "Connection": "Upgrade",
            "Sec-WebSocket-Key": "iTRqp7qQPDwXDa+GsATcXA==", "Sec-WebSocket-Version": "13",
            "Sec-WebSocket-Protocol": version.rawValue,
        ]
        for (name, value) in more { fields.append(name, value) }
        if proving,
            let material = await stream.exportKeyingMaterial(
                label: RelayKeyingMaterialProof.exporterLabel, context: secret.node.bytes,
                byteCount: RelayKeyingMaterialProof.exporterByteCount)
        {
            let proof = RelayKeyingMaterialProof(secret: secret, keyingMaterial: material)
            fields.append(RelayKeyingMaterialProof.fieldName, proof.fieldValue)
        }
        try await stream.write(HTTPRequest("GET", "/relay", fields).encoded)
        let peer = RelayPeer(stream, secret)
        try await peer.readUpgrade()
        return peer
    }

    /// Opens it and proves who it is.
    static func join(
        _ stage: RelayStage, secret: SecretKey, version: RelayVersion = .v2, _ more: [(String, String)] = []
    ) async throws -> RelayPeer {
        let peer = try await open(stage, secret: secret, version: version, more)
        try await peer.authenticate()
        return peer
    }

    private func readUpgrade() async throws {
        var bytes: [UInt8] = []
        while true {
            switch HTTPResponse.parse(bytes) {
            case .needMore:
                guard let more = try await stream.read(maxBytes: 1 << 16) else { throw Ended() }
                bytes += more
            case .head(let response, let byteCount):
                #expect(response.status == 101)
                return framing.receive(Array(bytes[byteCount...]))
            case .malformed(let reason):
                Issue.record("\(reason)")
                throw Ended()
            }
        }
    }

    func authenticate() async throws {
        guard case .serverChallenge(let challenge) = try await next() else { throw Ended() }
        try await send(.clientAuth(RelayClientAuth(answering: challenge, secret: secret)))
        let decision = try await next()
        #expect(decision == .serverConfirmsAuth)
    }

    func send(_ frame: RelayFrame) async throws {
        try await stream.write(framing.encode(frame.encoded))
    }

    func send(raw bytes: [UInt8]) async throws { try await stream.write(bytes) }

    func send(_ contents: [UInt8], to node: NodeID) async throws {
        try await send(.clientToRelay(RelayDatagrams(peer: node, contents: contents[...])))
    }

    /// The next frame of the relay; throws when it ends the connection.
    func next() async throws -> RelayFrame {
        while true {
            switch try framing.next() {
            case .message(let bytes): return try RelayFrame.decode(bytes)
            case .ended: throw Ended()
            case .needMore:
                guard let bytes = try await stream.read(maxBytes: 1 << 16) else { throw Ended() }
                framing.receive(bytes)
            }
        }
    }

    func close() async { await stream.close() }
}

/// A relay on loopback for one test.
final class RelayStage: Sendable {
    let loop: EventLoop
    let server: RelayServer
    let address: SocketAddress
    let trust: TLSTrust?

    /// What the relay has told.
    let log = RelayLog()

    init(certificate: TestCertificate? = nil, _ adapt: (inout RelaySettings) -> Void = { _ in }) async throws {
        loop = try EventLoop(name: "relay-test")
        var settings = RelaySettings(programVersion: "1.2.3")
        if let certificate {
            settings.identity = try TLSIdentity(
                certificateFile: certificate.certificateFile, keyFile: certificate.keyFile)
        }
        trust = try certificate.map { try TLSTrust(authoritiesFile: $0.certificateFile) }
        adapt(&settings)
        server = RelayServer(settings, on: loop, entropy: SystemEntropy(), diagnostics: log)
        address = try await server.listen(.loopback(port: 0), sealed: certificate != nil)
    }

    /// Runs `body` with a relay that is ended afterwards, and looks that nothing is left.
    static func run(
        certificate: TestCertificate? = nil, _ adapt: (inout RelaySettings) -> Void = { _ in },
        _ body: (RelayStage) async throws -> Void
    ) async throws {
        let stage = try await RelayStage(certificate: certificate, adapt)
        try await body(stage)
        await stage.server.drain()
        let metrics = await stage.server.metrics
        #expect(metrics.connections == 0 && metrics.strangers == 0 && metrics.sources == 0 && metrics.nodes == 0)
        stage.loop.stop()
    }

    func connect() async throws -> any TCPStream {
        try await StreamDialler(on: loop).connect(
            host: address.host, port: address.port, tls: trust)
    }

    func connectPlain() async throws -> any TCPStream {
        try await StreamDialler(on: loop).connect(host: address.host, port: address.port, tls: nil)
    }

    /// One HTTP request and everything that is answered.
    func ask(_ request: HTTPRequest, _ body: [UInt8] = []) async throws -> (HTTPResponse, [UInt8]) {
        let stream = try await connect()
        var fields: HTTPFields = ["Host": "relay.test"]
        for field in request.fields.all { fields.append(field.name, field.value) }
        try await stream.write(HTTPRequest(request.method, request.target, fields).encoded + body)
        var bytes: [UInt8] = []
        while let more = try await stream.read(maxBytes: 1 << 16) { bytes += more }
        await stream.close()
        guard case .head(let response, let byteCount) = HTTPResponse.parse(bytes) else { throw RelayPeer.Ended() }
        return (response, Array(bytes[byteCount...]))
    }
}

final class RelayLog: DiagnosticSink {
    private let told = Mutex<[Diagnostic]>([])

    func wants(_ level: Diagnostic.Level) -> Bool { level >= .info }
    func record(_ diagnostic: Diagnostic) { told.withLock { $0.append(diagnostic) } }

    subscript(name: String) -> [Diagnostic] { told.withLock { $0.filter { $0.name == name } } }
}
