import MewBase
import MewIdentity
import MewLoop
import MewSim
import MewWire
import Testing

@testable import MewRelay

/// What some do must not cost others their place.
@Suite("A relay under pressure")
struct RelayPressureTests {
    @Test("places held by strangers that prove nothing are given to others after two seconds, and not before")
    func strangers() throws {
        try Stage.run { stage in
            let limits = stage.hub.limits
            for number in 0..<limits.strangersPerSource { stage.accept(UInt32(number % 200)) }
            #expect(stage.accept(7) == nil, "there is no room yet")
            try stage.pass(limits.admissionWhenFull - .milliseconds(2))
            #expect(stage.accept(7) == nil, "one that is quick enough loses nothing")
            try stage.pass(.milliseconds(2))
            #expect(stage.accept(7) != nil)
            #expect(stage.hub.metrics.dismissed == 1)
            #expect(stage.hub.snapshot.strangers == limits.strangersPerSource)
            #expect(stage.accept(0x0100) != nil, "another network has its own places")
        }
    }

    @Test("when all places are taken by few networks, another one still comes in")
    func otherNetworks() throws {
        try Stage.run { stage in
            let limits = stage.hub.limits
            for number in 0..<limits.strangers {
                stage.accept(UInt32(number / limits.strangersPerSource) << 8)
            }
            #expect(stage.accept(0xff00) == nil)
            try stage.pass(limits.admissionWhenFull)
            let newcomer = try #require(stage.accept(0xff00))
            #expect(newcomer.isOpen && stage.hub.snapshot.strangers == limits.strangers)
        }
    }

    @Test("who gets no place hears why, eight of a network at once and within two seconds; further ones are reset")
    func turnedAway() throws {
        var limits = RelayLimits()
        limits.allowPerSource(1)
        limits.turnedAway = 9
        try Stage.run(limits) { stage in
            stage.accept(1)
            let others = (0..<8).map { stage.arrive($0) }
            #expect(others.allSatisfy(\.isOpen) && !stage.arrive(9).isOpen)
            stage.accept(0x0100)
            #expect(stage.arrive(0x0101).isOpen && !stage.arrive(0x0102).isOpen, "nine in all")
            others[0].inflow = Array("GET /relay HTTP/1.1\r\nHost: relay.test\r\n\r\n".utf8)
            stage.machine.loop.enter { others[0].offer() }
            try stage.pass(.milliseconds(1))
            let answer = String(decoding: others[0].written.joined(), as: UTF8.self)
            #expect(answer.hasPrefix("HTTP/1.1 429 "))
            #expect(answer.hasSuffix("\r\n\r\ntoo many connections from your network\n"))
            try stage.pass(limits.admissionWhenFull - .milliseconds(2))
            #expect(others[1].isOpen)
            try stage.pass(.milliseconds(1))
            #expect(!others[1].isOpen)
            #expect(stage.hub.metrics.refused == 11 && stage.hub.metrics.accepted == 2)
            #expect(stage.hub.snapshot.strangers == 2)
        }
    }

    @Test("when all places are taken the answer is 503, of whatever network one comes")
    func full() throws {
        var limits = RelayLimits()
        limits.connections = 1
        try Stage.run(limits) { stage in
            stage.accept(1)
            let other = stage.arrive(0x0101)
            other.inflow = Array("GET /ping HTTP/1.1\r\nHost: relay.test\r\n\r\n".utf8)
            stage.machine.loop.enter { other.offer() }
            try stage.pass(.milliseconds(1))
            let answer = String(decoding: other.written.joined(), as: UTF8.self)
            #expect(answer.hasPrefix("HTTP/1.1 503 ") && answer.hasSuffix("too many connections at this relay\n"))
        }
    }

