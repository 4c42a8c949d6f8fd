import MewBase
import MewIdentity
import MewSim
import MewTestSupport
import Testing

@testable import MewRelay

@Suite("What a leg has to write")
struct LegOutputTests {
    /// A leg's queue in simulated time, and how often it has told that there is room.
    private final class Bench {
        let output: LegOutput
        private let framing = LegFraming(rest: [], entropy: SystemEntropy())
        private let world = SimWorld(seed: 1)
        private let node: NodeID
        private(set) var told = 0

        init() throws {
            node = try key(1).node
            output = LegOutput(world.addNode("client").loop)
            output.onRoom = { [unowned self] in told += 1 }
        }

        deinit { _ = world.shutDown() }

        func pass(_ duration: Duration) throws { try world.run(for: duration) }

        /// Packets of one size, `perFrame` of them in one frame.
        func append(_ packets: Int, perFrame: Int = 1, bytes: Int = 1_200, to peer: UInt64 = 7) {
            var left = packets
            while left > 0 {
                let count = min(perFrame, left)
                left -= count
                [UInt8](repeating: 0, count: count * bytes).withUnsafeBytes { contents in
                    let frame = AddressedPackets(
                        contents: contents, segmentSize: count > 1 ? UInt16(bytes) : nil, node: node)
                    output.append(frame, packets: count, to: peer, framing)
                }
            }
        }

        /// The stream writes whatever there is, and returns when there is nothing.
        func pour() {
            while true {
                let bytes = output.next(atMost: .max)
                if bytes.isEmpty { return }
                output.left(bytes.count)
            }
        }
    }

    /// How many wait while there is still room for a burst.
    private static let waiting = LegOutput.maxPackets - FrameQueue<UInt64>.burstPackets

    @Test(
        "behind 20 packets a whole burst is taken, in whatever batches, and not behind one more", arguments: [1, 5, 12])
    func burst(perFrame: Int) throws {
        let bench = try Bench()
        #expect(Self.waiting == 20)
        bench.append(Self.waiting)
        #expect(bench.output.hasRoom(for: 7))
        bench.append(FrameQueue<UInt64>.burstPackets, perFrame: perFrame)
        #expect(bench.output.dropped == 0)
        #expect(!bench.output.hasRoom(for: 7))
        #expect(bench.output.hasRoom(for: 8))
        bench.append(1)
        #expect(bench.output.dropped == 1, "the bound")
    }

    @Test("who waits for room hears of it once when packets have left")
    func left() throws {
        let bench = try Bench()
        bench.append(Self.waiting + 1)
        bench.pour()
        #expect(bench.told == 0, "nobody waits")
        bench.append(Self.waiting + 1)
        #expect(!bench.output.hasRoom(for: 7))
        bench.pour()
        #expect(bench.told == 1)
        bench.pour()
        #expect(bench.told == 1)
    }

    @Test("and when they have become too old instead, so that nothing leaves; not before")
    func expired() throws {
        let bench = try Bench()
        bench.append(Self.waiting + 1)
        #expect(!bench.output.hasRoom(for: 7))
        try bench.pass(.milliseconds(200))
        #expect(!bench.output.next(atMost: .max).isEmpty && bench.told == 0)
        try bench.pass(.milliseconds(1))
        #expect(bench.output.next(atMost: .max).isEmpty)
        #expect(bench.told == 1 && bench.output.dropped == Self.waiting + 1)
        #expect(bench.output.hasRoom(for: 7))
    }

    @Test("also when it is another one's question for room that finds them too old")
    func expiredForOthers() throws {
        let bench = try Bench()
        bench.append(Self.waiting + 1, to: 7)
        #expect(!bench.output.hasRoom(for: 7))
        try bench.pass(.milliseconds(201))
        bench.append(Self.waiting + 1, to: 8)
        #expect(!bench.output.hasRoom(for: 8))
        #expect(bench.told == 1)
        bench.pour()
        #expect(bench.told == 2, "the other one waits from then on")
    }

    @Test("and when the connection is gone")
    func gone() throws {
        let bench = try Bench()
        bench.append(Self.waiting + 1)
        #expect(!bench.output.hasRoom(for: 7))
        bench.output.removeAll()
        #expect(bench.told == 1 && bench.output.isEmpty && bench.output.hasRoom(for: 7))
    }
}
