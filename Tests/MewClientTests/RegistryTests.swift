import MewBase
import MewIdentity
import MewWire
import Testing

@testable import MewClient

@Suite("The daemons this device knows")
struct RegistryTests {
    private func node(_ seed: UInt64) -> NodeID {
        SecretKey.generate(entropy: SeededEntropy(seed: seed)).node
    }

    private func record(_ seed: UInt64, _ name: String, addresses: [SocketAddress] = []) -> DaemonRecord {
        DaemonRecord(node: node(seed), name: name, addresses: addresses, addedAt: WallTime(milliseconds: 1))
    }

    @Test("names are unique whatever their case, and cleaned")
    func names() throws {
        var registry = Registry()
        let names = try ["Desk", "desk", "DESK", "\u{1B}[2Jx", "", "7", "--json", " lab "].enumerated().map {
            try registry.add(record(UInt64($0.offset), $0.element)).name
        }
        #expect(names[..<3] == ["Desk", "desk-\(node(1).z32.suffix(4))", "DESK-\(node(2).z32.suffix(4))"])
        #expect(names[3] == "\u{FFFD}[2Jx")
        #expect(names[4] == String(node(4).z32.prefix(8)))
        #expect(names[5...] == ["node-7", "json", "lab"])
    }

    @Test("a name whose longer form somebody else has as well gets a number")
    func takenTwice() throws {
        var registry = Registry()
        let longer = "desk-\(node(2).z32.suffix(4))"
        try registry.add(record(1, "desk"))
        try registry.add(record(3, longer))
        #expect(try registry.add(record(2, "desk")).name == longer + "-2")
        #expect(try registry.add(record(2, "desk"), renames: true).name == longer + "-2")
    }

    @Test("a name that reads as a node ID is not kept as one")
    func nodeIDAsName() throws {
        var registry = Registry()
        #expect(try registry.add(record(1, node(9).z32)).name.hasPrefix("node-"))
    }

    @Test("adding a known daemon brings it up to date and keeps its name")
    func merges() throws {
        var registry = Registry()
        let (old, new) = (SocketAddress.loopback(port: 1), SocketAddress.loopback(port: 2))
        try registry.add(record(1, "desk", addresses: [old]))
        #expect(try registry.add(record(1, "other", addresses: [new])).name == "desk")
        #expect(registry.daemons.count == 1)
        #expect(registry[node(1)]?.addresses == [new, old])
        #expect(try registry.add(record(1, "other"), renames: true).name == "other")
    }

    @Test("at most 256 daemons, and at most eight addresses each, the newest first")
    func bounds() throws {
        var registry = Registry()
        for seed in 0..<UInt64(Registry.maxDaemons) { try registry.add(record(seed, "d")) }
        #expect(throws: Registry.Refusal.full) { try registry.add(record(9_999, "d")) }
        try registry.add(record(0, "d"))
        for port in UInt16(1)...9 { registry.update(node(0)) { $0.prefer(.loopback(port: port)) } }
        #expect(registry[node(0)]?.addresses.map(\.port) == [9, 8, 7, 6, 5, 4, 3, 2])
    }

    @Test("renaming refuses a taken name and one that means something else")
    func renames() throws {
        var registry = Registry()
        try registry.add(record(1, "desk"))
        try registry.add(record(2, "lab"))
        #expect(throws: Registry.Refusal.nameTaken("LAB")) { try registry.rename(node(1), to: "LAB") }
        #expect(throws: Registry.Refusal.unusableName("12")) { try registry.rename(node(1), to: "12") }
        #expect(throws: Registry.Refusal.unknown) { try registry.rename(node(3), to: "x") }
        try registry.rename(node(1), to: "Desk")
        #expect(registry.named("desk")?.node == node(1))
    }

