import MewBase
import MewClient
import MewIdentity
import MewLoop
import MewQUIC
import MewWire

/// A paired device that asks a daemon for as much memory as it can, on one connection. For the test of what a client may cost.
///
/// It speaks over bare streams, because a channel of ours would never leave a message unfinished.
struct HostileClient: Sendable {
    enum Mode: String, CaseIterable, Sendable {
        /// Attaches, and never reads.
        case deaf
        /// Attaches, asks for pages of history without end, and never reads.
        case pages
        /// Attaches on as many channels as there may be, and never reads.
        case channels
        /// Begins a message of the largest size on sixteen channels, and ends none.
        case halves
        /// Attaches and leaves, over and over.
        case visits
        /// Prompts of the largest size behind a turn that waits: each is cancelled, over and over; then as many as are taken.
        case prompts
        /// As much of everything at once as there may be: channels that are never read, and half messages that fill what may be
        /// unread. The worst by arithmetic.
        case mix
    }

    let mode: Mode
    let session: SessionID

    private static let channels = 64
    private static let pages = 10_000
    private static let halves = 16
    private static let visits = 300
    private static let takenBack = 24
    private static let left = 8

    private struct Failure: Error { let what: String }

    /// A connection that stays as it is.
    struct Attack: Sendable {
        fileprivate let endpoint: Endpoint
        fileprivate let connection: Connection
        fileprivate let streams: Streams

        /// How many messages, or halves of one, the daemon took.
        var said: Int { get async { await streams.said } }

        func untilClosed() async { _ = try? await connection.closed() }
    }

    private let streams = Streams()

    init(mode: Mode, session: SessionID) {
        (self.mode, self.session) = (mode, session)
    }

    /// Returns when all is said that the daemon takes: what it takes no more holds the writer up for ever, so that after `time`
    /// nothing new is to be expected.
    func attack(
        _ node: NodeID, at addresses: [SocketAddress], as key: SecretKey, for time: Duration, on loop: EventLoop
    ) async throws(CommandFailure) -> Attack {
        let result = await loop.spawn { () async -> Result<Attack, CommandFailure> in
            do {
                let endpoint = try await Endpoint.bind(
                    EndpointConfiguration(secret: key, addresses: [.loopback(port: 0)]), network: KernelNetwork(),
                    loop: loop, entropy: SystemEntropy())
                let connection = try await endpoint.connect(
                    to: node, addresses: addresses, protocols: [ApplicationProtocol.native.rawValue])
                try await greet(connection)
                await withTimeLimit(time, on: loop) { await act(on: connection) }
                return .success(Attack(endpoint: endpoint, connection: connection, streams: streams))
            } catch {
                return .failure(CommandFailure(.unreachable, "cannot attack the daemon: \(error)"))
            }
        }.value
        return try result.get()
    }

    private func greet(_ connection: Connection) async throws {
        let control = try await connection.openStream()
        try await control.write(
            Self.frame(.remoteHello(.init(token: nil, deviceName: "bench", capabilities: ["ops", "resume", "desk"]))))
        guard try await control.read() != nil else { throw Failure(what: "the daemon does not answer") }
        await streams.keep(control)
    }

    private func act(on connection: Connection) async {
        do {
            switch mode {
            case .deaf: _ = try await attach(on: connection)
            case .pages:
                let stream = try await attach(on: connection)
                for _ in 0..<Self.pages {
                    try await stream.write(
                        Self.frame(.loadSessionHistory(.init(sessionID: session, before: .max))))
                    await streams.count()
                }
            case .channels:
                for _ in 0..<Self.channels { _ = try await attach(on: connection) }
            case .halves:
                try await halves(on: connection)
            case .mix:
                for _ in 0..<(Self.channels - Self.halves) { _ = try await attach(on: connection) }
                try await halves(on: connection)
            case .visits:
                for _ in 0..<Self.visits { try await visit(on: connection) }
            case .prompts: try await prompts(on: connection)
            }
        } catch {
            // The daemon has had enough, or the time is over: either is how it is to end.
        }
    }

