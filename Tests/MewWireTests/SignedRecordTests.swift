import MewBase
import MewIdentity
import MewTestSupport
@testable import MewWire
import Testing

@Suite("Signed address records")
struct SignedRecordTests {
    /// spec/iroh-wire.md §5.3.
    private static let dns =
        "000080000000000200000000055f69726f6834646639737365396270316e756674696d3379687869756b3677367235686464"
        + "73736b6a79677079647578376573786a7374696f6f00001000010000001e00222172656c61793d68747470733a2f2f72656c"
        + "61792e6578616d706c652e636f6d2e2fc00c001000010000001e001413616464723d3139322e302e322e313a34343333"
    private static let signature =
        "b73633d4e00adcfb9117e43d77df7ae424d9c523f45e0354efbd6210391e3fed"
        + "356b28e29d7e86066af0aed9cf9183ca7f89cebd62374af8df253323a3fb970d"
    private static let timestamp: UInt64 = 1_700_000_000_000_000

    private func example() throws -> AddressRecord {
        AddressRecord(
            relays: [try RelayURL("https://relay.example.com./")],
            addresses: [try #require(SocketAddress("192.0.2.1:4433"))])
    }

    private func body() throws -> [UInt8] {
        try #require(Hex.decode(Self.signature + "00060a24181e4000" + Self.dns))
    }

    @Test("a record has the bytes of iroh")
    func goldenBytes() throws {
        let record = SignedRecord(try example(), timestamp: Self.timestamp, secret: try exampleKey())
        #expect(Hex.encode(record.dns) == Self.dns)
        #expect(Hex.encode(record.signature.bytes) == Self.signature)
        #expect(record.body == (try body()))
    }

    @Test("a record of iroh is read and verified")
    func reads() throws {
        let record = try SignedRecord(body: try body(), of: try exampleKey().node)
        #expect(record.record == (try example()))
        #expect(record.timestamp == Self.timestamp)
    }

    @Test("a changed bit anywhere, or another node, is refused")
    func refusesForgeries() throws {
        let whole = try body()
        let node = try exampleKey().node
        for index in whole.indices {
            var damaged = whole
            damaged[index] ^= 1
            #expect(throws: SignedRecord.Refusal.badSignature) { try SignedRecord(body: damaged, of: node) }
        }
        let other = try #require(SecretKey(seed: [UInt8](repeating: 1, count: 32))).node
        #expect(throws: SignedRecord.Refusal.badSignature) { try SignedRecord(body: whole, of: other) }
        for count in 0..<whole.count {
            #expect(throws: SignedRecord.Refusal.self) { try SignedRecord(body: Array(whole[..<count]), of: node) }
        }
    }

    @Test("more than 1,000 bytes of DNS are refused, and entries that do not fit are left out")
    func sizes() throws {
        let many = AddressRecord(relays: try (0..<60).map { try RelayURL("https://relay-\($0).example.com/") })
        let record = SignedRecord(many, timestamp: 1, secret: try exampleKey())
        #expect(record.dns.count <= SignedRecord.maxDNSBytes)
        #expect(record.record.relays.count == AddressRecord.maxEntries)
        #expect(throws: SignedRecord.Refusal.wrongSize(SignedRecord.maxBodyBytes + 1)) {
            try SignedRecord(
                body: [UInt8](repeating: 0, count: SignedRecord.maxBodyBytes + 1), of: try exampleKey().node)
        }
        #expect(throws: SignedRecord.Refusal.badSignature) {
            try SignedRecord(body: [UInt8](repeating: 0, count: SignedRecord.maxBodyBytes), of: try exampleKey().node)
        }
    }

    @Test("the later record is newer; at the same time, the one with the larger bytes")
    func order() throws {
        let key = try exampleKey()
        let old = SignedRecord(try example(), timestamp: 1, secret: key)
        let new = SignedRecord(AddressRecord(relays: []), timestamp: 2, secret: key)
        #expect(new.isNewer(than: old))
        #expect(!old.isNewer(than: new))
        #expect(!old.isNewer(than: old))
        let twin = SignedRecord(AddressRecord(relays: []), timestamp: 1, secret: key)
        #expect(old.isNewer(than: twin) != twin.isNewer(than: old))
    }

    @Test("what a newer node publishes besides is passed over")
    func unknownKeys() throws {
        let record = AddressRecord(relays: [try RelayURL("http://a/")], userData: "hello")
        let signed = SignedRecord(record, timestamp: 5, secret: try exampleKey())
        #expect(signed.record == record)
        let strings = AddressRecord(strings: [
            "future=1", "relay=not a url", "addr=0.0.0.0:1", "noequals", "relay=http://b/",
        ])
        #expect(strings == AddressRecord(relays: [try RelayURL("http://b/")]))
    }

    @Test("no bytes of a DNS message crash the reader, and a pointer cannot loop")
    func hostileDNS() throws {
        let key = try exampleKey()
        let message = try #require(Hex.decode(Self.dns))
        var random = SplitMix64(state: 1)
        for _ in 0..<5_000 {
            var damaged = message
            for _ in 0..<Int.random(in: 1...6, using: &random) {
                damaged[Int.random(in: 0..<damaged.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
            }
            _ = RecordDNS.strings(in: damaged, of: key.node)
        }
        // The owner of the first answer points to itself.
        let loop: [UInt8] = [0, 0, 0x80, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0xc0, 0x0c, 0, 16, 0, 1, 0, 0, 0, 30, 0, 0]
        #expect(RecordDNS.strings(in: loop, of: key.node) == nil)
    }
}