    @Test("a client that reads nothing for a while stays, however many that it has heard of leave at once")
    func goneFlood() throws {
        try Stage.run { stage in
            let victim = try stage.join(0, as: 0)
            let others = try (1...400).map { try stage.join(UInt32($0), as: UInt16($0)) }
            for other in others { stage.forward([1], from: other, to: victim) }
            try stage.pass(.milliseconds(1))
            victim.socket.isFull = true
            stage.machine.loop.enter { for other in others { other.socket.end() } }
            try stage.pass(.milliseconds(1))
            #expect(stage.hub.snapshot.nodes == 1)
            victim.socket.isFull = false
            stage.machine.loop.enter { victim.socket.drained() }
            #expect(victim.socket.isOpen)
        }
    }

    @Test("what waits for a client that takes nothing is dropped when it is too old, and costs nothing any more")
    func stale() throws {
        try Stage.run { stage in
            let (sender, receiver) = (try stage.join(1, as: 1), try stage.join(2, as: 2))
            receiver.socket.isFull = true
            for _ in 0..<20 { stage.forward([UInt8](repeating: 0, count: 1_200), from: sender, to: receiver) }
            try stage.pass(stage.hub.limits.queueTime)
            #expect(stage.hub.backlog.bytes > 20_000)
            try stage.pass(.milliseconds(1))
            #expect(stage.hub.backlog.bytes == 0)
            #expect(stage.hub.metrics.packetsExpired == 20)
            try stage.pass(stage.hub.limits.stall)
            #expect(!receiver.socket.isOpen, "and in the end it is dropped itself")
            #expect(sender.socket.isOpen)
        }
    }

    @Test(
        "a client that sends all the time is read at its rate, and what it sends waits no longer than a few moments",
        arguments: [RelayLimits.leastBytesPerSecond, 1_000_000, 4_000_000])
    func steadyRate(rate: Int) throws {
        var limits = RelayLimits()
        limits.bytesPerSecond = rate
        try Stage.run(limits) { stage in
            let client = try stage.join(1, as: 1)
            client.socket.inflow = try Self.packets(to: client.node)
            var (last, longest) = (0, 0)
            for moment in 0..<400 {
                let before = client.socket.readCount
                stage.machine.loop.enter { client.socket.offer() }
                try stage.pass(.milliseconds(5))
                if client.socket.readCount > before { last = moment }
                longest = max(longest, moment - last)
            }
            let allowed = limits.burstBytes + rate * 2
            #expect(client.socket.isOpen && longest <= 5)
            #expect((allowed * 9 / 10...allowed).contains(client.socket.readCount))
        }
    }

    @Test("a client that keeps to be too fast is told again every 30 s")
    func toldAgain() throws {
        var limits = RelayLimits()
        limits.bytesPerSecond = RelayLimits.leastBytesPerSecond
        let nobody = try #require(NodeID(bytes: [UInt8](repeating: 9, count: 32)))
        try Stage.run(limits) { stage in
            let client = try stage.join(1, as: 1)
            client.socket.inflow = try Self.packets(to: nobody)
            for _ in 0..<650 {
                stage.machine.loop.enter { for _ in 0..<3 { client.socket.offer() } }
                try stage.pass(.milliseconds(100))
            }
            let told = WebSocketWriter.frame(.binary, RelayFrame.status(.rateLimited).encoded)
            #expect(client.socket.written.filter { $0.suffix(told.count) == told[...] }.count == 3)
        }
    }

    private static func packets(to node: NodeID) throws -> [UInt8] {
        let framing = WebSocketFraming(role: .client, kind: .binary, entropy: SystemEntropy())
        let frame = RelayFrame.clientToRelay(
            RelayDatagrams(peer: node, contents: [UInt8](repeating: 0, count: 1_200)[...]))
        return try Array(repeatElement(framing.encode(frame.encoded), count: 200).joined())
    }
}

/// A relay whose connections do what a test says, in simulated time.
private struct Stage {
    struct Client {
        let socket: TestEnd
        let connection: RelayConnection
        let node: NodeID
    }

    let world: SimWorld
    let machine: SimNode
    let hub: RelayHub

