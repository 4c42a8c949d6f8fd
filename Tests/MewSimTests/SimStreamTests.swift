import MewBase
import MewLoop
import MewSim
import Testing

/// One end of a simulated TCP connection that keeps what it reads. `@unchecked Sendable`: one thread.
private final class End: @unchecked Sendable {
    let stream: any StreamEnd
    var received: [UInt8] = []
    var isOver = false
    var failure: SystemError?
    /// What is to be written as soon as there is room.
    private var outgoing: [UInt8] = []
    private var finishes = false

    init(_ stream: any StreamEnd) throws {
        self.stream = stream
        try stream.start(for: [.readable, .writable]) { [self] readiness in ready(readiness) }
    }

    private func ready(_ readiness: Readiness) {
        if !readiness.isDisjoint(with: [.readable, .failed, .hungUp]) { readAll() }
        if readiness.contains(.writable) { writeSome() }
    }

    private func readAll() {
        var block = [UInt8](repeating: 0, count: 4_096)
        while !isOver {
            switch block.withUnsafeMutableBytes({ stream.read(into: $0) }) {
            case .bytes(let count): received += block[..<count]
            case .nothing: return
            case .end: over(nil)
            case .failed(let error): over(error)
            }
        }
    }

    private func over(_ error: SystemError?) {
        isOver = true
        failure = error
        stream.wait(for: [])
    }

    func write(_ bytes: [UInt8], thenFinish: Bool = false) {
        outgoing += bytes
        finishes = finishes || thenFinish
        writeSome()
    }

    private func writeSome() {
        while !outgoing.isEmpty {
            guard case .taken(let count) = outgoing.withUnsafeBytes({ stream.write($0) }), count > 0 else { break }
            outgoing.removeFirst(count)
        }
        var interest: Readiness = isOver ? [] : .readable
        if !outgoing.isEmpty, failure == nil { interest.insert(.writable) }
        stream.wait(for: interest)
        if outgoing.isEmpty, finishes { stream.finish() }
    }
}

/// A client that connects to a server.
private final class StreamStage: @unchecked Sendable {
    let world: SimWorld
    let client: SimNode
    let server: SimNode
    var accepted: [End] = []
    static let port: UInt16 = 80

    init(_ world: SimWorld, behind box: SimRouter? = nil) throws {
        self.world = world
        client = world.addNode("client", behind: box)
        server = world.addNode("server")
        try listen()
    }

    func listen() throws {
        _ = try server.loop.enter {
            try server.streams.listen(SocketAddress.anyIPv4.with(port: Self.port), on: server.loop) { [unowned self] in
                if let end = try? End($0) { accepted.append(end) }
            }
        }
    }

