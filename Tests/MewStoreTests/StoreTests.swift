import CSQLite
import Glibc
import MewBase
import MewLoop
import MewSession
import MewStore
import MewTestSupport
import MewWire
import Synchronization
import Testing

@Suite("what the store keeps and what it refuses")
struct StoreTests {
    private func with(_ label: String, _ body: (SQLiteStore, Fixture) async throws -> Void) async throws {
        let fixture = try Fixture(label)
        let store = try await fixture.open()
        try await body(store, fixture)
        await store.close()
        fixture.end()
    }

    @Test("an event that does not follow the last one is refused, and nothing of its commit is kept")
    func contradiction() async throws {
        try await with("contradiction") { store, _ in
            try await store.commit([Fixture.row(Fixture.session), Fixture.event(1)])
            for number in [1, 3] as [UInt64] {
                await #expect(throws: StoreError.self) {
                    try await store.commit([Fixture.message(0, "m"), Fixture.event(number)])
                }
            }
            await #expect(throws: StoreError.self) { try await store.commit([Fixture.event(1, of: Fixture.other)]) }
            let stored = try #require(try await store.load(Fixture.session, limits: Fixture.everything))
            #expect(stored.headSequence == .first && stored.messageCount == 0)
            try await store.commit([Fixture.event(2)])
        }
    }

    @Test("a commit that contradicts takes down nobody who was written with it")
    func contradictionAlone() async throws {
        try await with("alone") { store, _ in
            try await store.commit([Fixture.row(Fixture.session), Fixture.row(Fixture.other)])
            let bad = Task { try await store.commit([Fixture.event(7)]) }
            try await store.commit([Fixture.event(1, of: Fixture.other)])
            await #expect(throws: StoreError.self) { try await bad.value }
            #expect(
                try await store.load(Fixture.other, limits: Fixture.everything)?.headSequence == .first)
        }
    }

    @Test("at least 10,000 events are kept, older ones go in steps of a thousand")
    func retention() async throws {
        try await with("retention") { store, _ in
            try await store.commit([Fixture.row(Fixture.session)])
            for start in stride(from: 1, through: 12_000, by: 1_000) {
                try await store.commit((start..<start + 1_000).map { Fixture.event(UInt64($0), body: "e") })
            }
            let stored = try #require(try await store.load(Fixture.session, limits: Fixture.everything))
            #expect(stored.headSequence == SequenceNumber(12_000))
            #expect(stored.events.count == 10_000)
            #expect(stored.events.first?.sequence == SequenceNumber(2_001))
        }
    }

    @Test("loading takes the newest of events and messages within its limits")
    func limits() async throws {
        try await with("limits") { store, _ in
            try await store.commit([Fixture.row(Fixture.session)])
            try await store.commit(
                (1...50).map { Fixture.event($0, body: String(repeating: "e", count: 10)) }
                    + (0..<50).map { Fixture.message($0, String(repeating: "m", count: 10)) })
            let limits = LoadLimits(events: 20, eventBytes: 155, messages: 7, messageBytes: 1_000)
            let stored = try #require(try await store.load(Fixture.session, limits: limits))
            #expect(stored.events.map(\.sequence.rawValue) == Array(36...50))
            #expect(stored.messages.map(\.position) == Array(43..<50))
            #expect(stored.messageCount == 50 && stored.lostEvents == 0)
            let page = try await store.messages(of: Fixture.session, before: 10, limit: 24, maxBytes: 35)
            #expect(page.map(\.position) == [7, 8, 9])
            let huge = try await store.messages(of: Fixture.session, before: 10, limit: 24, maxBytes: 1)
            #expect(huge.map(\.position) == [9])
        }
    }

    @Test("a load and a page read little more than they keep, however large what stands behind it is")
    func boundedReads() async throws {
        let fixture = try Fixture("bounded")
        defer { fixture.end() }
        let filler = try await fixture.open()
        let large = String(repeating: "x", count: 100_000)
        try await filler.commit([Fixture.row(Fixture.session)])
        for number in 1...40 as ClosedRange<UInt64> {
            try await filler.commit([Fixture.event(number, body: large), Fixture.message(number - 1, large)])
        }
        await filler.close()
        let store = try await fixture.open()
        let before = fixture.disk.bytesRead
        let limits = LoadLimits(events: 2_000, eventBytes: 150_000, messages: 200, messageBytes: 150_000)
        let stored = try #require(try await store.load(Fixture.session, limits: limits))
        #expect(stored.events.count == 1 && stored.messages.count == 1 && stored.messageCount == 40)
        let page = try await store.messages(of: Fixture.session, before: 30, limit: 24, maxBytes: 150_000)
        #expect(page.map(\.position) == [29])
        // Three times what is kept and the one that does not fit, with the pages that lead there; all of it is eight megabytes.
        #expect(fixture.disk.bytesRead - before < 1_500_000)
        await store.close()
    }

    @Test("deleting a session takes everything of it but its receipts")
    func deletion() async throws {
        try await with("deletion") { store, _ in
            let process = ProcessRow(
                session: Fixture.session, process: AgentProcess(number: 1, startTicks: 2, bootID: "b"))
            try await store.commit([
                Fixture.row(Fixture.session), Fixture.event(1), Fixture.message(0, "m"), .startProcess(process),
                .putRequest(Fixture.session, RequestRow(id: .text("r"), body: [1], isOpen: true)),
                .putWork(Fixture.session, WorkRow(number: 1, body: [1])),
                Fixture.receipt(1, staysWith: Fixture.session),
            ])
            #expect(try await store.processes() == [process])
            try await store.commit([.deleteSession(Fixture.session)])
            #expect(try await store.load(Fixture.session, limits: Fixture.everything) == nil)
            #expect(try await store.processes().isEmpty)
            let receipt = try #require(try await store.receipt(Fixture.operation(1), of: Fixture.device))
            #expect(receipt.staysWithSession == nil)
            try await store.commit([Fixture.row(Fixture.session), Fixture.event(1)])
        }
    }

    @Test("a session's receipts are those that stay with it, the newest first")
    func receiptsOfSession() async throws {
        try await with("session-receipts") { store, _ in
            try await store.commit([
                Fixture.row(Fixture.session), Fixture.row(Fixture.other),
                Fixture.receipt(1, staysWith: Fixture.session, at: 1),
                Fixture.receipt(2, staysWith: Fixture.session, at: 2), Fixture.receipt(3, staysWith: Fixture.other),
                Fixture.receipt(4),
            ])
            let rows = try await store.receipts(of: Fixture.session)
            #expect(rows.map(\.operation) == [Fixture.operation(2), Fixture.operation(1)])
            #expect(rows.allSatisfy { $0.device == Fixture.device && $0.staysWithSession == Fixture.session })
        }
    }

    @Test("a second process of a session is a contradiction")
    func processes() async throws {
        try await with("processes") { store, _ in
            let one = ProcessRow(
                session: Fixture.session, process: AgentProcess(number: 1, startTicks: 2, bootID: "b"))
            try await store.commit([Fixture.row(Fixture.session), .startProcess(one)])
            await #expect(throws: StoreError.self) { try await store.commit([.startProcess(one)]) }
            try await store.commit([.endProcess(Fixture.session), .startProcess(one)])
        }
    }

    @Test("receipts: 10,000 of a device are kept and the highest that went is remembered; those of sessions stay")
    func receipts() async throws {
        try await with("receipts") { store, _ in
            try await store.commit([Fixture.row(Fixture.session), Fixture.receipt(1, staysWith: Fixture.session)])
            for start in stride(from: 2, through: 10_500, by: 500) {
                try await store.commit(
                    (start..<start + 500).map { Fixture.receipt(UInt64($0), at: Int64($0)) })
            }
            let bounds = try await store.operationBounds(of: Fixture.device)
            let evicted = try #require(bounds.highestEvicted)
            #expect(bounds.highest == Fixture.operation(10_501))
            #expect(evicted >= Fixture.operation(2) && evicted < Fixture.operation(600))
            #expect(try await store.receipt(evicted, of: Fixture.device) == nil)
            #expect(try await store.receipt(OperationID(evicted.ulid.successor), of: Fixture.device) != nil)
            #expect(try await store.receipt(Fixture.operation(1), of: Fixture.device) != nil)
        }
    }

    @Test("receipts of 30 days are kept, one millisecond older ones are not")
    func age() async throws {
        try await with("age") { store, _ in
            let days = Int64(30 * 86_400_000)
            try await store.commit([Fixture.receipt(1, at: 999), Fixture.receipt(2, at: 1_000)])
            try await store.prune(now: WallTime(milliseconds: days + 1_000))
            #expect(try await store.receipt(Fixture.operation(1), of: Fixture.device) == nil)
            #expect(try await store.receipt(Fixture.operation(2), of: Fixture.device) != nil)
            #expect(
                try await store.operationBounds(of: Fixture.device).highestEvicted == Fixture.operation(1))
        }
    }

    @Test("devices, groups and settings come back as they were put")
    func rest() async throws {
        try await with("rest") { store, _ in
            let device = DeviceRow(
                node: Fixture.device, name: "Ünïcode\u{0}name", scope: .collaborate,
                pairedAt: WallTime(milliseconds: 1), revokedAt: WallTime(milliseconds: 2), revokeReason: "lost",
                spentToken: [9, 9])
            let group = GroupRow(id: "grp_1", name: "Work", color: nil, order: 3)
            try await store.commit([
                .putDevice(device), .putGroup(group), .putSetting("a.x", "1"), .putSetting("a.y", "2"),
                .putSetting("b", "3"),
            ])
            #expect(try await store.devices() == [device])
            #expect(try await store.groups() == [group])
            #expect(try await store.settings(under: "a.") == ["a.x": "1", "a.y": "2"])
            try await store.commit([.deleteDevice(Fixture.device), .deleteGroup("grp_1"), .putSetting("b", nil)])
            #expect(try await store.devices().isEmpty)
            #expect(try await store.setting("b") == nil)
        }
    }

    @Test("a full disk: commits fail as not saved, reads go on, and it recovers by itself")
    func fullDisk() async throws {
        try await with("full") { store, fixture in
            try await store.commit([Fixture.row(Fixture.session), Fixture.event(1)])
            fixture.disk.limitRoom(to: 0)
            await #expect(throws: StoreError.self) { try await store.commit([Fixture.event(2)]) }
            let full = await store.saving()
            #expect(!full.isSaving && full.reason != nil)
            await #expect(throws: StoreError.self) { try await store.commit([Fixture.event(2)]) }
            #expect(
                try await store.load(Fixture.session, limits: Fixture.everything)?.headSequence == .first)
            fixture.disk.limitRoom(to: nil)
            #expect(await store.savingChanged(from: full) == .saving)
            try await store.commit([Fixture.event(2)])
        }
    }

    // MARK: - Unclean ends

    private func isSuspect(_ session: SessionID, in store: SQLiteStore) async throws -> Bool {
        try #require(try await store.load(session, limits: Fixture.everything)).isSuspect
    }

    /// A store with two sessions whose machine lost its power.
    private func withPowerCut(_ label: String, _ body: (Fixture) async throws -> Void) async throws {
        let fixture = try Fixture(label)
        defer { fixture.end() }
        let store = try await fixture.open()
        try await store.commit([Fixture.row(Fixture.session), Fixture.row(Fixture.other), Fixture.event(1)])
        fixture.disk.crash(seed: 1)
        await store.close()
        try await body(fixture)
    }

    @Test("after an unclean end every session is suspect until it is written again; a clean end marks none")
    func uncleanEnd() async throws {
        try await withPowerCut("unclean") { fixture in
            let second = try await fixture.open()
            #expect(try await isSuspect(Fixture.session, in: second))
            try await second.commit([Fixture.row(Fixture.session)])
            #expect(try await !isSuspect(Fixture.session, in: second))
            await second.close()
            let third = try await fixture.open()
            #expect(try await !isSuspect(Fixture.session, in: third))
            #expect(try await isSuspect(Fixture.other, in: third), "nobody has loaded it since")
            try await third.commit([Fixture.row(Fixture.other)])
            await third.close()
            let fourth = try await fixture.open()
            #expect(try await !isSuspect(Fixture.other, in: fourth))
            await fourth.close()
        }
    }

    @Test("a full disk keeps nobody from reading after an unclean end, and the mark is written when it can be")
    func uncleanEndOnFullDisk() async throws {
        try await withPowerCut("unclean-full") { fixture in
            fixture.disk.limitRoom(to: 0)
            let second = try await fixture.open()
            #expect(try await isSuspect(Fixture.session, in: second))
            await #expect(throws: StoreError.self) { try await second.commit([Fixture.row(Fixture.session)]) }
            #expect(try await isSuspect(Fixture.session, in: second))
            let full = await second.saving()
            fixture.disk.limitRoom(to: nil)
            #expect(await second.savingChanged(from: full).isSaving)
            try await second.commit([Fixture.row(Fixture.session)])
            #expect(try await !isSuspect(Fixture.session, in: second))
            #expect(try await isSuspect(Fixture.other, in: second))
            await second.close()
        }
    }

    @Test("whoever waits for a change of the saving state can be cancelled")
    func cancelledObserver() async throws {
        try await with("observer") { store, fixture in
            let waiting = fixture.loop.spawn { await store.savingChanged(from: .saving) }
            waiting.cancel()
            #expect(await waiting.value == .saving)
        }
    }

    @Test("after closing, everything fails as closed")
    func closed() async throws {
        let fixture = try Fixture("closed")
        defer { fixture.end() }
        let store = try await fixture.open()
        await store.close()
        await store.close()
        await #expect(throws: StoreError.closed) { try await store.commit([Fixture.row(Fixture.session)]) }
        await #expect(throws: StoreError.closed) { _ = try await store.sessions() }
    }
}

