import MewBase
import MewHost
import MewIdentity
import MewLoop
import MewSession
import MewSim
import MewStore
import MewTestSupport
import MewWire
import Synchronization
import Testing

@testable import MewDaemon

/// A registry with its store on a disk that forgets, on a simulated machine that can be killed at any step.
final class SessionsBench {
    let world: SimWorld
    let disk: ForgetfulDisk
    private(set) var node: SimNode
    private(set) var registry: SessionRegistry
    private(set) var store: any SessionStore
    private(set) var agent: ScriptedAgent
    private var lives = 0
    private var clientNumber: UInt64 = 0
    let endedLeftovers: Leftovers

    private let commitTime: Duration

    private init(
        _ world: SimWorld, _ disk: ForgetfulDisk, _ leftovers: Leftovers, _ commitTime: Duration, _ boot: Boot
    ) {
        (self.world, self.disk, endedLeftovers, self.commitTime) = (world, disk, leftovers, commitTime)
        (node, registry, store, agent) = (boot.node, boot.registry, boot.store, boot.agent)
    }

    /// Stands for the processes of a machine: notes which were to be ended.
    final class Leftovers: Sendable {
        private let state = Mutex<(ended: [AgentProcess], survives: Bool)>(([], false))

        var all: [AgentProcess] { state.withLock { $0.ended } }
        /// Whether processes refuse to end.
        var survives: Bool {
            get { state.withLock { $0.survives } }
            set { state.withLock { $0.survives = newValue } }
        }

        func end(_ process: AgentProcess) -> [String] {
            state.withLock { state in
                state.ended.append(process)
                return state.survives ? ["sleep 1000"] : []
            }
        }
    }

    private struct Boot {
        let node: SimNode
        let registry: SessionRegistry
        let store: any SessionStore
        let agent: ScriptedAgent
    }

    /// - Parameter commitTime: how long each commit takes; none, if nothing depends on it.
    static func with(
        _ label: String, seed: UInt64 = 1, agent: ScriptedAgent, commitTime: Duration = .zero,
        _ body: (SessionsBench) throws -> Void
    ) throws {
        // An agent's call is answered by its session, not by a cancellation: when the power fails, it never is.
        try withSimWorld(seed: seed, mayAbandonTasks: true) { world in
            let disk = ForgetfulDisk(label: "sessions-\(label)-\(seed)")
            let leftovers = Leftovers()
            let boot = try start(world, "daemon-0", disk, agent, leftovers, commitTime)
            try body(SessionsBench(world, disk, leftovers, commitTime, boot))
        }
    }

    private static func start(
        _ world: SimWorld, _ name: String, _ disk: ForgetfulDisk, _ agent: ScriptedAgent, _ leftovers: Leftovers,
        _ commitTime: Duration
    ) throws -> Boot {
        let node = world.addNode(name)
        let storeLoop = node.makeLoop()
        let (loop, wallClock, ids) = (node.loop, node.wallClock, MonotonicIDs(entropy: node.entropy))
        let diskName = disk.name
        let (registry, store) = try world.run(on: node) {
            let disk = try await SQLiteStore.open(path: "/mew.db", on: storeLoop, vfs: diskName)
            let store: any SessionStore =
                commitTime == .zero ? disk : SlowStore(store: disk, loop: loop, commitTime: commitTime)
            let registry = SessionRegistry(
                SessionEnvironment(
                    loop: loop, store: store, agents: [agent], files: HostFiles(loop: storeLoop, home: "/tmp"),
                    ids: ids, wallClock: wallClock, endLeftovers: { leftovers.end($0) }))
            try await registry.start()
            return (registry, store)
        }
        return Boot(node: node, registry: registry, store: store, agent: agent)
    }

    /// The machine loses its power.
    func kill(seed: UInt64) {
        node.kill()
        disk.crash(seed: seed)
    }

    /// The daemon starts again on the disk as it is.
    func restart(agent: ScriptedAgent? = nil) throws {
        lives += 1
        let boot = try Self.start(world, "daemon-\(lives)", disk, agent ?? self.agent, endedLeftovers, commitTime)
        (node, registry, store, self.agent) = (boot.node, boot.registry, boot.store, boot.agent)
    }

    // MARK: - Clients

    func client(
        _ role: SessionClient.Role, kind: ClientKind = .cli, device: UInt8 = 1, name: String = "laptop",
        capabilities: Set<String> = []
    ) throws -> BenchClient {
        clientNumber += 1
        let client = SessionClient(
            id: ClientID(clientNumber), role: role, node: CoreBench.node(device), name: name, kind: kind,
            capabilities: capabilities)
        let bench = BenchClient(client, self)
        let registry = registry
        if role != .session { try world.run(on: node) { await registry.add(client) } }
        return bench
    }

    func run<Result: Sendable>(_ body: @escaping @Sendable () async throws -> Result) throws -> Result {
        try world.run(on: node, body)
    }

    /// Lets everything happen that needs no new input.
    func settle() throws {
        try world.run(for: .milliseconds(50))
    }
}

