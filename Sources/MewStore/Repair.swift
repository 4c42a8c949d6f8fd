internal import CSQLite
internal import Glibc
import MewSession

/// Saves what can be read of a damaged database into a new one, and puts the damaged file aside.
///
/// Rows go over one at a time (`Salvage`): a file may be larger than memory. Rows whose text is damaged but readable are found
/// later, by their checksums. Every session is marked suspect and starts a new epoch.
struct Repair {
    let path: String

    struct Report {
        var keptRows = 0
        /// Every session is there still, or named among the losses.
        var knowsSessions = true
        /// Every paired device is known still.
        var knowsDevices = true
        var losses: [SessionLoss] = []
        /// Sessions that are gone with their names.
        var nameless = 0
        /// The name that the damaged file gets.
        let setAside: String

        var repair: StoreRepair {
            StoreRepair(
                setAside: setAside, keptRows: UInt64(keptRows), knowsSessions: knowsSessions,
                knowsDevices: knowsDevices)
        }
    }

    /// Losses that are kept for people to read; the log has all of them.
    private static let keptLosses = 1_000
    /// Repairs without a clean end between them: a disk that is dying.
    private static let keptRepairs = 10

    /// Tables without a session besides the devices, with the columns that order them.
    private static let wholeTables = [
        ("receipts", "device, operation"), ("operations", "device"), ("groups", "id"), ("settings", "name"),
    ]

    /// Tables whose rows belong to one session each, with the column that orders them within it.
    private static let sessionTables = [
        ("events", "seq"), ("messages", "position"), ("requests", "id"), ("work", "number"), ("processes", "session"),
    ]

    func run() throws(StoreError) -> Report {
        let fresh = path + ".repaired"
        remove(fresh)
        let aside = freeName()
        let report: Report
        do throws(SQLiteError) {
            report = try copy(into: fresh, settingAside: aside)
        } catch {
            remove(fresh)
            throw .damaged("repair failed: \(error.description)")
        }
        try exchange(fresh, aside)
        return report
    }

    private func copy(into fresh: String, settingAside aside: String) throws(SQLiteError) -> Report {
        let file = Glibc.open(fresh, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        if file >= 0 { Glibc.close(file) }
        let target = try Database(path: fresh)
        try target.script("PRAGMA journal_mode=DELETE; PRAGMA synchronous=FULL; PRAGMA foreign_keys=OFF")
        try Schema.migrate(target, from: 0)
        // The source is another connection, which must not hold the new file.
        let source = try Database(path: path)
        // With a writable schema SQLite goes on without the tables whose definition is damaged, and in a file that was cut
        // off, instead of refusing all of it. Nothing is written to the source.
        try source.script("PRAGMA writable_schema=ON; PRAGMA locking_mode=EXCLUSIVE; PRAGMA cell_size_check=ON")
        var report = Report(setAside: aside)
        try target.transaction { () throws(SQLiteError) in
            try copyTables(Salvage(from: source, into: target), &report)
            let count = LossCount(source: source, target: target)
            (report.losses, report.nameless) = (try count.losses(), try count.nameless())
            try noteUnclean(in: target)
            try note(report.repair, in: target)
            try note(report.losses, in: target)
            try note(sessionsGone: report.nameless, in: target)
        }
        return report
    }

    private func copyTables(_ salvage: Salvage, _ report: inout Report) throws(SQLiteError) {
        var salvage = salvage
        if try !salvage.copy("sessions", keyed: "number") {
            report.knowsSessions = try salvage.nameUnreadableSessions()
        }
        report.knowsDevices = try salvage.copy("devices", keyed: "node")
        for (table, key) in Self.wholeTables { try salvage.copy(table, keyed: key) }
        for number in (try salvage.target.rows("SELECT number FROM sessions") { $0.integer(0) }) {
            for (table, key) in Self.sessionTables { try salvage.copy(table, keyed: key, of: number) }
        }
        report.keptRows = salvage.keptRows
    }

    /// What the next start must find: every session suspect, and no trace of a clean end, which would end what is told of losses.
    private func noteUnclean(in target: Database) throws(SQLiteError) {
        try target.run("UPDATE sessions SET suspect=1")
        // Numbers are used again.
        try target.run("UPDATE receipts SET session=NULL WHERE session NOT IN (SELECT number FROM sessions)")
        try Opening.noteOpen(target)
    }

    private func note(_ repair: StoreRepair, in target: Database) throws(SQLiteError) {
        let all = [StoreRepair](stored: try setting(.repairs, in: target)) + [repair]
        try set(.repairs, Array(all.suffix(Self.keptRepairs)).stored, in: target)
    }

    /// Beside what an earlier repair lost: it is told until a start after a clean end, which has not come.
    private func note(_ losses: [SessionLoss], in target: Database) throws(SQLiteError) {
        guard !losses.isEmpty else { return }
        let all = [SessionLoss](stored: try setting(.losses, in: target)) + losses
        try set(.losses, Array(all.suffix(Self.keptLosses)).stored, in: target)
    }

    private func note(sessionsGone count: Int, in target: Database) throws(SQLiteError) {
        guard count > 0 else { return }
        let former = try setting(.sessionsGone, in: target).flatMap { Int($0) } ?? 0
        try set(.sessionsGone, String(former + count), in: target)
    }

    private func setting(_ name: SettingName, in target: Database) throws(SQLiteError) -> String? {
        try target.first("SELECT value FROM settings WHERE name=?", [.text(name.text)]) { $0.text(0) }
    }

    private func set(_ name: SettingName, _ value: String, in target: Database) throws(SQLiteError) {
        try target.run(
            "INSERT OR REPLACE INTO settings(name, value) VALUES(?,?)", [.text(name.text), .text(value)])
    }

    // MARK: - Files

    private func exchange(_ fresh: String, _ aside: String) throws(StoreError) {
        // A second name, where the file system has that: a crash before the exchange must not leave the path without a file,
        // which would be taken for a first start.
        guard link(path, aside) == 0 || rename(path, aside) == 0 else { throw .readOnly(path: path) }
        // The write-ahead log belongs to the damaged file: beside the new one it would be replayed into it.
        guard rename(path + "-wal", aside + "-wal") == 0 || errno == ENOENT else { throw .readOnly(path: path) }
        remove(path + "-shm")
        guard rename(fresh, path) == 0 else { throw .readOnly(path: path) }
    }

    private func freeName() -> String {
        let names = (1...).lazy.map { "\(path).damaged-\($0)" }
        return names.first { access($0, F_OK) != 0 } ?? path + ".damaged"
    }

    private func remove(_ file: String) {
        unlink(file)
    }
}
