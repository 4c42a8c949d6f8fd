import MewBase
import MewIdentity
import MewSession
import MewWire

/// Turns `StoreWrite`s into SQL, inside a transaction that its caller opened.
///
/// Not `Sendable`: touched only by the store's actor.
final class StoreWriter {
    private let database: Database
    /// Where each session's rows and journal stand; forgotten whenever a transaction is rolled back.
    private var places: [SessionID: Place] = [:]

    struct Place {
        let number: Int64
        var head: SequenceNumber
    }

    /// How many events of a session are kept at least (spec/native-wire.md §2, `after_seq`).
    static let keptEvents: UInt64 = 10_000
    /// Old events are removed this many at a time.
    static let trimStep: UInt64 = 1_000
    /// How many receipts each device got since its old ones were removed.
    var freshReceipts: [NodeID: Int] = [:]
    /// Places remembered. One costs a query to look up again, so that the number only bounds memory.
    private static let maxPlaces = 4_096

    /// The last daemon did not end in order, and the rows of the sessions do not say so yet.
    private(set) var owesMarks: Bool

    /// - Parameter endedUncleanly: the last daemon did not end in order.
    init(_ database: Database, endedUncleanly: Bool) {
        (self.database, owesMarks) = (database, endedUncleanly)
    }

    /// To begin each transaction with: after an unclean end every session starts a new epoch at its next load, because nobody
    /// can prove that its journal has its end.
    ///
    /// Not done when the file is opened: a full disk must not keep a daemon from starting.
    func markSuspects() throws(SQLiteError) {
        if owesMarks { try database.run("UPDATE sessions SET suspect=1 WHERE suspect=0") }
    }

    /// The transaction is on the disk.
    func committed() {
        owesMarks = false
    }

    /// The transaction is gone, and with it what was learnt in it.
    func forget() {
        places = [:]
        freshReceipts = [:]
    }

    func apply(_ writes: [StoreWrite]) throws(StoreWriteError) {
        for write in writes { try apply(write) }
    }

    private func apply(_ write: StoreWrite) throws(StoreWriteError) {
        switch write {
        case .putSession(let row): try put(row)
        case .deleteSession(let id): try delete(id)
        case .appendEvent(let id, let row): try append(row, to: id)
        case .dropEvents(let id, let last): try dropEvents(of: id, upTo: last)
        case .putMessage(let id, let row): try put(row, in: id)
        case .clearMessages(let id):
            try run("DELETE FROM messages WHERE session=?", [.integer(place(of: id).number)])
        case .putRequest(let id, let row): try put(row, in: id)
        case .putWork(let id, let row): try put(row, in: id)
        case .removeWork(let id, let number):
            try run(
                "DELETE FROM work WHERE session=? AND number=?",
                [.integer(place(of: id).number), .integer(Int64(clamping: number))])
        case .startProcess(let row): try start(row)
        case .endProcess(let id):
            try run("DELETE FROM processes WHERE session=?", [.integer(place(of: id).number)])
        case .putReceipt(let row): try put(row)
        case .advanceReceipt(let key, let at, let body): try advance(key, at, body)
        case .putDevice(let row): try put(row)
        case .deleteDevice(let node): try run("DELETE FROM devices WHERE node=?", [.blob(node.bytes)])
        case .putGroup(let row): try put(row)
        case .deleteGroup(let id): try run("DELETE FROM groups WHERE id=?", [.text(id.text)])
        case .putSetting(let name, let value): try put(name, value)
        }
    }

    // MARK: - Sessions

    func place(of id: SessionID) throws(StoreWriteError) -> Place {
        if let known = places[id] { return known }
        let found: Place?
        do throws(SQLiteError) { found = try Self.readPlace(of: id, in: database) } catch { throw .sqlite(error) }
        guard let found else { throw .contradiction("session \(id.text) is not stored") }
        if places.count >= Self.maxPlaces { places = [:] }
        places[id] = found
        return found
    }

    /// Of a row of `sessions`: the column `head` alone is as old as the row's last change.
    static let headColumn = "max(head, coalesce((SELECT max(seq) FROM events WHERE session=number), 0))"

    private static func readPlace(of id: SessionID, in database: Database) throws(SQLiteError) -> Place? {
        try database.first(
            "SELECT number, \(headColumn) FROM sessions WHERE id=?", [.text(id.text)]
        ) { Place(number: $0.integer(0), head: $0.sequence(1)) }
    }

    private func put(_ row: SessionRow) throws(StoreWriteError) {
        let head = try knownHead(of: row.id)
        try run(
            """
            INSERT INTO sessions(id, body, sum, busy, head) VALUES(?,?,?,?,?)
            ON CONFLICT(id) DO UPDATE SET body=excluded.body, sum=excluded.sum, busy=excluded.busy,
            head=max(head, excluded.head), suspect=0
            """,
            [
                .text(row.id.text), .blob(row.body), .integer(Checksum.of(row.body)), .flag(row.isBusy),
                .integer(Int64(clamping: head.rawValue)),
            ])
    }

    private func knownHead(of id: SessionID) throws(StoreWriteError) -> SequenceNumber {
        if let known = places[id] { return known.head }
        do throws(SQLiteError) {
            return try Self.readPlace(of: id, in: database)?.head ?? .zero
        } catch {
            throw .sqlite(error)
        }
    }

