import MewBase
import MewHost
import MewIdentity
import MewLoop
import MewNode
import MewSession
import MewSim
import MewStore
import MewTestSupport
import MewWire
import Testing

@testable import MewDaemon

/// A whole daemon on one machine of a simulated world: node, sessions, database. The disk is real, its time is not.
///
/// `@unchecked Sendable`: a simulated world runs on one thread, and its parts are used on that thread only.
final class SimulatedDaemon: @unchecked Sendable {
    static let port: UInt16 = 4_433

    let daemon: Daemon
    let sessions: SessionRegistry
    let node: Node
    let store: SQLiteStore
    let target: DialTarget

    private init(
        _ daemon: Daemon, _ sessions: SessionRegistry, _ node: Node, _ store: SQLiteStore, _ target: DialTarget
    ) {
        (self.daemon, self.sessions, self.node, self.store, self.target) = (daemon, sessions, node, store, target)
    }

    /// Starts it on `machine`; runs there until `stop`.
    static func start(
        on machine: SimNode, in scratch: ScratchDirectory, _ agent: any AgentBackend
    ) async throws -> SimulatedDaemon {
        let diskLoop = machine.makeLoop()
        let secret = try #require(SecretKey(seed: [UInt8](repeating: 99, count: 32)))
        let store = try await SQLiteStore.open(path: scratch("sessions.db"), on: diskLoop)
        let files = HostFiles(loop: diskLoop, home: scratch.path)
        let ids = MonotonicIDs(entropy: machine.entropy)
        let sessions = SessionRegistry(
            SessionEnvironment(
                loop: machine.loop, store: store, agents: [agent], files: files, ids: ids,
                wallClock: machine.wallClock
            ) { _ in [] })
        let node = try await Node.start(
            .init(secret: secret, addresses: [SocketAddress.anyIPv4.with(port: port)]), network: machine.network,
            loop: machine.loop, entropy: machine.entropy)
        let daemon = Daemon(
            .init(
                node: node.node, name: "desk", version: "0.2.0",
                bootID: BootID(ids.next(milliseconds: machine.wallClock.millisecondsSinceEpoch))),
            in: .init(
                loop: machine.loop, wall: machine.wallClock, listener: node, devices: StoredDevices(store),
                sessions: sessions, files: files, home: scratch.path, diagnostics: NoDiagnostics()))
        try await sessions.start()
        try await daemon.load()
        machine.loop.spawn { await daemon.run() }
        return SimulatedDaemon(
            daemon, sessions, node, store, DialTarget(node: node.node, addresses: [machine.address(port: port)]))
    }

    func stop() async {
        await sessions.shutDown()
        await daemon.stop(backIn: nil)
        await node.stop()
        await store.close()
    }
}

/// `@unchecked Sendable`: a simulated world runs on one thread, and its parts are used on that thread only.
struct Lent<Value>: @unchecked Sendable {
    let value: Value

    init(_ value: Value) {
        self.value = value
    }
}
