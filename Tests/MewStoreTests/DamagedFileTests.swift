import CSQLite
import Glibc
import MewBase
import MewLoop
import MewSession
import MewStore
import MewTestSupport
import MewWire
import Testing

/// What happens to the database's file from outside: while the store is open, and while it is not.
@Suite("a file that is taken away, replaced or damaged")
struct DamagedFileTests {
    private func withDirectory(_ body: (ScratchDirectory, EventLoop) async throws -> Void) async throws {
        let directory = ScratchDirectory()
        let loop = try BlockingLoop(name: "file-test")
        defer { loop.stop() }
        try await body(directory, loop)
    }

    private static let takeaways: [(String, String)] = [
        ("state", "the whole directory"), ("state/mew.db", "the database"), ("state/mew.db-wal", "its log"),
    ]

    @Test(
        "what is taken away under an open store is noticed before anything is acknowledged; put back, it goes on",
        arguments: takeaways)
    func takenAway(_ what: (path: String, name: String)) async throws {
        try await withDirectory { directory, loop in
            directory.directory("state")
            let store = try await SQLiteStore.open(path: directory("state/mew.db"), on: loop)
            try await store.commit([Fixture.row(Fixture.session)])
            #expect(rename(directory(what.path), directory("elsewhere")) == 0)
            await #expect(throws: StoreError.self) { try await store.commit([Fixture.event(1)]) }
            let state = await store.saving()
            #expect(!state.isSaving)
            #expect(state.reason?.contains("was removed or replaced") == true)
            #expect(rename(directory("elsewhere"), directory(what.path)) == 0)
            #expect(await store.savingChanged(from: state).isSaving)
            try await store.commit([Fixture.event(1)])
            await store.close()
        }
    }

    @Test("a file with the same name and content is not the same file")
    func replaced() async throws {
        try await withDirectory { directory, loop in
            let path = directory("mew.db")
            let store = try await SQLiteStore.open(path: path, on: loop)
            try await store.commit([Fixture.row(Fixture.session)])
            let bytes = try Self.content(of: path)
            #expect(unlink(path) == 0)
            directory.file("mew.db")
            try Self.write(bytes, to: path)
            await #expect(throws: StoreError.self) { try await store.commit([Fixture.event(1)]) }
            await store.close()
        }
    }

    // MARK: - Damage

    /// A closed database with twenty devices in it, and one session with fifty events.
    private func makeDatabase(_ path: String, on loop: EventLoop) async throws {
        let store = try await SQLiteStore.open(path: path, on: loop)
        try await store.commit([Fixture.row(Fixture.session)])
        try await store.commit((1...50).map { Fixture.event($0, body: String(repeating: "x", count: 3_000)) })
        for number in UInt8(0)..<20 {
            try await store.commit([.putDevice(Self.device(number))])
        }
        await store.close()
    }

    private static func device(_ number: UInt8) -> DeviceRow {
        DeviceRow(
            node: Fixture.node(number), name: "device", scope: .control, pairedAt: WallTime(milliseconds: 1),
            revokedAt: nil, spentToken: nil)
    }

    @Test(
        "a damaged definition of one table costs that table: the devices and the sessions are still known",
        arguments: ["messages", "receipts", "work"])
    func damagedDefinition(_ table: String) async throws {
        try await withDirectory { directory, loop in
            let path = directory("mew.db")
            try await makeDatabase(path, on: loop)
            var bytes = try Self.content(of: path)
            let definition = try #require(Self.position(of: "CREATE TABLE \(table)", in: bytes))
            bytes[definition + 1] = 0xff
            try Self.write(bytes, to: path)
            let again = try await SQLiteStore.open(path: path, on: loop)
            #expect(try await again.devices().count == 20)
            #expect(try await again.load(Fixture.session, limits: Fixture.everything)?.events.count == 50)
            await again.close()
        }
    }

    @Test("a file that was cut off costs what stood behind the cut")
    func cutOff() async throws {
        try await withDirectory { directory, loop in
            let path = directory("mew.db")
            try await makeDatabase(path, on: loop)
            let bytes = try Self.content(of: path)
            try Self.write(Array(bytes[..<(bytes.count / 4_096 * 3 / 4 * 4_096)]), to: path)
            let again = try await SQLiteStore.open(path: path, on: loop)
            #expect(try await again.sessions().map(\.id) == [Fixture.session])
            let events = try #require(try await again.load(Fixture.session, limits: Fixture.everything)).events.count
            #expect((5..<50).contains(events))
            await again.close()
        }
    }