    private func delete(_ id: SessionID) throws(StoreWriteError) {
        try run("DELETE FROM sessions WHERE id=?", [.text(id.text)])
        try put(.journalStart(of: id), nil)
        places[id] = nil
    }

    private func append(_ row: EventRow, to id: SessionID) throws(StoreWriteError) {
        var place = try place(of: id)
        guard row.sequence == place.head.next else {
            throw .contradiction("event \(row.sequence) of \(id.text) does not follow \(place.head)")
        }
        let sequence = Int64(clamping: row.sequence.rawValue)
        try run(
            "INSERT INTO events(session, seq, body, sum) VALUES(?,?,?,?)",
            [.integer(place.number), .integer(sequence), .blob(row.body), .integer(Checksum.of(row.body))])
        place.head = row.sequence
        places[id] = place
        guard row.sequence.rawValue % Self.trimStep == 0, row.sequence.rawValue > Self.keptEvents else { return }
        try run(
            "DELETE FROM events WHERE session=? AND seq<=?",
            [.integer(place.number), .integer(sequence - Int64(Self.keptEvents))])
    }

    /// The oldest event of a journal that was trimmed while it grew to `head`.
    static func oldestKept(at head: UInt64) -> UInt64 {
        let trimmed = head / trimStep * trimStep
        return trimmed > keptEvents ? trimmed - keptEvents + 1 : 1
    }

    private func dropEvents(of id: SessionID, upTo last: SequenceNumber) throws(StoreWriteError) {
        let place = try place(of: id)
        // The events may have been all that knew how far the journal went.
        try run(
            "UPDATE sessions SET head=max(head, ?) WHERE number=?",
            [.integer(Int64(clamping: place.head.rawValue)), .integer(place.number)])
        try run(
            "DELETE FROM events WHERE session=? AND seq<=?",
            [.integer(place.number), .integer(Int64(clamping: last.rawValue))])
        try put(.journalStart(of: id), String(last.next.rawValue))
    }

    private func put(_ row: MessageRow, in id: SessionID) throws(StoreWriteError) {
        try run(
            "INSERT OR REPLACE INTO messages(session, position, seq, body, sum) VALUES(?,?,?,?,?)",
            [
                .integer(place(of: id).number), .integer(Int64(clamping: row.position)),
                .integer(Int64(clamping: row.sequence.rawValue)), .blob(row.body), .integer(Checksum.of(row.body)),
            ])
    }

    private func put(_ row: RequestRow, in id: SessionID) throws(StoreWriteError) {
        try run(
            "INSERT OR REPLACE INTO requests(session, id, body, sum, open) VALUES(?,?,?,?,?)",
            [
                .integer(place(of: id).number), .text(row.id.description), .blob(row.body),
                .integer(Checksum.of(row.body)), .flag(row.isOpen),
            ])
    }

    private func put(_ row: WorkRow, in id: SessionID) throws(StoreWriteError) {
        try run(
            "INSERT OR REPLACE INTO work(session, number, body, sum) VALUES(?,?,?,?)",
            [
                .integer(place(of: id).number), .integer(Int64(clamping: row.number)), .blob(row.body),
                .integer(Checksum.of(row.body)),
            ])
    }

    private func start(_ row: ProcessRow) throws(StoreWriteError) {
        let place = try place(of: row.session)
        try run(
            "INSERT OR IGNORE INTO processes(session, pid, ticks, boot) VALUES(?,?,?,?)",
            [
                .integer(place.number), .integer(Int64(row.process.number)),
                .integer(Int64(clamping: row.process.startTicks)), .text(row.process.bootID),
            ])
        guard database.changes == 1 else {
            throw .contradiction("an agent process of \(row.session.text) is already recorded")
        }
    }

    // MARK: - The rest

    private func put(_ row: DeviceRow) throws(StoreWriteError) {
        try run(
            """
            INSERT OR REPLACE INTO devices(node, name, scope, paired_at_ms, revoked_at_ms, revoke_reason, spent_token)
            VALUES(?,?,?,?,?,?,?)
            """,
            [
                .blob(row.node.bytes), .text(row.name), .text(row.scope.rawValue),
                .integer(row.pairedAt.milliseconds),
                .optional(row.revokedAt?.milliseconds), .optional(row.revokeReason),
                .optional(row.spentToken),
            ])
    }

    private func put(_ row: GroupRow) throws(StoreWriteError) {
        try run(
            "INSERT OR REPLACE INTO groups(id, name, color, position) VALUES(?,?,?,?)",
            [.text(row.id.text), .text(row.name), .optional(row.color), .integer(Int64(row.order))])
    }

    private func put(_ name: SettingName, _ value: String?) throws(StoreWriteError) {
        if let value {
            try run("INSERT OR REPLACE INTO settings(name, value) VALUES(?,?)", [.text(name.text), .text(value)])
        } else {
            try run("DELETE FROM settings WHERE name=?", [.text(name.text)])
        }
    }

    func run(_ sql: String, _ values: [SQLValue]) throws(StoreWriteError) {
        do throws(SQLiteError) { try database.run(sql, values) } catch { throw .sqlite(error) }
    }
}

enum StoreWriteError: Error {
    case contradiction(String)
    case sqlite(SQLiteError)
}
