import MewSession

/// Copies rows out of a damaged database, one at a time, as far as they can be read.
///
/// A bad page makes SQLite refuse the rows on it. So every table is read from both ends towards the damage, and the tables of
/// sessions one session at a time, so that damage in one costs the others nothing.
struct Salvage {
    let source: Database
    let target: Database
    private(set) var keptRows = 0

    init(from source: Database, into target: Database) {
        (self.source, self.target) = (source, target)
    }

    /// Copies the rows that can be read going up, those that can be read going down, and the same once more past the index,
    /// which may be what is damaged. True when one way led through the whole table, so that nothing of it is missing.
    @discardableResult
    mutating func copy(_ table: String, keyed key: String, of session: Int64? = nil) throws(SQLiteError) -> Bool {
        let condition = session == nil ? "" : "WHERE session=?"
        let down = key.split(separator: ",").map { "\($0) DESC" }.joined(separator: ",")
        let ways = [
            "\(condition) ORDER BY \(key)", "\(condition) ORDER BY \(down)", "NOT INDEXED \(condition) ORDER BY rowid",
            "NOT INDEXED \(condition) ORDER BY rowid DESC",
        ]
        let values = session.map { [SQLValue.integer($0)] } ?? []
        for way in ways where try copy("SELECT * FROM \(table) \(way)", values, into: table) { return true }
        return false
    }

    /// Rows up to the first that cannot be read. False when there was one: what comes after it is reached from the other end.
    private mutating func copy(
        _ sql: String, _ values: [SQLValue], into table: String
    ) throws(SQLiteError) -> Bool {
        var (kept, refusal) = (0, SQLiteError?.none)
        defer { keptRows += kept }
        let target = target
        do throws(SQLiteError) {
            try source.each(sql, values) { row in
                do throws(SQLiteError) {
                    try Self.insert(row.values, into: table, of: target)
                    kept += target.changes
                    return .more
                } catch {
                    refusal = error
                    return .enough
                }
            }
        } catch {
            return false
        }
        if let refusal { throw refusal }
        return true
    }

    private static func insert(
        _ values: [SQLValue], into table: String, of target: Database
    ) throws(SQLiteError) {
        let marks = Array(repeating: "?", count: values.count).joined(separator: ",")
        try target.run("INSERT OR IGNORE INTO \(table) VALUES(\(marks))", values)
    }

    /// Of sessions whose rows cannot be read the index of their names may still know names and numbers. Each gets a row that
    /// is damaged as well, so that it is listed and can be deleted, and what belongs to it is kept. True when the index could be
    /// read to its end.
    func nameUnreadableSessions() throws(SQLiteError) -> Bool {
        var (named, isWhole) = ([(number: Int64, id: String)](), true)
        do throws(SQLiteError) {
            try source.each("SELECT number, id FROM sessions INDEXED BY sqlite_autoindex_sessions_1") { row in
                named.append((row.integer(0), row.text(1)))
                return .more
            }
        } catch {
            // As many as the index has before it is damaged, too.
            isWhole = false
        }
        for session in named {
            try target.run(
                "INSERT OR IGNORE INTO sessions(number, id, body, sum, busy, head) VALUES(?,?,x'',0,0,0)",
                [.integer(session.number), .text(session.id)])
        }
        return isWhole
    }
}
