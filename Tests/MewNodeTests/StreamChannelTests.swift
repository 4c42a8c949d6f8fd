import MewBase
import MewIdentity
import MewLoop
import MewNode
import MewWire
import Testing

/// The two framings, each with the kind of either end.
enum FramingPair: CaseIterable, CustomTestStringConvertible {
    case native, webSocket

    var near: ChannelFraming { self == .native ? .native : .webSocketClient }
    var far: ChannelFraming { self == .native ? .native : .webSocketServer }
    var testDescription: String { self == .native ? "native" : "WebSocket" }
}

@Suite("Channels over a stream")
struct StreamChannelTests {
    let loop: EventLoop

    init() throws {
        loop = try EventLoop(name: "channel-test")
    }

    struct Ends {
        let near: StreamChannel
        let far: StreamChannel
        let stream: PipeStream
        let farStream: PipeStream
    }

    func ends(_ framing: FramingPair, capacity: Int = 1 << 16, chunk: Int = .max) -> Ends {
        let (near, far) = PipeStream.pair(capacity: capacity, chunk: chunk)
        return Ends(
            near: StreamChannel(stream: near, framing: framing.near, loop: loop, entropy: SystemEntropy()),
            far: StreamChannel(stream: far, framing: framing.far, loop: loop, entropy: SystemEntropy()),
            stream: near, farStream: far)
    }

    /// A channel whose other end is bytes of the test.
    func channel(_ framing: ChannelFraming, received: [UInt8] = []) -> (channel: StreamChannel, peer: PipeStream) {
        let (near, far) = PipeStream.pair()
        let channel = StreamChannel(
            stream: near, framing: framing, received: received, loop: loop, entropy: SystemEntropy())
        return (channel, far)
    }

    static func message(_ number: Int, count: Int) -> [UInt8] {
        Array("{\"n\":\(number),\"x\":\"".utf8) + [UInt8](repeating: 0x61, count: count) + Array("\"}".utf8)
    }

