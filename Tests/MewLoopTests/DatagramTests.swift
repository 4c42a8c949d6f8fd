import MewBase
import MewLoop
import Testing

/// One packet as the receiver saw it.
struct Packet: Equatable, Sendable {
    let bytes: [UInt8]
    let from: SocketAddress
    let to: SocketAddress
    let ecn: UInt8
}

/// A bound kernel socket with its packets as a stream.
///
/// `@unchecked Sendable`: the socket is touched through `loop.run` only.
final class Port: @unchecked Sendable {
    let loop: EventLoop
    let socket: KernelDatagramSocket
    let address: SocketAddress
    let packets: AsyncStream<Packet>
    let unreachable: AsyncStream<SocketAddress>

    private init(_ loop: EventLoop, _ socket: KernelDatagramSocket) {
        self.loop = loop
        self.socket = socket
        address = socket.localAddress
        let received = AsyncStream<Packet>.makeStream()
        let refused = AsyncStream<SocketAddress>.makeStream()
        packets = received.stream
        unreachable = refused.stream
        socket.onReceive = { batch in
            for start in stride(from: 0, to: batch.bytes.count, by: batch.segmentSize) {
                let bytes = batch.bytes[start..<min(start + batch.segmentSize, batch.bytes.count)]
                received.continuation.yield(Packet(bytes: Array(bytes), from: batch.from, to: batch.to, ecn: batch.ecn))
            }
        }
        socket.onUnreachable = { refused.continuation.yield($0) }
    }

    static func open(
        _ loop: EventLoop, _ address: SocketAddress = .loopback(port: 0), missing: KernelNetwork.Missing = []
    ) async throws -> Port {
        try await loop.run {
            guard let socket = try KernelNetwork(missing: missing).bind(address, on: loop) as? KernelDatagramSocket
            else { throw SocketError.familyNotSupported }
            return Port(loop, socket)
        }
    }

    func send(
        _ bytes: [UInt8], segment: Int, to: SocketAddress, from: SocketAddress? = nil, ecn: UInt8 = 0
    ) async throws {
        try await loop.run { [self] in
            queue(bytes, segment: segment, to: to, from: from, ecn: ecn)
            socket.flush()
        }
    }

    /// On the loop.
    func queue(_ bytes: [UInt8], segment: Int, to: SocketAddress, from: SocketAddress? = nil, ecn: UInt8 = 0) {
        socket.reserve(bytes.count).copyBytes(from: bytes)
        socket.commit(bytes.count, segmentSize: segment, to: to, from: from, ecn: ecn)
    }

    func next(_ count: Int) async -> [Packet] {
        var found: [Packet] = []
        guard count > 0 else { return [] }
        for await packet in packets {
            found.append(packet)
            if found.count == count { break }
        }
        return found
    }

    func counts() async throws -> DatagramCounts { try await loop.run { [self] in socket.counts } }

    func close() async throws { try await loop.run { [self] in socket.close() } }
}

@Suite("UDP sockets of the kernel", .timeLimit(.minutes(10)))
struct DatagramTests {
    /// 44 packets of 1,400 bytes and a shorter last one, each filled with its number.
    private static let batch: [UInt8] = (0..<44).flatMap { [UInt8](repeating: UInt8($0), count: 1_400) } + [44, 44, 44]
    private static let batchPackets: [[UInt8]] =
        (0..<44).map { [UInt8](repeating: UInt8($0), count: 1_400) } + [[44, 44, 44]]

    private static func exchange(missing sender: KernelNetwork.Missing, _ receiver: KernelNetwork.Missing) async throws
        -> DatagramCounts
    {
        try await withLoop { loop in
            let (one, two) = (try await Port.open(loop, missing: sender), try await Port.open(loop, missing: receiver))
            try await one.send(batch, segment: 1_400, to: two.address)
            try await one.send(batch, segment: 1_400, to: two.address)
            let packets = await two.next(90)
            #expect(packets.map(\.bytes) == batchPackets + batchPackets)
            #expect(packets.allSatisfy { $0.from == one.address && $0.to == two.address })
            let counts = try await one.counts()
            try await one.close()
            try await two.close()
            return counts
        }
    }

    @Test("a batch arrives as the packets it was made of, in one system call")
    func batch() async throws {
        let counts = try await Self.exchange(missing: [], [])
        #expect(counts.segments)
        #expect(counts.packetsSent == 90)
        #expect(counts.sendCalls == 2)
    }

