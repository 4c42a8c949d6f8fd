internal import CSQLite
import MewBase
import MewSession
import MewWire

/// Opens a database file: settings of the connection, format, check and repair.
struct Opening {
    let path: String
    let vfs: String?
    let diagnostics: any DiagnosticSink

    /// Long enough for a daemon that is just going away to let go of the file, short enough for a person who waits.
    private static let busyMilliseconds: Int32 = 2_000

    /// Present while a daemon runs. Found at the start, it means that the last one did not end in order.
    private static let openMark = "store.open"

    /// A file that is open, and how it was found.
    struct Opened {
        let database: Database
        /// The last daemon did not end in order.
        let endedUncleanly: Bool
    }

    func open() throws(StoreError) -> Opened {
        if vfs == nil { try DatabaseFile(path: path).createPrivately() }
        do throws(SQLiteError) {
            return try prepare()
        } catch  where error.isDamage && vfs == nil {
            return try openRepaired(error)
        } catch {
            throw Self.storeError(error, path: path)
        }
    }

    private func prepare() throws(SQLiteError) -> Opened {
        let database = try Database(path: path, vfs: vfs)
        sqlite3_busy_timeout(database.handle, Self.busyMilliseconds)
        // Exclusive before the first access: no shared memory, and a second daemon is refused.
        try database.script("PRAGMA locking_mode=EXCLUSIVE; PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;")
        try database.script("PRAGMA foreign_keys=ON; PRAGMA temp_store=MEMORY; PRAGMA journal_size_limit=16777216")
        switch try Schema.verdict(on: database) {
        case .current: break
        case .older(let found): try Schema.migrate(database, from: found)
        case .newer(let found): throw SQLiteError(code: Self.newerSchema, message: "\(found)", operation: "open")
        case .foreign: throw SQLiteError(code: Self.foreign, message: "not a mew database", operation: "open")
        }
        return Opened(database: database, endedUncleanly: try checkAfterUncleanEnd(database))
    }

    /// Not SQLite codes; they carry our refusals through one error type. Neither counts as damage, which would be repaired.
    private static let newerSchema: Int32 = -1
    private static let foreign: Int32 = -2

    /// True after an unclean end. What follows from that is written by `StoreWriter.markSuspects`.
    private func checkAfterUncleanEnd(_ database: Database) throws(SQLiteError) -> Bool {
        let wasOpen = try database.first("SELECT 1 FROM settings WHERE name=?", [.text(Self.openMark)]) { _ in true }
        guard wasOpen != nil else {
            try database.transaction { () throws(SQLiteError) in
                try Self.noteOpen(database)
                for name in [SettingName.repairs, .losses, .sessionsGone] {
                    try database.run("DELETE FROM settings WHERE name=?", [.text(name.text)])
                }
            }
            return false
        }
        let verdict = try database.first("PRAGMA quick_check(1)") { $0.text(0) }
        guard verdict == "ok" else {
            throw SQLiteError(
                code: SQLITE_CORRUPT, message: verdict ?? "no answer", operation: "check the database")
        }
        return true
    }

    static func noteOpen(_ database: Database) throws(SQLiteError) {
        try database.run("INSERT OR REPLACE INTO settings(name, value) VALUES(?, '1')", [.text(openMark)])
    }

    static func noteCleanEnd(_ database: Database) throws(SQLiteError) {
        try database.run("DELETE FROM settings WHERE name=?", [.text(openMark)])
    }

    private func openRepaired(_ damage: SQLiteError) throws(StoreError) -> Opened {
        let report = try Repair(path: path).run()
        diagnostics.record(
            Diagnostic(
                .error, "store", "repaired", "the database was damaged; what could be read was kept",
                [
                    "damage": .text(damage.message), "kept": .integer(Int64(report.keptRows)),
                    "old_file": .text(report.setAside), "sessions_damaged": .integer(Int64(report.losses.count)),
                    "sessions_gone": .integer(Int64(report.nameless)),
                ]))
        for loss in report.losses { diagnostics.record(Diagnostic(loss)) }
        do throws(SQLiteError) { return try prepare() } catch { throw Self.storeError(error, path: path) }
    }

    // MARK: - Shared with the running store

    /// Enough to need new pages, so that a disk with a few free bytes does not look healthy.
    private static let probeBytes: Int64 = 65_536

    /// Writes and takes back what a middling commit needs.
    static func tryToWrite(_ database: Database) throws(SQLiteError) {
        try database.transaction { () throws(SQLiteError) in
            try database.run(
                "INSERT OR REPLACE INTO settings(name, value) VALUES('store.probe', hex(zeroblob(?)))",
                [.integer(probeBytes / 2)])
            try database.run("DELETE FROM settings WHERE name='store.probe'")
        }
    }

    static func storeError(_ error: SQLiteError, path: String) -> StoreError {
        if error.code == newerSchema {
            return .newerSchema(found: Int(error.message) ?? 0, known: Schema.version)
        }
        if error.code == foreign { return .damaged("\(path) belongs to another program") }
        if error.isNotSaved {
            return error.mayBeFound ? .inDoubt(reason: error.message) : .notSaved(reason: error.message)
        }
        if error.isLocked { return .locked }
        if error.isReadOnly { return .readOnly(path: path) }
        if error.isDamage { return .damaged(error.message) }
        return .contradiction(error.description)
    }
}

extension Diagnostic {
    fileprivate init(_ loss: SessionLoss) {
        self.init(
            .error, "store", "session_damaged",
            loss.isReadable ? "part of a session was lost" : "a session's record was lost; it can only be deleted",
            [
                "session_id": .text(loss.session.text), "messages": .integer(Int64(clamping: loss.messages)),
                "events": .integer(Int64(clamping: loss.events)), "requests": .integer(Int64(clamping: loss.requests)),
            ])
    }
}

extension SettingName {
    /// The first event that a session's journal still has, after damage; without it there is the first that trimming left.
    static func journalStart(of session: SessionID) -> SettingName { SettingName("journal.from:\(session.text)") }
}
