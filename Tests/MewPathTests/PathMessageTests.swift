import MewBase
import MewIdentity
import MewTestSupport
import MewWire
import Testing

@testable import MewPath

@Suite("Path messages")
struct PathMessageTests {
    private static let secret = [UInt8](repeating: 7, count: PathKeys.exportedBytes)
    static let dialler = PathKeys(secret: secret, isDialler: true)
    static let listener = PathKeys(secret: secret, isDialler: false)
    private static let transaction = TransactionID((1...12)[...].map { UInt8($0) }[...])
    private static let observed = SocketAddress("198.51.100.7:4433")

    static func call(unheard: PathMark? = nil) throws -> Call {
        Call(
            candidates: [
                try #require(SocketAddress("192.0.2.1:4433")), try #require(SocketAddress("[2001:db8::1]:4433")),
            ], relays: [try RelayURL("https://relay.example/")], unheard: unheard)
    }

    /// IPv4 works behind a router that gives each destination another port, IPv6 does not.
    static var nat: NATReport {
        var report = NATReport()
        (report.ipv4.udp, report.ipv4.mapping, report.ipv4.filtering) = (.works, .dependsOnPort, .dependsOnPort)
        report.ipv6.udp = .blocked
        return report
    }

    private static func message(_ content: PathMessage.Content, counter: UInt64 = 0) -> PathMessage {
        PathMessage(transaction: transaction, counter: counter, content: content)
    }

    static func kinds() throws -> [PathMessage] {
        let mark = listener.mark(ofOwn: [1, 2, 3, 4, 5, 6, 7, 8])
        return [
            message(.probe, counter: 1), message(.probeAnswer(observed: observed)),
            message(.probeAnswer(observed: nil)),
            message(.call(try call()), counter: 2), message(.call(try call(unheard: mark)), counter: .max),
            message(.call(Call(candidates: [], relays: [])), counter: 3), message(.callAnswer(observed: observed)),
            message(.callAnswer(observed: nil)),
            message(.call(Call(candidates: [], relays: [], nat: nat)), counter: 4),
            message(.offer(Offer(candidates: try call().candidates, nat: nat)), counter: 5),
            message(.offer(Offer(candidates: [])), counter: 6), message(.offerAnswer(observed: observed)),
            message(.offerAnswer(observed: nil)),
        ]
    }

    @Test("every kind comes out as it went in")
    func roundTrip() throws {
        for message in try Self.kinds() {
            let bytes = message.encoded(Self.listener)
            #expect(bytes.count <= 1_200)
            #expect(bytes[0] <= 3)
            #expect(PathMessage.read(bytes, Self.dialler) == message)
            #expect(bytes.withUnsafeBytes { LinkTag(of: $0) } == Self.dialler.receiveTag)
        }
    }

    @Test("the bytes of a probe and of a call stay what they are")
    func golden() throws {
        let probe = Self.message(.probe, counter: 1).encoded(Self.dialler)
        #expect(hex(probe) == Self.goldenProbe)
        let mark = Self.listener.mark(ofOwn: [1, 2, 3, 4, 5, 6, 7, 8])
        let call = Self.message(.call(try Self.call(unheard: mark)), counter: 2).encoded(Self.listener)
        #expect(hex(call) == Self.goldenCall)
    }

    @Test("the bytes of an offer stay what they are")
    func goldenOffer() throws {
        let offer = Offer(candidates: try Self.call().candidates, nat: Self.nat)
        #expect(hex(Self.message(.offer(offer), counter: 2).encoded(Self.dialler)) == Self.goldenOffer)
    }

    private func hex(_ bytes: [UInt8]) -> String {
        bytes.map { (String($0 >> 4, radix: 16) + String($0 & 15, radix: 16)) }.joined()
    }

