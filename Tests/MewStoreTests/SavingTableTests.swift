import MewBase
import MewLoop
import MewSession
import MewSim
import MewStore
import MewTestSupport
import MewWire
import Testing

// Whether the store saves: every state against everything that can happen to it, in virtual time. A changed line is a changed
// transition: look at it, then change the table.

@Suite("whether anything is being saved")
struct SavingTableTests {
    private enum State: String, CaseIterable { case saving, notSaving, damaged, closed }

    /// A store on a simulated machine, and its disk.
    private struct Bench {
        let world: SimWorld
        let node: SimNode
        let disk: ForgetfulDisk
        let loop: any Loop
        let store: SQLiteStore

        init(_ world: SimWorld, _ state: State, isDamaged: Bool = false) throws {
            (self.world, node, disk) = (world, world.addNode("desk"), ForgetfulDisk(label: "saving"))
            loop = node.makeLoop()
            if state == .damaged || isDamaged { try Self.leaveDamaged(world, node, disk, loop) }
            let (loop, name) = (loop, disk.name)
            store = try world.run(on: node) { try await SQLiteStore.open(path: "/mew.db", on: loop, vfs: name) }
            _ = try commit([Fixture.row(Fixture.session)])
            switch state {
            case .saving: break
            case .notSaving:
                disk.limitRoom(to: 0)
                _ = try commit([Fixture.event(1)])
            case .damaged: #expect(try commit([Bench.onDamagedPage]) == "the database is damaged")
            case .closed: try close()
            }
        }

        /// A file that was closed in order, and in which the pages of the last messages were damaged then.
        private static func leaveDamaged(
            _ world: SimWorld, _ node: SimNode, _ disk: ForgetfulDisk, _ loop: any Loop
        ) throws {
            let name = disk.name
            try world.run(on: node) {
                let store = try await SQLiteStore.open(path: "/mew.db", on: loop, vfs: name)
                let text = String(repeating: "x", count: 3_000)
                try await store.commit(
                    [Fixture.row(Fixture.session), Fixture.row(Fixture.other)]
                        + (0..<30).map { Fixture.message($0, text) })
                await store.close()
            }
            let damage = [UInt8](repeating: 0xa5, count: 8 * 4_096)
            disk.corrupt(file: "mew.db", at: disk.size(ofFile: "mew.db") - damage.count, with: damage)
        }

        static let onDamagedPage = Fixture.message(29, "new")

        /// Several commits that become one group.
        func commit(together commits: [[StoreWrite]]) throws -> [String] {
            let (store, loop) = (store, loop)
            let all = commits.map { writes in
                loop.spawn { () async -> String in
                    do throws(StoreError) {
                        try await store.commit(writes)
                        return "stored"
                    } catch {
                        return Self.words(error)
                    }
                }
            }
            return try world.run(on: node) {
                var words: [String] = []
                for one in all { words.append(await one.value) }
                return words
            }
        }

        func commit(_ writes: [StoreWrite]) throws -> String {
            let store = store
            return try world.run(on: node) {
                do throws(StoreError) {
                    try await store.commit(writes)
                    return "stored"
                } catch {
                    return Self.words(error)
                }
            }
        }

        /// Without the reason, which is SQLite's.
        private static func words(_ error: StoreError) -> String { String(error.description.prefix { $0 != ":" }) }

        func prune() throws -> String {
            let store = store
            return try world.run(on: node) {
                do throws(StoreError) {
                    try await store.prune(now: WallTime(milliseconds: 1))
                    return "pruned"
                } catch {
                    return Self.words(error)
                }
            }
        }

        func close() throws {
            let store = store
            try world.run(on: node) { await store.close() }
        }

        func pass(_ time: Duration) throws -> String {
            try world.run(for: time)
            return "–"
        }

        var state: String {
            get throws {
                let store = store
                return try world.run(on: node) { await store.saving().isSaving } ? "saving" : "not saving"
            }
        }
    }

