import MewBase
import MewIdentity
import MewTestSupport
import MewWire
import Testing

/// What every `Link` promises, whatever carries it.
@Suite("Link laws")
struct LinkLawTests {
    typealias Ends = (dialler: any Link, listener: any IncomingLink)

    static func loopback(_ applicationProtocol: ApplicationProtocol = .native, capacityBytes: Int = 4_096) -> Ends {
        let nodes = [1, 2].compactMap { NodeID(bytes: [UInt8](repeating: $0, count: 32)) }
        return LoopbackLink.pair(
            dialler: nodes[0], listener: nodes[1], applicationProtocol: applicationProtocol,
            capacityBytes: capacityBytes)
    }

    /// A channel opened by the dialler and accepted by the listener, after one message went through.
    static func channel(of ends: Ends) async throws -> (near: any MessageChannel, far: any MessageChannel) {
        let near = try await ends.dialler.openChannel()
        try await near.send([0])
        let far = try #require(await ends.listener.acceptChannel())
        #expect(try await far.receive() == [0])
        return (near, far)
    }

    @Test("messages arrive whole and in order, both ways")
    func order() async throws {
        let (near, far) = try await Self.channel(of: Self.loopback())
        for count in [1, 2, 3] {
            try await near.send([UInt8](repeating: 1, count: count))
            try await far.send([UInt8](repeating: 2, count: count))
        }
        for count in [1, 2, 3] {
            #expect(try await far.receive() == [UInt8](repeating: 1, count: count))
            #expect(try await near.receive() == [UInt8](repeating: 2, count: count))
        }
    }

    @Test("what was sent before finish still arrives, then nil, and further sends are refused")
    func finish() async throws {
        let (near, far) = try await Self.channel(of: Self.loopback())
        try await near.send([1])
        await near.finish()
        await near.finish()
        #expect(try await far.receive() == [1])
        #expect(try await far.receive() == nil)
        #expect(try await far.receive() == nil)
        await #expect(throws: ChannelError.finished) { try await near.send([2]) }
        try await far.send([3])
        #expect(try await near.receive() == [3])
    }

    @Test("a reset ends both directions at once and tells its code")
    func reset() async throws {
        let (near, far) = try await Self.channel(of: Self.loopback())
        try await near.send([1])
        await near.reset(code: 0x103)
        await #expect(throws: ChannelError.reset(code: 0x103)) { try await far.receive() }
        await #expect(throws: ChannelError.reset(code: 0x103)) { try await far.send([1]) }
        await #expect(throws: ChannelError.cancelled) { try await near.send([1]) }
        await #expect(throws: ChannelError.cancelled) { try await near.receive() }
    }

