import MewBase
import MewHost
import MewIdentity
import MewLoop
import MewSession
import MewTestSupport
import MewWire
import Synchronization
import Testing

@testable import MewDaemon

/// A daemon on a real loop and a network inside this process, with devices in memory and sessions that only answer lists.
///
/// Close it at the end of a test: `withBench` does.
final class DaemonBench: Sendable {
    let loop: any Loop
    let network = LoopbackNetwork()
    let devices = MemoryDevices()
    let sessions = FakeSessions()
    let log = CollectedDiagnostics()
    let daemon: Daemon
    private let listener: LoopbackEndpoint
    private let running: Task<Void, Never>

    static let node = Pairing.node(99)

    /// On a loop of the caller's, simulated or real.
    ///
    /// - Parameter saving: what the disk does when the daemon starts.
    init(loop: any Loop, devices rows: [Device] = [], saving: SavingState = .saving) async throws {
        self.loop = loop
        listener = network.endpoint(Self.node)
        listener.listen()
        for row in rows { try await devices.save(row, dropping: nil) }
        await devices.set(saving)
        let daemon = Daemon(
            .init(node: Self.node, name: "desk", version: "0.2.0", bootID: BootID(ULID(high: 1, low: 1))),
            in: .init(
                loop: loop, wall: FixedWallClock(), listener: listener, devices: devices, sessions: sessions,
                files: HostFiles(loop: loop, home: "/"), home: "/", diagnostics: log))
        self.daemon = daemon
        try await daemon.load()
        running = loop.spawn { await daemon.run() }
    }

    static func with(
        devices: [Device] = [], saving: SavingState = .saving, _ body: (DaemonBench) async throws -> Void
    ) async throws {
        let loop = try EventLoop(name: "test")
        defer { loop.stop() }
        let bench = try await DaemonBench(loop: loop, devices: devices, saving: saving)
        do {
            try await body(bench)
        } catch {
            await bench.end()
            throw error
        }
        await bench.end()
    }

    func end() async {
        listener.stopListening()
        await daemon.stop(backIn: nil)
        listener.breakLinks()
        await running.value
    }

    func dial(
        _ node: NodeID, _ applicationProtocol: ApplicationProtocol = .native,
        from address: SocketAddress = .loopback(port: 1)
    ) async throws -> TestPeer {
        let endpoint = network.endpoint(node, protocols: [applicationProtocol], at: address)
        let link = try await endpoint.dial(DialTarget(node: Self.node, addresses: []))
        return TestPeer(link: link)
    }

    /// Dials and opens the first channel.
    func connect(_ node: NodeID, _ applicationProtocol: ApplicationProtocol = .native) async throws -> TestChannel {
        let peer = try await dial(node, applicationProtocol)
        return try await peer.open()
    }

    /// Opens a window and collects what its screen is told.
    func window(
        scope: Scope = .control, expecting: NodeID? = nil, canConfirm: Bool = true
    ) async throws -> PairingScreen {
        let token = PairingToken(entropy: SystemEntropy())
        let opened = try await daemon.openWindow(
            .init(
                scope: scope, codeDigest: token.digest, expected: expecting, canConfirm: canConfirm, seconds: 120))
        return PairingScreen(token: token, number: opened.number, events: opened.events)
    }

    static func device(_ node: NodeID, scope: Scope = .control) -> Device {
        Device(node: node, name: "device", scope: scope, pairedAtMs: 1, spentCode: nil)
    }
}

/// A pairing window as `mew pair` sees it.
struct PairingScreen: Sendable {
    let token: PairingToken
    let number: Daemon.WindowNumber
    let events: AsyncStream<PairingEvent>

    /// The next line; nil when the window has closed. Iterators of one stream share its buffer.
    func next() async -> PairingEvent? {
        for await event in events { return event }
        return nil
    }
}

/// The other end of a link.
struct TestPeer: Sendable {
    let link: any Link

    func open() async throws -> TestChannel {
        TestChannel(link: link, channel: try await link.openChannel())
    }
}

/// The other end of a channel.
struct TestChannel: Sendable {
    let link: any Link
    let channel: any MessageChannel

    func send(_ message: ClientMessage, operation: OperationID? = nil, ref: String? = nil) async throws {
        let frame = ClientFrame(message, operation: operation, ref: ref)
        let bytes = try #require(frame.encoded(for: link.applicationProtocol))
        try await channel.send(bytes)
    }

    func send(text: String) async throws {
        try await channel.send(Array(text.utf8))
    }

    /// The next message; nil at the end of the channel.
    func receive() async throws -> DaemonFrame? {
        guard let bytes = try await channel.receive() else { return nil }
        guard case .decoded(let frame) = DaemonFrame.decode(bytes, from: link.applicationProtocol) else {
            Issue.record("not a daemon's message: \(String(decoding: bytes, as: UTF8.self))")
            return nil
        }
        return frame
    }

    func message() async throws -> DaemonMessage? { try await receive()?.message }