    @Test("the same without segmentation in the kernel")
    func withoutSegmentation() async throws {
        let counts = try await Self.exchange(missing: .segmentation, [])
        #expect(!counts.segments)
        #expect(counts.packetsSent == 90)
    }

    @Test("the same without coalescing in the receiver's kernel")
    func withoutCoalescing() async throws {
        #expect(try await Self.exchange(missing: [], .coalescing).packetsSent == 90)
    }

    @Test("a card that cannot checksum: the refused batch leaves packet by packet, and no further one is tried")
    func checksumOffload() async throws {
        let counts = try await Self.exchange(missing: .checksumOffload, [])
        #expect(!counts.segments)
        #expect(counts.packetsSent == 90)
        #expect(counts.packetsDropped == 0)
    }

    @Test("packets larger than the interface takes vanish without harming the next ones")
    func tooLargeForInterface() async throws {
        try await withLoop { loop in
            let (one, two) = (try await Port.open(loop), try await Port.open(loop))
            // Loopback takes 65,536 bytes: 65,535 of payload do not fit with their headers.
            try await one.send([UInt8](repeating: 1, count: 65_535), segment: 65_535, to: two.address)
            try await one.send([2], segment: 1, to: two.address)
            #expect(await two.next(1).map(\.bytes) == [[2]])
            #expect(try await one.counts().packetsDropped == 1)
            try await one.close()
            try await two.close()
        }
    }

    @Test("a hundred packets to two addresses leave in few system calls")
    func manyMessages() async throws {
        try await withLoop { loop in
            let one = try await Port.open(loop)
            let (two, three) = (try await Port.open(loop), try await Port.open(loop))
            try await loop.run {
                for number in 0..<100 {
                    one.queue([UInt8(number)], segment: 1, to: number % 2 == 0 ? two.address : three.address)
                }
                one.socket.flush()
            }
            #expect(await two.next(50).map(\.bytes) == (0..<50).map { [UInt8(2 * $0)] })
            #expect(await three.next(50).map(\.bytes) == (0..<50).map { [UInt8(2 * $0 + 1)] })
            #expect(try await one.counts().sendCalls == 2)
            for port in [one, two, three] { try await port.close() }
        }
    }

    @Test("what the kernel has no room for waits, and is dropped only when half a megabyte waits", arguments: [8, 9])
    func noRoom(batches: Int) async throws {
        try await withLoop { loop in
            let (one, two) = (try await Port.open(loop, missing: .room), try await Port.open(loop))
            try await loop.run {
                for _ in 0..<batches {
                    one.queue([UInt8](repeating: 7, count: 65_000), segment: 1_300, to: two.address)
                }
                one.socket.flush()
            }
            let before = try await one.counts()
            #expect(before.packetsSent == 0)
            #expect(before.packetsDropped == (batches == 8 ? 0 : 8 * 50))
            try await loop.run { one.socket.makeRoom() }
            #expect(await two.next(50).allSatisfy { $0.bytes == [UInt8](repeating: 7, count: 1_300) })
            #expect(try await one.counts().packetsSent == (batches == 8 ? 8 * 50 : 50))
            try await one.close()
            try await two.close()
        }
    }

    @Test(
        "ECN marks travel both ways",
        arguments: [SocketAddress.loopback(port: 0), SocketAddress(ipv6High: 0, low: 1, port: 0)])
    func ecn(address: SocketAddress) async throws {
        try await withLoop { loop in
            let (one, two) = (try await Port.open(loop, address), try await Port.open(loop, address))
            for mark in UInt8(0)...3 { try await one.send([1, 2, 3, 4], segment: 2, to: two.address, ecn: mark) }
            #expect(await two.next(8).map(\.ecn) == [0, 0, 1, 1, 2, 2, 3, 3])
            try await one.close()
            try await two.close()
        }
    }

    @Test("a wildcard socket says which address a packet came to, and answers from it")
    func sourceAddress() async throws {
        try await withLoop { loop in
            let wildcard = try await Port.open(loop, .anyIPv4)
            let client = try await Port.open(loop)
            let second = SocketAddress(ipv4: 0x7f00_0005, port: wildcard.address.port)
            try await client.send([1], segment: 1, to: second)
            let question = await wildcard.next(1)
            #expect(question.map(\.to) == [second])
            try await wildcard.send([2], segment: 1, to: client.address, from: second)
            #expect(await client.next(1).map(\.from) == [second])
            try await wildcard.close()
            try await client.close()
        }
    }

