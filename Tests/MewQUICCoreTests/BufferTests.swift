import CQuic
import MewBase
import Testing

@testable import MewQUICCore

@Suite("Buffers")
struct BufferTests {
    @Test("bytes leave in order across slabs and are freed when acknowledged")
    func sendBuffer() {
        let buffer = SendBuffer()
        let source = (0..<200_000).map { UInt8(truncatingIfNeeded: $0 &* 13 &+ $0 >> 9) }
        source.withUnsafeBytes { bytes in
            buffer.append(UnsafeRawBufferPointer(rebasing: bytes[..<3_000]))
            buffer.append(UnsafeRawBufferPointer(rebasing: bytes[3_000...]))
        }
        let pieces = UnsafeMutablePointer<ngtcp2_vec>.allocate(capacity: 2)
        defer { pieces.deallocate() }
        var out: [UInt8] = []
        while buffer.unsentBytes > 0 {
            var room = 1_200
            for index in 0..<buffer.nextPieces(pieces) where room > 0 {
                let count = min(room, pieces[index].len)
                out += UnsafeBufferPointer(start: pieces[index].base, count: count)
                room -= count
            }
            buffer.advance(1_200 - room)
            if out.count % 12_000 == 0 { buffer.acknowledge(through: UInt64(out.count - 1_200)) }
        }
        #expect(out == source)
        buffer.acknowledge(through: UInt64(source.count))
        #expect(buffer.retainedBytes == 0)
        source.withUnsafeBytes { buffer.append(UnsafeRawBufferPointer(rebasing: $0[..<3])) }
        #expect(buffer.unsentBytes == 3)
        #expect(buffer.nextPieces(pieces) == 1)
    }

    @Test("a stream's bytes are handed over in pieces of at most 64 KiB")
    func receiveBuffer() {
        let buffer = ReceiveBuffer()
        let packet = [UInt8](repeating: 5, count: 1_300)
        for _ in 0..<100 { packet.withUnsafeBytes { buffer.append($0) } }
        #expect(buffer.byteCount == 130_000)
        var total = 0
        while let chunk = buffer.take() {
            #expect(chunk.count <= 64 << 10)
            total += chunk.count
        }
        #expect(total == 130_000)
        #expect(buffer.byteCount == 0)
        packet.withUnsafeBytes { buffer.append($0) }
        let discarded = buffer.discard()
        #expect(discarded == 1_300)
        let rest = buffer.take()
        #expect(rest == nil)
    }

    @Test("a full datagram queue gives up its oldest entry")
    func datagramQueue() {
        let queue = DatagramQueues(limit: 2)
        for byte in 1...3 { queue.enqueueIncoming([UInt8(byte)]) }
        #expect(queue.dropped == 1)
        let taken = (0..<3).map { _ in queue.takeIncoming() }
        #expect(taken == [[2], [3], nil])
    }

    @Test("a ring queue keeps order while it grows and wraps")
    func ringQueue() {
        var queue = RingQueue<Int>()
        var next = 0
        var expected = 0
        for round in 0..<100 {
            for _ in 0..<(round % 7 + 1) {
                queue.append(next)
                next += 1
            }
            for _ in 0..<(round % 5) where !queue.isEmpty {
                let first = queue.popFirst()
                #expect(first == expected)
                expected += 1
            }
        }
        while let value = queue.popFirst() {
            #expect(value == expected)
            expected += 1
        }
        #expect(expected == next)
    }

    @Test("packets of one size leave together; a larger one, another path and a probe leave alone")
    func batches() {
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: 65_535, alignment: 16)
        defer { memory.deallocate() }
        let path = CorePath(number: 1, remote: .loopback(port: 1))
        let other = CorePath(number: 2, remote: .loopback(port: 1))
        func builder(_ sizes: [(Int, CorePath, Bool)]) -> (PacketBatch?, HeldPacket?) {
            var builder = BatchBuilder(target: memory, maxPacketBytes: 1_452)
            for (size, path, isAlone) in sizes {
                guard builder.hasRoom else { break }
                if let held = builder.append(size, path: path, ecn: 0, isAlone: isAlone) {
                    return (builder.batch, held)
                }
            }
            return (builder.batch, nil)
        }
        #expect(builder([(1_200, path, false), (1_200, path, false), (700, path, false)]).0?.byteCount == 3_100)
        #expect(builder([(1_200, path, false), (700, path, false), (700, path, false)]).0?.byteCount == 1_900)
        let larger = builder([(1_200, path, false), (1_300, path, false)])
        #expect(larger.0?.byteCount == 1_200)
        #expect(larger.1?.bytes.count == 1_300)
        #expect(builder([(1_200, path, false), (1_200, other, false)]).1?.path == other)
        let probe = builder([(1_452, path, true), (1_200, path, false)])
        #expect(probe.0?.byteCount == 1_452)
        #expect(builder([(1_200, path, false), (1_200, path, true)]).1?.isAlone == true)
        let many = builder(Array(repeating: (800, path, false), count: 100))
        #expect(many.0?.packetCount == 64)
    }
}
