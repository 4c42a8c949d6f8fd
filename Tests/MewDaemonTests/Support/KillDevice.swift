import MewBase
import MewSession
import MewTestSupport
import MewWire
import Testing

@testable import MewDaemon

/// One device of a scene, through all the lives of the daemon: what it asked, and everything that it was told.
///
/// Touched by the task of its test only.
final class KillDevice {
    let number: Int
    private let place: KillPlace
    private var connection: KillConnection?
    private var control: TestChannel?
    private var channel: TestChannel?

    /// In the order they were sent.
    private(set) var asked: [(operation: OperationID, message: ClientMessage)] = []
    private(set) var session: SessionID?
    /// As the session was shown last; nil after coming back until it is shown again.
    private(set) var ready: DaemonMessage.SessionReady?
    /// Of the channel of the session.
    private(set) var heard = HeardStream()
    /// Journalled frames as they came, by number.
    private(set) var events: [SequenceNumber: String] = [:]
    private(set) var receipts: [OperationID: [DaemonMessage.Receipt]] = [:]
    /// Messages of the conversation that it has seen arrive.
    private(set) var said: [MessageID] = []
    private(set) var hasDenied = false

    private var lastOperation: UInt64 = 0

    init(_ number: Int, _ place: KillPlace) {
        (self.number, self.place) = (number, place)
    }

    // MARK: - Connections

    func connect() async throws {
        let connection = try await place.connect(number)
        let control = try await connection.peer.open()
        try await control.enter()
        (self.connection, self.control) = (connection, control)
    }

    var isConnected: Bool { connection != nil }

    func disconnect() async {
        (control, channel) = (nil, nil)
        await connection?.end()
        connection = nil
    }

    /// Opens a channel for the session; returns at once.
    func attach(_ id: SessionID, after sequence: SequenceNumber? = nil, epoch: Epoch? = nil) async throws {
        try await openChannel(after: sequence ?? .zero).send(
            .attachSession(.init(sessionID: id, clientKind: .cli, afterSequence: sequence, epoch: epoch)))
    }

    private func openChannel(after sequence: SequenceNumber = .zero) async throws -> TestChannel {
        let opened = try await #require(connection).peer.open()
        (channel, heard) = (opened, HeardStream(after: sequence))
        return opened
    }