/// Notes what was told.
final class Log: DiagnosticSink {
    private let state = Mutex<[Diagnostic]>([])
    var names: [String] { all.map(\.name) }
    var all: [Diagnostic] { state.withLock { $0 } }

    func wants(_ level: Diagnostic.Level) -> Bool { true }
    func record(_ diagnostic: Diagnostic) { state.withLock { $0.append(diagnostic) } }
}

@Suite("the database file")
struct DatabaseFileTests {
    private func withDirectory(
        _ body: (ScratchDirectory, EventLoop) async throws -> Void
    ) async throws {
        let directory = ScratchDirectory()
        let loop = try BlockingLoop(name: "file-test")
        defer { loop.stop() }
        try await body(directory, loop)
    }

    private func execute(_ sql: String, _ path: String) {
        var handle: OpaquePointer?
        #expect(sqlite3_open(path, &handle) == SQLITE_OK)
        #expect(sqlite3_exec(handle, sql, nil, nil, nil) == SQLITE_OK)
        sqlite3_close(handle)
    }

    @Test("only its owner may read the file and its log")
    func mode() async throws {
        try await withDirectory { directory, loop in
            let store = try await SQLiteStore.open(path: directory("mew.db"), on: loop)
            try await store.commit([Fixture.row(Fixture.session)])
            for name in ["mew.db", "mew.db-wal"] {
                var info = stat()
                #expect(stat(directory(name), &info) == 0)
                #expect(info.st_mode & 0o777 == 0o600, "\(name)")
            }
            await store.close()
        }
    }

