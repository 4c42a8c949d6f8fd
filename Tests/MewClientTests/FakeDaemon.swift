import MewBase
import MewIdentity
import MewTestSupport
import MewWire
import Testing

@testable import MewClient

/// The daemon's end of one link, spoken by a test line by line.
struct FakeLink: Sendable {
    let link: any IncomingLink
    let control: FakeChannel

    var native: Bool { link.applicationProtocol == .native }

    /// Takes the hello and answers it as a daemon that knows the device.
    @discardableResult
    func welcome(version: String = "9.9") async throws -> ClientMessage.RemoteHello {
        guard case .remoteHello(let hello) = try await control.receive().message else {
            throw FakeDaemonError("no hello")
        }
        try await control.send(
            .remoteReady(
                DaemonMessage.RemoteReady(
                    scope: .control, capabilities: native ? ["ops", "resume", "desk"] : nil,
                    you: native ? DaemonMessage.You(name: "me", scope: .control) : nil)))
        guard case .ping = try await control.receive().message else { throw FakeDaemonError("no ping") }
        try await control.send(.pong(DaemonMessage.Pong(version: version)))
        return hello
    }

    /// The next session channel.
    func channel() async throws -> FakeChannel {
        guard let channel = await link.acceptChannel() else { throw FakeDaemonError("no channel") }
        return FakeChannel(channel: channel, applicationProtocol: link.applicationProtocol)
    }
}

struct FakeChannel: Sendable {
    let channel: any MessageChannel
    let applicationProtocol: ApplicationProtocol

    func receive() async throws -> ClientFrame {
        guard let bytes = try await channel.receive() else { throw FakeDaemonError("the client ended the channel") }
        guard case .decoded(let frame) = ClientFrame.decode(bytes, from: applicationProtocol) else {
            throw FakeDaemonError("not a frame: \(String(decoding: bytes, as: UTF8.self))")
        }
        return frame
    }

    func send(
        _ message: DaemonMessage, session: SessionID? = nil, seq: UInt64? = nil, ref: String? = nil
    ) async throws {
        let frame = DaemonFrame(message, sessionID: session, sequence: seq.map { SequenceNumber($0) }, ref: ref)
        guard let bytes = frame.encoded(for: applicationProtocol) else {
            throw FakeDaemonError("no such message on this link")
        }
        try await channel.send(bytes)
    }

    func send(text: String) async throws { try await channel.send(Array(text.utf8)) }

    /// Plays an attach of a session without history: ready, caught up.
    func attach(_ id: SessionID, epoch: Epoch? = nil, head: UInt64 = 0, resume: ResumeKind = .snapshot) async throws {
        try await send(
            .sessionReady(
                DaemonMessage.SessionReady(
                    sessionID: id, epoch: epoch, headSequence: SequenceNumber(head), resume: resume)))
        if resume == .snapshot {
            try await send(
                .sessionHistoryPage(
                    DaemonMessage.SessionHistoryPage(
                        sessionID: id, messages: [], replaces: true, asOfSequence: SequenceNumber(head))))
        }
        try await send(.caughtUp(DaemonMessage.CaughtUp(sessionID: id, sequence: SequenceNumber(head))))
    }

    func receipt(
        _ operation: OperationID, _ state: ReceiptState, result: TurnResult? = nil, code: ErrorCode? = nil,
        ref: String? = nil
    ) async throws {
        try await send(
            .receipt(
                DaemonMessage.Receipt(
                    operation: operation, state: state, isRepeat: false, result: result, code: code,
                    at: WallTime(milliseconds: 1))),
            ref: ref)
    }
}

struct FakeDaemonError: Error {
    let what: String
    init(_ what: String) { self.what = what }
}

/// A client and the place where its daemon listens, in one process.
struct Stage: Sendable {
    let network = LoopbackNetwork()
    let daemon: LoopbackEndpoint
    let device: LoopbackEndpoint
    let clock = TestClock()
    let store = MemoryStore()
    let record: DaemonRecord
    let supervisor: DaemonSupervisor

    /// - Parameter token: in the registry, as after scanning a code.
    init(protocols: [ApplicationProtocol] = [.native, .stock], token: String? = nil) {
        let daemonNode = SecretKey.generate(entropy: SeededEntropy(seed: 1)).node
        let deviceNode = SecretKey.generate(entropy: SeededEntropy(seed: 2)).node
        daemon = network.endpoint(daemonNode, protocols: protocols)
        device = network.endpoint(deviceNode)
        daemon.listen()
        record = DaemonRecord(
            node: daemonNode, name: "desk", addresses: [.loopback(port: 1)], token: token,
            addedAt: WallTime(milliseconds: 1))
        supervisor = DaemonSupervisor(
            record: record,
            environment: ClientEnvironment(
                dialer: device, clock: clock, wallClock: { WallTime(milliseconds: 1_000) },
                entropy: ConstantEntropy(value: 0), store: store, deviceName: "laptop", app: "mew test",
                clientKind: .cli))
    }

    /// Runs the client beside `body`, and ends it afterwards.
    func run(_ body: @escaping @Sendable (Feed<ClientEvent>) async throws -> Void) async throws {
        let record = record
        try await store.update { records throws(ClientStoreError) in
            do { try records.registry.add(record) } catch { throw .refused(.full) }
        }
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

    func accept() async throws -> FakeLink {
        guard let link = await daemon.acceptLink() else { throw FakeDaemonError("no link") }
        guard let channel = await link.acceptChannel() else { throw FakeDaemonError("no control channel") }
        return FakeLink(
            link: link, control: FakeChannel(channel: channel, applicationProtocol: link.applicationProtocol))
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
