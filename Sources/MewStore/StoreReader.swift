import MewBase
import MewIdentity
import MewSession
import MewWire

/// The questions a store answers, as SQL. Rows whose checksum is wrong are left out and reported to `onDamage`.
///
/// Not `Sendable`: touched only by the store's actor.
struct StoreReader {
    let database: Database
    /// Called with the table's name for each row that is left out.
    let onDamage: (String) -> Void

    /// Settled requests that are loaded with a session: enough for the late answers of people.
    private static let loadedSettledRequests = 256

    // MARK: - Sessions

    func sessions() throws(SQLiteError) -> [SessionLine] {
        try database.rows(
            "SELECT id, body, sum, busy, \(StoreWriter.headColumn) FROM sessions ORDER BY number"
        ) { row -> SessionLine? in
            guard let id = SessionID(row.text(0)) else { return nil }
            let body = body(row, 1, "sessions")
            return SessionLine(
                id: id, row: body.map { SessionRow(id: id, body: $0, isBusy: row.flag(3)) }, head: row.sequence(4))
        }.compactMap { $0 }
    }

    /// - Parameter isSuspect: every session is, whatever its row says.
    func load(_ id: SessionID, _ limits: LoadLimits, isSuspect: Bool) throws(SQLiteError) -> StoredSession? {
        let found = try database.first(
            "SELECT number, body, sum, busy, head, suspect FROM sessions WHERE id=?", [.text(id.text)]
        ) { row in
            (
                number: row.integer(0), body: body(row, 1, "sessions"), isBusy: row.flag(3), head: row.sequence(4),
                isSuspect: row.flag(5)
            )
        }
        guard let found, let body = found.body else { return nil }
        let work = try work(of: found.number)
        let journal = try journal(of: id, found.number, head: found.head, limits)
        let count = try database.first(
            "SELECT coalesce(max(position)+1, 0) FROM messages WHERE session=?", [.integer(found.number)]
        ) { $0.unsigned(0) }
        return StoredSession(
            row: SessionRow(id: id, body: body, isBusy: found.isBusy), events: journal.events.reversed(),
            headSequence: journal.head, lostEvents: journal.lost,
            isSuspect: isSuspect || found.isSuspect || journal.lost > 0,
            messages: try messages(
                of: found.number, before: .max, limit: limits.messages, maxBytes: limits.messageBytes),
            messageCount: count ?? 0, requests: try requests(of: found.number), work: work.rows, lostWork: work.lost)
    }

    private struct Journal {
        /// Newest first.
        var events: [EventRow] = []
        let head: SequenceNumber
        var lost: UInt64 = 0
        var bytes = 0

        /// The number of the event that comes next on the way back.
        var expected: UInt64 { head.rawValue - UInt64(events.count) }
    }

    /// The newest events without a gap. What is missing between them and the head counts as lost.
    ///
    /// What is beyond the limits is not read: one event may have megabytes.
    private func journal(
        of id: SessionID, _ number: Int64, head: SequenceNumber, _ limits: LoadLimits
    ) throws(SQLiteError) -> Journal {
        let newest = try database.first("SELECT max(seq) FROM events WHERE session=?", [.integer(number)]) {
            $0.sequence(0)
        }
        var journal = Journal(head: max(head, newest ?? .zero))
        if newest == .zero { journal.lost = head.rawValue - min(head.rawValue, try dropped(of: id)) }
        try database.each(
            "SELECT seq, body, sum FROM events WHERE session=? ORDER BY seq DESC LIMIT ?",
            [.integer(number), .integer(Int64(limits.events))]
        ) { row in
            let sequence = row.sequence(0)
            guard sequence.rawValue == journal.expected else {
                journal.lost = journal.expected - sequence.rawValue
                return .enough
            }
            guard let body = body(row, 1, "events") else {
                journal.lost = 1
                return .enough
            }
            journal.bytes += body.count
            guard journal.bytes <= limits.eventBytes else { return .enough }
            journal.events.append(EventRow(sequence: sequence, body: body))
            return .more
        }
        return journal
    }

    /// Up to where the journal was given up.
    private func dropped(of id: SessionID) throws(SQLiteError) -> UInt64 {
        let start = try setting(.journalStart(of: id)).flatMap { UInt64($0) } ?? 1
        return max(start, 1) - 1
    }

