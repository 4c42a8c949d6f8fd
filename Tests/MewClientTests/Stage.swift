import MewBase
import MewIdentity
import MewTestSupport
import MewWire
import Synchronization
import Testing

@testable import MewClient

/// A client and the place where its daemon listens, in one process.
struct Stage: Sendable {
    let network = LoopbackNetwork()
    let daemon: LoopbackEndpoint
    let device: LoopbackEndpoint
    let clock = TestClock()
    let store = MemoryStore()
    let wall = TestWall()
    let record: DaemonRecord
    let supervisor: DaemonSupervisor
    let environment: ClientEnvironment

    /// - Parameters:
    ///   - token: in the registry, as after scanning a code.
    ///   - pairs: a person wants the device to be let in.
    ///   - opensChannels: how many channels can be opened on each link; opening more waits for ever.
    init(
        protocols: [ApplicationProtocol] = [.native, .stock], token: String? = nil, opensChannels: Int = .max,
        pairs: Bool = false
    ) {
        let daemonNode = SecretKey.generate(entropy: SeededEntropy(seed: 1)).node
        let deviceNode = SecretKey.generate(entropy: SeededEntropy(seed: 2)).node
        daemon = network.endpoint(daemonNode, protocols: protocols)
        device = network.endpoint(deviceNode)
        daemon.listen()
        record = DaemonRecord(
            node: daemonNode, name: "desk", addresses: [.loopback(port: 1)], token: token,
            addedAt: WallTime(milliseconds: 1))
        environment = ClientEnvironment(
            dialer: opensChannels == .max ? device : ScarceDialer(dialer: device, channels: opensChannels),
            clock: clock, wallClock: { [wall] in wall.now },
            entropy: ConstantEntropy(value: 0), store: store, deviceName: "laptop", app: "mew test", clientKind: .cli)
        supervisor = DaemonSupervisor(record: record, environment: environment, pairs: pairs)
    }

    /// Runs the client beside `body`, and ends it afterwards.
    func run(_ body: @escaping @Sendable (Feed<ClientEvent>) async throws -> Void) async throws {
        try await run(supervisor, body)
    }

    /// The same with another dialler.
    func environment(_ dialer: any Dialer) -> ClientEnvironment {
        ClientEnvironment(
            dialer: dialer, clock: clock, wallClock: environment.wallClock, entropy: environment.entropy, store: store,
            deviceName: "laptop", app: "mew test", clientKind: .cli)
    }

    /// The same device in another program.
    func supervisor(of program: OtherProgram) -> DaemonSupervisor {
        DaemonSupervisor(
            record: record,
            environment: ClientEnvironment(
                dialer: device, clock: clock, wallClock: environment.wallClock, entropy: environment.entropy,
                store: program, deviceName: "laptop", app: "mew test", clientKind: .cli))
    }

    func run(
        _ supervisor: DaemonSupervisor, _ body: @escaping @Sendable (Feed<ClientEvent>) async throws -> Void
    ) async throws {
        try await remember()
        let feed = await supervisor.subscribe()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await supervisor.run() }
            group.addTask {
                try await body(feed)
                feed.finish()
                await supervisor.stop()
            }
            try await group.waitForAll()
        }
    }

    /// Puts the daemon into the registry.
    func remember() async throws {
        let record = record
        try await store.update { records throws(ClientStoreError) in
            do { try records.registry.add(record) } catch { throw .refused(.full) }
        }
    }

    func accept() async throws -> FakeLink { try await FakeLink.accept(on: daemon) }

    /// A ready link.
    func connected(_ feed: Feed<ClientEvent>) async throws -> FakeLink {
        let link = try await accept()
        try await link.welcome()
        try await feed.ready()
        return link
    }

    /// Loses the link; the next one, which is welcome.
    func reconnect(_ feed: Feed<ClientEvent>) async throws -> FakeLink {
        daemon.breakLinks()
        try await feed.phase { if case .waiting = $0 { true } else { false } }
        await clock.sleeper(for: .seconds(1))
        clock.advance(by: .seconds(1))
        let link = try await accept()
        try await link.welcome()
        return link
    }

    /// Why the session cannot be attached; nil when it is.
    func failureOfAttach(_ session: SessionID) async -> ClientError? {
        do throws(ClientError) {
            try await supervisor.attach(session)
            return nil
        } catch {
            return error
        }
    }

    /// A ready native link, attached to `session` at event `head`.
    func attached(
        _ feed: Feed<ClientEvent>, _ session: SessionID, epoch: Epoch, head: UInt64 = 0
    ) async throws -> (FakeLink, FakeChannel) {
        let link = try await connected(feed)
        async let attached: Void = supervisor.attach(session)
        let channel = try await link.channel()
        guard case .attachSession(let attach) = try await channel.receive().message else {
            throw FakeDaemonError("no attach")
        }
        #expect(attach.afterSequence == nil)
        try await channel.attach(session, epoch: epoch, head: head)
        try await attached
        return (link, channel)
    }
}

extension DaemonSupervisor {
    /// Waits until it waits for a person or the system to say something: then no dial is under way.
    func expectRest() async {
        while !interruptions.isAwaited { await Task.yield() }
        #expect(policy.state == .waiting)
    }

    /// As after a loss that this side has not heard of yet.
    func detachChannel(of session: SessionID) { channels[session] = nil }

    /// Nothing is shown, and no channel is kept.
    func expectNothingAttached() {
        #expect(view.attached.isEmpty)
        #expect(channels.isEmpty)
    }
}

extension Feed<ClientEvent> {
    /// The next link phase that `wanted` accepts; other events are passed over.
    @discardableResult
    func phase(_ wanted: (LinkPhase) -> Bool = { _ in true }) async throws -> LinkPhase {
        while let event = await next() {
            if case .phase(let phase) = event, wanted(phase) { return phase }
        }
        throw FakeDaemonError("the feed ended")
    }

    func ready() async throws { try await phase { $0.readyLink != nil } }

    func operation(_ wanted: (MewClient.Operation) -> Bool) async throws -> MewClient.Operation {
        while let event = await next() {
            if case .operation(let operation) = event, wanted(operation) { return operation }
        }
        throw FakeDaemonError("the feed ended")
    }

    func sessionEvent(_ wanted: (SessionEvent) -> Bool = { _ in true }) async throws -> SessionEvent {
        while let event = await next() {
            if case .session(let event) = event, wanted(event) { return event }
        }
        throw FakeDaemonError("the feed ended")
    }

    func sessionPhase(_ wanted: AttachedSession.Phase) async throws {
        while let event = await next() {
            if case .sessionPhase(_, wanted) = event { return }
        }
        throw FakeDaemonError("the feed ended")
    }
}

/// Counts dials.
final class CountingDialer: Dialer {
    private let dialer: any Dialer
    private let begun = Mutex(0)

    init(_ dialer: any Dialer) { self.dialer = dialer }

    var node: NodeID { dialer.node }
    var dials: Int { begun.withLock { $0 } }

    func dial(_ target: DialTarget) async throws(DialError) -> any Link {
        begun.withLock { $0 += 1 }
        return try await dialer.dial(target)
    }
}

/// A wall clock that a test sets.
final class TestWall: Sendable {
    private let time = Mutex(WallTime(milliseconds: 1_000))

    var now: WallTime { time.withLock { $0 } }

    func set(_ now: WallTime) { time.withLock { $0 = now } }
}

enum SeededNode {
    static let one = SecretKey.generate(entropy: SeededEntropy(seed: 1)).node
}