/// One channel of a client and everything it received.
final class BenchClient {
    let client: SessionClient
    private let bench: SessionsBench
    private let registry: SessionRegistry
    private let node: SimNode
    private let received = Received()
    private var operation: UInt64

    /// What came out of the queue; the reader is a task of the simulated machine.
    final class Received: Sendable {
        let frames = Mutex<[[UInt8]]>([])
        let isOver = Mutex(false)
    }

    init(_ client: SessionClient, _ bench: SessionsBench) {
        (self.client, self.bench, registry, node) = (client, bench, bench.registry, bench.node)
        operation = client.id.number << 32
        read()
    }

    /// Reads as fast as it can. A client that is not reading is made with `pause`.
    private func read() {
        let (client, received) = (client, received)
        node.loop.spawn {
            while let frame = await client.next() { received.frames.withLock { $0.append(frame) } }
            received.isOver.withLock { $0 = true }
        }
    }

    var isOver: Bool { received.isOver.withLock { $0 } }

    /// Sends a message and lets what follows happen. Natively, what changes something gets the next operation number.
    @discardableResult
    func send(
        _ message: ClientMessage, operation given: OperationID? = nil, session: SessionID? = nil, ref: String? = nil
    ) throws -> OperationID? {
        let id = given ?? nextOperation(for: message)
        let frame = ClientFrame(message, operation: id, ref: ref, sessionID: session)
        let (registry, client) = (registry, client)
        try bench.world.run(on: node) { await registry.handle(frame, from: client) }
        try bench.settle()
        return id
    }

    /// Sends a message and does not wait: what follows is left to the steps of the world.
    func post(_ message: ClientMessage, operation given: OperationID? = nil) {
        let frame = ClientFrame(message, operation: given ?? nextOperation(for: message))
        let (registry, client) = (registry, client)
        node.loop.spawn { await registry.handle(frame, from: client) }
    }

    /// The same for several, one after the other, as a connection does.
    func post(_ messages: [ClientMessage]) {
        let frames = messages.map { ClientFrame($0, operation: nextOperation(for: $0)) }
        let (registry, client) = (registry, client)
        node.loop.spawn { for frame in frames { await registry.handle(frame, from: client) } }
    }

    func nextOperation(for message: ClientMessage) -> OperationID? {
        guard client.link == .native, message.kind.changesSomething else { return nil }
        operation += 1
        return OperationID(ULID(high: 0, low: operation))
    }

    func leave() throws {
        let (registry, client) = (registry, client)
        try bench.world.run(on: node) { await registry.remove(client) }
        try bench.settle()
    }

    /// The frames since the last call.
    func take() throws -> [DaemonFrame] {
        let bytes = received.frames.withLock { frames in
            defer { frames = [] }
            return frames
        }
        return try bytes.map { bytes in
            guard case .decoded(let frame) = DaemonFrame.decode(bytes, from: client.link) else {
                Issue.record("not a daemon's message: \(String(decoding: bytes, as: UTF8.self))")
                throw WrongFrame()
            }
            return frame
        }
    }

    /// The texts of the frames since the last call.
    func takeTexts() -> [String] {
        received.frames.withLock { frames in
            defer { frames = [] }
            return frames.map { String(decoding: $0, as: UTF8.self) }
        }
    }

    func kinds() throws -> [DaemonMessage.Kind] { try take().map(\.message.kind) }

    struct WrongFrame: Error {}
}

extension [DaemonFrame] {
    var receipts: [DaemonMessage.Receipt] {
        compactMap { if case .receipt(let receipt) = $0.message { receipt } else { nil } }
    }

    var errors: [DaemonMessage.ErrorReply] {
        compactMap { if case .error(let error) = $0.message { error } else { nil } }
    }

    var ready: DaemonMessage.SessionReady? {
        lazy.compactMap { if case .sessionReady(let ready) = $0.message { ready } else { nil } }.first
    }

    /// The newest list of sessions.
    var sessionList: [SessionInfo]? {
        reversed().lazy.compactMap { if case .sessionList(let list) = $0.message { list.sessions } else { nil } }.first
    }

    /// The newest list of groups.
    var groups: [GroupInfo]? {
        reversed().lazy.compactMap { frame in
            if case .groupsChanged(let list) = frame.message { list.groups } else { nil }
        }.first
    }

    /// The newest list of projects.
    var projects: [ProjectInfo]? {
        reversed().lazy.compactMap { frame in
            if case .projectList(let list) = frame.message { list.projects } else { nil }
        }.first
    }

    var verdict: DaemonMessage.AnswerVerdict? {
        lazy.compactMap { if case .answerVerdict(let verdict) = $0.message { verdict } else { nil } }.first
    }

    var request: Request? {
        lazy.compactMap { if case .request(let request) = $0.message { request } else { nil } }.first
    }
}

extension SessionClient {
    /// The next frame alone.
    func next() async -> [UInt8]? { await batch(maxBytes: 1)?.first }
}