    @Test("a second daemon on the same file is refused as locked")
    func locked() async throws {
        try await withDirectory { directory, loop in
            let store = try await SQLiteStore.open(path: directory("mew.db"), on: loop)
            let other = try BlockingLoop(name: "second")
            defer { other.stop() }
            await #expect(throws: StoreError.locked) {
                _ = try await SQLiteStore.open(path: directory("mew.db"), on: other)
            }
            await store.close()
        }
    }

    @Test("a file of a newer program is refused by its number, and left as it is")
    func newer() async throws {
        try await withDirectory { directory, loop in
            let store = try await SQLiteStore.open(path: directory("mew.db"), on: loop)
            try await store.commit([Fixture.row(Fixture.session)])
            await store.close()
            execute("PRAGMA user_version=99", directory("mew.db"))
            await #expect(throws: StoreError.newerSchema(found: 99, known: 1)) {
                _ = try await SQLiteStore.open(path: directory("mew.db"), on: loop)
            }
            execute("PRAGMA user_version=1", directory("mew.db"))
            let again = try await SQLiteStore.open(path: directory("mew.db"), on: loop)
            #expect(try await again.sessions().count == 1)
            await again.close()
        }
    }

    @Test("a database of another program, and a directory that cannot be written")
    func foreign() async throws {
        try await withDirectory { directory, loop in
            execute("CREATE TABLE theirs(x)", directory("theirs.db"))
            await #expect(throws: StoreError.self) {
                _ = try await SQLiteStore.open(path: directory("theirs.db"), on: loop)
            }
            execute("SELECT x FROM theirs", directory("theirs.db"))
            await #expect(throws: StoreError.readOnly(path: "/proc/none/mew.db")) {
                _ = try await SQLiteStore.open(path: "/proc/none/mew.db", on: loop)
            }
        }
    }

    @Test("one bad record costs one record: the others are there, and the session starts a new epoch")
    func badRecord() async throws {
        try await withDirectory { directory, loop in
            let store = try await SQLiteStore.open(path: directory("mew.db"), on: loop)
            try await store.commit([Fixture.row(Fixture.session), Fixture.row(Fixture.other)])
            try await store.commit((1...9).map { Fixture.event($0) } + [Fixture.event(1, of: Fixture.other)])
            try await store.commit([Fixture.message(0, "zero"), Fixture.message(1, "one")])
            await store.close()
            execute("UPDATE events SET body=x'00' WHERE seq=5", directory("mew.db"))
            execute("UPDATE messages SET body=x'00' WHERE position=0", directory("mew.db"))
            let again = try await SQLiteStore.open(path: directory("mew.db"), on: loop)
            let stored = try #require(try await again.load(Fixture.session, limits: Fixture.everything))
            #expect(stored.events.map(\.sequence.rawValue) == [6, 7, 8, 9])
            #expect(stored.lostEvents == 1 && stored.isSuspect)
            #expect(stored.messages.map(\.position) == [1] && stored.messageCount == 2)
            let healthy = try #require(try await again.load(Fixture.other, limits: Fixture.everything))
            #expect(!healthy.isSuspect && healthy.events.count == 1)
            await again.close()
        }
    }

    @Test("damaged events are given up once: the next load finds the journal whole, and its numbers go on")
    func givenUp() async throws {
        try await withDirectory { directory, loop in
            let store = try await SQLiteStore.open(path: directory("mew.db"), on: loop)
            try await store.commit([Fixture.row(Fixture.session)] + (1...9).map { Fixture.event($0) })
            await store.close()
            execute("UPDATE events SET body=x'00' WHERE seq=5", directory("mew.db"))
            let again = try await SQLiteStore.open(path: directory("mew.db"), on: loop)
            func load() async throws -> StoredSession {
                try #require(try await again.load(Fixture.session, limits: Fixture.everything))
            }
            #expect(try await load().lostEvents == 1)
            for (last, kept) in [(5, [6, 7, 8, 9]), (9, [])] as [(UInt64, [UInt64])] {
                let drop = StoreWrite.dropEvents(Fixture.session, upTo: SequenceNumber(last))
                try await again.commit([Fixture.row(Fixture.session), drop])
                let stored = try await load()
                #expect(stored.events.map(\.sequence.rawValue) == kept)
                #expect(stored.lostEvents == 0 && !stored.isSuspect && stored.headSequence == SequenceNumber(9))
            }
            try await again.commit([Fixture.event(10)])
            #expect(try await load().events.map(\.sequence.rawValue) == [10])
            await again.close()
        }
    }

    @Test("waiting work that is damaged is named by its number")
    func damagedWork() async throws {
        try await withDirectory { directory, loop in
            let store = try await SQLiteStore.open(path: directory("mew.db"), on: loop)
            let work = (1...3).map { StoreWrite.putWork(Fixture.session, WorkRow(number: $0, body: [1])) }
            try await store.commit([Fixture.row(Fixture.session)] + work)
            await store.close()
            execute("UPDATE work SET body=x'00' WHERE number=2", directory("mew.db"))
            let again = try await SQLiteStore.open(path: directory("mew.db"), on: loop)
            let stored = try #require(try await again.load(Fixture.session, limits: Fixture.everything))
            #expect(stored.work.map(\.number) == [1, 3] && stored.lostWork == [2])
            await again.close()
        }
    }

    @Test("a damaged file is repaired: the readable is kept, the damaged file put aside, every session suspect")
    func repair() async throws {
        try await withDirectory { directory, loop in
            let path = directory("mew.db")
            let store = try await SQLiteStore.open(path: path, on: loop)
            let sessions = (0..<20).map { SessionID("sess_\($0)")! }
            for session in sessions {
                try await store.commit([Fixture.row(session)])
                try await store.commit(
                    (1...50).map { Fixture.event($0, of: session, body: String(repeating: "x", count: 300)) })
            }
            await store.close()
            try damage(path)
            let log = Log()
            let again = try await SQLiteStore.open(path: path, on: loop, diagnostics: log)
            #expect(log.names.contains("repaired"))
            #expect(access(path + ".damaged-1", F_OK) == 0)
            let kept = try await again.sessions().map(\.id)
            #expect(kept.count >= 15)
            var events = 0
            for session in kept {
                let stored = try #require(try await again.load(session, limits: Fixture.everything))
                #expect(stored.isSuspect)
                events += stored.events.count
                try await again.commit([
                    Fixture.row(session),
                    Fixture.event(stored.headSequence.next.rawValue, of: session),
                ])
                #expect(try await again.load(session, limits: Fixture.everything)?.isSuspect == (stored.lostEvents > 0))
            }
            #expect(events > 500)
            await again.close()
        }
    }

    /// Overwrites one page in the middle of the events, and the mark of a clean end.
    private func damage(_ path: String) throws {
        execute("INSERT INTO settings(name, value) VALUES('store.open', '1')", path)
        execute("PRAGMA wal_checkpoint(TRUNCATE)", path)
        let file = open(path, O_RDWR)
        #expect(file >= 0)
        var info = stat()
        fstat(file, &info)
        let page = [UInt8](repeating: 0xa5, count: 4_096)
        let middle = (Int(info.st_size) / 4_096 / 2) * 4_096
        #expect(pwrite(file, page, page.count, middle) == page.count)
        close(file)
    }
}