    // MARK: - Losses

    /// Adds the mark of an unclean end, so that the next start checks the whole file.
    private func forgetCleanEnd(_ path: String) {
        execute("INSERT INTO settings(name, value) VALUES('store.open', '1')", path)
    }

    private func execute(_ sql: String, _ path: String) {
        var handle: OpaquePointer?
        #expect(sqlite3_open(path, &handle) == SQLITE_OK)
        #expect(sqlite3_exec(handle, sql, nil, nil, nil) == SQLITE_OK)
        sqlite3_close(handle)
    }

    /// Overwrites the page on which `text` is found first.
    private func damagePage(with text: String, in path: String) throws {
        let position = try #require(Self.position(of: text, in: try Self.content(of: path, first: 2 << 20)))
        let file = open(path, O_RDWR)
        defer { close(file) }
        let page = [UInt8](repeating: 0xa5, count: 4_096)
        #expect(pwrite(file, page, page.count, position / 4_096 * 4_096) == page.count)
    }

    private static let filling = String(repeating: "x", count: 3_000)

    private static func titled(_ title: String) -> StoreWrite {
        var record = SessionRecord(
            createdAt: WallTime(milliseconds: 1), cwd: nil, agent: "shell", epoch: Epoch(ULID(high: 1, low: 1)),
            history: HistoryID(ULID(high: 1, low: 2)))
        record.title = title
        return .putSession(SessionRow(id: Fixture.session, body: record.encoded(), isBusy: false))
    }

    private func losses(of store: SQLiteStore) async throws -> [SessionLoss] {
        [SessionLoss](stored: try await store.setting(.losses))
    }

    @Test("what was lost is named: in the log, and in the store until the next start after a clean end")
    func namedLosses() async throws {
        try await withDirectory { directory, loop in
            let path = directory("mew.db")
            let store = try await SQLiteStore.open(path: path, on: loop)
            try await store.commit([Self.titled("Fix it"), Fixture.row(Fixture.other)])
            for number in 1...30 as ClosedRange<UInt64> {
                try await store.commit([
                    Fixture.event(number, body: "event-\(number)-" + Self.filling),
                    Fixture.event(number, of: Fixture.other),
                    Fixture.message(number - 1, "message-\(number)-" + Self.filling),
                ])
            }
            await store.close()
            forgetCleanEnd(path)
            try damagePage(with: "event-15-", in: path)
            try damagePage(with: "message-15-", in: path)

            let log = Log()
            let second = try await SQLiteStore.open(path: path, on: loop, diagnostics: log)
            let events = try await second.events(of: Fixture.session, after: .zero, limit: 100).count
            let messages = try await second.messages(
                of: Fixture.session, before: .max, limit: 100, maxBytes: 1 << 30
            ).count
            #expect((1..<30).contains(events) && (1..<30).contains(messages))
            let loss = SessionLoss(
                session: Fixture.session, title: "Fix it", isReadable: true, messages: UInt64(30 - messages),
                events: UInt64(30 - events), requests: 0)
            #expect(try await losses(of: second) == [loss])
            #expect(log.names.count { $0 == "session_damaged" } == 1)
            await second.close()
            forgetCleanEnd(path)
            let third = try await SQLiteStore.open(path: path, on: loop)
            #expect(try await losses(of: third) == [loss])
            await third.close()
            let fourth = try await SQLiteStore.open(path: path, on: loop)
            #expect(try await losses(of: fourth).isEmpty)
            await fourth.close()
        }
    }