    private func requests(of number: Int64) throws(SQLiteError) -> [RequestRow] {
        let open = try requests("WHERE session=? AND open=1", [.integer(number)])
        let settled = try requests(
            "WHERE session=? AND open=0", [.integer(number)], limit: Self.loadedSettledRequests)
        return (settled + open).sorted { $0.id.description < $1.id.description }
    }

    private func requests(
        _ condition: String, _ values: [SQLValue], limit: Int = -1
    ) throws(SQLiteError) -> [RequestRow] {
        try database.rows(
            "SELECT id, body, sum, open FROM requests \(condition) ORDER BY id DESC LIMIT ?",
            values + [.integer(Int64(limit))]
        ) { row -> RequestRow? in
            guard let body = body(row, 1, "requests") else { return nil }
            return RequestRow(id: .text(row.text(0)), body: body, isOpen: row.flag(3))
        }.compactMap { $0 }
    }

    private func work(of number: Int64) throws(SQLiteError) -> (rows: [WorkRow], lost: [UInt64]) {
        let all = try database.rows(
            "SELECT number, body, sum FROM work WHERE session=? ORDER BY number", [.integer(number)]
        ) { row in (number: row.unsigned(0), body: body(row, 1, "work")) }
        return (
            all.compactMap { row in row.body.map { WorkRow(number: row.number, body: $0) } },
            all.filter { $0.body == nil }.map(\.number)
        )
    }

    func events(of session: SessionID, after sequence: SequenceNumber, limit: Int) throws(SQLiteError) -> [EventRow] {
        guard let number = try number(of: session) else { return [] }
        return try database.rows(
            "SELECT seq, body, sum FROM events WHERE session=? AND seq>? ORDER BY seq LIMIT ?",
            [.integer(number), .integer(Int64(clamping: sequence.rawValue)), .integer(Int64(limit))]
        ) { row -> EventRow? in
            body(row, 1, "events").map { EventRow(sequence: row.sequence(0), body: $0) }
        }.compactMap { $0 }
    }

    func messages(
        of session: SessionID, before position: UInt64, limit: Int, maxBytes: Int
    ) throws(SQLiteError) -> [MessageRow] {
        guard let number = try number(of: session) else { return [] }
        return try messages(of: number, before: position, limit: limit, maxBytes: maxBytes)
    }

    private func messages(
        of number: Int64, before position: UInt64, limit: Int, maxBytes: Int
    ) throws(SQLiteError) -> [MessageRow] {
        var rows: [MessageRow] = []
        var bytes = 0
        try database.each(
            """
            SELECT position, seq, body, sum FROM messages WHERE session=? AND position<?
            ORDER BY position DESC LIMIT ?
            """, [.integer(number), .integer(Int64(clamping: position)), .integer(Int64(limit))]
        ) { row in
            guard let body = body(row, 2, "messages") else { return .more }
            bytes += body.count
            guard bytes <= maxBytes || rows.isEmpty else { return .enough }
            rows.append(MessageRow(position: row.unsigned(0), sequence: row.sequence(1), body: body))
            return .more
        }
        return rows.reversed()
    }

    private func number(of session: SessionID) throws(SQLiteError) -> Int64? {
        try database.first("SELECT number FROM sessions WHERE id=?", [.text(session.text)]) { $0.integer(0) }
    }

    // MARK: - Operations

    func receipt(_ operation: OperationID, of device: NodeID) throws(SQLiteError) -> ReceiptRow? {
        try database.first(
            """
            SELECT receipts.at_ms, receipts.content, receipts.body, receipts.sum, sessions.id
            FROM receipts LEFT JOIN sessions ON sessions.number=receipts.session WHERE device=? AND operation=?
            """, [.blob(device.bytes), .blob(operation.ulid.bytes)]
        ) { row -> ReceiptRow? in
            guard let body = body(row, 2, "receipts") else { return nil }
            return ReceiptRow(
                device: device, operation: operation,
                staysWithSession: row.optionalText(4).flatMap { SessionID($0) },
                at: WallTime(milliseconds: row.integer(0)),
                content: row.blob(1), body: body)
        } ?? nil
    }

    /// A session has at most 32 unfinished ones, and answers besides.
    private static let readReceipts: Int64 = 1_000

