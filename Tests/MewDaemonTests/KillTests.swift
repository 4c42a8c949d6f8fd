import MewBase
import MewIdentity
import MewLoop
import MewNode
import MewSession
import MewStore
import MewTestSupport
import MewWire
import Testing

@testable import MewDaemon

/// `kill -9` of the real daemon at twenty points of a turn, each named for what the client had just seen.
///
/// After the restart: every event that the client had received is in the journal under its number, the session has the same
/// ID and a new epoch, the command ran at most once, an unfinished turn is interrupted and not run again, and no process of it
/// is left.
/// What is not shown here: that the disk has what it says (`DurabilityTests` does that with a disk that forgets).
@Suite("The daemon is killed", .serialized, .timeLimit(.minutes(5)))
struct KillTests {
    /// Where in the turn. Each begins with a message, so that no point depends on the speed of the machine.
    enum Phase: String, CaseIterable, Sendable {
        case promptSent = "the prompt is sent, nothing has come back"
        case promptStored = "the prompt is stored"
        case promptStarted = "the agent is about to have it"
        case turnRunning = "the turn is running"
        case toolAnnounced = "the command is announced"
        case questionShown = "the question is on the screen"
        case answerSent = "the answer is sent, nothing has come back"
        case answerSettled = "the answer is settled"
        case outputStreams = "the output streams"
        case toolEnded = "the command has ended"
        case turnOver = "the turn is over"
        case promptDone = "the prompt is done"
    }

    struct Point: Sendable, CustomTestStringConvertible {
        let phase: Phase
        /// Frames that the client still reads before the kill.
        let further: Int

        var testDescription: String { further == 0 ? phase.rawValue : "\(phase.rawValue), \(further) messages later" }
    }

    private static let later: [(Phase, Int)] = [
        (.turnRunning, 1), (.turnRunning, 2), (.answerSettled, 1), (.answerSettled, 2), (.outputStreams, 1),
        (.outputStreams, 2), (.outputStreams, 3), (.toolEnded, 1),
    ]

    static let points: [Point] =
        Phase.allCases.map { Point(phase: $0, further: 0) } + later.map { Point(phase: $0.0, further: $0.1) }

