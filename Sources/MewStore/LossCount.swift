import MewSession
import MewWire

/// Counts, session by session, what a repair could not save: numbers and positions have no holes in a healthy file.
struct LossCount {
    let source: Database
    let target: Database

    /// Of the sessions that lost something.
    func losses() throws(SQLiteError) -> [SessionLoss] {
        let sessions = try target.rows("SELECT number, id FROM sessions ORDER BY number") { row in
            (number: row.integer(0), id: SessionID(row.text(1)))
        }
        var losses: [SessionLoss] = []
        for session in sessions {
            guard let id = session.id else { continue }
            let loss = try loss(of: session.number, id)
            if !loss.isNothing { losses.append(loss) }
        }
        return losses
    }

    /// Sessions of which rows are left, and not even the name.
    func nameless() throws(SQLiteError) -> Int {
        let named = Set(try target.rows("SELECT number FROM sessions") { $0.integer(0) })
        return numbers(in: "messages").union(numbers(in: "events")).subtracting(named).count
    }

    /// The sessions of a table, found by steps over its index as far as that can be read.
    private func numbers(in table: String) -> Set<Int64> {
        var numbers: Set<Int64> = []
        func next(after last: Int64) throws(SQLiteError) -> Int64? {
            try source.first("SELECT min(session) FROM \(table) WHERE session>?", [.integer(last)]) {
                $0.optionalInteger(0)
            } ?? nil
        }
        var last = Int64.min
        while let number = try? next(after: last) {
            numbers.insert(number)
            last = number
        }
        return numbers
    }

    private func loss(of number: Int64, _ id: SessionID) throws(SQLiteError) -> SessionLoss {
        let found = try target.first(
            "SELECT body, sum FROM sessions WHERE number=?", [.integer(number)]
        ) { row -> [UInt8]? in
            let body = row.blob(0)
            return Checksum.of(body) == row.integer(1) ? body : nil
        }
        let body = found ?? nil
        let record = body.flatMap { SessionRecord(in: SessionRow(id: id, body: $0, isBusy: false)) }
        return SessionLoss(
            session: id, title: record.flatMap { $0.title ?? $0.summary ?? $0.firstMessage },
            isReadable: body != nil, messages: try lostMessages(of: number),
            events: try lostEvents(of: number, id), requests: try lostRequests(of: number))
    }

    private func lostEvents(of number: Int64, _ id: SessionID) throws(SQLiteError) -> UInt64 {
        let head = try count("SELECT \(StoreWriter.headColumn) FROM sessions WHERE number=?", number, in: target)
        let dropped = try target.first(
            "SELECT value FROM settings WHERE name=?", [.text(SettingName.journalStart(of: id).text)]
        ) { UInt64($0.text(0)) }
        let first = max(StoreWriter.oldestKept(at: head), (dropped ?? nil) ?? 1)
        let kept = try target.first(
            "SELECT count(*) FROM events WHERE session=? AND seq>=?",
            [.integer(number), .integer(Int64(clamping: first))]
        ) { $0.unsigned(0) }
        return Self.difference(head + 1, first + (kept ?? 0))
    }

    private func lostMessages(of number: Int64) throws(SQLiteError) -> UInt64 {
        let ends = "SELECT coalesce(max(position)+1, 0) FROM messages WHERE session=?"
        let expected = max(formerCount(ends, number), try count(ends, number, in: target))
        return Self.difference(
            expected, try count("SELECT count(*) FROM messages WHERE session=?", number, in: target))
    }

    private func lostRequests(of number: Int64) throws(SQLiteError) -> UInt64 {
        let all = "SELECT count(*) FROM requests WHERE session=?"
        return Self.difference(formerCount(all, number), try count(all, number, in: target))
    }

    /// By the index alone, which may know rows that cannot be read; zero when it is damaged as well.
    private func formerCount(_ sql: String, _ number: Int64) -> UInt64 {
        (try? count(sql, number, in: source)) ?? 0
    }

    private func count(_ sql: String, _ number: Int64, in database: Database) throws(SQLiteError) -> UInt64 {
        try database.first(sql, [.integer(number)]) { $0.unsigned(0) } ?? 0
    }

    private static func difference(_ expected: UInt64, _ kept: UInt64) -> UInt64 {
        expected - min(expected, kept)
    }
}
