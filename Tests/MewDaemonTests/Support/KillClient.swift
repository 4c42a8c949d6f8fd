import MewBase
import MewSession
import MewTestSupport
import MewWire
import Testing

@testable import MewDaemon

/// The device: one session, one prompt, one answer, with the same operation IDs before and after the restart.
struct KillClient {
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
