import MewBase
import MewSession
import MewSim
import MewStore
import MewTestSupport
import MewWire
import Testing

// Topology: one store, and one disk whose syncs fail before it loses its power. Law: what `commit` said is not saved is not there
// afterwards, what it acknowledged is, and what it left in doubt is there whole or not at all.

@Suite("a sync that fails")
struct FailedSyncTests {
    @Test("200 seeds: what was told as not saved does not come back with a crash", arguments: 0..<20)
    func notSavedIsNotThere(block: Int) async throws {
        var (certain, inDoubt) = (0, 0)
        for seed in (block * 10)..<(block * 10 + 10) {
            switch try await failAndCrash(seed: UInt64(seed)) {
            case .notSaved: certain += 1
            case .inDoubt: inDoubt += 1
            case let other: Issue.record("seed \(seed): \(String(describing: other))")
            }
        }
        #expect(certain > 0 && inDoubt > 0)
    }

    /// Returns what the commit was told whose sync failed.
    private func failAndCrash(seed: UInt64) async throws -> StoreError? {
        let fixture = try Fixture("failed-sync-\(seed)")
        defer { fixture.end() }
        var random = SeededGenerator(seed: seed)
        let store = try await fixture.open()
        try await store.commit([Fixture.row(Fixture.session)])
        let head = random.below(4)
        for number in 0..<head { try await store.commit([Self.event(number + 1, &random)]) }
        fixture.disk.failSyncs(1 + Int(random.below(3)))
        let told = await outcome(of: [Self.event(head + 1, &random)], on: store)
        for number in 0..<random.below(3) {
            #expect(await outcome(of: [Fixture.receipt(number)], on: store) == told, "seed \(seed)")
        }
        fixture.disk.crash(seed: random.next())
        await store.close()
        let again = try await fixture.open()
        let found = try #require(try await again.load(Fixture.session, limits: Fixture.everything))
        await again.close()
        let mayBeFound = if case .inDoubt = told { head + 1 } else { head }
        let sentence = "seed \(seed): told \(String(describing: told))"
        #expect((head...mayBeFound).contains(found.headSequence.rawValue), "\(sentence)")
        #expect(found.lostEvents == 0, "seed \(seed)")
        return told
    }

    private static func event(_ number: UInt64, _ random: inout SeededGenerator) -> StoreWrite {
        Fixture.event(number, body: String(repeating: "x", count: Int(random.below(9_000))))
    }

    private func outcome(of writes: [StoreWrite], on store: SQLiteStore) async -> StoreError? {
        do throws(StoreError) {
            try await store.commit(writes)
            return nil
        } catch {
            return error
        }
    }

    @Test("what was in doubt is certainly not there once the disk takes writes again")
    func certainAgain() async throws {
        let fixture = try Fixture("certain-again")
        defer { fixture.end() }
        let store = try await fixture.open()
        try await store.commit([Fixture.row(Fixture.session)])
        fixture.disk.failSyncs(2)
        guard case .inDoubt = await outcome(of: [Fixture.event(1)], on: store) else {
            Issue.record("it was told as certain")
            return
        }
        let failing = await store.saving()
        #expect(!failing.isSaving && failing.reason != nil)
        #expect(await store.savingChanged(from: failing).isSaving)
        fixture.disk.crash(seed: 1)
        await store.close()
        let again = try await fixture.open()
        #expect(try await again.load(Fixture.session, limits: Fixture.everything)?.headSequence == .zero)
        await again.close()
    }
}