    private static let inputs: [(name: String, apply: @Sendable (Bench) throws -> String)] = [
        ("commit", { try $0.commit([Fixture.event(1)]) }),
        ("contradiction", { try $0.commit([Fixture.event(7)]) }),
        (
            "commit on a full disk",
            {
                $0.disk.limitRoom(to: 0)
                return try $0.commit([Fixture.event(1)])
            }
        ),
        (
            "room, 0.9 s",
            {
                $0.disk.limitRoom(to: nil)
                return try $0.pass(.milliseconds(900))
            }
        ),
        (
            "room, 1.1 s",
            {
                $0.disk.limitRoom(to: nil)
                return try $0.pass(.milliseconds(1_100))
            }
        ),
        ("3 s as it is", { try $0.pass(.seconds(3)) }),
        ("prune", { try $0.prune() }),
        (
            "close",
            {
                try $0.close()
                return "–"
            }
        ),
    ]

    @Test("every state against every event: what is told, and what is said of saving afterwards")
    func table() throws {
        let lines = try State.allCases.flatMap { state in
            try Self.inputs.map { name, apply in
                try withSimWorld(seed: 1, mayAbandonTasks: true) { world in
                    let bench = try Bench(world, state)
                    let told = try apply(bench)
                    return "\(state.rawValue), \(name): \(told) → \(try bench.state)"
                }
            }
        }
        #expect(changes(in: lines, since: Self.snapshot) == [])
    }

    private static let snapshot = """
        saving, commit: stored → saving
        saving, contradiction: a write contradicts what is stored → saving
        saving, commit on a full disk: nothing is being saved → not saving
        saving, room, 0.9 s: – → saving
        saving, room, 1.1 s: – → saving
        saving, 3 s as it is: – → saving
        saving, prune: pruned → saving
        saving, close: – → saving
        notSaving, commit: nothing is being saved → not saving
        notSaving, contradiction: nothing is being saved → not saving
        notSaving, commit on a full disk: nothing is being saved → not saving
        notSaving, room, 0.9 s: – → not saving
        notSaving, room, 1.1 s: – → saving
        notSaving, 3 s as it is: – → not saving
        notSaving, prune: pruned → not saving
        notSaving, close: – → not saving
        damaged, commit: nothing is being saved → not saving
        damaged, contradiction: nothing is being saved → not saving
        damaged, commit on a full disk: nothing is being saved → not saving
        damaged, room, 0.9 s: – → not saving
        damaged, room, 1.1 s: – → not saving
        damaged, 3 s as it is: – → not saving
        damaged, prune: pruned → not saving
        damaged, close: – → not saving
        closed, commit: the store is closed → saving
        closed, contradiction: the store is closed → saving
        closed, commit on a full disk: the store is closed → saving
        closed, room, 0.9 s: – → saving
        closed, room, 1.1 s: – → saving
        closed, 3 s as it is: – → saving
        closed, prune: pruned → saving
        closed, close: – → saving
        """

    @Test("a damaged page fails the commit that needs it, and none that came with it")
    func innocentCommits() throws {
        try withSimWorld(seed: 1, mayAbandonTasks: true) { world in
            let bench = try Bench(world, .saving, isDamaged: true)
            let told = try bench.commit(together: [
                [Fixture.event(1)], [Bench.onDamagedPage], [Fixture.event(1, of: Fixture.other)],
            ])
            #expect(told == ["stored", "the database is damaged", "stored"])
            #expect(try bench.state == "not saving")
            #expect(try bench.commit([Fixture.event(2)]) == "nothing is being saved")
        }
    }

    @Test("whoever waits for news hears of the end of saving, of its return and of the end of the store")
    func observers() throws {
        try withSimWorld(seed: 1, mayAbandonTasks: true) { world in
            let bench = try Bench(world, .saving)
            let store = bench.store
            func news(_ known: SavingState, _ change: () throws -> Void) throws -> SavingState {
                let heard = Heard()
                bench.node.loop.spawn { await heard.note(store.savingChanged(from: known)) }
                try world.run(for: .milliseconds(1))
                #expect(try world.run(on: bench.node) { await heard.state } == nil)
                try change()
                try world.run(for: .seconds(2))
                return try #require(try world.run(on: bench.node) { await heard.state })
            }
            let full = try news(.saving) {
                bench.disk.limitRoom(to: 0)
                _ = try bench.commit([Fixture.event(1)])
            }
            #expect(!full.isSaving && full.reason?.isEmpty == false)
            #expect(try news(full) { bench.disk.limitRoom(to: nil) } == .saving)
            #expect(try news(.saving) { try bench.close() } == .saving, "a store that is closed has no news")
        }
    }

    private actor Heard {
        private(set) var state: SavingState?
        func note(_ state: SavingState) { self.state = state }
    }
}
