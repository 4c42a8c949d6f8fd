import MewBase
import MewTestSupport
import Testing

@testable import MewPath

/// The sample messages are those of RFC 5769 §2.
@Suite("STUN without a proof of who asks")
struct StunCodecTests {
    private static func bytes(_ hex: String) -> [UInt8] { StunMessageTests.bytes(hex) }

    private static let sampleTransaction = TransactionID(bytes("b7e7a701bc34d686fa87dfae")[...])

    /// RFC 5769 §2.1: with attributes of ICE and of short-term credentials.
    private static let sampleRequest = bytes(
        """
        00010058 2112a442 b7e7a701bc34d686fa87dfae
        80220010 5354554e207465737420636c69656e74 00240004 6e0001ff 80290008 932ff9b151263b36
        00060009 6576746a3a68367659202020 00080014 9aeaa70cbfd8cb56781ef2b5b2d3f249c1b571a2 80280004 e57a3bcf
        """)
    /// §2.2.
    private static let sampleResponse4 = bytes(
        """
        0101003c 2112a442 b7e7a701bc34d686fa87dfae 8022000b 7465737420766563746f7220
        00200008 0001a147e112a643 00080014 2b91f599fd9e90c38c7489f92af9ba53f06be7d7 80280004 c07d4c96
        """)
    /// §2.3.
    private static let sampleResponse6 = bytes(
        """
        01010048 2112a442 b7e7a701bc34d686fa87dfae 8022000b 7465737420766563746f7220
        00200014 0002a1470113a9faa5d3f179bc25f4b5bed2b9d9
        00080014 a382954e4be67bf11784c97c8292c275bfe3ed41 80280004 c8fb0b4c
        """)