    @Test(
        "damage that is found while the daemon runs is repaired at the next start, though it ended in order",
        arguments: ["commit", "read"])
    func foundWhileRunning(_ finder: String) async throws {
        try await withDirectory { directory, loop in
            let path = directory("mew.db")
            let store = try await SQLiteStore.open(path: path, on: loop)
            try await store.commit([Self.titled("Fix it")])
            for number in 1...30 as ClosedRange<UInt64> {
                try await store.commit([Fixture.message(number - 1, "message-\(number)-" + Self.filling)])
            }
            await store.close()
            try damagePage(with: "message-15-", in: path)

            let second = try await SQLiteStore.open(path: path, on: loop)
            await #expect(throws: StoreError.self) {
                switch finder {
                case "commit": try await second.commit([Fixture.message(14, "new")])
                default: _ = try await second.messages(of: Fixture.session, before: 16, limit: 9, maxBytes: 1 << 20)
                }
            }
            #expect(await second.saving().isSaving == (finder == "read"))
            await second.close()

            let log = Log()
            let third = try await SQLiteStore.open(path: path, on: loop, diagnostics: log)
            #expect(log.names.contains("repaired"))
            try await third.commit([Fixture.message(14, "new")])
            #expect(try await losses(of: third).map(\.session) == [Fixture.session])
            await third.close()
        }
    }

    @Test("sessions whose records are lost are still named, and can be deleted")
    func lostRecords() async throws {
        try await withDirectory { directory, loop in
            let path = directory("mew.db")
            let store = try await SQLiteStore.open(path: path, on: loop)
            let sessions = (0..<200).compactMap { SessionID("sess_\($0)") }
            for session in sessions {
                let row = Fixture.row(session, "\(session.text)-" + String(repeating: "x", count: 300))
                try await store.commit([row, Fixture.event(1, of: session)])
            }
            await store.close()
            forgetCleanEnd(path)
            try damagePage(with: "sess_77-", in: path)
            let again = try await SQLiteStore.open(path: path, on: loop)
            let lines = try await again.sessions()
            #expect(Set(lines.map(\.id)) == Set(sessions))
            let lost = lines.filter { $0.row == nil }
            #expect((1..<50).contains(lost.count) && lost.allSatisfy { $0.head == .first })
            let losses = try await losses(of: again)
            #expect(losses.map(\.session) == lost.map(\.id) && losses.allSatisfy { !$0.isReadable })
            try await again.commit(lost.map { .deleteSession($0.id) })
            #expect(try await again.sessions().count == 200 - lost.count)
            await again.close()
        }
    }

    @Test("sessions that are gone with their names are counted: in the log, and in the store until a clean end")
    func goneSessions() async throws {
        try await withDirectory { directory, loop in
            let path = directory("mew.db")
            let store = try await SQLiteStore.open(path: path, on: loop)
            for session in (0..<3).compactMap({ SessionID("sess_\($0)") }) {
                try await store.commit([Fixture.row(session), Fixture.event(1, of: session)])
            }
            await store.close()
            forgetCleanEnd(path)
            // The table first, then its index.
            for _ in 0..<2 { try damagePage(with: "sess_1", in: path) }
            let log = Log()
            let again = try await SQLiteStore.open(path: path, on: loop, diagnostics: log)
            #expect(try await again.sessions().isEmpty)
            let repaired = try #require(log.all.first { $0.name == "repaired" })
            #expect(repaired.fields["sessions_gone"] == .integer(3))
            #expect(try await again.setting(.sessionsGone) == "3")
            await again.close()
            let last = try await SQLiteStore.open(path: path, on: loop)
            #expect(try await last.setting(.sessionsGone) == nil, "told until a start after a clean end")
            await last.close()
        }
    }

    private func repairs(of store: SQLiteStore) async throws -> [StoreRepair] {
        [StoreRepair](stored: try await store.setting(.repairs))
    }

    @Test(
        "a file of which nothing can be read is set aside, and the total loss is told until a start after a clean end")
    func totalLoss() async throws {
        try await withDirectory { directory, loop in
            let path = directory("mew.db")
            try await makeDatabase(path, on: loop)
            let size = try Self.content(of: path).count
            try Self.write([UInt8](repeating: 0xa5, count: size), to: path)
            for _ in 0..<2 {
                let again = try await SQLiteStore.open(path: path, on: loop)
                #expect(try await again.devices().isEmpty)
                let aside = path + ".damaged-1"
                #expect(access(aside, F_OK) == 0)
                #expect(
                    try await repairs(of: again) == [
                        StoreRepair(setAside: aside, keptRows: 0, knowsSessions: false, knowsDevices: false)
                    ])
                await again.close()
                forgetCleanEnd(path)
            }
            execute("DELETE FROM settings WHERE name='store.open'", path)
            let last = try await SQLiteStore.open(path: path, on: loop)
            #expect(try await repairs(of: last).isEmpty)
            await last.close()
        }
    }

    @Test(
        "a repair tells whether sessions or devices may be gone that nobody can name",
        arguments: ["messages", "sessions", "devices"])
    func lostWithoutTrace(_ table: String) async throws {
        try await withDirectory { directory, loop in
            let path = directory("mew.db")
            try await makeDatabase(path, on: loop)
            var bytes = try Self.content(of: path)
            let definition = try #require(Self.position(of: "CREATE TABLE \(table)", in: bytes))
            bytes[definition + 1] = 0xff
            try Self.write(bytes, to: path)
            let again = try await SQLiteStore.open(path: path, on: loop)
            let repair = try #require(try await repairs(of: again).first)
            #expect(repair.knowsSessions == (table != "sessions") && repair.knowsDevices == (table != "devices"))
            #expect(repair.keptRows > 0)
            await again.close()
        }
    }

    // MARK: - What is no database

    private static let intruders: [(name: String, make: @Sendable (String) -> Int32, problem: UnusableFile)] = [
        ("a directory", { mkdir($0, 0o700) }, .notAFile("a directory")),
        ("a named pipe", { mkfifo($0, 0o600) }, .notAFile("a named pipe")),
        ("a link to a device", { symlink("/dev/null", $0) }, .notAFile("a device")),
    ]

    @Test(
        "what is no file is named and left where it is, in the place of the database and of its log", arguments: 0..<3)
    func noFile(_ index: Int) async throws {
        let intruder = Self.intruders[index]
        try await withDirectory { directory, loop in
            for name in ["mew.db", "mew.db-wal"] {
                let path = directory(name)
                #expect(intruder.make(path) == 0)
                await #expect(throws: StoreError.unusable(path: path, intruder.problem)) {
                    _ = try await SQLiteStore.open(path: directory("mew.db"), on: loop)
                }
                #expect(rename(path, directory("moved-\(name)")) == 0, "it is still there")
                #expect(access(directory("mew.db.damaged-1"), F_OK) != 0)
            }
        }
    }

    @Test("a repair needs little memory, however large the file is")
    func repairMemory() async throws {
        try await withDirectory { directory, loop in
            let path = directory("mew.db")
            try await makeDatabase(path, on: loop)
            let megabytes = 200
            execute(
                """
                WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i+1 FROM n LIMIT \(megabytes))
                INSERT INTO messages SELECT 1, i, i, zeroblob(1000000), 0 FROM n
                """, path)
            forgetCleanEnd(path)
            try damagePage(with: "xxxxxxxx", in: path)
            let before = Self.peakMegabytes()
            let again = try await SQLiteStore.open(path: path, on: loop)
            #expect(access(path + ".damaged-1", F_OK) == 0)
            // Other tests run beside this one.
            #expect(Self.peakMegabytes() - before < megabytes / 2)
            await again.close()
        }
    }

    /// Of the memory of this process.
    private static func peakMegabytes() -> Int {
        var usage = rusage()
        getrusage(RUSAGE_SELF.rawValue, &usage)
        return usage.ru_maxrss >> 10
    }

    // MARK: - Bytes

    /// - Parameter limit: the rest is left out.
    private static func content(of path: String, first limit: Int = .max) throws -> [UInt8] {
        let file = open(path, O_RDONLY)
        defer { close(file) }
        var info = stat()
        try #require(fstat(file, &info) == 0)
        var bytes = [UInt8](repeating: 0, count: min(Int(info.st_size), limit))
        try #require(read(file, &bytes, bytes.count) == bytes.count)
        return bytes
    }

    private static func write(_ bytes: [UInt8], to path: String) throws {
        let file = open(path, O_WRONLY | O_TRUNC)
        defer { close(file) }
        try #require(Glibc.write(file, bytes, bytes.count) == bytes.count)
    }

    private static func position(of text: String, in bytes: [UInt8]) -> Int? {
        let text = Array(text.utf8)
        return bytes.indices.first { bytes[$0] == text[0] && bytes[$0...].starts(with: text) }
    }
}
