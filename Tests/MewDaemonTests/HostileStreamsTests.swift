import MewBase
import MewIdentity
import MewLoop
import MewNode
import MewQUIC
import MewQUICCore
import MewTestSupport
import MewWire
import Synchronization
import Testing

@testable import MewDaemon

/// A paired device that speaks QUIC and breaks the rules above it.
@Suite("A paired device with streams of its own making", .timeLimit(.minutes(2)))
struct HostileStreamsTests {
    private struct Stage: Sendable {
        let program: DaemonProgram
        let loop: EventLoop
        /// The hostile device.
        let endpoint: Endpoint

        func connect(_ link: ApplicationProtocol) async throws -> Connection {
            try await endpoint.connect(
                to: program.readiness.node, addresses: program.readiness.addresses, protocols: [link.rawValue])
        }
    }

    private final class Count: Sendable {
        let value = Mutex(0)
    }

    private func with(_ body: (Stage) async throws -> Void) async throws {
        let scratch = ScratchDirectory()
        let loops = try DaemonProgram.Loops()
        defer { loops.stop() }
        let program = try await DaemonProgram.start(
            DaemonConfiguration(
                directory: scratch("state"), bind: [.loopback(port: 0)], name: "desk", version: "0.2.0",
                userHome: scratch.path, environment: []), on: loops, diagnostics: NoDiagnostics())
        let running = loops.network.spawn { await program.run() }
        let loop = try EventLoop(name: "eve")
        let endpoint = try await Endpoint.bind(
            EndpointConfiguration(
                secret: SecretKey.generate(entropy: SystemEntropy()), addresses: [.loopback(port: 0)]),
            network: KernelNetwork(), loop: loop, entropy: SystemEntropy())
        _ = await program.daemon.pair(DaemonBench.device(endpoint.node, scope: .observe))
        try await body(Stage(program: program, loop: loop, endpoint: endpoint))
        await endpoint.close(code: 0, reason: "")
        loop.stop()
        program.stop()
        await running.value
    }

    private static func frame(_ message: ClientMessage) throws -> [UInt8] {
        var framing = NativeFraming()
        return try framing.encode(try #require(ClientFrame(message).encoded(for: .native)))
    }

    @Test(
        "beginnings of large messages in all channels: beyond 64 MiB channels are reset, the connection and the others live"
    )
    func beginnings() async throws {
        try await with { stage in
            let connection = try await stage.connect(.native)
            let control = try await connection.openStream()
            try await control.write(
                try Self.frame(
                    .remoteHello(.init(deviceName: "eve", capabilities: Admission.mandatoryCapabilities))))
            _ = try await control.read()
            let beginning = [0x00, 0x80, 0x00, 0x00] + [UInt8](repeating: 0x20, count: 3 << 19)
            let allowance = await stage.program.daemon.allowance(of: stage.endpoint.node)
            let resets = Count()
            let streams = try await withThrowingTaskGroup(of: QUICStream.self) { group in
                for _ in 0..<60 {
                    group.addTask {
                        let stream = try await connection.openStream()
                        do {
                            try await stream.write(beginning)
                            _ = try await stream.read()
                        } catch {
                            resets.value.withLock { $0 += 1 }
                        }
                        return stream
                    }
                }
                // 60 beginnings are 90 MiB, so that some have no room.
                while resets.value.withLock({ $0 }) < 15 { await Task.yield() }
                #expect(allowance.bytes.usedBytes <= DeviceAllowance.maxBytes)
                try await control.write(try Self.frame(.ping))
                #expect(try await control.read() != nil)
                await connection.close(code: 0, reason: "")
                return try await group.reduce(into: []) { $0.append($1) }
            }
            withExtendedLifetime(streams) {}
            while allowance.bytes.usedBytes > 0 { await Task.yield() }
        }
    }

    private static let upgrade =
        "GET / HTTP/1.1\r\nHost: d\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
        + "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"

    @Test("a broken WebSocket frame: its Close says why, and the connection ends with 4 and the sentence")
    func brokenFrame() async throws {
        try await with { stage in
            let connection = try await stage.connect(.stock)
            let stream = try await connection.openStream()
            // A frame without a mask (RFC 6455 §5.1).
            try await stream.write(Array(Self.upgrade.utf8) + [0x81, 0x02, 0x7b, 0x7d])
            var received: [UInt8] = []
            while let bytes = try? await stream.read() { received += bytes }
            // Close, with the code of a protocol error (1002).
            #expect(received.suffix(4) == [0x88, 0x02, 0x03, 0xea])
            #expect(
                try await connection.closed()
                    == .peer(code: 4, reason: "a WebSocket frame that breaks RFC 6455"))
        }
    }
}
