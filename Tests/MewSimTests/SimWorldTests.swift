import MewBase
import MewLoop
import MewSim
import Testing

/// A bound socket that keeps what it receives. `@unchecked Sendable`: one thread.
final class Mailbox: @unchecked Sendable {
    let node: SimNode
    let socket: any DatagramSocket
    var batches: [Received] = []
    var times: [Instant] = []
    var refused: [SocketAddress] = []

    init(_ node: SimNode, _ address: SocketAddress) throws {
        self.node = node
        socket = try node.loop.enter { try node.network.bind(address, on: node.loop) }
        socket.onReceive = { [unowned self] in
            batches.append(Received($0))
            times.append(node.world.now)
        }
        socket.onUnreachable = { [unowned self] in refused.append($0) }
    }

    var packets: [[UInt8]] { batches.flatMap(\.packets) }

    func send(_ bytes: [UInt8], segment: Int? = nil, to: SocketAddress, ecn: UInt8 = 0, flush: Bool = true) {
        node.loop.enter {
            socket.reserve(bytes.count).copyBytes(from: bytes)
            socket.commit(bytes.count, segmentSize: segment ?? max(1, bytes.count), to: to, from: nil, ecn: ecn)
            if flush { socket.flush() }
        }
    }
}

@Suite("The simulated network")
struct SimNetworkTests {
    private static func pair(
        seed: UInt64 = 1, _ body: (SimWorld, Mailbox, Mailbox) throws -> Void
    ) throws {
        try withSimWorld(seed: seed) { world in
            let (left, right) = (world.addNode("left"), world.addNode("right"))
            try body(
                world, try Mailbox(left, left.address(port: 10)), try Mailbox(right, right.address(port: 20)))
        }
    }

    @Test("a packet arrives after the latency, not before")
    func latency() throws {
        try Self.pair { world, left, right in
            world.changeLinks { $0.latency = .milliseconds(30) }
            left.send([1, 2, 3], to: right.socket.localAddress)
            try world.run(for: .milliseconds(30) - .nanoseconds(1))
            #expect(right.packets == [])
            try world.run(for: .nanoseconds(2))
            #expect(right.packets == [[1, 2, 3]])
            #expect(right.times == [SimWorld.start.advanced(by: .milliseconds(30))])
            #expect(right.batches[0].from == left.socket.localAddress)
            #expect(right.batches[0].to == right.socket.localAddress)
        }
    }

    @Test("nothing leaves before the flush")
    func flush() throws {
        try Self.pair { world, left, right in
            left.send([1], to: right.socket.localAddress, flush: false)
            try world.run(for: .seconds(1))
            #expect(world.trace.count == 0)
            left.node.loop.enter { left.socket.flush() }
            try world.run(for: .seconds(1))
            #expect(right.packets == [[1]])
        }
    }

    @Test("a batch is separate packets on the wire, and may come back together")
    func batches() throws {
        try Self.pair { world, left, right in
            world.keepTrace()
            left.send([1, 1, 2, 2, 3], segment: 2, to: right.socket.localAddress)
            try world.run(for: .seconds(1))
            #expect(right.packets == [[1, 1], [2, 2], [3]])
            #expect(right.batches.count == 1)
            #expect(world.trace.entries.map(\.size) == [2, 2, 1])
        }
    }

    @Test("whoever answers a packet of a batch still finds the others as they came")
    func answersWithinBatch() throws {
        try Self.pair { world, left, right in
            let seen = Shared<[[UInt8]]>([])
            right.socket.onReceive = { batch in
                for start in stride(from: 0, to: batch.bytes.count, by: batch.segmentSize) {
                    seen.value.append(Array(batch.bytes[start..<min(start + batch.segmentSize, batch.bytes.count)]))
                    right.socket.reserve(64).copyBytes(from: [UInt8](repeating: 9, count: 64))
                    right.socket.commit(64, segmentSize: 64, to: batch.from, from: nil, ecn: 0)
                }
            }
            left.send([1, 1, 2, 2, 3], segment: 2, to: right.socket.localAddress)
            try world.run(for: .seconds(1))
            #expect(seen.value == [[1, 1], [2, 2], [3]])
        }
    }

    @Test("a packet of exactly the MTU passes, one byte more vanishes", arguments: [1_280, 1_500])
    func mtu(mtu: Int) throws {
        try Self.pair { world, left, right in
            world.changeLinks { $0.mtu = mtu }
            left.send([UInt8](repeating: 1, count: mtu - 28), to: right.socket.localAddress)
            left.send([UInt8](repeating: 2, count: mtu - 27), to: right.socket.localAddress)
            try world.run(for: .seconds(1))
            #expect(right.packets.map(\.count) == [mtu - 28])
        }
    }