    @Test("the IPv6 wildcard takes no IPv4 and leaves its port to an IPv4 socket")
    func separateFamilies() async throws {
        try await withLoop { loop in
            let six = try await Port.open(loop, .anyIPv6)
            let four = try await Port.open(loop, SocketAddress.anyIPv4.with(port: six.address.port))
            let client = try await Port.open(loop, SocketAddress(ipv6High: 0, low: 1, port: 0))
            let to = SocketAddress(ipv6High: 0, low: 1, port: six.address.port)
            try await client.send([1], segment: 1, to: to)
            let packets = await six.next(1)
            #expect(packets.map(\.to) == [to])
            try await six.send([2], segment: 1, to: client.address, from: to)
            #expect(await client.next(1).map(\.from) == [to])
            for port in [six, four, client] { try await port.close() }
        }
    }

    @Test("a closed port is reported as unreachable, and the socket goes on working")
    func unreachable() async throws {
        try await withLoop { loop in
            let (one, two, gone) = (try await Port.open(loop), try await Port.open(loop), try await Port.open(loop))
            try await gone.close()
            try await one.send([1], segment: 1, to: gone.address)
            for await address in one.unreachable {
                #expect(address == gone.address)
                break
            }
            for _ in 0..<10 { try await one.send([2, 2], segment: 1, to: gone.address) }
            try await one.send([3], segment: 1, to: two.address)
            #expect(await two.next(1).map(\.bytes) == [[3]])
            try await one.close()
            try await two.close()
        }
    }

    @Test("empty datagrams are not delivered")
    func empty() async throws {
        try await withLoop { loop in
            let (one, two) = (try await Port.open(loop), try await Port.open(loop))
            try sendEmptyDatagrams(20, to: two.address)
            try await one.send([9], segment: 1, to: two.address)
            #expect(await two.next(1).map(\.bytes) == [[9]])
            try await one.close()
            try await two.close()
        }
    }

    @Test("closing a socket within its own callback ends the callbacks")
    func closeWhileReceiving() async throws {
        try await withLoop { loop in
            let (one, two) = (try await Port.open(loop), try await Port.open(loop))
            let calls = Shared(0)
            let closed = AsyncStream<Void>.makeStream()
            try await loop.run {
                two.socket.onReceive = { _ in
                    calls.with { $0 += 1 }
                    two.socket.close()
                    closed.continuation.finish()
                }
                for number in 0..<10 {
                    one.queue([UInt8](repeating: 0, count: 1 + number), segment: 100, to: two.address)
                }
                one.socket.flush()
            }
            for await _ in closed.stream {}
            try await one.close()
            #expect(calls.current == 1)
        }
    }

    @Test("a port that is taken, an address that is not ours: each has its error")
    func bindErrors() async throws {
        try await withLoop { loop in
            let one = try await Port.open(loop)
            await #expect(throws: SocketError.addressInUse(one.address)) { _ = try await Port.open(loop, one.address) }
            let foreign = SocketAddress(ipv4: 0xc000_0201, port: 0)
            await #expect(throws: SocketError.addressNotAvailable(foreign)) { _ = try await Port.open(loop, foreign) }
            try await one.close()
        }
    }

    @Test("a flood of packets does not keep timers and jobs waiting")
    func fairness() async throws {
        try await withLoop { loop in
            let (one, two) = (try await Port.open(loop), try await Port.open(loop))
            let rounds = Shared(0)
            let over = AsyncStream<Void>.makeStream()
            try await loop.run {
                // Every packet makes the next: the socket is readable in every turn.
                two.socket.onReceive = { _ in
                    one.queue([1], segment: 1, to: two.address)
                    one.socket.flush()
                }
                one.queue([1], segment: 1, to: two.address)
                one.socket.flush()
                _ = loop.schedule(at: loop.now.advanced(by: .milliseconds(1))) { over.continuation.finish() }
            }
            for _ in 0..<100 { try await loop.run { rounds.with { $0 += 1 } } }
            for await _ in over.stream {}
            #expect(rounds.current == 100)
            try await two.close()
            try await one.close()
        }
    }
}
