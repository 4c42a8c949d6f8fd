import MewBase
import MewHTTP3
import MewSim
import Testing

/// Two cores whose streams are byte queues in memory, cut anywhere.
final class HTTP3Pair {
    let client: HTTP3Core
    let server: HTTP3Core
    private var random: SeededGenerator
    /// By direction and stream: what is under way, and whether its end is.
    private var underWay: [Direction: [Int64: (bytes: [UInt8], isLast: Bool)]] = [.up: [:], .down: [:]]
    /// The most that a stream takes at once; less makes it wait.
    var room = Int.max
    private var blocked: [Direction: Set<Int64>] = [.up: [], .down: []]

    enum Direction { case up, down }

    init(seed: UInt64, limits: HTTP3Core.Limits = HTTP3Core.Limits()) throws {
        client = try HTTP3Core(.client, limits)
        server = try HTTP3Core(.server, limits)
        random = SeededGenerator(seed: seed)
        try client.bind(control: 2, encoder: 6, decoder: 10)
        try server.bind(control: 3, encoder: 7, decoder: 11)
    }

    private func collect(_ core: HTTP3Core, _ direction: Direction) throws {
        for stream in blocked[direction] ?? [] { try core.unblock(stream) }
        blocked[direction] = []
        try core.write { output in
            let count = min(output.bytes.count, room)
            var entry = underWay[direction]?[output.stream] ?? ([], false)
            entry.bytes += output.bytes[..<count]
            entry.isLast = entry.isLast || output.isLast && count == output.bytes.count
            underWay[direction]?[output.stream] = entry
            if count < output.bytes.count { blocked[direction]?.insert(output.stream) }
            return .bytes(count)
        }
    }

    private func deliver(_ direction: Direction, to core: HTTP3Core) throws -> Bool {
        let waiting = (underWay[direction] ?? [:]).keys.sorted()
        guard !waiting.isEmpty else { return false }
        let stream = waiting[random.below(waiting.count)]
        guard var entry = underWay[direction]?[stream] else { return false }
        let count = entry.bytes.isEmpty ? 0 : 1 + random.below(entry.bytes.count)
        let isLast = entry.isLast && count == entry.bytes.count
        try core.receive(Array(entry.bytes[..<count]), on: stream, isLast: isLast)
        entry.bytes.removeFirst(count)
        underWay[direction]?[stream] = entry.bytes.isEmpty ? nil : entry
        return true
    }

    /// Until nothing is under way any more.
    func run() throws {
        while true {
            try collect(client, .up)
            try collect(server, .down)
            let up = try deliver(.up, to: server)
            let down = try deliver(.down, to: client)
            if !up, !down { return }
        }
    }
}

extension SeededGenerator {
    fileprivate mutating func below(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &self) }
}

@Suite("Two HTTP/3 cores in memory")
struct HTTP3PairTests {
    static let get = HTTP3Head([
        (":method", "GET"), (":scheme", "https"), (":authority", "relay.test"), (":path", "/ping"),
    ])
    static let connect = HTTP3Head([
        (":method", "CONNECT"), (":protocol", "mew-relay-1"), (":scheme", "https"), (":authority", "relay.test"),
        (":path", "/relay"), ("capsule-protocol", "?1"),
    ])

    private func data(_ events: [HTTP3Event], of stream: Int64) -> [UInt8] {
        events.flatMap { if case .data(stream, let bytes) = $0 { bytes } else { [] as [UInt8] } }
    }

    @Test("a request and its response arrive whole, however the streams are cut")
    func request() throws {
        for seed in 0..<200 {
            let pair = try HTTP3Pair(seed: UInt64(seed))
            if seed % 3 == 0 { pair.room = 5 }
            try pair.client.request(Self.get, on: 0, staysOpen: false)
            try pair.run()
            let asked = pair.server.takeEvents()
            #expect(asked.contains(.settings(takesDatagrams: true)))
            #expect(asked.contains(.head(0, Self.get)))
            #expect(asked.last { $0.isAboutRequest } == .ended(0))
            try pair.server.respond(HTTP3Head([(":status", "200")]), on: 0, staysOpen: true)
            #expect(try pair.server.send(Array("pong".utf8), on: 0))
            try pair.server.finish(0)
            try pair.run()
            let answered = pair.client.takeEvents()
            #expect(answered.contains(.settings(takesDatagrams: true)))
            #expect(answered.contains(.head(0, HTTP3Head([(":status", "200")]))))
            #expect(data(answered, of: 0) == Array("pong".utf8))
            #expect(answered.last { $0.isAboutRequest } == .ended(0))
            try pair.client.closed(0)
            try pair.server.closed(0)
        }
    }

