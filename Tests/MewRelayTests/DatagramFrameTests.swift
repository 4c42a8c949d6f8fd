import MewIdentity
import MewWire
import Testing

@testable import MewRelay

@Suite("Datagram frames where they lie")
struct DatagramFrameTests {
    private let hello: [UInt8] = Array("Hello World!".utf8)

    private func frame(_ size: UInt16?) throws -> [UInt8] {
        RelayFrame.clientToRelay(
            RelayDatagrams(peer: try key(2).node, ecn: 3, segmentSize: size, contents: hello[...])
        ).encoded
    }

    private func packets(_ bytes: [UInt8]) -> Int? { bytes.withUnsafeBytes { DatagramFrame.packets($0) } }

    @Test("a relay readdresses a frame in place")
    func readdressing() throws {
        for size in [nil, UInt16(6)] {
            var message = try frame(size)
            let sender = try key(1).node
            let receiver = message.withUnsafeMutableBytes { DatagramFrame.readdress($0, from: sender) }
            #expect(receiver == (try key(2).node))
            let expected = RelayDatagrams(peer: sender, ecn: 3, segmentSize: size, contents: hello[...])
            #expect(try RelayFrame.decode(message) == .relayToClient(expected))
        }
    }

    @Test("what it holds is counted; what is no datagram of a client, or has no contents, is left alone")
    func counting() throws {
        for (size, count) in [(nil, 1), (0, 1), (1, 12), (5, 3), (6, 2), (12, 1), (13, 1)] as [(UInt16?, Int)] {
            #expect(packets(try frame(size)) == count, "\(String(describing: size))")
        }
        let head = [UInt8(4)] + (try key(2).node.bytes) + [0]
        let others: [[UInt8]] = [
            [], [4], head, [5] + head.dropFirst() + [0, 6], [6] + head.dropFirst() + [1], [9] + head,
        ]
        for message in others {
            #expect(packets(message) == nil)
        }
        #expect(packets(head + [1]) == 1)
    }

    @Test(
        "a client hands a batch over as it lies, with the size of its packets, which is never none nor more than there is"
    )
    func batches() throws {
        for (size, expected) in [(5, 5), (12, 12), (13, 12), (0, 12), (nil, 12)] as [(UInt16?, Int)] {
            let bytes = RelayFrame.relayToClient(
                RelayDatagrams(peer: try key(2).node, segmentSize: size, contents: hello[...])
            ).encoded
            try bytes.withUnsafeBytes { frame in
                let packets = try #require(DeliveredPackets(frame))
                #expect(packets.segmentSize == expected, "\(String(describing: size))")
                #expect(Array(packets.contents) == hello)
            }
        }
    }
}
