import MewBase
import Testing

@testable import MewRelay

@Suite("Packets that wait in lanes")
struct PacketLanesTests {
    private let start = Instant(nanoseconds: 1_000_000_000)

    private func lanes(
        packets: Int = 70, bytes: Int = 1 << 20, inAll: Int = .max, _ backlog: FrameBacklog = FrameBacklog()
    ) -> PacketLanes {
        PacketLanes(.init(packets: packets, bytes: bytes, bytesInAll: inAll, answers: 0), backlog)
    }

    private func at(_ time: Duration) -> Instant { start.advanced(by: time) }

    @Test("one who sends much delays another by a packet, and everybody's packets keep their order")
    func turns() {
        let lanes = lanes()
        for number in 0..<UInt8(5) { lanes.append([number], of: 7, at: start) }
        for number in 10..<UInt8(12) { lanes.append([number], of: 8, at: start) }
        lanes.append([20], of: 9, at: start)
        #expect(lanes.takeAll() == [[0], [10], [20], [1], [11], [2], [3], [4]])
        #expect(lanes.isEmpty && lanes.waitingBytes == 0)
    }

    @Test("a party may have so many packets waiting and no more, and others have their own room")
    func party() {
        let lanes = lanes(packets: 2)
        for _ in 0..<2 {
            #expect(lanes.hasRoom(for: 7, byteCount: 1))
            lanes.append([1], of: 7, at: start)
        }
        #expect(!lanes.hasRoom(for: 7, byteCount: 1) && lanes.hasRoom(for: 8, byteCount: 1))
        lanes.left()
        #expect(lanes.hasRoom(for: 7, byteCount: 1))
    }

    @Test("all parties together, and all queues together, have so many bytes and no more")
    func bytes() {
        let backlog = FrameBacklog()
        let (one, other) = (lanes(bytes: 10, inAll: 15, backlog), lanes(bytes: 10, inAll: 15, backlog))
        one.append([UInt8](repeating: 1, count: 10), of: 7, at: start)
        #expect(!one.hasRoom(for: 8, byteCount: 1))
        #expect(other.hasRoom(for: 7, byteCount: 5) && !other.hasRoom(for: 7, byteCount: 6))
        #expect(one.removeAll() == 1 && backlog.bytes == 0)
        #expect(other.hasRoom(for: 7, byteCount: 6))
    }

    @Test("a packet is worth waiting for 200 ms, and not a nanosecond longer, wherever it stands")
    func age() {
        let lanes = lanes()
        lanes.append([1], of: 7, at: start)
        lanes.append([2], of: 8, at: at(.milliseconds(1)))
        lanes.append([3], of: 7, at: at(.milliseconds(2)))
        var dropped = 0
        #expect(lanes.next(now: at(.milliseconds(200)), dropped: &dropped).map { Array($0) } == [1])
        #expect(dropped == 0)
        #expect(lanes.next(now: at(.milliseconds(200) + .nanoseconds(1)), dropped: &dropped).map { Array($0) } == [3])
        #expect(dropped == 1)
        lanes.left()
        #expect(lanes.next(now: at(.milliseconds(201) + .nanoseconds(1)), dropped: &dropped) == nil)
        #expect(dropped == 2 && lanes.isEmpty && lanes.waitingBytes == 0)
    }

    @Test("what is old makes room, of all parties at the first look and of one's own at each")
    func room() {
        let lanes = lanes()
        for party in [7, 8] as [UInt64] { lanes.append([1], of: party, at: start) }
        lanes.append([2], of: 7, at: at(.milliseconds(100)))
        #expect(lanes.expire(for: 7, now: at(.milliseconds(201))) == 2)
        for number in 3..<UInt8(6) { lanes.append([number], of: 7, at: at(.milliseconds(101))) }
        // Too soon to look at all of them again.
        #expect(lanes.expire(for: 8, now: at(.milliseconds(210))) == 0)
        #expect(lanes.expire(for: 7, now: at(.milliseconds(302))) == 4)
        #expect(lanes.isEmpty)
    }

    @Test("what was lost goes again before everything else, once, while it is worth it")
    func again() {
        let lanes = lanes()
        for number in 0..<UInt8(3) { lanes.append([number], of: 7, at: start) }
        guard let first = lanes.take(), let second = lanes.take() else { return }
        #expect(lanes.append(lost: first, now: at(.milliseconds(200))))
        #expect(!lanes.append(lost: second, now: at(.milliseconds(200) + .nanoseconds(1))))
        #expect(lanes.waitingBytes == 2)
        var dropped = 0
        #expect(lanes.next(now: at(.milliseconds(200)), dropped: &dropped).map { Array($0) } == [0])
        guard let again = lanes.take() else { return }
        #expect(again.isRepeated && !lanes.append(lost: again, now: start))
        #expect(lanes.takeAll() == [[2]])
    }

    @Test("a burst has room while it fits with what waits, and not with one packet more")
    func burst() {
        let lanes = lanes()
        for _ in 0..<(70 - FrameQueue<UInt64>.burstPackets) { lanes.append([1], of: 7, at: start) }
        #expect(lanes.hasRoomForBurst(of: 7))
        lanes.append([1], of: 7, at: start)
        #expect(!lanes.hasRoomForBurst(of: 7) && lanes.hasRoomForBurst(of: 8))
    }
}

extension PacketLanes {
    fileprivate func append(_ bytes: [UInt8], of party: Party, at time: Instant) {
        append(of: party, byteCount: bytes.count, now: time) { $0.copyBytes(from: bytes) }
    }

    fileprivate func takeAll() -> [[UInt8]] {
        var taken: [[UInt8]] = []
        var dropped = 0
        while let next = next(now: .zero, dropped: &dropped) {
            taken.append(Array(next))
            left()
        }
        return taken
    }
}