    func receipts(of session: SessionID) throws(SQLiteError) -> [ReceiptRow] {
        guard let number = try number(of: session) else { return [] }
        return try database.rows(
            "SELECT device, operation, at_ms, content, body, sum FROM receipts WHERE session=? ORDER BY at_ms DESC LIMIT ?",
            [.integer(number), .integer(Self.readReceipts)]
        ) { row -> ReceiptRow? in
            guard let device = NodeID(bytes: row.blob(0)), let operation = row.operation(1),
                let body = body(row, 4, "receipts")
            else { return nil }
            return ReceiptRow(
                device: device, operation: operation, staysWithSession: session,
                at: WallTime(milliseconds: row.integer(2)), content: row.blob(3), body: body)
        }.compactMap { $0 }
    }

    func operationBounds(of device: NodeID) throws(SQLiteError) -> OperationBounds {
        try database.first(
            "SELECT highest, highest_evicted FROM operations WHERE device=?", [.blob(device.bytes)]
        ) { OperationBounds(highest: $0.operation(0), highestEvicted: $0.operation(1)) }
            ?? OperationBounds(highest: nil, highestEvicted: nil)
    }

    // MARK: - The rest

    func devices() throws(SQLiteError) -> [DeviceRow] {
        try database.rows(
            """
            SELECT node, name, scope, paired_at_ms, revoked_at_ms, revoke_reason, spent_token
            FROM devices ORDER BY paired_at_ms, node
            """
        ) { row -> DeviceRow? in
            guard let node = NodeID(bytes: row.blob(0)) else { return nil }
            return DeviceRow(
                // A scope that a newer program wrote and we do not know must not grant more than the least.
                node: node, name: row.text(1), scope: Scope(rawValue: row.text(2)) ?? .observe,
                pairedAt: WallTime(milliseconds: row.integer(3)),
                revokedAt: row.optionalInteger(4).map { WallTime(milliseconds: $0) },
                revokeReason: row.optionalText(5), spentToken: row.isNull(6) ? nil : row.blob(6))
        }.compactMap { $0 }
    }

    func groups() throws(SQLiteError) -> [GroupRow] {
        try database.rows("SELECT id, name, color, position FROM groups ORDER BY position, id") { row -> GroupRow in
            GroupRow(
                id: GroupID(row.text(0)), name: row.text(1), color: row.optionalText(2),
                order: UInt32(clamping: row.integer(3)))
        }
    }

    func setting(_ name: SettingName) throws(SQLiteError) -> String? {
        try database.first("SELECT value FROM settings WHERE name=?", [.text(name.text)]) { $0.text(0) }
    }

    func settings(under prefix: SettingName) throws(SQLiteError) -> [SettingName: String] {
        let rows = try database.rows(
            "SELECT name, value FROM settings WHERE substr(name, 1, length(?1))=?1", [.text(prefix.text)]
        ) { (SettingName($0.text(0)), $0.text(1)) }
        return Dictionary(rows) { first, _ in first }
    }

    func sessionsWithWork() throws(SQLiteError) -> [SessionID] {
        try database.rows(
            """
            SELECT DISTINCT sessions.id FROM work JOIN sessions ON sessions.number=work.session ORDER BY sessions.id
            """
        ) { row in SessionID(row.text(0)) }.compactMap { $0 }
    }

    func processes() throws(SQLiteError) -> [ProcessRow] {
        try database.rows(
            """
            SELECT sessions.id, pid, ticks, boot FROM processes JOIN sessions ON sessions.number=processes.session
            """
        ) { row -> ProcessRow? in
            guard let session = SessionID(row.text(0)), let number = Int32(exactly: row.integer(1)) else { return nil }
            return ProcessRow(
                session: session,
                process: AgentProcess(number: number, startTicks: row.unsigned(2), bootID: row.text(3)))
        }.compactMap { $0 }
    }

    /// The body in column `at`, whose checksum follows it; nil when it is damaged.
    private func body(_ row: Row, _ at: Int32, _ table: String) -> [UInt8]? {
        let body = row.blob(at)
        guard Checksum.of(body) == row.integer(at + 1) else {
            onDamage(table)
            return nil
        }
        return body
    }
}

extension Row {
    func sequence(_ column: Int32) -> SequenceNumber { SequenceNumber(unsigned(column)) }

    func operation(_ column: Int32) -> OperationID? { ULID(bytes: blob(column)).map { OperationID($0) } }
}
