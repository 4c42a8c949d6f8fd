internal import CSQLite
internal import Glibc
import MewSession

/// Saves what can be read of a damaged database into a new one, and puts the damaged file aside.
///
/// A bad page makes SQLite refuse the rows on it. So every table is read from both ends towards the damage: journal, messages and
/// the other tables of sessions one session at a time, so that damage in one costs the others nothing. Rows whose text is
/// damaged but readable are found later, by their checksums. Every session is marked suspect and starts a new epoch.
struct Repair {
    let path: String

    struct Report {
        var keptRows = 0
        /// The name the damaged file has now.
        var setAside = ""
    }

    /// Tables without a session, with the columns that order them.
    private static let wholeTables = [
        ("receipts", "device, operation"), ("operations", "device"), ("devices", "node"), ("groups", "id"),
        ("settings", "name"),
    ]

    /// Tables whose rows belong to one session each, with the column that orders them within it.
    private static let sessionTables = [
        ("events", "seq"), ("messages", "position"), ("requests", "id"), ("work", "number"), ("processes", "session"),
    ]

    func run() throws(StoreError) -> Report {
        let fresh = path + ".repaired"
        remove(fresh)
        var report = Report()
        do throws(SQLiteError) {
            report.keptRows = try copy(into: fresh)
        } catch {
            remove(fresh)
            throw .damaged("repair failed: \(error.description)")
        }
        report.setAside = try exchange(fresh)
        return report
    }

    private func copy(into fresh: String) throws(SQLiteError) -> Int {
        let file = Glibc.open(fresh, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        if file >= 0 { Glibc.close(file) }
        let target = try Database(path: fresh)
        try target.script("PRAGMA journal_mode=DELETE; PRAGMA synchronous=FULL; PRAGMA foreign_keys=OFF")
        try Schema.migrate(target, from: 0)
        var kept = 0
        // The source is another connection, which must not hold the new file.
        let source = try Database(path: path)
        // With a writable schema SQLite goes on without the tables whose definition is damaged, and in a file that was cut
        // off, instead of refusing all of it. Nothing is written to the source.
        try source.script("PRAGMA writable_schema=ON; PRAGMA locking_mode=EXCLUSIVE; PRAGMA cell_size_check=ON")
        try target.transaction { () throws(SQLiteError) in
            let sessions = try salvage("sessions", keyed: "number", from: source, into: target)
            kept += sessions
            for (table, key) in Self.wholeTables { kept += try salvage(table, keyed: key, from: source, into: target) }
            for number in (try target.rows("SELECT number FROM sessions") { $0.integer(0) }) {
                for (table, key) in Self.sessionTables {
                    kept += try salvage(table, keyed: key, of: number, from: source, into: target)
                }
            }
            try target.run("UPDATE sessions SET suspect=1")
        }
        return kept
    }

    /// Copies the rows that can be read going up, those that can be read going down, and the same once more past the index,
    /// which may be what is damaged.
    private func salvage(
        _ table: String, keyed key: String, of session: Int64? = nil, from source: Database, into target: Database
    ) throws(SQLiteError) -> Int {
        let condition = session.map { "WHERE session=\($0)" } ?? ""
        let down = key.split(separator: ",").map { "\($0) DESC" }.joined(separator: ",")
        var kept = 0
        let ways = [
            "\(condition) ORDER BY \(key)", "\(condition) ORDER BY \(down)", "NOT INDEXED \(condition) ORDER BY rowid",
            "NOT INDEXED \(condition) ORDER BY rowid DESC",
        ]
        for way in ways {
            let (rows, isComplete) = read("SELECT * FROM \(table) \(way)", from: source)
            for values in rows {
                let marks = Array(repeating: "?", count: values.count).joined(separator: ",")
                try target.run("INSERT OR IGNORE INTO \(table) VALUES(\(marks))", values)
                kept += target.changes
            }
            if isComplete { break }
        }
        return kept
    }

    /// Rows up to the first that cannot be read.
    private func read(_ sql: String, from source: Database) -> (rows: [[SQLValue]], isComplete: Bool) {
        var rows: [[SQLValue]] = []
        do throws(SQLiteError) {
            try source.each(sql) { row in
                rows.append(row.values)
                return .more
            }
            return (rows, true)
        } catch {
            // What comes after the damage is reached from the other end.
            return (rows, false)
        }
    }

    // MARK: - Files

    private func exchange(_ fresh: String) throws(StoreError) -> String {
        let aside = freeName()
        // A second name, where the file system has that: a crash before the exchange must not leave the path without a file,
        // which would be taken for a first start.
        guard link(path, aside) == 0 || rename(path, aside) == 0 else { throw .readOnly(path: path) }
        // The write-ahead log belongs to the damaged file: beside the new one it would be replayed into it.
        guard rename(path + "-wal", aside + "-wal") == 0 || errno == ENOENT else { throw .readOnly(path: path) }
        remove(path + "-shm")
        guard rename(fresh, path) == 0 else { throw .readOnly(path: path) }
        return aside
    }

    private func freeName() -> String {
        let names = (1...).lazy.map { "\(path).damaged-\($0)" }
        return names.first { access($0, F_OK) != 0 } ?? path + ".damaged"
    }

    private func remove(_ file: String) {
        unlink(file)
    }
}
