import MewBase
import MewQUICCore
import MewSim
import Testing

@Suite("Streams over a bad wire")
struct TransferTests {
    /// One run of the law of the simulated network: up to 5 % loss, reordering, 300 ms round trips, 1280-byte packets.
    private static func run(seed: UInt64, bytes: Int = 64 << 10, streams: Int = 3) throws -> (CorePair, Transfer) {
        var random = SeededGenerator(seed: seed)
        let pair = try CorePair(seed: seed)
        pair.wire.latency = .milliseconds(Int64(1 + random.next() % 100))
        pair.wire.jitter = .milliseconds(Int64(random.next() % 50))
        pair.wire.lossPerThousand = Int(random.next() % 51)
        if random.next() % 2 == 0 { pair.wire.maxPacketBytes = 1_280 }
        let transfer = Transfer(pair, streams: streams, bytes: bytes)
        try pair.run(limit: .seconds(600)) { transfer.isComplete || pair.client.closure != nil }
        return (pair, transfer)
    }

    @Test(
        "three streams of 64 KiB each way arrive whole, whatever the wire does",
        arguments: 1...60 as ClosedRange<UInt64>)
    func arrivesWhole(seed: UInt64) throws {
        let (pair, transfer) = try Self.run(seed: seed)
        #expect(transfer.isComplete, "seed \(seed): \(String(describing: pair.client.closure))")
        #expect(transfer.mismatches == 0, "seed \(seed)")
        #expect(pair.client.closure == nil)
    }

    @Test("the same seed gives the same packets at the same times")
    func isDeterministic() throws {
        let (first, _) = try Self.run(seed: 4_711)
        let (second, _) = try Self.run(seed: 4_711)
        let (other, _) = try Self.run(seed: 4_712)
        #expect(first.trace == second.trace)
        #expect(first.trace != other.trace)
    }

    @Test("10 MB arrive whole over a lossy wire")
    func carriesTenMegabytes() throws {
        let (_, transfer) = try Self.run(seed: 5, bytes: 10_000_000, streams: 1)
        #expect(transfer.isComplete)
        #expect(transfer.mismatches == 0)
    }

    @Test("a large transfer leaves every other stream its turn")
    func sharesTheWire() throws {
        let pair = try CorePair()
        try #require(try pair.run { pair.isEstablished && pair.client.isConfirmed })
        let large = try #require(try pair.client.openStream(.bidirectional))
        let written = try pair.client.write([UInt8](repeating: 1, count: 200_000), to: large)
        #expect(written == 200_000)
        let small = try #require(try pair.client.openStream(.bidirectional))
        _ = try pair.client.write([UInt8](repeating: 2, count: 1_000), to: small)
        var opened: [StreamCore] { pair.events[.server]?.opened ?? [] }
        try pair.run { opened.contains { $0.id == small.id && $0.unreadBytes == 1_000 } }
        // What both sent in one window, and not the whole of the large one.
        #expect(try #require(opened.first { $0.id == large.id }).unreadBytes < 50_000)
    }

    @Test("a reader that stops stops the writer, and nothing is lost when it goes on")
    func backPressure() throws {
        let configuration = TransportConfiguration()
        let pair = try CorePair()
        let transfer = Transfer(pair, streams: 1, bytes: 4 << 20)
        transfer.paused = [.server]
        try pair.run(limit: .seconds(20)) { false }
        let server = try #require(pair.server)
        let stream = try #require(pair.events[.server]?.opened.first)
        #expect(stream.unreadBytes == Int(configuration.streamWindow))
        let writing = try #require(
            pair.events[.client]?.lazy.compactMap { event in
                guard case .writable(let stream) = event else { return nil as StreamCore? }
                return stream
            }.first)
        // A writer is woken when half the room is free, so it may rest anywhere in the upper half.
        #expect(writing.unsentBytes <= configuration.unsentBytesPerStream)
        #expect(writing.unsentBytes > configuration.unsentBytesPerStream / 2)
        #expect(writing.retainedBytes <= configuration.unsentBytesPerStream + 64 << 10)
        #expect(server.closure == nil)
        transfer.resume(.server, streams: [stream])
        #expect(try pair.run(limit: .seconds(60)) { transfer.isComplete })
        #expect(transfer.mismatches == 0)
    }

    @Test("what is unread of an accepted connection grows to 8 MiB and no further, whatever the streams")
    func acceptedWindow() throws {
        let pair = try CorePair()
        pair.wire.latency = .milliseconds(20)
        let flood = Flood(pair, streams: 8)
        #expect(try pair.run(limit: .seconds(60)) { flood.read > 20 << 20 })
        flood.isReading = false
        try pair.run(limit: .seconds(5)) { false }
        let bound = Int(TransportConfiguration().maxAcceptedWindow)
        #expect((bound / 2...bound).contains(flood.unread))
        #expect(pair.client.closure == nil)
    }
}

/// A client that writes as much as it may on several streams to a server that reads, or does not.
private final class Flood {
    private unowned let pair: CorePair
    private let streams: Int
    private var opened = 0
    private var arrived: [StreamCore] = []
    private(set) var read = 0
    var isReading = true

    private static let piece = [UInt8](repeating: 7, count: 64 << 10)

    init(_ pair: CorePair, streams: Int) {
        (self.pair, self.streams) = (pair, streams)
        pair.onEvent = { side, event in self.handle(side, event) }
    }

    var unread: Int { arrived.reduce(0) { $0 + $1.unreadBytes } }

    private func handle(_ side: Side, _ event: ConnectionEvent) {
        guard let core = pair.core(side) else { return }
        switch (side, event) {
        case (.client, .established), (.client, .streamsAllowed):
            while opened < streams, let stream = try? core.openStream(.bidirectional) {
                opened += 1
                fill(stream, core)
            }
        case (.client, .writable(let stream)): fill(stream, core)
        case (.server, .opened(let stream)): arrived.append(stream)
        case (.server, .readable(let stream)) where isReading:
            while let chunk = core.read(stream) { read += chunk.count }
        default: break
        }
    }

    private func fill(_ stream: StreamCore, _ core: ConnectionCore) {
        while (try? core.write(Self.piece, to: stream)) == Self.piece.count {}
    }
}