    @Test("a sender waits while the reader reads nothing, and goes on when it does")
    func backPressure() async throws {
        let (near, far) = try await Self.channel(of: Self.loopback(capacityBytes: 4_096))
        let message = [UInt8](repeating: 7, count: 1_024)
        let total = 64
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { for _ in 0..<total { try await near.send(message) } }
            for _ in 0..<total {
                #expect((near as? LoopbackChannel).map { $0.unreadBytes <= 4_096 + 1_024 } ?? true)
                #expect(try await far.receive() == message)
            }
            try await group.waitForAll()
        }
    }

    @Test("cancelling frees a waiting reader, a waiting writer, and those who wait for a channel or the end")
    func cancellation() async throws {
        let ends = Self.loopback(capacityBytes: 1)
        let (near, far) = try await Self.channel(of: ends)
        try await near.send([1, 2])
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await #expect(throws: ChannelError.cancelled) { try await near.send([3]) } }
            group.addTask { await #expect(throws: ChannelError.cancelled) { try await near.receive() } }
            group.addTask { #expect(await ends.listener.acceptChannel() == nil) }
            group.addTask { #expect(await ends.dialler.closed() == nil) }
            group.addTask { #expect(await ends.listener.closed() == nil) }
            group.cancelAll()
        }
        // The cancelled message was never handed over.
        #expect(try await far.receive() == [1, 2])
        try await near.send([4])
        #expect(try await far.receive() == [4])
    }

    @Test("a channel is invisible to the listener until something was sent on it")
    func announcedByFirstMessage() async throws {
        let ends = Self.loopback()
        let first = try await ends.dialler.openChannel()
        let second = try await ends.dialler.openChannel()
        try await second.send([2])
        try await first.send([1])
        #expect(try await ends.listener.acceptChannel()?.receive() == [2])
        #expect(try await ends.listener.acceptChannel()?.receive() == [1])
    }

    @Test("a stock link has one channel, and it shows at once")
    func stockHasOneChannel() async throws {
        let ends = Self.loopback(.stock)
        let near = try await ends.dialler.openChannel()
        let far = try #require(await ends.listener.acceptChannel())
        try await far.send([1])
        #expect(try await near.receive() == [1])
        await #expect(throws: ChannelError.self) { try await ends.dialler.openChannel() }
    }

    @Test("closing tells the peer code and reason, each side from its own view; the first call wins")
    func close() async throws {
        let ends = Self.loopback()
        let (near, far) = try await Self.channel(of: ends)
        await ends.listener.close(code: .revoked, reason: "revoked on the daemon")
        await ends.listener.close(code: .done, reason: "")
        await ends.dialler.close(code: .done, reason: "")
        let seen = LinkClosure.peer(.revoked, reason: "revoked on the daemon")
        #expect(await ends.dialler.closed() == seen)
        #expect(await ends.listener.closed() == .local(.revoked))
        await #expect(throws: ChannelError.linkClosed(seen)) { try await near.send([1]) }
        await #expect(throws: ChannelError.linkClosed(seen)) { try await near.receive() }
        await #expect(throws: ChannelError.linkClosed(.local(.revoked))) { try await far.receive() }
        await #expect(throws: ChannelError.linkClosed(seen)) { try await ends.dialler.openChannel() }
        #expect(await ends.listener.acceptChannel() == nil)
    }

    @Test("both ends export the same keying material, another for another label")
    func exporter() async throws {
        let ends = Self.loopback()
        let digits = try await ends.dialler.export(label: "EXPORTER-mew-pair-1", byteCount: 8)
        #expect(digits.count == 8)
        #expect(try await ends.listener.export(label: "EXPORTER-mew-pair-1", byteCount: 8) == digits)
        #expect(try await ends.listener.export(label: "EXPORTER-mew-pair-2", byteCount: 8) != digits)
        #expect(try await Self.loopback().dialler.export(label: "EXPORTER-mew-pair-1", byteCount: 8) != digits)
    }
}

@Suite("Loopback network")
struct LoopbackNetworkTests {
    let nodes = [1, 2].compactMap { NodeID(bytes: [UInt8](repeating: $0, count: 32)) }

    @Test("a node that listens is reached by node ID, native first, and authorizing is seen")
    func dial() async throws {
        let network = LoopbackNetwork()
        let (client, daemon) = (network.endpoint(nodes[0]), network.endpoint(nodes[1]))
        daemon.listen()
        let link = try await client.dial(DialTarget(node: nodes[1], addresses: []))
        let incoming = try #require(await daemon.acceptLink() as? LoopbackLink)
        #expect(link.peer == nodes[1] && incoming.peer == nodes[0])
        #expect(link.applicationProtocol == .native)
        #expect(!incoming.isAuthorized)
        await incoming.authorize()
        #expect(incoming.isAuthorized)
    }

    @Test("one that does not listen is unreachable, and one without a common protocol refuses")
    func refusals() async throws {
        let network = LoopbackNetwork()
        let client = network.endpoint(nodes[0], protocols: [.native])
        let daemon = network.endpoint(nodes[1], protocols: [.stock])
        let target = DialTarget(node: nodes[1], addresses: [])
        await #expect(throws: DialError.self) { try await client.dial(target) }
        daemon.listen()
        await #expect(throws: DialError.refused(.transport("no application protocol in common"))) {
            try await client.dial(target)
        }
        daemon.stopListening()
        #expect(await daemon.acceptLink() == nil)
    }

    @Test("a broken network ends the links of a node on both sides")
    func broken() async throws {
        let network = LoopbackNetwork()
        let (client, daemon) = (network.endpoint(nodes[0]), network.endpoint(nodes[1]))
        daemon.listen()
        let link = try await client.dial(DialTarget(node: nodes[1], addresses: []))
        let incoming = try #require(await daemon.acceptLink())
        daemon.breakLinks()
        #expect(await link.closed() == .idle)
        #expect(await incoming.closed() == .idle)
    }
}
