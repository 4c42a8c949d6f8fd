import MewBase
import MewLoop
import MewSession
import MewSim
import MewStore
import MewTestSupport
import MewWire
import Testing

// Topology: one store, one disk that loses what was not synced. Law: what `commit` acknowledged is there after a loss of power,
// whole, in order and without holes; what it did not acknowledge is there whole or not at all.

@Suite("what the store acknowledged survives a loss of power")
struct DurabilityTests {
    @Test("200 seeds: sequences have no holes and every acknowledged commit is there", arguments: 0..<20)
    func acknowledgedSurvives(block: Int) async throws {
        for seed in (block * 10)..<(block * 10 + 10) { try await loseAndFind(seed: UInt64(seed)) }
    }

    /// A commit writes an event, the message that belongs to it and a receipt: all three must live or die together.
    private func loseAndFind(seed: UInt64) async throws {
        let fixture = try Fixture("durability-\(seed)")
        defer { fixture.end() }
        var random = SeededGenerator(seed: seed)
        var acknowledged: UInt64 = 0
        for life in 0..<4 {
            let store = try await fixture.open()
            let found = try await check(store, atLeast: acknowledged, "seed \(seed), life \(life)")
            acknowledged = found
            if found == 0 { try await store.commit([Fixture.row(Fixture.session)]) }
            for number in (found + 1)..<(found + 2 + random.next() % 20) {
                try await store.commit(Self.unit(number, padding: Int(random.next() % 5_000)))
                acknowledged = number
            }
            // One more is under way when the power fails; whether it arrives is open.
            let next = Self.unit(acknowledged + 1, padding: 100)
            async let unfinished: Void = store.commit(next)
            fixture.disk.crash(seed: random.next())
            _ = try? await unfinished
            await store.close()
        }
        let store = try await fixture.open()
        _ = try await check(store, atLeast: acknowledged, "seed \(seed), at the end")
        await store.close()
    }

    private static func unit(_ number: UInt64, padding: Int) -> [StoreWrite] {
        [
            Fixture.event(number, body: "event \(number) " + String(repeating: "x", count: padding)),
            Fixture.message(number - 1, "message \(number)"),
            Fixture.receipt(number, staysWith: Fixture.session),
        ]
    }

    /// Returns the number of the newest unit that is there.
    private func check(_ store: SQLiteStore, atLeast: UInt64, _ where: String) async throws -> UInt64 {
        guard let stored = try await store.load(Fixture.session, limits: Fixture.everything) else {
            #expect(atLeast == 0, "\(`where`): the session is gone")
            return 0
        }
        let head = stored.headSequence.rawValue
        #expect(head >= atLeast && head <= atLeast + 1, "\(`where`): \(head) after \(atLeast)")
        #expect(stored.events.map(\.sequence.rawValue) == Array(1..<(head + 1)), "\(`where`): holes")
        #expect(stored.lostEvents == 0, "\(`where`): lost")
        #expect(stored.isSuspect, "\(`where`): nobody can know that nothing more was told")
        #expect(stored.messageCount == head, "\(`where`): messages")
        let newest = try await store.receipt(Fixture.operation(head), of: Fixture.device)
        #expect((newest != nil) == (head > 0), "\(`where`): receipt")
        let bounds = try await store.operationBounds(of: Fixture.device)
        #expect(bounds.highest == (head > 0 ? Fixture.operation(head) : nil), "\(`where`): bounds")
        return head
    }

    @Test("the forgetful disk does forget: without a sync nothing is kept")
    func diskForgets() throws {
        let disk = ForgetfulDisk(label: "forgets")
        var lost = 0
        for seed in 0..<50 {
            disk.writeUnsynced("file-\(seed)", Array("hello".utf8))
            disk.crash(seed: UInt64(seed))
            if disk.size(ofFile: "file-\(seed)") == 0 { lost += 1 }
        }
        #expect(lost > 10)
    }

    @Test("every commit is synced before it is acknowledged")
    func syncsBeforeAcknowledging() async throws {
        let fixture = try Fixture("syncs")
        defer { fixture.end() }
        let store = try await fixture.open()
        try await store.commit([Fixture.row(Fixture.session)])
        for number in 1...5 as ClosedRange<UInt64> {
            let before = fixture.disk.syncs
            try await store.commit([Fixture.event(number)])
            #expect(fixture.disk.syncs > before)
        }
        await store.close()
    }

    @Test("commits that arrive together share one sync")
    func groupsCommits() async throws {
        let fixture = try Fixture("groups")
        defer { fixture.end() }
        let store = try await fixture.open()
        let sessions = (0..<32).map { SessionID("sess_\($0)")! }
        let before = fixture.disk.syncs
        try await withThrowingTaskGroup(of: Void.self) { group in
            for session in sessions { group.addTask { try await store.commit([Fixture.row(session)]) } }
            try await group.waitForAll()
        }
        #expect(fixture.disk.syncs - before < sessions.count)
        #expect(try await store.sessions().count == sessions.count)
        await store.close()
    }
}
