import MewBase
import Testing

@testable import MewRelay

@Suite("What waits to leave")
struct FrameQueueTests {
    private let start = Instant(nanoseconds: 1_000_000_000)

    private func at(_ time: Duration) -> Instant { start.advanced(by: time) }

    /// Of one party.
    private static let packets = 70
    private static let burst = FrameQueue<Int>.burstPackets

    private func queue(bytes: Int = 1 << 20, answers: Int = 4) -> FrameQueue<Int> {
        FrameQueue(.init(packets: Self.packets, bytes: bytes, answers: answers))
    }

    @Test("frames leave in order, answers before packets")
    func order() {
        let queue = queue()
        queue.append([1], of: 7, at: start)
        queue.append([2], of: 8, at: start)
        let areTaken = [queue.answer([8]), queue.answer([9])]
        #expect(areTaken == [true, true])
        #expect(queue.take() == [8, 9])
        #expect(queue.take() == [1, 2])
        #expect(queue.isEmpty)
    }

    @Test(
        "a party may have so many packets waiting and no more, a batch counts all of its packets, and others have their own room"
    )
    func party() {
        let queue = queue()
        queue.append([1], of: 7, packets: Self.packets - 1, at: start)
        #expect(queue.hasRoom(for: 7, byteCount: 1))
        queue.append([2], of: 7, packets: 12, at: start)
        #expect(!queue.hasRoom(for: 7, byteCount: 1))
        #expect(queue.hasRoom(for: 8, byteCount: 1))
        #expect(queue.take(atMost: 1) == [1])
        #expect(queue.hasRoom(for: 7, byteCount: 1))
    }

    @Test("a burst has room while it fits with what waits, and not with one packet more")
    func burst() {
        let queue = queue()
        queue.append([1], of: 7, packets: Self.packets - Self.burst, at: start)
        #expect(queue.hasRoomForBurst(of: 7))
        queue.append([2], of: 7, at: start)
        #expect(!queue.hasRoomForBurst(of: 7))
        #expect(queue.hasRoomForBurst(of: 8))
        // What stands by itself, a probe, is still taken after almost a burst.
        queue.append([3], of: 7, packets: Self.burst - 2, at: start)
        #expect(queue.hasRoom(for: 7, byteCount: 1))
    }

    @Test("a burst is 64 KiB in packets of 1,200 bytes, the last of which may be shorter")
    func burstSize() {
        #expect(Self.burst == 55)
        #expect((Self.burst - 1) * 1_200 < FrameQueue<Int>.burstBytes)
        #expect(Self.burst * 1_200 >= FrameQueue<Int>.burstBytes)
    }

    @Test("all parties together have a bound in bytes")
    func bytes() {
        let queue = queue(bytes: 10)
        queue.append([UInt8](repeating: 0, count: 6), of: 7, at: start)
        #expect(queue.hasRoom(for: 8, byteCount: 4))
        #expect(!queue.hasRoom(for: 8, byteCount: 5))
        #expect(!queue.hasRoomForBurst(of: 8))
    }

