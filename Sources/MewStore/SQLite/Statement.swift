internal import CSQLite

/// One value in a row.
enum SQLValue: Equatable, Sendable {
    case null
    case integer(Int64)
    case text(String)
    case blob([UInt8])

    static func optional(_ text: String?) -> SQLValue { text.map(SQLValue.text) ?? .null }
    static func optional(_ integer: Int64?) -> SQLValue { integer.map(SQLValue.integer) ?? .null }
    static func optional(_ bytes: [UInt8]?) -> SQLValue { bytes.map(SQLValue.blob) ?? .null }
    static func flag(_ flag: Bool) -> SQLValue { .integer(flag ? 1 : 0) }
}

/// A prepared statement. Owned by its `Database`, which keeps it for the next use of the same text.
///
/// Not `Sendable`: touched only by the actor that owns the database.
final class Statement {
    private let handle: OpaquePointer
    private unowned let database: Database

    init(_ sql: String, database: Database) throws(SQLiteError) {
        var handle: OpaquePointer?
        let code = sqlite3_prepare_v3(
            database.handle, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &handle, nil)
        guard code == SQLITE_OK, let handle else { throw database.failure("prepare \(sql)") }
        self.handle = handle
        self.database = database
    }

    deinit {
        sqlite3_finalize(handle)
    }

    /// Whether a reader of rows wants the next one.
    enum Appetite { case more, enough }

    /// Runs the statement with `values` in place of its `?` marks and hands its rows to `body`, as long as that wants more.
    /// What comes after is not read.
    ///
    /// A row is valid only inside `body`.
    func run(_ values: [SQLValue], _ body: (Row) throws(SQLiteError) -> Appetite) throws(SQLiteError) {
        defer {
            sqlite3_reset(handle)
            sqlite3_clear_bindings(handle)
        }
        for (index, value) in values.enumerated() { try bind(value, at: Int32(index + 1)) }
        while true {
            switch sqlite3_step(handle) {
            case SQLITE_ROW: if try body(Row(handle: handle)) == .enough { return }
            case SQLITE_DONE: return
            default: throw database.failure(String(cString: sqlite3_sql(handle)))
            }
        }
    }

    private func bind(_ value: SQLValue, at index: Int32) throws(SQLiteError) {
        let code: Int32
        switch value {
        case .null:
            code = sqlite3_bind_null(handle, index)
        case .integer(let integer):
            code = sqlite3_bind_int64(handle, index, integer)
        case .text(let text):
            code = bind(text, at: index)
        case .blob(let bytes):
            // A null pointer would bind NULL, and an empty array may have one.
            code =
                bytes.isEmpty
                ? sqlite3_bind_zeroblob(handle, index, 0)
                : sqlite3_bind_blob64(handle, index, bytes, UInt64(bytes.count), Self.copied)
        }
        guard code == SQLITE_OK else { throw database.failure("bind a value") }
    }

    /// With its length: a text may hold NUL characters.
    private func bind(_ text: String, at index: Int32) -> Int32 {
        var text = text
        return text.withUTF8 { bytes in
            guard let start = bytes.baseAddress else { return sqlite3_bind_text(handle, index, "", 0, Self.copied) }
            return start.withMemoryRebound(to: CChar.self, capacity: bytes.count) {
                sqlite3_bind_text(handle, index, $0, Int32(clamping: bytes.count), Self.copied)
            }
        }
    }

    /// `SQLITE_TRANSIENT`, a macro that does not import: SQLite takes a copy before the call returns.
    private static let copied = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
}

/// The present row of a running statement.
struct Row {
    fileprivate let handle: OpaquePointer

    func isNull(_ column: Int32) -> Bool { sqlite3_column_type(handle, column) == SQLITE_NULL }

    func integer(_ column: Int32) -> Int64 { sqlite3_column_int64(handle, column) }

    func flag(_ column: Int32) -> Bool { integer(column) != 0 }

    /// A negative number, which we never write, reads as zero.
    func unsigned(_ column: Int32) -> UInt64 { UInt64(max(0, integer(column))) }

    /// Bytes that are no UTF-8 are replaced, not refused.
    func text(_ column: Int32) -> String {
        String(decoding: blob(column), as: UTF8.self)
    }

    func optionalText(_ column: Int32) -> String? { isNull(column) ? nil : text(column) }

    func optionalInteger(_ column: Int32) -> Int64? { isNull(column) ? nil : integer(column) }

    /// All columns, each in the form it was stored in.
    var values: [SQLValue] {
        (0..<sqlite3_column_count(handle)).map { column in
            switch sqlite3_column_type(handle, column) {
            case SQLITE_NULL: .null
            case SQLITE_INTEGER: .integer(integer(column))
            case SQLITE_TEXT: .text(text(column))
            default: .blob(blob(column))
            }
        }
    }

    func blob(_ column: Int32) -> [UInt8] {
        guard let start = sqlite3_column_blob(handle, column) else { return [] }
        return Array(UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(handle, column))))
    }
}
