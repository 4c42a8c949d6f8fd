import MewBase
import MewIdentity
import MewLoop
import MewSession
import MewWire

/// One session channel of a link, read as bytes: what is measured must not wait for our own decoding.
struct BenchChannel: Sendable {
    private let channel: any MessageChannel

    init(_ channel: any MessageChannel) {
        self.channel = channel
    }

    /// What an attach brought, from `attach_session` to `caught_up`.
    struct Screen: Sendable {
        var time = Duration.zero
        var bytes = 0
        var frames = 0
        var ready: DaemonMessage.SessionReady?
        /// Where the session's journal ended.
        var head = SequenceNumber.zero
    }

    /// - Parameters:
    ///   - after: with the epoch it belongs to; nil for a snapshot.
    func attach(
        _ session: SessionID, after: (sequence: SequenceNumber, epoch: Epoch)? = nil
    ) async throws(CommandFailure) -> Screen {
        try await open(
            .attachSession(
                .init(
                    sessionID: session, clientKind: .cli, afterSequence: after?.sequence, epoch: after?.epoch)))
    }

    /// A new session with this agent.
    func make(agent: String) async throws(CommandFailure) -> Screen {
        try await open(
            .newSession(.init(clientKind: .cli, agent: agent)), operation: OperationID(Self.ids.next()))
    }

    private func open(
        _ message: ClientMessage, operation: OperationID? = nil
    ) async throws(CommandFailure) -> Screen {
        let clock = ContinuousClock()
        let start = clock.now
        try await send(message, operation: operation)
        var screen = Screen()
        while true {
            let frame = try await next()
            screen.bytes += frame.count
            screen.frames += 1
            if RawFrame(frame).isOf(.caughtUp) {
                screen.time = start.duration(to: clock.now)
                screen.head = RawFrame(frame).sequence ?? .zero
                return screen
            }
            if RawFrame(frame).isOf(.sessionReady) { screen.ready = Self.ready(frame) }
            if RawFrame(frame).isOf(.error) { throw Self.failure(frame) }
        }
    }

    private static func ready(_ frame: [UInt8]) -> DaemonMessage.SessionReady? {
        guard case .decoded(let frame) = DaemonFrame.decode(frame, from: .native),
            case .sessionReady(let ready) = frame.message
        else { return nil }
        return ready
    }

    private static func failure(_ frame: [UInt8]) -> CommandFailure {
        CommandFailure(.badInput, "the daemon refuses: \(String(decoding: frame.prefix(400), as: UTF8.self))")
    }

    /// Returns when the prompt is stored.
    func prompt(_ text: String) async throws(CommandFailure) {
        try await send(.prompt(.init(text: text)), operation: OperationID(Self.ids.next()))
        while !RawFrame(try await next()).isOf(.receipt) {}
    }

    func resume(_ session: SessionID, after: SequenceNumber) async throws(CommandFailure) {
        try await send(.resumeSession(.init(sessionID: session, afterSequence: after)))
    }

    /// The next message.
    func next() async throws(CommandFailure) -> [UInt8] {
        do throws(ChannelError) {
            if let frame = try await channel.receive() { return frame }
        } catch {
            throw CommandFailure(.unreachable, "a session channel broke off: \(error)")
        }
        throw CommandFailure(.unreachable, "the daemon has ended a session channel")
    }

    /// Detaches, and reads to the end.
    func leave() async {
        await channel.finish()
        while (try? await channel.receive()) != nil {}
    }

    private func send(_ message: ClientMessage, operation: OperationID? = nil) async throws(CommandFailure) {
        guard let bytes = ClientFrame(message, operation: operation).encoded(for: .native) else {
            throw CommandFailure(.internal, "the message has no native form")
        }
        do throws(ChannelError) {
            try await channel.send(bytes)
        } catch {
            throw CommandFailure(.unreachable, "a session channel broke off: \(error)")
        }
    }

    /// Of this process, above those of earlier ones.
    static let ids = BenchIDs()
}

/// Identifiers of the present moment, always increasing.
struct BenchIDs: IDSource {
    private let ids = MonotonicIDs(entropy: SystemEntropy())

    func next(_ count: Int, milliseconds: UInt64) -> ULID { ids.next(count, milliseconds: milliseconds) }
    func next() -> ULID { next(milliseconds: SystemWallClock().millisecondsSinceEpoch) }
}

/// What a frame tells without being decoded. `type` comes first, the number of an event last.
struct RawFrame {
    private let bytes: [UInt8]

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    func isOf(_ kind: DaemonMessage.Kind) -> Bool {
        bytes.starts(with: "{\"type\":\"\(kind.rawValue)\"".utf8)
    }

    /// Of an event, or of `caught_up`.
    var sequence: SequenceNumber? {
        let digits = bytes.dropLast().suffix(20).reversed().prefix { Self.digit($0) != nil }
        guard !digits.isEmpty, bytes.dropLast(1 + digits.count).suffix(6).elementsEqual("\"seq\":".utf8) else {
            return nil
        }
        return SequenceNumber(digits.reversed().reduce(0) { $0 &* 10 &+ (Self.digit($1) ?? 0) })
    }

    /// When the agent told it, in nanoseconds since the machine started: the digits behind the first `@`.
    var stamp: UInt64? {
        guard let sign = bytes.prefix(80).firstIndex(of: UInt8(ascii: "@")) else { return nil }
        var number: UInt64 = 0
        for byte in bytes[(sign + 1)...].prefix(19) {
            guard let digit = Self.digit(byte) else { return number }
            number = number * 10 + digit
        }
        return nil
    }

    private static func digit(_ byte: UInt8) -> UInt64? {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) ? UInt64(byte - UInt8(ascii: "0")) : nil
    }
}

/// The clock that agents of one process stamp with and listeners in another one read.
enum BenchClock {
    private static let clock = ContinuousClock()

    /// Nanoseconds since the machine started.
    static var now: UInt64 { UInt64(clamping: clock.systemEpoch.duration(to: clock.now).saturatingNanoseconds) }
}