    @Test("loss takes about its share, and duplicates come twice")
    func lossAndDuplicates() throws {
        try Self.pair { world, left, right in
            world.changeLinks { $0.loss = 0.2 }
            for _ in 0..<2_000 { left.send([1], to: right.socket.localAddress) }
            try world.run(for: .seconds(1))
            #expect((1_500...1_700).contains(right.packets.count))
            right.batches = []
            world.changeLinks {
                $0.loss = 0
                $0.duplicates = 0.1
            }
            for _ in 0..<2_000 { left.send([1], to: right.socket.localAddress) }
            try world.run(for: .seconds(1))
            #expect((2_130...2_270).contains(right.packets.count))
        }
    }

    @Test("jitter lets packets overtake each other")
    func reordering() throws {
        try Self.pair { world, left, right in
            world.changeLinks { $0.jitter = .milliseconds(10) }
            for number in UInt8(0)..<100 { left.send([number], to: right.socket.localAddress) }
            try world.run(for: .seconds(1))
            #expect(right.packets != (UInt8(0)..<100).map { [$0] })
            #expect(right.packets.sorted { $0[0] < $1[0] } == (UInt8(0)..<100).map { [$0] })
        }
    }

    @Test("a slow link spaces packets out, and drops what its queue cannot hold")
    func bandwidth() throws {
        try Self.pair { world, left, right in
            world.changeLinks {
                $0.bytesPerSecond = 100_000
                $0.queueBytes = 10_000
            }
            for _ in 0..<100 { left.send([UInt8](repeating: 0, count: 972), to: right.socket.localAddress) }
            try world.run(for: .seconds(1))
            #expect((10...11).contains(right.packets.count))
            #expect(zip(right.times, right.times.dropFirst()).allSatisfy { $0.duration(to: $1) == .milliseconds(10) })
        }
    }

    @Test("a partition stops everything between two nodes until it is healed")
    func partition() throws {
        try Self.pair { world, left, right in
            world.changeLinks(between: left.node, and: right.node) { $0.isDown = true }
            left.send([1], to: right.socket.localAddress)
            right.send([1], to: left.socket.localAddress)
            try world.run(for: .seconds(1))
            #expect(left.packets + right.packets == [])
            world.changeLinks(between: left.node, and: right.node) { $0.isDown = false }
            left.send([2], to: right.socket.localAddress)
            try world.run(for: .seconds(1))
            #expect(right.packets == [[2]])
        }
    }

    @Test("a congested router marks what can be marked")
    func congestion() throws {
        try Self.pair { world, left, right in
            world.changeLinks { $0.marksCongestion = true }
            for mark in UInt8(0)...2 { left.send([mark], to: right.socket.localAddress, ecn: mark) }
            try world.run(for: .seconds(1))
            #expect(right.batches.map(\.ecn) == [0, 3])
            #expect(right.packets == [[0], [1], [2]])
        }
    }

    @Test("a closed port is reported to the sender")
    func unreachable() throws {
        try Self.pair { world, left, right in
            let nobody = right.node.address(port: 21)
            left.send([1], to: nobody)
            try world.run(for: .seconds(1))
            #expect(left.refused == [nobody])
        }
    }

    @Test("a stopped node gets its packets when it goes on; a sleeping one has lost them")
    func frozen() throws {
        try Self.pair { world, left, right in
            right.node.stop()
            left.send([1], to: right.socket.localAddress)
            try world.run(for: .seconds(1))
            #expect(right.packets == [])
            right.node.resume()
            try world.run(for: .seconds(1))
            #expect(right.packets == [[1]])
            right.node.sleep()
            left.send([2], to: right.socket.localAddress)
            try world.run(for: .seconds(1))
            right.node.resume()
            try world.run(for: .seconds(1))
            #expect(right.packets == [[1]])
        }
    }

    @Test("overdue timers fire when a stopped node goes on")
    func overdueTimers() throws {
        try Self.pair { world, left, _ in
            var fired: Instant?
            left.node.loop.enter {
                _ = left.node.loop.schedule(at: world.now.advanced(by: .seconds(1))) { fired = world.now }
            }
            left.node.stop()
            try world.run(for: .seconds(5))
            #expect(fired == nil)
            left.node.resume()
            try world.run(for: .nanoseconds(1))
            #expect(fired == SimWorld.start.advanced(by: .seconds(5)))
        }
    }