    @Test("the addresses of the sample responses are read, and their credentials passed over")
    func sampleResponses() throws {
        for (bytes, address) in [
            (Self.sampleResponse4, "192.0.2.1:32853"),
            (Self.sampleResponse6, "[2001:db8:1234:5678:11:2233:4455:6677]:32853"),
        ] {
            let mapped = try #require(SocketAddress(address))
            #expect(
                StunReply.read(bytes)
                    == StunReply(transaction: Self.sampleTransaction, content: .success(.init(mapped: mapped))))
        }
    }

    @Test("the sample request asks for more than we know: PRIORITY is named, the credentials are not minded")
    func sampleRequest() {
        #expect(StunRequest.read(Self.sampleRequest) == .unknown(Self.sampleTransaction, attributes: [0x0024]))
    }

    @Test("a sample with one bit changed is no message: its fingerprint says so")
    func damagedSamples() {
        for sample in [Self.sampleRequest, Self.sampleResponse4, Self.sampleResponse6] {
            for bit in 0..<((sample.count - 8) * 8) {
                var changed = sample
                changed[bit / 8] ^= 1 << (bit % 8)
                #expect(StunRequest.read(changed) == nil && StunReply.read(changed) == nil)
            }
        }
    }

    // MARK: - Ours

    private static let transaction = TransactionID((1...12).map { UInt8($0) }[...])

    private static func replies() throws -> [StunReply] {
        let four = try #require(SocketAddress("198.51.100.7:4433"))
        let six = try #require(SocketAddress("[2001:db8::1]:4433"))
        let contents: [StunReply.Content] = [
            .success(.init(mapped: four)), .success(.init(mapped: six, origin: six.with(port: 1), other: six)),
            .success(.init(mapped: four, origin: four.with(port: 443), other: four.with(port: 7842))),
            .failure(code: 400, unknown: []), .failure(code: 420, unknown: [3]),
            .failure(code: 420, unknown: [0x26, 0x27, 0x7fff]),
        ]
        return contents.map { StunReply(transaction: transaction, content: $0) }
    }

    @Test("requests and replies come out as they went in, and begin with a byte that says STUN")
    func roundTrip() throws {
        for origin in [StunRequest.Origin.same, .otherPort, .otherAddress] {
            let request = StunRequest(transaction: Self.transaction, origin: origin)
            #expect(StunRequest.read(request.encoded) == .request(request))
            #expect(request.encoded[0] <= 3)
            #expect(StunReply.read(request.encoded) == nil)
        }
        for reply in try Self.replies() {
            #expect(StunReply.read(reply.encoded) == reply)
            #expect(reply.encoded[0] <= 3)
            #expect(StunRequest.read(reply.encoded) == nil)
        }
    }

    @Test("the bytes stay what they are")
    func golden() throws {
        let request = StunRequest(transaction: Self.transaction, origin: .otherPort)
        #expect(request.encoded == Self.bytes("00010008 2112a442 0102030405060708090a0b0c 00030004 00000002"))
        let reply = try Self.replies()[2]
        #expect(
            reply.encoded
                == Self.bytes(
                    """
                    01010024 2112a442 0102030405060708090a0b0c 00200008 00013043e721c045
                    802b0008 000101bbc6336407 802c0008 00011ea2c6336407
                    """))
        let refusal = StunReply(transaction: Self.transaction, content: .failure(code: 420, unknown: [3]))
        #expect(
            refusal.encoded
                == Self.bytes(
                    """
                    01110024 2112a442 0102030405060708090a0b0c
                    00090015 00000414 556e6b6e6f776e20417474726962757465 000000 000a0002 0003 0000
                    """))
    }

    @Test("cut anywhere, or with a byte more, nothing is a message")
    func truncation() throws {
        let request = StunRequest(transaction: Self.transaction, origin: .otherPort).encoded
        for bytes in [request, Self.sampleRequest] + (try Self.replies().map(\.encoded)) {
            for count in 0..<bytes.count {
                #expect(StunRequest.read(Array(bytes[..<count])) == nil)
                #expect(StunReply.read(Array(bytes[..<count])) == nil)
            }
            #expect(StunRequest.read(bytes + [0]) == nil && StunReply.read(bytes + [0]) == nil)
        }
    }

    private struct Malformed: CustomStringConvertible, Sendable {
        let description: String
        let hex: String
        var answer: StunRequest.Reading?
    }

    private static let tail = "2112a442 0102030405060708090a0b0c"
    private static let malformed: [Malformed] = [
        .init(description: "no cookie", hex: "00010000 2112a443 0102030405060708090a0b0c"),
        .init(description: "the cookie of nobody (RFC 3489)", hex: "00010000 00000000 0102030405060708090a0b0c"),
        .init(description: "a length that is none of four", hex: "00010002 \(tail) 0000"),
        .init(description: "a length beyond the end", hex: "00010004 \(tail)"),
        .init(description: "a length before the end", hex: "00010000 \(tail) 00030004"),
        .init(description: "another method", hex: "00020000 \(tail)"),
        .init(description: "an indication", hex: "00110000 \(tail)"),
        .init(description: "a wrong fingerprint", hex: "00010008 \(tail) 80280004 00000000"),
        .init(
            description: "an attribute that is longer than the message", hex: "00010004 \(tail) 00030008",
            answer: .malformed(transaction)),
        .init(
            description: "a change request without its value", hex: "00010004 \(tail) 00030000",
            answer: .malformed(transaction)),
        .init(
            description: "a change request of eight bytes", hex: "0001000c \(tail) 00030008 0000000000000002",
            answer: .malformed(transaction)),
        .init(
            description: "RESPONSE-PORT, PADDING twice",
            hex: "00010014 \(tail) 00270004 11110000 00260000 00260000 80ff0000",
            answer: .unknown(transaction, attributes: [0x27, 0x26])),
        .init(
            description: "an unknown attribute that may be skipped", hex: "00010008 \(tail) 80ff0001 ff000000",
            answer: .request(StunRequest(transaction: transaction))),
        .init(
            description: "both bits of the change request", hex: "00010008 \(tail) 00030004 00000006",
            answer: .request(StunRequest(transaction: transaction, origin: .otherAddress))),
        .init(
            description: "a change request that changes nothing", hex: "00010008 \(tail) 00030004 00000000",
            answer: .request(StunRequest(transaction: transaction))),
    ]

    @Test("what is no request is nothing, and what is half of one is told so", arguments: malformed)
    private func malformedRequest(_ it: Malformed) {
        #expect(StunRequest.read(Self.bytes(it.hex)) == it.answer)
    }

    @Test(
        "a reply that lacks what it must have is nothing",
        arguments: [
            // No address, one of an unknown family, one of a wrong length.
            "01010000 \(tail)", "0101000c \(tail) 00200008 0003a147e112a643", "01010008 \(tail) 00200004 0001a147",
            // No error code, a short one, one of class 2, one whose number is 100.
            "01110000 \(tail)", "01110008 \(tail) 00090002 00000000", "01110008 \(tail) 00090004 00000200",
            "01110008 \(tail) 00090004 00000464",
        ])
    func malformedReply(_ hex: String) {
        #expect(StunReply.read(Self.bytes(hex)) == nil)
    }

    @Test("random attributes behind a right header are no trap, in either reader")
    func random() {
        var random = SplitMix64(state: 5)
        let types: [UInt16] = [3, 6, 9, 10, 0x20, 0x24, 0x8022, 0x8028, 0x802b, 0x802c]
        var understood = 0
        for _ in 0..<20_000 {
            let messageClass = StunMessage.Class.allCases[Int(random.next() % 4)]
            var message = StunMessage(method: 1, messageClass: messageClass, transaction: Self.transaction)
            for _ in 0..<(random.next() % 6) {
                let count = [0, 2, 4, 8, 20, Int(random.next() % 40)][Int(random.next() % 6)]
                let value = (0..<count).map { _ in UInt8(truncatingIfNeeded: random.next()) & 7 }
                message.attributes.append(.init(type: types[Int(random.next() % 10)], value: value))
            }
            var bytes = message.encoded
            if random.next() % 4 == 0, bytes.count > 24 {
                bytes[20 + Int(random.next() % UInt64(bytes.count - 20))] = UInt8(truncatingIfNeeded: random.next())
            }
            if StunRequest.read(bytes) != nil { understood += 1 }
            if StunReply.read(bytes) != nil { understood += 1 }
        }
        #expect((1_000..<19_000).contains(understood))
    }
}
