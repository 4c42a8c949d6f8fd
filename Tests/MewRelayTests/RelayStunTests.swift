import MewBase
import MewIdentity
import MewLoop
import MewPath
import MewRelay
import MewTestSupport
import Testing

@Suite("STUN on a relay")
struct RelayStunTests {
    /// A UDP socket and what it received, in turn.
    ///
    /// `@unchecked Sendable`: the socket is touched on the loop only.
    private final class Client: @unchecked Sendable {
        struct Packet: Sendable {
            let bytes: [UInt8]
            let from: SocketAddress
        }

        let loop: EventLoop
        let address: SocketAddress
        private let socket: any DatagramSocket
        private var packets: AsyncStream<Packet>.Iterator

        init(_ loop: EventLoop, _ address: SocketAddress = .loopback(port: 0)) async throws {
            self.loop = loop
            let (stream, continuation) = AsyncStream.makeStream(of: Packet.self)
            packets = stream.makeAsyncIterator()
            let bound = try await loop.spawn { Result { Bound(try KernelNetwork().bind(address, on: loop)) } }.value
                .get()
            socket = bound.socket
            self.address = socket.localAddress
            await loop.spawn { [socket = bound] in
                socket.socket.onReceive = { received in
                    for start in stride(from: 0, to: received.bytes.count, by: received.segmentSize) {
                        let end = min(start + received.segmentSize, received.bytes.count)
                        continuation.yield(Packet(bytes: Array(received.bytes[start..<end]), from: received.from))
                    }
                }
            }.value
        }

        private struct Bound: @unchecked Sendable {
            let socket: any DatagramSocket

            init(_ socket: any DatagramSocket) { self.socket = socket }
        }

        func send(_ bytes: [UInt8], to: SocketAddress) async {
            await loop.spawn { [self] in
                socket.reserve(bytes.count).copyBytes(from: bytes)
                socket.commit(bytes.count, segmentSize: bytes.count, to: to, from: nil, ecn: 0)
                socket.flush()
            }.value
        }

        func next() async throws -> Packet {
            try #require(await packets.next())
        }

        func ask(_ origin: StunRequest.Origin, _ to: SocketAddress) async throws -> (StunReply.Content, SocketAddress) {
            let request = StunRequest(transaction: TransactionID(random: SystemEntropy()), origin: origin)
            await send(request.encoded, to: to)
            let packet = try await next()
            let reply = try #require(StunReply.read(packet.bytes))
            #expect(reply.transaction == request.transaction)
            return (reply.content, packet.from)
        }

        func close() async {
            await loop.spawn { [self] in socket.close() }.value
        }
    }

    @Test("both ports tell where a packet came from and where the other port is, and answer from it when asked")
    func bothPorts() async throws {
        try await RelayStage.run { stage in
            let main = try await stage.server.answerStun(.loopback(port: 0))
            let other = try await stage.server.answerProbes(.loopback(port: 0))
            let client = try await Client(stage.loop)
            for (here, there) in [(main, other), (other, main)] {
                let plain = try await client.ask(.same, here)
                #expect(plain.0 == .success(.init(mapped: client.address, origin: here, other: there)))
                #expect(plain.1 == here)
                let crossed = try await client.ask(.otherPort, here)
                #expect(crossed.0 == .success(.init(mapped: client.address, origin: there, other: there)))
                #expect(crossed.1 == there)
                #expect(try await client.ask(.otherAddress, here).0 == .failure(code: 420, unknown: [3]))
            }
            let metrics = await stage.server.metrics
            #expect(metrics.stunAnswers == 4 && metrics.stunRefusals == 2 && metrics.stunOverBudget == 0)
            #expect(metrics.prometheusText.contains("\nmew_relay_stun_answers_total 4\n"))
            await client.close()
        }
    }

    @Test("sockets on all addresses answer from the address that was asked, and name the other port at it")
    func wildcard() async throws {
        try await RelayStage.run { stage in
            let main = try await stage.server.answerStun(.anyIPv4)
            let other = try await stage.server.answerProbes(.anyIPv4)
            let client = try await Client(stage.loop)
            for host in [UInt32(0x7f00_0001), 0x7f00_0009] {
                let here = SocketAddress(ipv4: host, port: main.port)
                let (content, from) = try await client.ask(.same, here)
                #expect(from == here)
                #expect(
                    content
                        == .success(.init(mapped: client.address, origin: here, other: here.with(port: other.port))))
                #expect(try await client.ask(.otherPort, here).1 == here.with(port: other.port))
            }
            await client.close()
        }
    }

    @Test("a port at another address is none of this one's: it is not named, and nothing comes from there")
    func strangers() async throws {
        try await RelayStage.run { stage in
            let main = try await stage.server.answerStun(.loopback(port: 0))
            try await stage.server.answerProbes(SocketAddress(ipv4: 0x7f00_0002, port: 0))
            let client = try await Client(stage.loop)
            #expect(
                try await client.ask(.same, main).0
                    == .success(.init(mapped: client.address, origin: main, other: nil)))
            #expect(try await client.ask(.otherPort, main).0 == .failure(code: 420, unknown: [3]))
            await client.close()
        }
    }

    @Test("one network gets no more answers than its budget, and the relay counts what it left out")
    func budget() async throws {
        try await RelayStage.run {
            ($0.limits.stun.perSourceBurst, $0.limits.stun.perSourcePerSecond) = (2, 1)
        } _: { stage in
            let main = try await stage.server.answerStun(.loopback(port: 0))
            let client = try await Client(stage.loop)
            _ = try await client.ask(.same, main)
            _ = try await client.ask(.same, main)
            await client.send(StunRequest(transaction: TransactionID(random: SystemEntropy())).encoded, to: main)
            await client.send([0, 1, 2], to: main)
            while await stage.server.metrics.stunOverBudget == 0 { await Task.yield() }
            #expect(await stage.server.metrics.stunAnswers == 2)
            await client.close()
        }
    }

    @Test("a port that is taken is said to be, and one that was given back is free")
    func taken() async throws {
        try await RelayStage.run { stage in
            let main = try await stage.server.answerStun(.loopback(port: 0))
            await #expect(throws: SocketError.addressInUse(main)) { try await stage.server.answerStun(main) }
            await stage.server.stopAnswering(main)
            #expect(try await stage.server.answerStun(main) == main)
        }
    }

    @Test("probes for address discovery are told to give up on the other port still, and on that one only")
    func probes() async throws {
        try await RelayStage.run { stage in
            let other = try await stage.server.answerProbes(.loopback(port: 0))
            let client = try await Client(stage.loop)
            let probe: [UInt8] = [0xc0, 0, 0, 0, 1, 2, 9, 9, 1, 7] + [UInt8](repeating: 0, count: 1_190)
            await client.send(probe, to: other)
            #expect(try await client.next().bytes == [0xc0, 0, 0, 0, 0, 1, 7, 2, 9, 9, 0x1a, 0x2a, 0x3a, 0x4a])
            #expect(await stage.server.metrics.versionNegotiations == 1)
            await client.close()
        }
    }
}
