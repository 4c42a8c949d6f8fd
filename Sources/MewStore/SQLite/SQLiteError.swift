internal import CSQLite

/// What SQLite answered instead of doing what it was asked.
struct SQLiteError: Error, CustomStringConvertible {
    /// The extended result code (sqlite.org/rescode.html).
    let code: Int32
    let message: String
    /// What was tried, as half a sentence: `commit`, `open the database`.
    let operation: String
    /// It came when everything was written and was to be made durable.
    var isOfCommit = false

    var description: String { "\(operation): \(message) (SQLite code \(code))" }

    /// The low byte of an extended code is the primary one.
    private var primary: Int32 { code & 0xff }

    /// A start after a crash may find the transaction done, though it is undone here: its last frame may stand in the log. After
    /// a write that failed it does not stand there whole, because that frame is the last thing that is written
    /// (sqlite.org/fileformat2.html#the_write_ahead_log).
    var mayBeFound: Bool { isOfCommit && primary != SQLITE_FULL && code != Self.writeFailed }

    /// `SQLITE_IOERR_WRITE`, a macro that does not import.
    private static let writeFailed = SQLITE_IOERR | (3 << 8)

    /// No room, or the device fails: nothing was changed, and a later attempt may succeed.
    var isNotSaved: Bool { primary == SQLITE_FULL || primary == SQLITE_IOERR || primary == SQLITE_NOMEM }

    /// The file is damaged, or is no database.
    var isDamage: Bool { primary == SQLITE_CORRUPT || primary == SQLITE_NOTADB }

    /// Another process holds the file.
    var isLocked: Bool { primary == SQLITE_BUSY || primary == SQLITE_LOCKED }

    /// The file, or the directory it stands in, cannot be written.
    var isReadOnly: Bool {
        primary == SQLITE_READONLY || primary == SQLITE_PERM || primary == SQLITE_CANTOPEN
    }
}
