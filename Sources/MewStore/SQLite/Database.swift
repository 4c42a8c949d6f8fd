internal import CSQLite

/// One connection to one database file.
///
/// Not `Sendable`: touched only by the actor that owns it, on a thread that may block.
final class Database {
    let handle: OpaquePointer
    private var statements: [String: Statement] = [:]

    /// Creates the file when it is absent.
    ///
    /// - Parameter vfs: the file system layer to go through; nil for the system's own.
    init(path: String, vfs: String? = nil) throws(SQLiteError) {
        var handle: OpaquePointer?
        let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE
        let code = sqlite3_open_v2(path, &handle, flags, vfs)
        guard let handle else {
            throw SQLiteError(code: SQLITE_NOMEM, message: "out of memory", operation: "open the database")
        }
        guard code == SQLITE_OK else {
            let message = String(cString: sqlite3_errmsg(handle))
            sqlite3_close_v2(handle)
            throw SQLiteError(code: code, message: message, operation: "open the database")
        }
        self.handle = handle
    }

    deinit {
        statements.removeAll()
        sqlite3_close_v2(handle)
    }

    /// Runs one statement that returns nothing of interest.
    func run(_ sql: String, _ values: [SQLValue] = []) throws(SQLiteError) {
        try each(sql, values) { _ in .more }
    }

    /// Every row, made into an `Element`.
    func rows<Element>(
        _ sql: String, _ values: [SQLValue] = [], _ make: (Row) -> Element
    ) throws(SQLiteError) -> [Element] {
        var elements: [Element] = []
        try each(sql, values) { row in
            elements.append(make(row))
            return .more
        }
        return elements
    }

    /// The first row, made into an `Element`; nil when there is none.
    func first<Element>(
        _ sql: String, _ values: [SQLValue] = [], _ make: (Row) -> Element
    ) throws(SQLiteError) -> Element? {
        var element: Element?
        try each(sql, values) { row in
            element = make(row)
            return .enough
        }
        return element
    }

    /// Hands rows to `body` until it has enough, there is none, or one cannot be read.
    func each(
        _ sql: String, _ values: [SQLValue] = [], _ body: (Row) throws(SQLiteError) -> Statement.Appetite
    ) throws(SQLiteError) {
        try statement(sql).run(values, body)
    }

    /// Several statements without parameters, separated by semicolons. For schemas and pragmas.
    func script(_ sql: String) throws(SQLiteError) {
        guard sqlite3_exec(handle, sql, nil, nil, nil) == SQLITE_OK else { throw failure("run a script") }
    }

    /// All of `body` or nothing of it. Durable when it returns (`synchronous=FULL`).
    func transaction(_ body: () throws(SQLiteError) -> Void) throws(SQLiteError) {
        try run("BEGIN IMMEDIATE")
        do throws(SQLiteError) {
            try body()
            try commit()
        } catch {
            // A full disk may have rolled back already; then there is nothing left to undo.
            if sqlite3_get_autocommit(handle) == 0 { try? run("ROLLBACK") }
            throw error
        }
    }

    private func commit() throws(SQLiteError) {
        do throws(SQLiteError) {
            try run("COMMIT")
        } catch {
            var error = error
            error.isOfCommit = true
            throw error
        }
    }

    /// Rows changed by the last statement.
    var changes: Int { Int(sqlite3_changes64(handle)) }

    func failure(_ operation: String) -> SQLiteError {
        SQLiteError(
            code: sqlite3_extended_errcode(handle), message: String(cString: sqlite3_errmsg(handle)),
            operation: operation)
    }

    private func statement(_ sql: String) throws(SQLiteError) -> Statement {
        if let known = statements[sql] { return known }
        let made = try Statement(sql, database: self)
        statements[sql] = made
        return made
    }
}
