import MewBase
import MewHost
import MewIdentity
import MewLoop
import MewSession
import MewStore
import MewTestSupport
import MewWire

@testable import MewDaemon

/// A daemon with real sessions: the registry over a database in a scratch directory, agents that play scripts.
final class SessionBench: Sendable {
    let loop: EventLoop
    let storeLoop: BlockingLoop
    let network = LoopbackNetwork()
    let store: SQLiteStore
    let sessions: SessionRegistry
    let daemon: Daemon
    let scratch: ScratchDirectory
    private let listener: LoopbackEndpoint
    private let running: Task<Void, Never>

    /// - Parameter scratch: one that was used before has what was stored then.
    private init(_ agent: any AgentBackend, _ scratch: ScratchDirectory, devices: [Device]) async throws {
        self.scratch = scratch
        loop = try EventLoop(name: "test")
        storeLoop = try BlockingLoop(name: "test-store")
        store = try await SQLiteStore.open(path: scratch("sessions.db"), on: storeLoop)
        let files = HostFiles(loop: storeLoop, home: scratch.path)
        sessions = SessionRegistry(
            SessionEnvironment(
                loop: loop, store: store, agents: [agent], files: files, ids: MonotonicIDs(entropy: SystemEntropy()),
                wallClock: SystemWallClock()
            ) { _ in [] })
        listener = network.endpoint(DaemonBench.node)
        listener.listen()
        let rows = StoredDevices(store)
        for device in devices { try await rows.save(device, dropping: nil) }
        daemon = Daemon(
            .init(node: DaemonBench.node, name: "desk", version: "0.2.0", bootID: BootID(ULID(high: 1, low: 1))),
            in: .init(
                loop: loop, wall: SystemWallClock(), listener: listener, devices: rows, sessions: sessions,
                files: files, home: scratch.path, diagnostics: NoDiagnostics()))
        try await sessions.start()
        try await daemon.load()
        let daemon = daemon
        running = loop.spawn { await daemon.run() }
    }

    static func with(
        _ agent: any AgentBackend, in scratch: ScratchDirectory = ScratchDirectory(), devices: [Device] = [],
        _ body: (SessionBench) async throws -> Void
    ) async throws {
        let bench = try await SessionBench(agent, scratch, devices: devices)
        do {
            try await body(bench)
        } catch {
            await bench.end()
            throw error
        }
        await bench.end()
    }

    private func end() async {
        listener.stopListening()
        await sessions.shutDown()
        await daemon.stop(backIn: nil)
        listener.breakLinks()
        await running.value
        await store.close()
        loop.stop()
        storeLoop.stop()
    }

    func connect(_ node: NodeID, _ applicationProtocol: ApplicationProtocol = .native) async throws -> TestChannel {
        let endpoint = network.endpoint(node, protocols: [applicationProtocol])
        let link = try await endpoint.dial(DialTarget(node: DaemonBench.node, addresses: []))
        return try await TestPeer(link: link).open()
    }
}