    @Test("and comes back with everything that anybody saw", arguments: points)
    func killed(at point: Point) async throws {
        let place = try await Place(marker: "mew-kill-\(SystemEntropy().uint64())")
        let first = try await place.start()
        let before = try await place.dial { client in
            try await client.work(until: point)
            await first.kill()
        }
        let session = try #require(before.session)
        let second = try await place.start()
        let epoch = before.ready?.epoch
        let after = try await place.dial { try await $0.comeBack(to: session, epoch) }
        #expect(await second.terminate() == 0)

        let ready = try #require(after.ready)
        #expect(ready.epoch != epoch, "the journal may have lost its end")
        #expect(ready.resume == .snapshot)
        let head = try #require(ready.headSequence)
        #expect(ready.lost == KillClient.beyond.rawValue - head.rawValue)

        let stored = try await place.events(of: session)
        for (sequence, frame) in before.events.sorted(by: { $0.key < $1.key }) {
            #expect(stored[sequence] == frame, "event \(sequence) is another one after the restart")
        }
        let result = try #require(after.result)
        print(
            "killed when \(point.testDescription): \(before.events.count) events seen, \(stored.count) stored, "
                + "\(result.rawValue), ran \(place.runs)×")
        if let known = before.result { #expect(result == known) }
        // Stored and not started runs; started and unfinished is interrupted.
        let wasStarted = before.phases.contains(.promptStarted)
        if wasStarted, before.result == nil { #expect(result == .interrupted || result == .completed) }
        #expect(result == .interrupted || place.runs == 1, "the command ran \(place.runs) times")
        #expect(place.runs <= 1, "the command ran \(place.runs) times")
        #expect(DaemonProcess.survivors(place.marker) == [], "a process of the session lives on")
    }

    @Test("all twenty points are different and in the order of a turn")
    func twentyPoints() {
        #expect(Self.points.count == 20)
        #expect(Set(Self.points.map(\.testDescription)).count == 20)
    }
}

/// A state directory with one paired device, and the daemons that are started in it.
private struct Place: Sendable {
    let scratch = ScratchDirectory()
    let secret: SecretKey
    /// Stands in the command line of what the agent runs.
    let marker: String

    init(marker: String) async throws {
        self.marker = marker
        secret = SecretKey.generate(entropy: SystemEntropy())
        scratch.directory("state")
        let loop = try BlockingLoop(name: "prepare")
        defer { loop.stop() }
        let store = try await SQLiteStore.open(path: scratch("state/" + StateDirectory.Name.database), on: loop)
        try await StoredDevices(store).save(DaemonBench.device(secret.node), dropping: nil)
        await store.close()
    }

    func start() async throws -> DaemonProcess {
        try await DaemonProcess(home: scratch("state"), userHome: scratch.path)
    }

    /// How often the command ran: it adds a line to a file.
    var runs: Int {
        let home = try? PrivateDirectory(creating: scratch.path)
        return (try? home?.read("runs", maxBytes: 1_000))??.count { $0 == 10 } ?? 0
    }

    /// The journal, after the daemon has ended.
    func events(of session: SessionID) async throws -> [SequenceNumber: String] {
        let loop = try BlockingLoop(name: "look")
        defer { loop.stop() }
        let store = try await SQLiteStore.open(path: scratch("state/" + StateDirectory.Name.database), on: loop)
        let rows = try await store.events(of: session, after: .zero, limit: 10_000)
        await store.close()
        return Dictionary(uniqueKeysWithValues: rows.map { ($0.sequence, String(decoding: $0.body, as: UTF8.self)) })
    }

    /// Ends early enough for the later points; the marker is an argument, so that it stands in the process table.
    var command: String {
        "echo ran >> runs; for i in 1 2 3 4; do echo line $i; sleep 0.05; done # \(marker)"
    }

    /// A client for the length of `body`; returned with what it saw.
    func dial(_ body: (inout KillClient) async throws -> Void) async throws -> KillClient {
        let loop = try EventLoop(name: "client")
        defer { loop.stop() }
        let control = try StreamSocket.connect(to: scratch("state/" + StateDirectory.Name.controlSocket), on: loop)
        try await control.write(ControlRequest.status.json.utf8 + [10])
        guard let line = try await control.readLine(maxBytes: ControlRequest.maxLineBytes),
            case .status(let status)? = try ControlReply(JSON(parsing: line))
        else { throw ChannelError.finished }
        await control.close()
        let node = try await Node.start(
            .init(secret: secret, addresses: [.loopback(port: 0)], accepts: []), network: KernelNetwork(),
            loop: loop, entropy: SystemEntropy())
        let target = DialTarget(node: status.node, addresses: status.addresses.compactMap { SocketAddress($0) })
        var client = KillClient(peer: TestPeer(link: try await node.dial(target)), command: command)
        do {
            try await body(&client)
        } catch {
            await node.stop()
            throw error
        }
        await node.stop()
        return client
    }
}

/// The device: one session, one prompt, one answer, with the same operation IDs before and after the restart.
private struct KillClient {
    let peer: TestPeer
    let command: String
    /// Of the last attach.
    private(set) var ready: DaemonMessage.SessionReady?
    var session: SessionID? { ready?.sessionID }
    /// Journalled frames as they came, by number.
    private(set) var events: [SequenceNumber: String] = [:]
    private(set) var phases: Set<KillTests.Phase> = []
    private(set) var result: TurnResult?

    /// More events than the session ever has.
    static let beyond = SequenceNumber(1_000_000)

    private static let create = OperationID(ULID(high: 1, low: 1))
    private static let prompt = OperationID(ULID(high: 1, low: 2))

    init(peer: TestPeer, command: String) {
        (self.peer, self.command) = (peer, command)
    }

    /// Makes a session, prompts, and works on until the point is reached.
    mutating func work(until point: KillTests.Point) async throws {
        let control = try await peer.open()
        try await control.enter()
        let channel = try await peer.open()
        try await channel.send(.newSession(.init(clientKind: .cli)), operation: Self.create)
        while session == nil { try await step(channel) }
        try await channel.send(.prompt(.init(text: command)), operation: Self.prompt)
        phases.insert(.promptSent)
        while !phases.contains(point.phase) { try await step(channel, until: point.phase) }
        for _ in 0..<point.further { try await step(channel) }
        withExtendedLifetime(control) {}
    }

    /// Attaches again, as one that knows events which are gone, and repeats the prompt under its ID, as a client does that
    /// cannot know; until its end is known.
    mutating func comeBack(to session: SessionID, _ epoch: Epoch?) async throws {
        let control = try await peer.open()
        try await control.enter()
        let channel = try await peer.open()
        try await channel.send(
            .attachSession(
                .init(sessionID: session, clientKind: .cli, afterSequence: Self.beyond, epoch: epoch)))
        try await channel.send(.prompt(.init(text: command)), operation: Self.prompt)
        while result == nil { try await step(channel) }
        #expect(self.session == session)
        withExtendedLifetime(control) {}
    }

    /// Reads one message, notes it, and answers a question, unless `last` is reached with it.
    private mutating func step(_ channel: TestChannel, until last: KillTests.Phase? = nil) async throws {
        guard let bytes = try await channel.channel.receive(),
            case .decoded(let frame) = DaemonFrame.decode(bytes, from: .native)
        else { throw ChannelError.finished }
        if let sequence = frame.sequence { events[sequence] = String(decoding: bytes, as: UTF8.self) }
        note(frame.message)
        guard case .request(let request) = frame.message, last != .questionShown else { return }
        let digest = ShownDigest(of: request.shown ?? "", request: request.id)
        let answer = Answer(requestID: request.id, content: .permission(.allowOnce), shownDigest: digest)
        // Each question is another operation; the same question at an attach gets the same answer again.
        let low = request.id.description.utf8.reduce(UInt64(0)) { $0 &* 31 &+ UInt64($1) }
        let operation = OperationID(ULID(high: 2, low: low))
        try await channel.send(.answer(answer), operation: operation)
        phases.insert(.answerSent)
    }

    private mutating func note(_ message: DaemonMessage) {
        switch message {
        case .sessionReady(let ready): self.ready = ready
        case .receipt(let receipt) where receipt.operation == Self.prompt: note(receipt)
        case .sessionActivityChanged(let change): phases.insert(change.activity == .running ? .turnRunning : .turnOver)
        case .toolStart: phases.insert(.toolAnnounced)
        case .request: phases.insert(.questionShown)
        case .answerVerdict: phases.insert(.answerSettled)
        case .toolProgress: phases.insert(.outputStreams)
        case .toolEnd: phases.insert(.toolEnded)
        default: break
        }
    }

    private mutating func note(_ receipt: DaemonMessage.Receipt) {
        switch receipt.state {
        case .stored: phases.insert(.promptStored)
        case .started: phases.insert(.promptStarted)
        case .done:
            phases.insert(.promptDone)
            result = receipt.result
        case .refused, .absent: Issue.record("the prompt was refused: \(receipt.message ?? "?")")
        }
    }
}