    /// The next message that is no word about where the daemon is, which may come at any time.
    func answer() async throws -> DaemonMessage? {
        while let message = try await message() {
            guard case .reach = message else { return message }
        }
        return nil
    }

    func hello(
        token: String? = nil, name: String = "laptop", capabilities: [String] = Admission.mandatoryCapabilities,
        pair: Bool? = true
    ) async throws {
        try await send(.remoteHello(.init(token: token, deviceName: name, capabilities: capabilities, pair: pair)))
    }

    /// Says hello as a known device and swallows the answer.
    func enter() async throws {
        try await hello()
        guard case .remoteReady? = try await message() else { return fail("not let in") }
    }
}

actor MemoryDevices: DeviceStore {
    private var rows: [NodeID: Device] = [:]
    private var failure: DeviceStoreError?
    private var state = SavingState.saving
    private var waiters: [AsyncStream<Void>.Continuation] = []

    func devices() throws(DeviceStoreError) -> [Device] { Array(rows.values) }

    func save(_ device: Device, dropping former: Device?) throws(DeviceStoreError) {
        if let failure { throw failure }
        if let former { rows[former.node] = nil }
        rows[device.node] = device
    }

    func saving() -> SavingState { state }

    func savingChanged(from known: SavingState) async -> SavingState {
        while state == known, !Task.isCancelled {
            let (news, waiter) = AsyncStream<Void>.makeStream()
            waiters.append(waiter)
            for await _ in news {}
        }
        return state
    }

    /// As if the disk were full, or had room again.
    func set(_ new: SavingState) {
        state = new
        for waiter in waiters { waiter.finish() }
        waiters = []
    }

    func fail(_ reason: String?) {
        failure = reason.map(DeviceStoreError.init)
    }
}

/// Sessions that do not exist: lists are empty, everything else is unknown.
final class FakeSessions: SessionService {
    private let clients = Mutex<[SessionClient]>([])
    private let refused = Mutex<Set<NodeID>>([])
    private let drops = Mutex<[NodeID]>([])

    func add(_ client: SessionClient) async {
        clients.withLock { $0.append(client) }
    }

    func remove(_ client: SessionClient) async {
        clients.withLock { $0.removeAll { $0 === client } }
    }

    func handle(_ frame: ClientFrame, from client: SessionClient) async {
        switch frame.message {
        case .listSessions:
            client.reply(.sessionList(.init(sessions: [])), ref: frame.ref)
            client.reply(.groupList(.init(groups: [])), ref: frame.ref)
        default:
            client.reply(.error(.init(message: "session not found", code: .unknownSession)), ref: frame.ref)
        }
    }

    func broadcast(_ message: DaemonMessage) async {
        for client in clients.withLock({ $0 }) { client.push(DaemonFrame(message), .stream(upTo: nil)) }
    }

    func workspace(of session: SessionID) async -> SessionWorkspace? { nil }

    func tally() async -> SessionTally { SessionTally(sessions: 0, running: 0) }

    func revoke(_ device: NodeID) async -> Bool {
        refused.withLock { _ = $0.insert(device) }
        drops.withLock { $0.append(device) }
        if let look = look.withLock({ $0 }) {
            let seen = await look()
            looks.withLock { $0.append(seen) }
        }
        return !isStuck.withLock { $0 }
    }

    private let look = Mutex<(@Sendable () async -> Bool)?>(nil)
    private let looks = Mutex<[Bool]>([])

    /// Looks at something whenever a revoked device's work is to be dropped.
    func whenDropping(_ look: @escaping @Sendable () async -> Bool) { self.look.withLock { $0 = look } }
    var droppedAfterAll: [Bool] { looks.withLock { $0 } }

    /// What revoked devices left cannot be dropped.
    let isStuck = Mutex(false)
    /// A device that has a turn running.
    let worksFor = Mutex<NodeID?>(nil)

    func readmit(_ device: NodeID, as scope: Scope) async { refused.withLock { _ = $0.remove(device) } }

    func limit(_ device: NodeID, to scope: Scope) async {}

    func works(for device: NodeID) async -> Bool { worksFor.withLock { $0 == device } }

    /// Whose work was to be dropped, each time.
    var dropped: [NodeID] { drops.withLock { $0 } }

    /// Devices that were revoked and not paired again.
    var revoked: Set<NodeID> { refused.withLock { $0 } }

    func shutDown() async {}
}

struct FixedWallClock: WallClock {
    var millisecondsSinceEpoch: UInt64 { 1_757_500_000_000 }
}

/// Keeps what was recorded, for assertions.
final class CollectedDiagnostics: DiagnosticSink {
    private let collected = Mutex<[Diagnostic]>([])

    func wants(_ level: Diagnostic.Level) -> Bool { true }

    func record(_ diagnostic: Diagnostic) {
        collected.withLock { $0.append(diagnostic) }
    }

    var names: [String] { collected.withLock { $0.map(\.name) } }
}