    @Test("a packet may wait 200 ms and not a moment longer; the oldest goes first")
    func age() {
        let queue = queue()
        queue.append([1], of: 7, packets: 3, at: start)
        queue.append([2], of: 8, at: at(.milliseconds(1)))
        #expect(queue.expire(now: at(.milliseconds(200))) == 0)
        #expect(
            queue.nextExpiry == at(.milliseconds(200) + .nanoseconds(1)), "looking earlier would be looking in vain")
        #expect(queue.expire(now: at(.milliseconds(200) + .nanoseconds(1))) == 3)
        #expect(queue.waitingBytes == 1)
        #expect(queue.take() == [2])
        #expect(queue.isEmpty && queue.waitingBytes == 0)
    }

    @Test("a frame that has begun to leave goes on before answers, and is not too old any more")
    func begun() {
        let queue = queue()
        for value in UInt8(1)...3 { queue.append([value, value, value], of: 7, at: start) }
        #expect(Array(queue.next(atMost: .max)) == [1, 1, 1, 2, 2, 2, 3, 3, 3])
        queue.left(4)
        #expect(queue.answer([9]))
        #expect(queue.expire(now: at(.seconds(1))) == 1)
        #expect(Array(queue.next(atMost: .max)) == [2, 2])
        queue.left(1)
        #expect(queue.take() == [2])
        #expect(queue.take() == [9])
        #expect(queue.isEmpty)
    }

    @Test("whole frames up to the limit leave together, and one that is larger by itself")
    func limit() {
        let queue = queue()
        for value in UInt8(1)...3 { queue.append([value, value], of: 7, at: start) }
        #expect(queue.take(atMost: 5) == [1, 1, 2, 2])
        #expect(queue.take(atMost: 1) == [3, 3])
        #expect(queue.take().isEmpty)
    }

    @Test("so many answers wait as there may, and one that has left makes room for one")
    func answers() {
        let queue = queue(answers: 2)
        #expect([queue.answer([1, 1]), queue.answer([2, 2]), queue.answer([3, 3])] == [true, true, false])
        #expect(queue.take(atMost: 1) == [1])
        #expect(!queue.answer([3, 3]))
        #expect(queue.take(atMost: 1) == [1])
        #expect(queue.answer([3, 3]))
        #expect(queue.take() == [2, 2, 3, 3])
    }

    @Test("what others make us tell a client has room for so many, and never takes the room of an answer")
    func hints() {
        let queue = FrameQueue<Int>(.init(packets: 64, bytes: 100, answers: 4, hints: 3))
        for _ in 0..<10 { queue.hint([7]) }
        #expect([queue.answer([8]), queue.answer([9])] == [true, false])
        #expect(queue.take() == [7, 7, 7, 8])
    }

    @Test("a packet of 64 KiB takes the room of 43, so that nobody fills the queue with few")
    func weight() {
        let queue = queue()
        let large = [UInt8](repeating: 0, count: 65_000)
        #expect(large.count / FrameQueue<Int>.packetBytes == 43)
        for _ in 0..<2 {
            #expect(queue.hasRoom(for: 7, byteCount: large.count))
            queue.append(large, of: 7, at: start)
        }
        #expect(!queue.hasRoom(for: 7, byteCount: 1))
        #expect(queue.hasRoom(for: 8, byteCount: large.count))
        _ = queue.expire(now: at(.seconds(1)))
        #expect(queue.hasRoom(for: 7, byteCount: 1))
    }

    @Test("all queues together have a bound in bytes, and give back what they held, however it goes")
    func backlog() {
        let backlog = FrameBacklog()
        let limits = FrameQueue<Int>.Limits(packets: 64, bytes: 100, bytesInAll: 10, answers: 4)
        let (first, second) = (FrameQueue(limits, backlog), FrameQueue(limits, backlog))
        first.append([UInt8](repeating: 0, count: 6), of: 7, at: start)
        #expect(second.hasRoom(for: 7, byteCount: 4))
        #expect(!second.hasRoom(for: 7, byteCount: 5))
        second.append([1, 2], of: 7, at: start)
        second.append([3, 4], of: 7, at: start)
        #expect(backlog.bytes == 10)
        #expect(first.removeAll() == 1)
        #expect(second.hasRoom(for: 7, byteCount: 6) && first.isEmpty)
        #expect(second.take(atMost: 1) == [1, 2])
        #expect(second.expire(now: at(.seconds(1))) == 1)
        #expect(backlog.bytes == 0)
    }

    @Test("when the connection is gone nothing waits, and what was lost is told")
    func removal() {
        let queue = queue()
        for value in UInt8(1)...3 { queue.append([value, value], of: 7, packets: 2, at: start) }
        _ = queue.next(atMost: .max)
        queue.left(3)
        #expect(queue.removeAll() == 4)
        #expect(queue.isEmpty && queue.hasRoomForBurst(of: 7))
        queue.append([4], of: 7, at: start)
        #expect(queue.take() == [4])
    }

    @Test("whatever comes and leaves in whatever pieces, frames stay whole and in order")
    func model() {
        var random = SystemRandomNumberGenerator()
        for _ in 0..<200 {
            let (queue, frames) = (queue(bytes: 1 << 19, answers: 100), Recorder())
            var sent: (answers: [[UInt8]], frames: [[UInt8]]) = ([], [])
            for step in 0..<200 {
                let size = Int.random(in: 3...(step % 20 == 0 ? 20_000 : 400), using: &random)
                switch Int.random(in: 0..<4, using: &random) {
                case 0:
                    let frame = Recorder.frame(0x41, step, size)
                    guard queue.hasRoom(for: step % 3, byteCount: size) else { break }
                    queue.append(frame, of: step % 3, at: start)
                    sent.frames.append(frame)
                case 1:
                    let frame = Recorder.frame(0x80, step, min(size, 50))
                    if queue.answer(frame) { sent.answers.append(frame) }
                default:
                    let bytes = queue.next(atMost: Int.random(in: 1...40_000, using: &random))
                    let count = bytes.isEmpty ? 0 : Int.random(in: 0...bytes.count, using: &random)
                    frames.receive(bytes.prefix(count))
                    queue.left(count)
                }
            }
            while !queue.isEmpty { frames.receive(queue.take()[...]) }
            #expect(frames.whole.filter { $0[0] == 0x41 } == sent.frames)
            #expect(frames.whole.filter { $0[0] == 0x80 } == sent.answers)
            #expect(frames.rest.isEmpty)
        }
    }

    /// Cuts frames out of bytes: a kind, the length, and as many bytes as that makes.
    private final class Recorder {
        private(set) var whole: [[UInt8]] = []
        private(set) var rest: [UInt8] = []

        static func frame(_ kind: UInt8, _ step: Int, _ size: Int) -> [UInt8] {
            [kind, UInt8(size >> 8), UInt8(size & 255)] + [UInt8](repeating: UInt8(step), count: size - 3)
        }

        func receive(_ bytes: some Collection<UInt8>) {
            rest += bytes
            while rest.count >= 3 {
                let size = Int(rest[1]) << 8 | Int(rest[2])
                guard rest.count >= size else { return }
                whole.append(Array(rest.prefix(size)))
                rest.removeFirst(size)
            }
        }
    }
}

extension FrameQueue {
    fileprivate func append(_ frame: [UInt8], of party: Party, packets: Int = 1, at now: Instant) {
        append(of: party, packets: packets, byteCount: frame.count, now: now) { $0.copyBytes(from: frame) }
    }

    fileprivate func take(atMost limit: Int = .max) -> [UInt8] {
        let bytes = Array(next(atMost: limit))
        left(bytes.count)
        return bytes
    }
}