    // Written by another implementation, in Python, from the description in ARCHITECTURE.md.
    private static let goldenProbe =
        "000100442112a4420102030405060708090a0b0cd6e000085af438bf3dd01f7ad6e100080000000000000001001c0020"
        + "220c60a8824311436ca83a37a3b87b106f52186522f9521fd45f05c631c9535f80280004a282bd33"
    private static let goldenCall =
        "028a00902112a4420102030405060708090a0b0cd6e0000828936a44c30ee1a4d6e100080000000000000002d6e20008"
        + "2ca07cff6c7e55b2d6e3000800013043e112a643d6e30014000230430113a9fa0102030405060708090a0b0dd6e40016"
        + "68747470733a2f2f72656c61792e6578616d706c652f0000001c00208594454404dd505a79caf3609ac1305727848678"
        + "80084a36db5bcc87fce309b3802800043e94584b"

    private static let goldenOffer =
        "028b00742112a4420102030405060708090a0b0cd6e000085af438bf3dd01f7ad6e100080000000000000002d6e300080001"
        + "3043e112a643d6e30014000230430113a9fa0102030405060708090a0b0dd6e500080104020002000000001c002062c02d72"
        + "200a24c8e588e27a0c608f10f75a878ca30da9e9507e92ddf82b5d7b802800047d822ce3"

    @Test("a message that comes back to its sender, or belongs to another connection, says nothing")
    func directions() throws {
        let other = PathKeys(secret: [UInt8](repeating: 8, count: 32), isDialler: true)
        for message in try Self.kinds() {
            let bytes = message.encoded(Self.listener)
            #expect(PathMessage.read(bytes, Self.listener) == nil)
            #expect(PathMessage.read(bytes, other) == nil)
        }
    }

    @Test("a message cut anywhere, with a byte more, or with any bit changed says nothing")
    func damage() throws {
        for message in try Self.kinds() {
            let bytes = message.encoded(Self.listener)
            for count in 0..<bytes.count {
                let cut = Array(bytes[..<count])
                #expect(PathMessage.read(cut, Self.dialler) == nil)
                _ = cut.withUnsafeBytes { LinkTag(of: $0) }
            }
            #expect(PathMessage.read(bytes + [0], Self.dialler) == nil)
            for bit in 0..<(bytes.count * 8) {
                var changed = bytes
                changed[bit / 8] ^= 1 << (bit % 8)
                #expect(PathMessage.read(changed, Self.dialler) == nil)
            }
        }
    }

    @Test("what a key-holder writes wrongly is no trap: random attributes, lengths and orders")
    func hostileKeyHolder() {
        var random = SplitMix64(state: 11)
        let types: [UInt16] = [0x0020, 0xd6e0, 0xd6e1, 0xd6e2, 0xd6e3, 0xd6e4, 0xd6e5, 0x8022, 0x001c, 0x8028, 0x0006]
        var understood = 0
        for _ in 0..<20_000 {
            var message = StunMessage(
                method: [PathMethod.call, PathMethod.binding, PathMethod.offer][Int(random.next() % 3)],
                messageClass: random.next() % 2 == 0 ? .request : .success, transaction: Self.transaction)
            message.attributes.append(.init(type: PathAttribute.linkTag, value: Self.listener.sendTag.bytes))
            for _ in 0..<(random.next() % 6) {
                let count = [0, 4, 8, 8, 20, Int(random.next() % 64)][Int(random.next() % 6)]
                let value = (0..<count).map { _ in UInt8(truncatingIfNeeded: random.next()) }
                message.attributes.append(.init(type: types[Int(random.next() % 11)], value: value))
            }
            if PathMessage.read(message.encoded(key: Self.listener.sendKey), Self.dialler) != nil { understood += 1 }
        }
        #expect(understood > 1_000)
        #expect(understood < 19_000)
    }

    // MARK: - Calls

