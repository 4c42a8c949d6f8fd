import MewBase
import MewIdentity
import MewLoop
import MewNode
import MewTestSupport
import MewWire
import Testing

@testable import MewDaemon

/// The hostile peer once more, over real QUIC: here it is flow control and stream limits that hold it.
@Suite("A paired but hostile peer over QUIC", .timeLimit(.minutes(2)))
struct HostileOverQUICTests {
    @Test("asking without reading, opening without end, nesting without end: another device is served all the same")
    func othersAreServed() async throws {
        let scratch = ScratchDirectory()
        let loops = try DaemonProgram.Loops()
        defer { loops.stop() }
        let program = try await DaemonProgram.start(
            DaemonConfiguration(
                directory: scratch("state"), bind: [.loopback(port: 0)], name: "desk", version: "0.2.0",
                userHome: scratch.path, environment: []), on: loops, diagnostics: NoDiagnostics())
        let running = loops.network.spawn { await program.run() }
        let (eve, ada) = (try await Self.dialler(), try await Self.dialler())
        for node in [eve.node, ada.node] { _ = await program.daemon.pair(DaemonBench.device(node.node)) }
        let target = DialTarget(node: program.readiness.node, addresses: program.readiness.addresses)

        let flood = Task { try await Self.askWithoutReading(eve.node, target) }
        let streams = Task { try await Self.openWithoutEnd(eve.node, target) }
        let nesting = Task { try await Self.nestWithoutEnd(eve.node, target) }
        let channel = try await TestPeer(link: try await ada.node.dial(target)).open()
        try await channel.enter()
        for _ in 0..<50 {
            try await channel.send(.ping)
            #expect(try await channel.answer() == .pong(.init(version: "0.2.0")))
        }
        #expect(try await nesting.value == 20)
        // The stream limit makes the opener wait, or the daemon closes it; either way it gets no ten thousand.
        streams.cancel()
        #expect((try? await streams.value) ?? 0 < 10_000)
        flood.cancel()
        _ = try? await flood.value
        await eve.node.stop()
        await ada.node.stop()
        program.stop()
        await running.value
        eve.loop.stop()
        ada.loop.stop()
    }

    private static func dialler() async throws -> (node: Node, loop: EventLoop) {
        let loop = try EventLoop(name: "dialler")
        let node = try await Node.start(
            .init(
                secret: SecretKey.generate(entropy: SystemEntropy()), addresses: [.loopback(port: 0)], accepts: []),
            network: KernelNetwork(), loop: loop, entropy: SystemEntropy())
        return (node, loop)
    }

    /// Until its own channel is full and `send` waits for ever.
    private static func askWithoutReading(_ node: Node, _ target: DialTarget) async throws {
        let channel = try await TestPeer(link: try await node.dial(target)).open()
        try await channel.enter()
        for _ in 0..<1_000_000 { try await channel.send(.listSessions) }
    }

    private static func openWithoutEnd(_ node: Node, _ target: DialTarget) async throws -> Int {
        let peer = TestPeer(link: try await node.dial(target))
        let control = try await peer.open()
        try await control.enter()
        var open: [TestChannel] = []
        while open.count < 10_000 {
            guard let channel = try? await peer.open(), (try? await channel.send(.ping)) != nil else { break }
            open.append(channel)
        }
        return open.count
    }

    /// How many refusals came back.
    private static func nestWithoutEnd(_ node: Node, _ target: DialTarget) async throws -> Int {
        let channel = try await TestPeer(link: try await node.dial(target)).open()
        try await channel.enter()
        var refused = 0
        for _ in 0..<20 {
            try await channel.send(text: String(repeating: "[", count: 1_000_000))
            if case .error? = try await channel.answer() { refused += 1 }
        }
        return refused
    }
}
