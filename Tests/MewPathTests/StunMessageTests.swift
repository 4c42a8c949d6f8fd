import MewBase
import MewIdentity
import Testing

@testable import MewPath

/// The published samples: RFC 5769 §2 for the fingerprint and addresses, RFC 8489 appendix B.1 (with erratum 6268) for the
/// integrity.
@Suite("STUN as others write it")
struct StunMessageTests {
    static func bytes(_ hex: String) -> [UInt8] {
        let digits = hex.filter { !$0.isWhitespace }.map { UInt8($0.hexDigitValue ?? 0) }
        return stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    }

    private static let transaction = TransactionID(bytes("b7e7a701bc34d686fa87dfae")[...])

    @Test("the fingerprint of the sample IPv6 response")
    func fingerprint() {
        let response = Self.bytes(
            """
            0101004821 12a442 b7e7a701bc34d686fa87dfae 8022000b 7465737420766563746f7220
            00200014 0002a147 0113a9faa5d3f179bc25f4b5bed2b9d9
            00080014 a382954e4be67bf11784c97c8292c275bfe3ed41 80280004 c8fb0b4c
            """)
        let covered = response.dropLast(8)
        #expect(CRC32.checksum(covered) ^ StunAttribute.fingerprintMask == 0xc8fb_0b4c)
    }

    @Test("the addresses of the sample responses, both ways")
    func addresses() throws {
        let ipv4 = Self.bytes("0001a147e112a643")
        let expected4 = try #require(SocketAddress("192.0.2.1:32853"))
        #expect(XorAddress.decode(ipv4, Self.transaction) == expected4)
        #expect(XorAddress.encode(expected4, Self.transaction) == ipv4)
        let ipv6 = Self.bytes("0002a1470113a9faa5d3f179bc25f4b5bed2b9d9")
        let expected6 = try #require(SocketAddress("[2001:db8:1234:5678:11:2233:4455:6677]:32853"))
        #expect(XorAddress.decode(ipv6, Self.transaction) == expected6)
        #expect(XorAddress.encode(expected6, Self.transaction) == ipv6)
    }

    @Test("the integrity of the sample request with SHA-256")
    func integrity() {
        var message = StunMessage(
            method: PathMethod.binding, messageClass: .request,
            transaction: TransactionID(Self.bytes("78ad3433c6ad72c029da412e")[...]))
        let user = Self.bytes("4a3cf38fef6992bda952c6780417da0f24819415569e60b205c46e41407f1704")
        message.attributes = [
            .init(type: 0x001e, value: user),
            .init(type: 0x0015, value: Array("obMatJos2AAACf//499k954d6OL34oL9FSTvy64sA".utf8)),
            .init(type: 0x0014, value: Array("example.org".utf8)),
            .init(type: 0x001d, value: [0, 2, 0, 0]),
        ]
        let key = SHA256.digest(Array("マトリックス:example.org:TheMatrIX".utf8))
        let encoded = message.encoded(key: key)
        let expected = Self.bytes("b5c7bf005b6c52a21c51c5e892f81924136296cb927c43149309278cc6518e65")
        #expect(Array(encoded.dropLast(8).suffix(32)) == expected)
        #expect(StunMessage.read(encoded, key: key) == message)
    }

    @Test("methods and classes share the type field and come apart again", arguments: StunMessage.Class.allCases)
    func types(_ messageClass: StunMessage.Class) {
        for method in UInt16(0)..<0x1000 {
            let type = StunMessage.type(method: method, messageClass)
            #expect(type & 0xc000 == 0)
            #expect(StunMessage.method(of: type) == method)
            #expect(StunMessage.Class(rawValue: type & 0x110) == messageClass)
        }
    }

    @Test("both our methods begin with a byte that says STUN beside QUIC", arguments: [0x001, 0x0ca] as [UInt16])
    func firstByte(_ method: UInt16) {
        for messageClass in StunMessage.Class.allCases {
            #expect(StunMessage.type(method: method, messageClass) >> 8 <= 3)
        }
    }
}