    /// Asks for what came after that event.
    func resume(after sequence: SequenceNumber) async throws {
        try await request(.resumeSession(.init(sessionID: try #require(session), afterSequence: sequence)))
        heard.resume(after: sequence)
    }

    // MARK: - Asking

    /// Sends something on the channel where it belongs; returns at once.
    @discardableResult
    func ask(_ message: ClientMessage) async throws -> OperationID {
        lastOperation += 1
        let operation = OperationID(ULID(high: UInt64(number) + 1, low: lastOperation))
        asked.append((operation, message))
        try await send(message, operation)
        return operation
    }

    private func send(_ message: ClientMessage, _ operation: OperationID) async throws {
        if case .newSession = message {
            return try await openChannel().send(message, operation: operation)
        }
        try await #require(channel(for: message)).send(message, operation: operation)
    }

    private func channel(for message: ClientMessage) -> TestChannel? {
        message.kind.channel == .control ? control : channel
    }

    /// What changes nothing.
    func request(_ message: ClientMessage) async throws {
        try await #require(channel(for: message)).send(message)
    }

    /// A command that names itself in the file of what ran, once it runs.
    @discardableResult
    func prompt(_ rest: String = "true") async throws -> OperationID {
        try await ask(.prompt(.init(text: "echo \(nextName) >> runs; \(rest) # \(place.marker)")))
    }

    /// To an agent that asks people before it writes its name into that file: `ask` or `plan`.
    @discardableResult
    func prompt(thatWants word: String) async throws -> OperationID {
        try await ask(.prompt(.init(text: "\(word) \(nextName)")))
    }

    /// To an agent that writes its name into that file and tells much.
    @discardableResult
    func flood(_ flood: KillStage.Flood) async throws -> OperationID {
        try await ask(.prompt(.init(text: "flood \(flood.count) \(flood.bytes) \(nextName)")))
    }

    private var nextName: String { Self.name(OperationID(ULID(high: UInt64(number) + 1, low: lastOperation + 1))) }

    static func name(_ operation: OperationID) -> String { "\(operation.ulid.high).\(operation.ulid.low)" }

    func answer(_ request: Request, _ decision: PermissionDecision) async throws {
        if decision == .deny { hasDenied = true }
        let digest = ShownDigest(of: request.shown ?? "", request: request.id)
        let content = request.content.answer(decision)
        try await ask(.answer(.init(requestID: request.id, content: content, shownDigest: digest)))
    }

    /// Waits for the next question and answers it; returns at once after that.
    func answerNext(_ decision: PermissionDecision = .allowOnce) async throws {
        try await answer(try await nextRequest(), decision)
    }

    func nextRequest() async throws -> Request {
        while true { if case .request(let request) = try await next() { return request } }
    }

    // MARK: - Hearing

    /// Reads on the session's channel up to and with the first message that is wanted.
    func hear(until isWanted: (DaemonMessage) -> Bool) async throws {
        while !isWanted(try await next()) {}
    }

    /// The same for a kind of message.
    func hear(_ kind: DaemonMessage.Kind) async throws {
        try await hear { $0.kind == kind }
    }

    /// Reads, and goes on after each gap, until it has the stream up to that event.
    func follow(to sequence: SequenceNumber) async throws {
        while heard.last < sequence {
            if case .gap(let gap) = try await next() { try await resume(after: gap.afterSequence) }
        }
    }

    /// Reads until the operation is at least that far.
    func hear(_ operation: OperationID, is state: ReceiptState) async throws {
        while receipts[operation, default: []].allSatisfy({ $0.state != state && !$0.isEnd }) {
            try await read(where: operation)
        }
    }

    func isOver(_ operation: OperationID) -> Bool { end(of: operation) != nil }

    func end(of operation: OperationID) -> DaemonMessage.Receipt? {
        receipts[operation, default: []].last { $0.isEnd }
    }

    /// Reads one message where the receipt of the operation comes.
    private func read(where operation: OperationID) async throws {
        let message = asked.first { $0.operation == operation }?.message
        if message?.kind.channel == .control {
            _ = try await nextOnControl()
        } else {
            _ = try await next()
        }
    }

    private func next() async throws -> DaemonMessage {
        guard let bytes = try await #require(channel).channel.receive(),
            case .decoded(let frame) = DaemonFrame.decode(bytes, from: .native)
        else { throw ChannelError.finished }
        let fault = heard.take(frame)
        try #require(fault == nil)
        if let sequence = frame.sequence { events[sequence] = String(decoding: bytes, as: UTF8.self) }
        note(frame.message)
        return frame.message
    }

    private func nextOnControl() async throws -> DaemonMessage {
        guard let message = try await #require(control).message() else { throw ChannelError.finished }
        note(message)
        return message
    }

    private func note(_ message: DaemonMessage) {
        switch message {
        case .sessionReady(let ready):
            #expect(session == nil || session == ready.sessionID, "a session was made twice")
            session = ready.sessionID
            self.ready = ready
        case .receipt(let receipt): receipts[receipt.operation, default: []].append(receipt)
        case .userMessage(let message): note(message.messageID)
        case .sessionCleared: said = []
        default: break
        }
    }

    /// A replay brings what is known already.
    private func note(_ id: MessageID?) {
        if let id, !said.contains(id) { said.append(id) }
    }

    // MARK: - Coming back

    /// Asks everything again under its own ID, as a client may that cannot know, and reads until all of it is over. Questions are
    /// answered with yes.
    func comeBack(to id: SessionID?) async throws {
        let (known, last) = (ready, heard.last)
        ready = nil
        try await connect()
        let makesSession = asked.contains { if case .newSession = $0.message { true } else { false } }
        if !makesSession, let id { try await attach(id, after: last, epoch: known?.epoch) }
        for (operation, message) in asked { try await send(message, operation) }
        for (operation, _) in asked {
            while !isOver(operation) { try await readOn(operation) }
        }
        // Its receipt is ahead of it.
        if makesSession, session == nil { try await hear(.sessionReady) }
        if let known { try await goOn(from: known, last) }
    }

    /// All it had of the last life is there, but nobody goes on from there; in this life it can go on where it is.
    private func goOn(from known: DaemonMessage.SessionReady, _ last: SequenceNumber) async throws {
        while !heard.isFollowing { _ = try await next() }
        let back = try #require(ready)
        #expect(back.epoch != nil && back.epoch != known.epoch && back.resume == .snapshot)
        #expect(try #require(back.headSequence) >= last && back.lost == nil)
        try await attach(known.sessionID, after: heard.last, epoch: back.epoch)
        try await hear(.caughtUp)
        #expect(ready?.epoch == back.epoch && ready?.resume == .replay)
    }

    private func readOn(_ operation: OperationID) async throws {
        let message = asked.first { $0.operation == operation }?.message
        guard message?.kind.channel != .control else { return try await read(where: operation) }
        guard case .request(let request) = try await next() else { return }
        lastOperation += 1
        let digest = ShownDigest(of: request.shown ?? "", request: request.id)
        let answer = Answer(
            requestID: request.id, content: request.content.answer(.allowOnce), shownDigest: digest)
        // Not one of those that were asked before: the loop over them is running.
        try await send(.answer(answer), OperationID(ULID(high: UInt64(number) + 11, low: lastOperation)))
    }

    /// The session is deleted, or is now: what became of the rest, the daemon says on the control channel.
    func comeBackToDelete() async throws {
        try await connect()
        for (operation, message) in asked {
            guard case .deleteSession = message else { continue }
            try await send(message, operation)
            while !isOver(operation) { try await read(where: operation) }
        }
        let others = asked.map(\.operation).filter { !isOver($0) }
        guard !others.isEmpty else { return }
        try await request(.receiptQuery(.init(operations: others, settle: true)))
        for operation in others {
            while !isOver(operation) { _ = try await nextOnControl() }
        }
    }

    /// The sessions there are, on the control channel.
    func sessions() async throws -> [SessionID] {
        try await request(.listSessions)
        while true {
            if case .sessionList(let list) = try await nextOnControl() { return list.sessions.map(\.sessionID) }
        }
    }

    /// The messages as a device that knows nothing gets them.
    func messages(of id: SessionID) async throws -> [Message] {
        try await attach(id)
        while true {
            if case .sessionHistoryPage(let page) = try await next() { return page.messages }
        }
    }
}