    @Test(
        "beginnings of messages are charged to the peer; the channel that has no room fails, and gives back what it held",
        arguments: FramingPair.allCases)
    func unfinishedMessages(framing: FramingPair) async throws {
        let (account, budget) = (ReceiveCharge.Account(), ByteBudget(maxBytes: 100_000))
        account.open(budget)
        func channel() -> (channel: StreamChannel, peer: StreamChannel, bytes: PipeStream) {
            let (near, far) = PipeStream.pair(capacity: 1 << 20)
            let channel = StreamChannel(
                stream: near, framing: framing.far, charge: ReceiveCharge(to: account), loop: loop,
                entropy: SystemEntropy())
            let peer = StreamChannel(stream: far, framing: framing.near, loop: loop, entropy: SystemEntropy())
            return (channel, peer, far)
        }
        let (large, small, third) = (channel(), channel(), channel())
        let message = Task { try await large.channel.receive() }
        try await writeBeginning(of: 200_000, count: 80_000, on: large.bytes, framing)
        while budget.usedBytes < 80_000 { await Task.yield() }
        // A short message passes all the same.
        try await small.peer.send(Self.message(1, count: 1_000))
        #expect(try await small.channel.receive() == Self.message(1, count: 1_000))
        try await writeBeginning(of: 200_000, count: 30_000, on: third.bytes, framing)
        await #expect(throws: ChannelError.protocolViolation("too much is unfinished in all channels of this device")) {
            _ = try await third.channel.receive()
        }
        #expect(budget.usedBytes <= 100_000)
        await large.bytes.reset(code: 1)
        await #expect(throws: ChannelError.self) { _ = try await message.value }
    }

    /// The header of a message of `size` bytes and the first `count` of them.
    private func writeBeginning(
        of size: Int, count: Int, on stream: PipeStream, _ framing: FramingPair
    ) async throws {
        let header: [UInt8] =
            switch framing {
            case .native: (0..<4).map { UInt8(truncatingIfNeeded: size >> (24 - 8 * $0)) }
            // One text frame with a 64-bit length and a mask of zeros (RFC 6455 §5.2).
            case .webSocket:
                [0x81, 0xff] + (0..<8).map { UInt8(truncatingIfNeeded: size >> (56 - 8 * $0)) } + [0, 0, 0, 0]
            }
        let bytes = header + [UInt8](repeating: 0x20, count: count)
        var offset = 0
        while offset < bytes.count { offset += try await stream.write(bytes, from: offset) }
    }

    @Test("messages of any size arrive in order both ways, however small the buffer", arguments: FramingPair.allCases)
    func order(framing: FramingPair) async throws {
        let ends = ends(framing, capacity: 100, chunk: 7)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (sender, receiver) in [(ends.near, ends.far), (ends.far, ends.near)] {
                group.addTask {
                    for number in 0..<20 { try await sender.send(Self.message(number, count: number * 97)) }
                }
                group.addTask {
                    for number in 0..<20 {
                        let received = try await receiver.receive()
                        #expect(received == Self.message(number, count: number * 97))
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    @Test("many senders never mix their messages", arguments: FramingPair.allCases)
    func manySenders(framing: FramingPair) async throws {
        let ends = ends(framing, capacity: 64)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<20 {
                group.addTask { try await ends.near.send(Self.message(number, count: 500)) }
            }
            var seen: Set<[UInt8]> = []
            for _ in 0..<20 { seen.insert(try #require(await ends.far.receive())) }
            #expect(seen == Set((0..<20).map { Self.message($0, count: 500) }))
            try await group.waitForAll()
        }
    }

    @Test("what was sent arrives before the end, and the end is clean", arguments: FramingPair.allCases)
    func finish(framing: FramingPair) async throws {
        let ends = ends(framing)
        try await ends.near.send([0x7b, 0x7d])
        await ends.near.finish()
        await ends.near.finish()
        #expect(try await ends.far.receive() == [0x7b, 0x7d])
        #expect(try await ends.far.receive() == nil)
        #expect(ends.stream.outgoing.isFinished)
        await #expect(throws: ChannelError.finished) { try await ends.near.send([0x7b, 0x7d]) }
    }

    @Test("an end of our side leaves the native peer free to go on, and closes a WebSocket both ways")
    func halfClose() async throws {
        let native = ends(.native)
        await native.near.finish()
        #expect(try await native.far.receive() == nil)
        try await native.far.send([1])
        #expect(try await native.near.receive() == [1])

        let webSocket = ends(.webSocket)
        await webSocket.near.finish()
        #expect(try await webSocket.far.receive() == nil)
        await #expect(throws: ChannelError.finished) { try await webSocket.far.send([0x61]) }
        #expect(try await webSocket.near.receive() == nil)
        #expect(webSocket.farStream.outgoing.isFinished)
        #expect(webSocket.farStream.outgoing.log == [0x88, 0x00])
    }

    @Test("the end waits behind senders that came before it")
    func finishBehindSenders() async throws {
        let ends = ends(.native, capacity: 16)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<5 { group.addTask { try await ends.near.send(Self.message(number, count: 100)) } }
            // The first message has begun once a byte of it is there; the others wait or come later.
            #expect(try await ends.far.receive() != nil)
            await ends.near.finish()
            var count = 1
            while try await ends.far.receive() != nil { count += 1 }
            var refused = 0
            while let result = await group.nextResult() { if case .failure = result { refused += 1 } }
            #expect(count + refused == 5)
        }
    }

    @Test("a cancelled sender that waits for its turn sends nothing, one in the middle is completed")
    func cancelledSender() async throws {
        let ends = ends(.native, capacity: 16)
        let first = Task { try await ends.near.send(Self.message(1, count: 100)) }
        // Bytes are there, so the first message has begun and cannot be taken back.
        #expect(try await ends.farStream.read()?.count == 16)
        let second = Task { try await ends.near.send(Self.message(2, count: 100)) }
        second.cancel()
        first.cancel()
        await #expect(throws: ChannelError.cancelled) { try await second.value }
        await #expect(throws: ChannelError.cancelled) { try await first.value }
        let third = Task { try await ends.near.send(Self.message(3, count: 0)) }
        var rest: [UInt8] = []
        let total = 4 + Self.message(1, count: 100).count + 4 + Self.message(3, count: 0).count
        while rest.count < total - 16 { rest += try #require(await ends.farStream.read()) }
        #expect(Array(rest.suffix(Self.message(3, count: 0).count)) == Self.message(3, count: 0))
        try await third.value
    }

    @Test("a cancelled reader loses nothing")
    func cancelledReader() async throws {
        let ends = ends(.native)
        let reader = Task { try await ends.far.receive() }
        reader.cancel()
        await #expect(throws: ChannelError.cancelled) { try await reader.value }
        try await ends.near.send([1])
        #expect(try await ends.far.receive() == [1])
    }

    @Test("a reset frees reader and writer and tells the peer", arguments: FramingPair.allCases)
    func reset(framing: FramingPair) async throws {
        let ends = ends(framing, capacity: 16)
        let reader = Task { try await ends.near.receive() }
        let writer = Task { try await ends.near.send(Self.message(1, count: 100)) }
        #expect(try await ends.farStream.read() != nil)
        await ends.near.reset(code: 7)
        await #expect(throws: ChannelError.cancelled) { try await reader.value }
        await #expect(throws: ChannelError.cancelled) { try await writer.value }
        #expect(ends.stream.outgoing.resetCode == 7 && ends.stream.incoming.stopCode == 7)
        await #expect(throws: ChannelError.reset(code: 7)) { try await ends.far.receive() }
        await #expect(throws: ChannelError.reset(code: 7)) { try await ends.far.send([1]) }
    }

    @Test("a native violation resets the stream with 0x103, after the messages before it")
    func nativeViolation() async throws {
        let (channel, peer) = channel(.native, received: [0, 0, 0, 1, 0x7b, 0, 0, 0, 0])
        #expect(try await channel.receive() == [0x7b])
        for _ in 0..<2 {
            await #expect(throws: ChannelError.protocolViolation("a frame of length zero")) {
                try await channel.receive()
            }
        }
        #expect(peer.incoming.resetCode == 0x103 && peer.outgoing.stopCode == 0x103)
        await #expect(throws: ChannelError.cancelled) { try await channel.send([1]) }
    }

    @Test("an end inside a frame is a violation")
    func truncated() async throws {
        let (channel, peer) = channel(.native, received: [0, 0, 0, 9, 0x7b])
        await peer.finish()
        await #expect(throws: ChannelError.protocolViolation("the stream ended inside a frame")) {
            try await channel.receive()
        }
        #expect(peer.incoming.resetCode == 0x103)
    }

    @Test("a WebSocket violation is told by a Close frame with its code")
    func webSocketViolation() async throws {
        let (channel, peer) = channel(.webSocketServer, received: [0x81, 0x01, 0x61])
        await #expect(throws: ChannelError.self) { try await channel.receive() }
        #expect(peer.incoming.log == [0x88, 0x02, 0x03, 0xea])
        #expect(peer.incoming.isFinished && peer.outgoing.stopCode == 0x103)
    }

    @Test("pings are answered between messages, and answers that nobody takes are bounded")
    func pings() async throws {
        let (near, peer) = PipeStream.pair(capacity: 1 << 10)
        let channel = StreamChannel(stream: near, framing: .webSocketClient, loop: loop, entropy: SystemEntropy())
        var offset = 0
        let flood = [UInt8]([0x89, 0x01, 0x61]).repeated(40_000) + [0x81, 0x01, 0x62]
        let feeder = Task {
            while offset < flood.count { offset += try await peer.write(flood, from: offset) }
        }
        #expect(try await channel.receive() == [0x62])
        try await feeder.value
        #expect(peer.incoming.log.starts(with: [0x8a, 0x81]))
        // Everything that is held comes out now: what the stream had room for, the bound, and the answers to one read of
        // 1 KiB, which are about twice as long as the pings; not those to forty thousand pings.
        await channel.finish()
        var answers = 0
        while let bytes = try await peer.read() { answers += bytes.count }
        #expect(answers < (1 << 10) + StreamChannel.maxReplyBytes + (3 << 10))
    }
}

extension [UInt8] {
    fileprivate func repeated(_ times: Int) -> [UInt8] { (0..<times).flatMap { _ in self } }
}
