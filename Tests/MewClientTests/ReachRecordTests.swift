import MewBase
import MewIdentity
import MewWire
import Testing

@testable import MewClient

@Suite("What a client learns of where a daemon is")
struct ReachRecordTests {
    private let node: NodeID

    init() throws {
        node = try #require(SecretKey(seed: [UInt8](repeating: 9, count: 32))).node
    }

    private func record(addresses: [String] = [], relays: [String] = []) -> DaemonRecord {
        DaemonRecord(
            node: node, name: "desk", addresses: addresses.compactMap { SocketAddress($0) }, relays: relays,
            addedAt: WallTime(milliseconds: 1))
    }

    private func boot(_ number: UInt64) -> BootID { BootID(ULID(high: 0, low: number)) }

    @Test("the daemon's home comes first, whatever was used before; the address that works stays first")
    func order() {
        var record = record(addresses: ["192.0.2.1:1"], relays: ["http://old.test/"])
        record.learn(
            .init(
                counter: 1, relays: ["http://home.test/", "http://standby.test/"],
                addresses: ["192.0.2.2:2", "192.0.2.3:3"]))
        #expect(record.relays == ["http://home.test/", "http://standby.test/", "http://old.test/"])
        #expect(record.addresses.map(\.description) == ["192.0.2.1:1", "192.0.2.2:2", "192.0.2.3:3"])
    }

    private func reach(_ counter: UInt64, _ relays: String...) -> DaemonMessage.Reach {
        .init(counter: counter, relays: relays, addresses: [])
    }

    @Test("a relay of an earlier life goes once the daemon names others; one that is missing within a life stays")
    func movedAway() {
        var record = record(relays: ["http://old.test/", "http://standby.test/"])
        _ = record.answered(from: boot(1))
        record.learn(reach(1, "http://old.test/"))
        #expect(record.relays == ["http://old.test/", "http://standby.test/"])
        _ = record.answered(from: boot(2))
        record.learn(reach(2))
        #expect(record.relays == ["http://old.test/", "http://standby.test/"], "it names none, perhaps for a moment")
        record.learn(reach(3, "http://new.test/", "http://standby.test/"))
        #expect(record.relays == ["http://new.test/", "http://standby.test/"])
        record.learn(reach(4, "http://standby.test/"))
        #expect(record.relays == ["http://standby.test/", "http://new.test/"])
    }

    @Test(
        "what carries the connection to a new life stays, and what the user named; two lives that take turns drop nothing"
    )
    func staysNamed() {
        var record = record(relays: ["http://old.test/", "http://named.test/", "http://carries.test/"])
        record.keep(named: ["http://named.test/", "http://wrong.test/"])
        #expect(record.namedRelays == ["http://named.test/"], "the other one led nowhere")
        _ = record.answered(from: boot(1))
        _ = record.answered(from: boot(2))
        record.prefer(relay: "http://carries.test/")
        record.learn(reach(1, "http://new.test/"))
        #expect(record.relays == ["http://new.test/", "http://carries.test/", "http://named.test/"])
        _ = record.answered(from: boot(1))
        record.learn(reach(2, "http://other.test/"))
        #expect(record.relays.count == 4)
    }

    @Test("adding a daemon anew at other relays lets the former ones go with its next word, and those named before")
    func addedAnew() throws {
        var (former, new) = (
            record(relays: ["http://old.test/", "http://standby.test/"]), record(relays: ["http://new.test/"])
        )
        former.keep(named: ["http://old.test/"])
        new.keep(named: ["http://new.test/"])
        var registry = Registry()
        try registry.add(former)
        try registry.add(record())
        #expect(registry[node] == former, "nothing is said of relays")
        var known = try registry.add(new)
        #expect(known.relays == ["http://new.test/", "http://old.test/", "http://standby.test/"])
        known.learn(reach(1, "http://standby.test/"))
        #expect(known.relays == ["http://standby.test/", "http://new.test/"])
    }

    @Test("an older word than the last one is not heard; the same again is")
    func counters() {
        var record = record()
        record.learn(.init(counter: 5, relays: ["http://new.test/"], addresses: []))
        record.learn(.init(counter: 4, relays: ["http://old.test/"], addresses: []))
        #expect(record.relays == ["http://new.test/"])
        record.learn(.init(counter: 5, relays: ["http://new.test/"], addresses: ["192.0.2.1:1"]))
        #expect(record.addresses.count == 1)
    }

    @Test("what is no URL and no address is passed over, and there is a bound")
    func rubbish() {
        var record = record()
        record.learn(
            .init(
                counter: 1, relays: ["no url", ""] + (1...9).map { "http://r\($0).test/" },
                addresses: ["x", "0.0.0.0:5", "192.0.2.1:0"] + (1...20).map { "192.0.2.1:\($0)" }))
        #expect(record.relays.first == "http://r1.test/")
        #expect(record.relays.count == DaemonRecord.maxRelays)
        #expect(record.addresses.count <= DaemonRecord.maxAddresses)
        #expect(record.addresses.allSatisfy { $0.port != 0 && !$0.isUnspecified })
    }

    @Test("two lives that take turns are two places; restarts one after the other are not")
    func twoPlaces() {
        var record = record()
        // Each life answers twice: a restart, and the same again.
        let restarts = (1...6).flatMap { [$0, $0] }.map { record.answered(from: boot($0)) }
        #expect(!restarts.contains(true))
        let turns = [5, 6, 6].map { record.answered(from: boot($0)) }
        #expect(turns == [true, true, false])
    }

    @Test("what was learnt is kept on the disk")
    func kept() throws {
        var records = ClientRecords()
        try records.registry.add(record())
        records.registry.update(node) { record in
            record.learn(.init(counter: 5, relays: ["http://home.test/"], addresses: ["192.0.2.1:1"]))
            _ = record.answered(from: boot(1))
            record.keep(named: ["http://home.test/"])
            _ = record.answered(from: boot(2))
        }
        let read = try ClientRecords(stored: records.stored)
        #expect(read == records)
        var record = try #require(read.registry[node])
        let isFormer = record.answered(from: boot(1))
        #expect(record.reachCounter == 5)
        #expect(record.namedRelays == ["http://home.test/"] && record.formerRelays == ["http://home.test/"])
        #expect(isFormer)
    }
}