    @Test("a call holds 16 candidates and 3 relays; what is beyond is left out")
    func bounds() throws {
        let candidates = (1...17).map { SocketAddress(ipv6High: 0x2001_0db8_0000_0000, low: UInt64($0), port: 9) }
        let relays = try (1...4).map { try RelayURL("http://relay\($0).example/") }
        let encoded = Self.message(.call(Call(candidates: candidates, relays: relays)), counter: 1)
            .encoded(Self.listener)
        guard case .call(let call) = PathMessage.read(encoded, Self.dialler)?.content else {
            Issue.record("no call")
            return
        }
        #expect(call.candidates == Array(candidates.prefix(16)))
        #expect(call.relays == Array(relays.prefix(3)))
    }

    @Test("relays that would make a call longer than 1200 bytes are left out, the shorter ones stay")
    func size() throws {
        let candidates = (1...16).map { SocketAddress(ipv6High: 0x2001_0db8_0000_0000, low: UInt64($0), port: 9) }
        let name = [String](repeating: String(repeating: "a", count: 56), count: 4).joined(separator: ".")
        let long = try (1...2).map { try RelayURL("http://\(name).r\($0)/") }
        let short = try RelayURL("http://relay.example/")
        let mark = Self.listener.mark(ofOwn: [1])
        for relays in [long + [short], long] {
            let encoded = Self.message(
                .call(Call(candidates: candidates, relays: relays, unheard: mark)), counter: 1
            ).encoded(Self.listener)
            #expect(encoded.count <= 1_200)
            guard case .call(let call) = PathMessage.read(encoded, Self.dialler)?.content else {
                Issue.record("no call")
                return
            }
            #expect(call.candidates == candidates)
            #expect(call.relays == relays)
        }
        let three = try (1...3).map { try RelayURL("http://\(name).r\($0)/") }
        let encoded = Self.message(.call(Call(candidates: candidates, relays: three, unheard: mark)), counter: 1)
            .encoded(Self.listener)
        #expect(encoded.count <= 1_200)
        guard case .call(let call) = PathMessage.read(encoded, Self.dialler)?.content else {
            Issue.record("no call")
            return
        }
        #expect(call.relays == Array(three.prefix(2)))
    }

    @Test(
        "addresses that lead nowhere are skipped",
        arguments: [
            "0.0.0.0:1", "192.0.2.1:0", "224.0.0.1:5", "239.1.2.3:5", "255.255.255.255:5", "[ff02::1]:5", "[fe80::1]:5",
            "[::]:5",
        ])
    func nowhere(_ text: String) throws {
        let address = try #require(SocketAddress(text))
        let call = Call(candidates: [address], relays: [])
        let encoded = Self.message(.call(call), counter: 1).encoded(Self.listener)
        #expect(
            PathMessage.read(encoded, Self.dialler)?.content == .call(Call(candidates: [], relays: [])))
    }

    @Test("a message from the future: unknown attributes that may be skipped are, one that may not makes it nothing")
    func future() throws {
        func read(extra type: UInt16) -> PathMessage? {
            var message = StunMessage(
                method: PathMethod.binding, messageClass: .request, transaction: Self.transaction)
            message.attributes = [
                .init(type: PathAttribute.linkTag, value: Self.listener.sendTag.bytes),
                .init(type: type, value: [1, 2, 3]),
                .init(type: PathAttribute.counter, value: UInt64(4).bigEndianBytes),
            ]
            return PathMessage.read(message.encoded(key: Self.listener.sendKey), Self.dialler)
        }
        #expect(read(extra: 0xd6ef) == Self.message(.probe, counter: 4))
        #expect(read(extra: 0x8022) == Self.message(.probe, counter: 4))
        #expect(read(extra: 0x7fff) == nil)
    }

    @Test("both ends name one path alike, and the name differs from path to path and tells no ID")
    func marks() {
        let id: [UInt8] = [1, 2, 3, 4, 5, 6, 7, 8]
        let mark = Self.listener.mark(ofOwn: id)
        #expect(mark == Self.dialler.mark(ofPeers: id))
        #expect(mark != Self.dialler.mark(ofPeers: [1, 2, 3, 4, 5, 6, 7, 9]))
        #expect(mark != Self.dialler.mark(ofOwn: id))
        #expect(mark.bytes != id)
    }
}