    func connect() throws -> End {
        let stream = client.loop.enter { client.streams.connect(to: server.address(port: Self.port), on: client.loop) }
        return try client.loop.enter { try End(try #require(stream)) }
    }

    func write(_ end: End, _ bytes: [UInt8], thenFinish: Bool = false, on node: SimNode) {
        node.loop.enter { end.write(bytes, thenFinish: thenFinish) }
    }
}

@Suite("TCP of the simulated network")
struct SimStreamTests {
    private static let some = Pattern.bytes(at: 0, count: 60_000, salt: 3)

    @Test("bytes arrive whole and in order on bad links, and so do the ends", arguments: 0..<30)
    func badLinks(seed: Int) throws {
        try withSimWorld(seed: UInt64(seed)) { world in
            world.changeLinks {
                $0.latency = .milliseconds(Int64(1 + 7 * seed))
                $0.jitter = .milliseconds(Int64(seed))
                $0.loss = Double(seed % 6) / 100
                $0.duplicates = Double(seed % 3) / 100
                if seed % 4 == 0 { $0.mtu = 1_280 }
                if seed % 5 == 0 {
                    $0.bytesPerSecond = 200_000
                    $0.queueBytes = 20_000
                }
            }
            let stage = try StreamStage(world)
            let near = try stage.connect()
            stage.write(near, Self.some, thenFinish: true, on: stage.client)
            try world.run(until: { stage.accepted.first?.isOver ?? false }, limit: .seconds(300))
            let far = try #require(stage.accepted.first)
            #expect(far.received == Self.some)
            stage.write(far, Self.some.reversed(), thenFinish: true, on: stage.server)
            try world.run(until: { near.isOver }, limit: .seconds(300))
            #expect(near.received == Self.some.reversed())
            #expect(near.failure == nil)
            #expect(far.failure == nil)
        }
    }

    @Test("a port nobody listens on refuses; an address nobody has does not answer")
    func refused() throws {
        try withSimWorld(seed: 1) { world in
            let stage = try StreamStage(world)
            stage.server.kill()
            let end = try stage.connect()
            try world.run(until: { end.isOver }, limit: .seconds(1))
            #expect(end.failure?.errno == 111)
            world.changeLinks { $0.isDown = true }
            let unheard = try stage.connect()
            try world.run(for: .seconds(30))
            #expect(!unheard.isOver)
        }
    }

    @Test("what was written during a cut arrives after it, later than it would have: the timer has doubled")
    func cut() throws {
        try withSimWorld(seed: 1) { world in
            let stage = try StreamStage(world)
            let near = try stage.connect()
            try world.run(for: .seconds(1))
            world.changeLinks { $0.isDown = true }
            stage.write(near, [1], on: stage.client)
            try world.run(for: .seconds(20))
            world.changeLinks { $0.isDown = false }
            let back = world.now
            try world.run(until: { stage.accepted[0].received == [1] }, limit: .seconds(30))
            #expect(back.duration(to: world.now) > .seconds(1))
        }
    }

    @Test("a stopped process's kernel goes on taking bytes, up to its buffer; a killed one's connections end")
    func stopped() throws {
        try withSimWorld(seed: 1) { world in
            let stage = try StreamStage(world)
            let near = try stage.connect()
            try world.run(for: .seconds(1))
            stage.server.stop()
            stage.write(near, [UInt8](repeating: 1, count: 600_000), on: stage.client)
            let late = try stage.connect()
            try world.run(for: .seconds(60))
            #expect(!near.isOver)
            #expect(!late.isOver)
            #expect(stage.accepted.count == 1)
            stage.server.resume()
            try world.run(until: { stage.accepted[0].received.count == 600_000 }, limit: .seconds(60))
            #expect(stage.accepted.count == 2)
            stage.server.kill()
            try world.run(until: { near.isOver && late.isOver }, limit: .seconds(5))
        }
    }

    @Test("an address that is gone takes its connections with it, without a word")
    func moved() throws {
        try withSimWorld(seed: 1) { world in
            let stage = try StreamStage(world)
            let near = try stage.connect()
            try world.run(for: .seconds(1))
            stage.client.move(to: [SocketAddress(ipv4: 0x0a00_0909, port: 0)])
            stage.write(near, [1], on: stage.client)
            try world.run(for: .seconds(60))
            #expect(!near.isOver)
            #expect(stage.accepted[0].received == [])
            let again = try stage.connect()
            stage.write(again, [2], on: stage.client)
            try world.run(until: { stage.accepted.last?.received == [2] }, limit: .seconds(5))
        }
    }

    @Test("a connection passes a NAT; one that the NAT has forgotten is reset by the other end")
    func nat() throws {
        try withSimWorld(seed: 1) { world in
            let box = world.addRouter("box")
            let stage = try StreamStage(world, behind: box)
            let near = try stage.connect()
            stage.write(near, [1], on: stage.client)
            try world.run(until: { stage.accepted.first?.received == [1] }, limit: .seconds(5))
            #expect(stage.accepted[0].stream.peer.with(port: 0) == box.address)
            box.change(address: SocketAddress(ipv4: 0x0a01_0063, port: 0))
            stage.write(near, [2], on: stage.client)
            try world.run(until: { near.isOver }, limit: .seconds(5))
            #expect(near.failure?.errno == 104)
        }
    }

    @Test("who closes without having read everything resets the connection")
    func unread() throws {
        try withSimWorld(seed: 1) { world in
            let stage = try StreamStage(world)
            let near = try stage.connect()
            try world.run(for: .seconds(1))
            let far = stage.accepted[0]
            stage.server.loop.enter { far.stream.wait(for: []) }
            stage.write(near, [1], on: stage.client)
            try world.run(for: .seconds(1))
            stage.server.loop.enter { far.stream.close(aborting: false) }
            try world.run(until: { near.isOver }, limit: .seconds(5))
            #expect(near.failure?.errno == 104)
        }
    }
}
