import MewIdentity
import MewWire
import Testing

/// The key of the vectors in spec/iroh-wire.md §1.3.
func exampleKey() throws -> SecretKey {
    try #require(SecretKey(seed: [UInt8](repeating: 0x2a, count: 32)))
}

@Suite("Relay frames")
struct RelayFrameTests {
    static let node = "197f6b23e16c8532c6abc838facd5ea789be0c76b2920334039bfa8b3d368d61"
    static let hello = "48656c6c6f20576f726c6421"

    private func bytes(_ hex: String) throws -> [UInt8] { try #require(Hex.decode(hex)) }

    private func datagrams(segmentSize: UInt16? = nil) throws -> RelayDatagrams {
        RelayDatagrams(
            peer: try exampleKey().node, ecn: 3, segmentSize: segmentSize, contents: try bytes(Self.hello)[...])
    }

    /// spec/iroh-wire.md §4.4 and §7.1.
    private func vectors() throws -> [(String, RelayFrame)] {
        let node = try exampleKey().node
        return [
            (
                "000102030405060708090a0b0c0d0e0f10",
                .serverChallenge(try #require(RelayChallenge(bytes: Array(1...16))))
            ),
            ("02", .serverConfirmsAuth),
            ("030e6e6f7420617574686f72697a6564", .serverDeniesAuth(reason: "not authorized")),
            ("092a2a2a2a2a2a2a2a", .ping(0x2a2a_2a2a_2a2a_2a2a)),
            ("0a2a2a2a2a2a2a2a2a", .pong(0x2a2a_2a2a_2a2a_2a2a)),
            ("08" + Self.node, .endpointGone(node)),
            ("0c0000000a00000014", .restarting(reconnectInMs: 10, tryForMs: 20)),
            ("0d01", .status(.sameNodeConnectedElsewhere)),
            ("0d02", .status(.rateLimited)),
            ("0d09", .status(.unknown(9))),
            ("04" + Self.node + "03" + Self.hello, .clientToRelay(try datagrams())),
            ("05" + Self.node + "030006" + Self.hello, .clientToRelay(try datagrams(segmentSize: 6))),
            ("06" + Self.node + "03" + Self.hello, .relayToClient(try datagrams())),
            ("07" + Self.node + "030006" + Self.hello, .relayToClient(try datagrams(segmentSize: 6))),
            ("0b48656c6c6f3f20596573207468697320697320646f672e", .health("Hello? Yes this is dog.")),
        ]
    }

    @Test("every frame has the bytes of iroh, and is read back from them")
    func goldenBytes() throws {
        for (hex, frame) in try vectors() {
            #expect(Hex.encode(frame.encoded) == hex)
            #expect(try RelayFrame.decode(try bytes(hex)) == frame)
        }
    }

    @Test("a frame cut anywhere is refused, never another frame of the same type with more than it had")
    func truncation() throws {
        for (hex, frame) in try vectors() {
            let whole = try bytes(hex)
            for count in 0..<whole.count {
                guard let shorter = try? RelayFrame.decode(Array(whole[..<count])) else { continue }
                #expect(shorter != frame)
                switch shorter {
                case .clientToRelay, .relayToClient, .health: break
                default: Issue.record("\(hex) cut to \(count) bytes was taken for \(shorter)")
                }
            }
        }
    }

    @Test("one byte more is refused where the length is fixed")
    func trailingBytes() throws {
        for (hex, frame) in try vectors() {
            switch frame {
            case .clientToRelay, .relayToClient, .health, .serverDeniesAuth: continue
            default: break
            }
            #expect(throws: RelayFrameError.self) { try RelayFrame.decode(try bytes(hex) + [0]) }
        }
    }

    @Test("an unknown type is refused by its number")
    func unknownTypes() throws {
        #expect(throws: RelayFrameError.unknownType(14)) { try RelayFrame.decode([14]) }
        #expect(throws: RelayFrameError.unknownType(63)) { try RelayFrame.decode([63, 1, 2]) }
        #expect(throws: RelayFrameError.unknownType(0x1234)) { try RelayFrame.decode([0x52, 0x34]) }
        #expect(throws: RelayFrameError.empty) { try RelayFrame.decode([]) }
    }

    @Test("a type may be written longer than needed")
    func longVarint() throws {
        #expect(try RelayFrame.decode([0x40, 0x02]) == .serverConfirmsAuth)
    }

    @Test("a payload of 65,536 bytes is taken, one byte more is not")
    func sizeLimit() throws {
        let head: [UInt8] = [4] + (try exampleKey().node.bytes) + [0]
        let largest = head + [UInt8](repeating: 1, count: RelayFrame.maxBytes - 33)
        #expect(throws: Never.self) { try RelayFrame.decode(largest) }
        #expect(throws: RelayFrameError.tooLarge(65_537)) { try RelayFrame.decode(largest + [1]) }
    }
}