    private func attach(on connection: Connection) async throws -> QUICStream {
        let stream = try await connection.openStream()
        await streams.keep(stream)
        try await stream.write(Self.frame(.attachSession(.init(sessionID: session, clientKind: .cli))))
        await streams.count()
        return stream
    }

    private func halves(on connection: Connection) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<Self.halves { group.addTask { try await half(on: connection) } }
            try await group.waitForAll()
        }
    }

    /// Half of a message of 8 MiB.
    private func half(on connection: Connection) async throws {
        let stream = try await connection.openStream()
        await streams.keep(stream)
        let (whole, block) = (8 << 20, [UInt8](repeating: UInt8(ascii: " "), count: 64 << 10))
        try await stream.write(Self.header(whole))
        for _ in 0..<(whole / 2 / block.count) { try await stream.write(block) }
        await streams.count()
    }

    private func visit(on connection: Connection) async throws {
        let stream = try await connection.openStream()
        try await stream.write(Self.frame(.attachSession(.init(sessionID: session, clientKind: .cli))))
        await stream.finish()
        while try await stream.read() != nil {}
        await streams.count()
    }

    /// The first waits for a permission, so that what follows waits for it.
    private func prompts(on connection: Connection) async throws {
        let asker = Asker(try await attach(on: connection))
        _ = try await asker.ask(.prompt(.init(text: "sleep 600")))
        let large = String(repeating: "x", count: 1 << 20)
        for number in 0..<(Self.takenBack + Self.left) {
            let receipt = try await asker.ask(.prompt(.init(text: large)))
            if receipt.state == .stored { await streams.count() }
            guard number < Self.takenBack, let turn = receipt.turnID else { continue }
            _ = try await asker.ask(.cancel(.init(turnID: turn)))
        }
    }

    // MARK: - Frames

    fileprivate static func frame(_ message: ClientMessage, _ operation: OperationID? = nil) -> [UInt8] {
        let body = ClientFrame(message, operation: operation).encoded(for: .native) ?? []
        return header(body.count) + body
    }

    /// spec/native-wire.md §1: the length, four bytes, big endian.
    private static func header(_ length: Int) -> [UInt8] {
        (0..<4).map { UInt8(truncatingIfNeeded: length >> (24 - 8 * $0)) }
    }
}

/// Asks for one operation after the other on a stream, and reads until each has its first receipt.
private actor Asker {
    private let stream: QUICStream
    private var unread: [UInt8] = []
    private var number: UInt64 = 0
    private let start = UInt64(clamping: WallTime.now.milliseconds) << 16

    private struct Ended: Error {}

    init(_ stream: QUICStream) {
        self.stream = stream
    }

    func ask(_ message: ClientMessage) async throws -> DaemonMessage.Receipt {
        number += 1
        let operation = OperationID(ULID(high: start, low: number))
        try await stream.write(HostileClient.frame(message, operation))
        while true {
            if case .receipt(let receipt) = try await next()?.message, receipt.operation == operation { return receipt }
        }
    }

    /// A receipt has some hundred bytes; what is larger is not looked into.
    private static let largest = 4_096

    /// Nil for what we do not know.
    private func next() async throws -> DaemonFrame? {
        while true {
            if unread.count >= 4 {
                let length = unread.prefix(4).reduce(0) { $0 << 8 | Int($1) }
                if unread.count >= 4 + length {
                    defer { unread.removeFirst(4 + length) }
                    guard length <= Self.largest,
                        case .decoded(let frame) = DaemonFrame.decode(Array(unread[4..<(4 + length)]), from: .native)
                    else { return nil }
                    return frame
                }
            }
            guard let bytes = try await stream.read() else { throw Ended() }
            unread += bytes
        }
    }
}

/// A stream that nobody holds is given up; these are not. And what was said on them.
private actor Streams {
    private var streams: [QUICStream] = []
    private(set) var said = 0

    func keep(_ stream: QUICStream) { streams.append(stream) }
    func count() { said += 1 }
}