    @Test("an extended CONNECT stays open in both directions, beside other requests")
    func extendedConnect() throws {
        for seed in 0..<100 {
            let pair = try HTTP3Pair(seed: UInt64(seed))
            try pair.client.request(Self.connect, on: 0, staysOpen: true)
            try pair.client.request(Self.get, on: 4, staysOpen: false)
            #expect(try pair.client.send([1, 2, 3], on: 0))
            try pair.run()
            let asked = pair.server.takeEvents()
            #expect(asked.contains(.head(0, Self.connect)) && asked.contains(.head(4, Self.get)))
            #expect(data(asked, of: 0) == [1, 2, 3])
            #expect(!asked.contains(.ended(0)))
            try pair.server.respond(HTTP3Head([(":status", "200")]), on: 0, staysOpen: true)
            try pair.server.respond(HTTP3Head([(":status", "404")]), on: 4, staysOpen: false)
            let large = (0..<50_000).map { UInt8(truncatingIfNeeded: $0) }
            #expect(try pair.server.send(large, on: 0))
            try pair.run()
            #expect(data(pair.client.takeEvents(), of: 0) == large)
            try pair.client.finish(0)
            try pair.run()
            #expect(pair.server.takeEvents().contains(.ended(0)))
        }
    }

    @Test("content beyond the bound is refused and nothing of it is kept; room comes back when it has left")
    func bound() throws {
        var limits = HTTP3Core.Limits()
        limits.unsentBytes = 1_000
        let pair = try HTTP3Pair(seed: 1, limits: limits)
        try pair.client.request(Self.connect, on: 0, staysOpen: true)
        #expect(try pair.client.send([UInt8](repeating: 1, count: 1_000), on: 0))
        #expect(try !pair.client.send([2], on: 0))
        try pair.run()
        #expect(pair.client.room(on: 0) == 1_000)
        #expect(try pair.client.send([2], on: 0))
        try pair.run()
        #expect(data(pair.server.takeEvents(), of: 0).count == 1_001)
    }

    @Test("a head larger than we take is told and not kept")
    func largeHead() throws {
        let pair = try HTTP3Pair(seed: 1)
        var head = Self.get
        for number in 0..<100 { head.append("x-\(number)", "y") }
        try pair.client.request(head, on: 0, staysOpen: false)
        try pair.run()
        #expect(pair.server.takeEvents().contains(.headTooLarge(0)))
    }

    @Test("a request without a path breaks its own stream and no other")
    func malformedRequest() throws {
        let pair = try HTTP3Pair(seed: 1)
        try pair.client.request(HTTP3Head([(":method", "GET"), (":scheme", "https")]), on: 0, staysOpen: false)
        try pair.client.request(Self.get, on: 4, staysOpen: false)
        try pair.run()
        let events = pair.server.takeEvents()
        #expect(events.contains(.broken(0, code: HTTP3Failure.messageError)))
        #expect(events.contains(.head(4, Self.get)))
    }

    @Test("bytes of anybody end a core with a code or leave it whole, and never more")
    func hostile() throws {
        var random = SeededGenerator(seed: 7)
        for _ in 0..<2_000 {
            let core = try HTTP3Core(Bool.random(using: &random) ? .client : .server)
            let ours: [Int64] = core.role == .client ? [2, 6, 10] : [3, 7, 11]
            try core.bind(control: ours[0], encoder: ours[1], decoder: ours[2])
            for _ in 0..<20 {
                let stream = Int64(Int.random(in: 0..<16, using: &random))
                let isOurs = (stream & 1 == 0) == (core.role == .client)
                // QUIC lets nobody write on our unidirectional streams, or on a request that was never sent.
                guard !isOurs else { continue }
                if core.role == .client, stream & 2 == 0 { continue }
                let bytes = (0..<Int.random(in: 0..<40, using: &random)).map { _ in
                    UInt8.random(in: 0...(Bool.random(using: &random) ? 8 : 255), using: &random)
                }
                do throws(HTTP3Failure) {
                    try core.receive(bytes, on: stream, isLast: false)
                    try core.write { .bytes($0.bytes.count) }
                } catch {
                    #expect(error.code >= 0x100)
                    break
                }
            }
        }
    }

    @Test("the control stream must not end")
    func criticalStream() throws {
        let core = try HTTP3Core(.server)
        try core.bind(control: 3, encoder: 7, decoder: 11)
        let settings: [UInt8] = [0x00, 0x04, 0x00]
        try core.receive(settings, on: 2, isLast: false)
        #expect(throws: HTTP3Failure.self) { try core.receivedReset(of: 2, code: 0x100) }
        #expect(throws: HTTP3Failure.self) { try core.takeAndWrite() }
    }

    @Test("the stream's number of a datagram is a quarter of its ID")
    func datagramHead() {
        #expect(HTTPDatagram.head(of: 0) == [0])
        #expect(HTTPDatagram.head(of: 256) == [0x40, 0x40])
        let datagram: [UInt8] = [0x40, 0x40, 9, 8]
        datagram.withUnsafeBytes { bytes in
            let read = HTTPDatagram.read(bytes)
            #expect(read?.stream == 256)
            #expect(read.map { Array($0.payload) } == [9, 8])
        }
        let empty: [UInt8] = []
        empty.withUnsafeBytes { #expect(HTTPDatagram.read($0) == nil) }
    }
}

extension HTTP3Event {
    /// What comes on the control stream comes before it or behind it.
    fileprivate var isAboutRequest: Bool {
        switch self {
        case .settings, .goingAway: false
        case .head, .headTooLarge, .data, .ended, .broken: true
        }
    }
}

extension HTTP3Core {
    fileprivate func takeAndWrite() throws { try write { .bytes($0.bytes.count) } }
}