    @Test("from the instant of its kill a node has no effect, and its tasks unwind")
    func killed() throws {
        try Self.pair { world, left, right in
            let unwound = Shared(false)
            let (socket, to) = (Shared(left.socket), right.socket.localAddress)
            left.node.loop.spawn { [node = left.node] in
                do {
                    try await LoopClock(node.loop).sleep(for: .seconds(100))
                } catch {
                    node.loop.enter {
                        socket.value.reserve(1)[0] = 1
                        socket.value.commit(1, segmentSize: 1, to: to, from: nil, ecn: 0)
                        socket.value.flush()
                    }
                    unwound.value = true
                }
            }
            world.run(steps: 5)
            var cut: Instant?
            left.node.onKill { cut = world.now }
            left.node.kill()
            right.send([9], to: left.socket.localAddress)
            try world.run(for: .seconds(1))
            #expect(unwound.value)
            #expect(cut == SimWorld.start)
            #expect(right.packets == [])
            #expect(right.refused == [left.socket.localAddress])
            #expect(left.node.taskCount == 0)
        }
    }

    @Test("a restarted node takes over its addresses")
    func restart() throws {
        try Self.pair { world, left, right in
            right.node.kill()
            let again = world.addNode("right", hosts: right.node.hosts)
            let mailbox = try Mailbox(again, again.address(port: 20))
            left.send([5], to: mailbox.socket.localAddress)
            try world.run(for: .seconds(1))
            #expect(mailbox.packets == [[5]])
        }
    }

    @Test("ports and addresses are refused as by a kernel")
    func binding() throws {
        try withSimWorld(seed: 1) { world in
            let node = world.addNode("node")
            let first = try Mailbox(node, .anyIPv4)
            let taken = node.address(port: first.socket.localAddress.port)
            #expect(throws: SocketError.addressInUse(taken)) { try Mailbox(node, taken) }
            let foreign = SocketAddress(ipv4: 1, port: 0)
            #expect(throws: SocketError.addressNotAvailable(foreign)) { try Mailbox(node, foreign) }
            first.socket.close()
            _ = try Mailbox(node, taken)
        }
    }
}

@Suite("Running a simulated world")
struct SimWorldTests {
    @Test("a goal that nothing can reach any more fails at once, and names the seed")
    func stuck() {
        withSimWorld(seed: 42) { world in
            let node = world.addNode("node")
            let failure = #expect(throws: SimFailure.self) {
                try world.run(on: node) { await withCheckedContinuation { Shared.leaked.value.append($0) } }
            }
            #expect(failure?.seed == 42)
            #expect(failure?.reason == .stuck)
            for continuation in Shared<[CheckedContinuation<Void, Never>]>.leaked.value { continuation.resume() }
        }
    }

    @Test("a goal that takes too long fails at its limit")
    func tooLong() throws {
        try withSimWorld(seed: 1) { world in
            let node = world.addNode("node")
            let failure = #expect(throws: SimFailure.self) {
                try world.run(on: node, limit: .seconds(9)) { try await LoopClock(node.loop).sleep(for: .seconds(10)) }
            }
            #expect(failure?.reason == .tookTooLong)
            try world.run(on: node, limit: .seconds(10)) { try await LoopClock(node.loop).sleep(for: .seconds(10)) }
        }
    }

    @Test("time costs nothing: a day of sleep in a moment")
    func day() throws {
        try withSimWorld(seed: 1) { world in
            let node = world.addNode("node")
            let clock = LoopClock(node.loop)
            let slept = try world.run(on: node, limit: .seconds(90_000)) {
                let start = clock.now
                try await clock.sleep(for: .seconds(86_400))
                return start.duration(to: clock.now)
            }
            #expect(slept == .seconds(86_400))
            #expect(node.wallClock.millisecondsSinceEpoch == 1_767_225_600_000 + 86_400_000)
        }
    }

    @Test("after the shut-down no task is left")
    func shutDown() {
        let world = SimWorld(seed: 3)
        let node = world.addNode("node")
        for _ in 0..<10 { node.loop.spawn { try? await LoopClock(node.loop).sleep(for: .seconds(1)) } }
        world.run(steps: 10)
        #expect(node.taskCount == 10)
        #expect(world.shutDown() == 0)
    }

    @Test("two loops of one node take turns in an order the seed decides")
    func interleaving() {
        func order(_ seed: UInt64) -> [String] {
            withSimWorld(seed: seed) { world in
                let node = world.addNode("node")
                let store = node.makeLoop()
                let log = Shared<[String]>([])
                for number in 0..<20 {
                    node.loop.post { log.value.append("n\(number)") }
                    store.post { log.value.append("s\(number)") }
                }
                world.run(steps: 1_000)
                return log.value
            }
        }
        let orders = (UInt64(0)..<20).map(order)
        #expect(Set(orders).count == 20)
        #expect(orders.allSatisfy { $0.filter { $0.hasPrefix("s") } == (0..<20).map { "s\($0)" } })
    }
}

extension Shared where Value == [CheckedContinuation<Void, Never>] {
    /// Continuations that a test resumes only after its world gave up on them.
    fileprivate static let leaked = Shared([])
}