    @Test("what a relay wants is brought up to date for all daemons behind it, and what is absent stays")
    func relayAccess() throws {
        func wants(_ seed: UInt64, _ access: RelayAccess) -> DaemonRecord {
            var daemon = record(seed, "d\(seed)")
            daemon.keep(access)
            return daemon
        }
        var registry = Registry()
        try registry.add(wants(1, RelayAccess(relay: "https://a/", token: "old", trust: "pem")))
        try registry.add(wants(2, RelayAccess(relay: "https://b/", token: "other")))
        try registry.add(wants(3, RelayAccess(relay: "https://a/", token: "new")))
        #expect(
            registry.daemons.map(\.relayAccess) == [
                [RelayAccess(relay: "https://a/", token: "new", trust: "pem")],
                [RelayAccess(relay: "https://b/", token: "other")], [RelayAccess(relay: "https://a/", token: "new")],
            ])
        var many = record(4, "d4")
        for number in 0..<9 { many.keep(RelayAccess(relay: "https://\(number)/", token: "x")) }
        #expect(many.relayAccess.map(\.relay) == ["https://8/", "https://7/", "https://6/", "https://5/"])
    }

    @Test("a relay is the same in every spelling, with and without a pinned key; not by another scheme, port or name")
    func sameRelay() throws {
        let pin = "df9sse9bp1nuftim3yhxiuk6w6r5hddsskjygpydux7esxjstioo"
        let relay = RelayAccess(relay: "https://a.test/", token: "old", trust: "pem")
        for url in ["https://A.test:443", "https://a.test/#\(pin)", "wss://a.test/", "https://a.test/"] {
            #expect(relay.isForSameRelay(as: RelayAccess(relay: url)), "\(url)")
            var daemon = record(1, "desk")
            daemon.keep(relay)
            daemon.keep(RelayAccess(relay: url, token: "new"))
            #expect(daemon.relayAccess.map(\.token) == ["new"] && daemon.relayAccess.map(\.trust) == ["pem"])
            var registry = Registry()
            try registry.add(daemon)
            var other = record(2, "lab")
            other.keep(RelayAccess(relay: url, token: "newest"))
            try registry.add(other)
            #expect(registry.daemons.flatMap(\.relayAccess).map(\.token) == ["newest", "newest"], "\(url)")
        }
        for url in ["http://a.test/", "https://a.test:444/", "https://b.test/", "a.test"] {
            #expect(!relay.isForSameRelay(as: RelayAccess(relay: url)), "\(url)")
        }
        #expect(RelayAccess(relay: "a.test").isForSameRelay(as: RelayAccess(relay: "a.test")))
    }

    @Test("forgetting a daemon forgets what was asked of it")
    func forgets() throws {
        var records = ClientRecords()
        try records.registry.add(record(1, "desk"))
        let wall = WallTime(milliseconds: 5)
        let entropy = SeededEntropy(seed: 3)
        _ = records.begin(.prompt, at: node(1), session: nil, wall: wall, entropy: entropy)
        _ = records.begin(.prompt, at: node(2), session: nil, wall: wall, entropy: entropy)
        #expect(try records.forget(node(1)).name == "desk")
        #expect(records.operations.map(\.daemon) == [node(2)])
        #expect(records.registry.named("desk") == nil)
    }
}

@Suite("What a client keeps between runs", .timeLimit(.minutes(1)))
struct ClientRecordsTests {
    private let entropy = SeededEntropy(seed: 7)
    private let daemon = SecretKey.generate(entropy: SeededEntropy(seed: 1)).node

    private func begin(_ records: inout ClientRecords, _ kind: MewClient.Operation.Kind) throws -> MewClient.Operation {
        let begun = records.begin(
            kind, at: daemon, session: SessionID("sess_1"), by: ClientInstance("a program"),
            wall: WallTime(milliseconds: 7), entropy: entropy)
        return try #require(begun)
    }

    @Test("everything survives being stored")
    func roundTrip() throws {
        var records = ClientRecords()
        try records.registry.add(
            DaemonRecord(
                node: daemon, name: "desk", addresses: [.loopback(port: 7_842)], relays: ["https://relay.example/"],
                scope: .control, token: "mew_x", version: "0.1", lastProof: WallTime(milliseconds: 9),
                relayAccess: [RelayAccess(relay: "https://relay.example/", token: "secret", trust: "pem")],
                addedAt: WallTime(milliseconds: 8)))
        var operation = try begin(&records, .prompt)
        operation.state = .delivered(TurnID(ULID(high: 1, low: 2)))
        records.record(operation)
        #expect(try ClientRecords(stored: records.stored) == records)
        #expect(try ClientRecords(stored: ClientRecords().stored) == ClientRecords())
    }

    @Test("records of format 1 are read, and their operations belong to nobody who runs")
    func formatOne() throws {
        var records = ClientRecords()
        let operation = try begin(&records, .prompt)
        let form = """
            {"format":1,"daemons":[],"operations":[{"op_id":"\(operation.id)","node_id":"\(daemon.hex)",
            "kind":"prompt","begun_ms":7,"state":"sending"}]}
            """
        let read = try #require(try ClientRecords(stored: Array(form.utf8)).operations.first)
        #expect(read.id == operation.id && read.instance == nil && read.state == .sending)
        #expect(MemoryStore().asKnown(read).state == .unknown)
    }

    @Test("an operation that is over is not kept, and one that was dropped does not come back")
    func ended() throws {
        var records = ClientRecords()
        var operation = try begin(&records, .cancel)
        records.drop(operation.id)
        operation.state = .stored(nil)
        records.record(operation)
        #expect(records.operations.isEmpty)
        for over in [Operation.State.settled(nil), .refused(.busy, message: ""), .absent] {
            var next = try begin(&records, .cancel)
            next.state = over
            records.record(next)
        }
        #expect(records.operations.isEmpty)
    }

    @Test("the thousand-and-first waiting operation is refused")
    func bound() {
        var records = ClientRecords()
        let wall = WallTime(milliseconds: 7)
        for _ in 0..<ClientRecords.maxOperations {
            let begun = records.begin(.prompt, at: daemon, session: nil, wall: wall, entropy: entropy)
            #expect(begun != nil)
        }
        let surplus = records.begin(.prompt, at: daemon, session: nil, wall: wall, entropy: entropy)
        #expect(surplus == nil)
    }

    @Test("damaged bytes and a newer format are refused by name")
    func refuses() {
        func problem(_ text: String) -> String? {
            #expect(throws: StoredFormError.self) { _ = try ClientRecords(stored: Array(text.utf8)) }?.description
        }
        #expect(problem("{") != nil)
        #expect(problem("{}") == "format is missing")
        #expect(
            problem("{\"format\":3,\"daemons\":[],\"operations\":[]}")
                == "format is 3, but this program knows formats up to 2")
    }
}
