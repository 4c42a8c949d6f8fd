import MewQUICCore
import Testing

@Suite("What is unsent and what is not acknowledged of an accepted connection")
struct UnsentTotalTests {
    private static let configuration = TransportConfiguration()
    private static let perStream = configuration.unsentBytesPerStream
    private static let total = configuration.unsentBytesPerAcceptedConnection
    private static let assured = configuration.unsentBytesAssured

    @Test("64 streams that nobody reads hold 2 MiB and 32 KiB for each further one, and all arrives once it is read")
    func unreadStreams() throws {
        let pair = try CorePair()
        let answers = Answers(pair, streams: 64, bytes: 512 << 10)
        try pair.run(limit: .seconds(20)) { false }
        let full = Self.total / Self.perStream
        #expect(answers.unsent.count == 64)
        let all = answers.unsent.reduce(0, +)
        #expect(all <= Self.total + (64 - full) * Self.assured)
        #expect(all > Self.total, "the bound was reached")
        // A writer is woken when half of what is assured is free, so it may rest anywhere in the upper half.
        #expect(answers.unsent.allSatisfy { $0 > Self.assured / 2 })
        answers.beginReading()
        #expect(try pair.run(limit: .seconds(120)) { answers.read == 64 * 512 << 10 })
        #expect(answers.unsent.allSatisfy { $0 == 0 })
    }

    @Test("one stream alone holds as much as on a connection that was dialled")
    func oneStream() throws {
        let pair = try CorePair()
        let answers = Answers(pair, streams: 1, bytes: 4 << 20)
        try pair.run(limit: .seconds(20)) { false }
        #expect(answers.unsent.count == 1)
        #expect(answers.unsent.allSatisfy { (Self.perStream / 2 + 1...Self.perStream).contains($0) })
    }

    @Test("streams that are not read, and have used up the total, do not keep one that is read from sending")
    func readBesideUnread() throws {
        // Room at the reader for all that is not read, so that our own bound is the one that counts.
        var configuration = Self.configuration
        configuration.connectionWindow = 8 << 20
        let pair = try CorePair(configuration: configuration)
        let answers = Answers(pair, streams: 25, bytes: 2 << 20)
        answers.readsOnly = 24
        #expect(try pair.run(limit: .seconds(120)) { answers.read == 2 << 20 })
        // 24 streams would hold 3 MiB at least; writers are woken when half of what one may hold is free.
        #expect(answers.unsent.reduce(0, +) > Self.total - Self.perStream / 2)
    }

    @Test("what waits for acknowledgements is bounded for all streams together, and all arrives")
    func unacknowledged() throws {
        // Far more room at the reader, and a long way, so that our own bound is the one that counts.
        var configuration = Self.configuration
        configuration.connectionWindow = 16 << 20
        configuration.streamWindow = 4 << 20
        configuration.retainedBytesPerAcceptedConnection = 1 << 20
        let pair = try CorePair(configuration: configuration)
        pair.wire.latency = .milliseconds(200)
        let answers = Answers(pair, streams: 16, bytes: 2 << 20)
        answers.beginReading()
        var most = 0
        #expect(
            try pair.run(limit: .seconds(600)) {
                most = max(most, answers.retained.reduce(0, +))
                return answers.read == 16 * 2 << 20
            })
        #expect(most <= 1 << 20 + 15 * Self.assured)
        #expect(most > 1 << 19, "the bound was reached")
        #expect(try pair.run(limit: .seconds(10)) { answers.retained.allSatisfy { $0 == 0 } })
    }

    @Test(
        "a peer that acknowledges nothing more is sent the window of that moment, and no more is held than is unsent besides"
    )
    func silentPeer() throws {
        let pair = try CorePair()
        let answers = Answers(pair, streams: 64, bytes: 512 << 10)
        #expect(try pair.run(limit: .seconds(20)) { answers.unsent.count == 64 })
        let window = Int(try #require(pair.server).statistics.congestionWindow)
        pair.wire.isCut = true
        try pair.run(limit: .seconds(25)) { false }
        let unacknowledged = zip(answers.retained, answers.unsent).map(-).reduce(0, +)
        // Each probe may carry two packets of new data.
        #expect(unacknowledged <= window + 64 << 10)
        #expect(answers.unsent.reduce(0, +) <= Self.total + 64 * Self.assured)
    }
}

/// A server that answers every stream of a client with as many bytes as it may write, and a client that reads or does not.
private final class Answers {
    private unowned let pair: CorePair
    private let streams: Int
    private let bytes: Int
    private var asked: [StreamCore] = []
    private var answering: [StreamCore] = []
    private var left: [Int64: Int] = [:]
    private var isReading = false
    private(set) var read = 0
    /// The number of the stream that is read, in the order of opening, when only one is.
    var readsOnly: Int?

    private static let piece = [UInt8](repeating: 7, count: 64 << 10)

    init(_ pair: CorePair, streams: Int, bytes: Int) {
        (self.pair, self.streams, self.bytes) = (pair, streams, bytes)
        pair.onEvent = { side, event in self.handle(side, event) }
    }

    /// Of each stream, at the server.
    var unsent: [Int] { answering.map(\.unsentBytes) }

    var retained: [Int] { answering.map(\.retainedBytes) }

    func beginReading() {
        isReading = true
        for stream in asked { drain(stream) }
    }

    private func handle(_ side: Side, _ event: ConnectionEvent) {
        switch (side, event) {
        case (.client, .established): ask()
        case (.client, .streamsAllowed): ask()
        case (.client, .readable(let stream)): drain(stream)
        case (.server, .opened(let stream)):
            answering.append(stream)
            left[stream.id] = bytes
            fill(stream)
        case (.server, .writable(let stream)): fill(stream)
        default: break
        }
    }

    private func ask() {
        while asked.count < streams, let stream = try? pair.client.openStream(.bidirectional) {
            asked.append(stream)
            _ = try? pair.client.write([1], to: stream)
        }
    }

    private func drain(_ stream: StreamCore) {
        guard isReading || readsOnly.map({ asked.indices.contains($0) && asked[$0] === stream }) == true else { return }
        while let chunk = pair.client.read(stream) { read += chunk.count }
    }

    private func fill(_ stream: StreamCore) {
        guard let server = pair.server else { return }
        while let rest = left[stream.id], rest > 0 {
            let wanted = Array(Self.piece.prefix(rest))
            guard let count = try? server.write(wanted, to: stream) else { return }
            left[stream.id] = rest - count
            if count < wanted.count { return }
        }
    }
}