    static func run(_ limits: RelayLimits = RelayLimits(), _ body: (Stage) throws -> Void) throws {
        let world = SimWorld(seed: 1)
        let machine = world.addNode("relay")
        let hub = machine.loop.enter {
            var settings = RelaySettings(programVersion: "1")
            settings.limits = limits
            return RelayHub(
                settings, on: machine.loop, entropy: SystemEntropy(),
                diagnostics: NoDiagnostics())
        }
        try body(Stage(world: world, machine: machine, hub: hub))
        machine.loop.enter { hub.dropAll() }
        #expect(hub.snapshot.connections == 0 && hub.snapshot.sources == 0 && hub.strangers.isEmpty)
        #expect(hub.backlog.bytes == 0)
        _ = world.shutDown()
    }

    func pass(_ duration: Duration) throws { try world.run(for: duration) }

    /// A connection from `10.0.0.0` plus `host`; nil when it is refused.
    @discardableResult
    func accept(_ host: UInt32) -> TestEnd? {
        let refused = hub.metrics.refused
        let socket = arrive(host)
        return hub.metrics.refused == refused ? socket : nil
    }

    /// The same, taken or turned away.
    func arrive(_ host: UInt32) -> TestEnd {
        let socket = TestEnd(host)
        machine.loop.enter { hub.accept(socket, sealed: false) }
        return socket
    }

    func join(_ host: UInt32, as number: UInt16) throws -> Client {
        let socket = try #require(accept(host << 8))
        let node = try #require(
            NodeID(bytes: [UInt8(number >> 8), UInt8(number & 255)] + [UInt8](repeating: 0, count: 30)))
        let connection = try #require(hub.connections.values.max { $0.number < $1.number })
        machine.loop.enter { hub.admit(connection, as: node) }
        return Client(socket: socket, connection: connection, node: node)
    }

    func forward(_ contents: [UInt8], from sender: Client, to receiver: Client) {
        var frame = RelayFrame.clientToRelay(RelayDatagrams(peer: receiver.node, contents: contents[...])).encoded
        machine.loop.enter {
            let isTaken = frame.withUnsafeMutableBytes { hub.forward($0, from: sender.connection, sender.node) }
            #expect(isTaken)
        }
    }
}

/// A connection that takes everything, or nothing, and gives what it is told to, again and again.
private final class TestEnd: StreamEnd {
    let peer: SocketAddress
    private(set) var isOpen = true
    var isFull = false
    var inflow: [UInt8] = []
    private(set) var readCount = 0
    private(set) var written: [[UInt8]] = []
    private var isWanted = true
    private var hasEnded = false
    private var handler: ((Readiness) -> Void)?

    init(_ host: UInt32) { peer = SocketAddress(ipv4: 0x0a00_0000 + host, port: 1_000) }

    func start(for interest: Readiness, _ handler: @escaping (Readiness) -> Void) { self.handler = handler }
    func wait(for interest: Readiness) { isWanted = interest.contains(.readable) }

    func read(into buffer: UnsafeMutableRawBufferPointer) -> StreamRead {
        guard !hasEnded else { return .end }
        guard !inflow.isEmpty else { return .nothing }
        // Begins where the last one ended.
        let start = readCount % inflow.count
        let count = min(buffer.count, inflow.count - start)
        buffer.copyBytes(from: inflow[start..<(start + count)])
        readCount += count
        return .bytes(count)
    }

    /// As the kernel does while something waits.
    func offer() {
        if isWanted { handler?(.readable) }
    }

    func write(_ bytes: UnsafeRawBufferPointer) -> StreamWrite {
        guard !isFull else { return .taken(0) }
        written.append(Array(bytes))
        return .taken(bytes.count)
    }

    func finish() {}
    func close(aborting: Bool) { (isOpen, handler) = (false, nil) }

    func end() {
        hasEnded = true
        handler?([.readable, .hungUp])
    }

    func drained() { handler?(.writable) }
}
