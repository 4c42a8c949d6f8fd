/// The tables, and how an older file becomes a newer one.
///
///     sessions ──< events      the journal: (session, seq) → frame
///              ──< messages    the transcript: (session, position) → message
///              ──< requests    questions and permissions, open and settled
///              ──< work        prompts and switches that wait for their turn
///              ──0 processes   the one agent process that may run
///     receipts  operations     (device, operation) → what became of it
///     devices  groups  settings
///
/// Bodies are JSON that only `MewSession` reads; each has a checksum, because SQLite has none and a bad sector must cost one
/// record, not a session.
enum Schema {
    /// The format this program writes, in `PRAGMA user_version`.
    static let version = 1

    /// `mewd` in ASCII, in `PRAGMA application_id`: keeps us from opening some other program's database.
    static let applicationID: Int64 = 0x6d65_7764

    /// Entry n leads from format n to n + 1. Never edit one that was released; append.
    static let migrations = [first]

    private static let first = """
        CREATE TABLE sessions (
            number INTEGER PRIMARY KEY,
            id TEXT NOT NULL UNIQUE,
            body BLOB NOT NULL,
            sum INTEGER NOT NULL,
            busy INTEGER NOT NULL,
            head INTEGER NOT NULL,
            suspect INTEGER NOT NULL DEFAULT 0
        ) STRICT;
        CREATE TABLE events (
            session INTEGER NOT NULL REFERENCES sessions(number) ON DELETE CASCADE,
            seq INTEGER NOT NULL,
            body BLOB NOT NULL,
            sum INTEGER NOT NULL,
            PRIMARY KEY (session, seq)
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE messages (
            session INTEGER NOT NULL REFERENCES sessions(number) ON DELETE CASCADE,
            position INTEGER NOT NULL,
            seq INTEGER NOT NULL,
            body BLOB NOT NULL,
            sum INTEGER NOT NULL,
            PRIMARY KEY (session, position)
        ) STRICT;
        CREATE TABLE requests (
            session INTEGER NOT NULL REFERENCES sessions(number) ON DELETE CASCADE,
            id TEXT NOT NULL,
            body BLOB NOT NULL,
            sum INTEGER NOT NULL,
            open INTEGER NOT NULL,
            PRIMARY KEY (session, id)
        ) STRICT;
        CREATE TABLE work (
            session INTEGER NOT NULL REFERENCES sessions(number) ON DELETE CASCADE,
            number INTEGER NOT NULL,
            body BLOB NOT NULL,
            sum INTEGER NOT NULL,
            PRIMARY KEY (session, number)
        ) STRICT;
        CREATE TABLE processes (
            session INTEGER PRIMARY KEY REFERENCES sessions(number) ON DELETE CASCADE,
            pid INTEGER NOT NULL,
            ticks INTEGER NOT NULL,
            boot TEXT NOT NULL
        ) STRICT;
        CREATE TABLE receipts (
            device BLOB NOT NULL,
            operation BLOB NOT NULL,
            session INTEGER REFERENCES sessions(number) ON DELETE SET NULL,
            at_ms INTEGER NOT NULL,
            content BLOB NOT NULL,
            body BLOB NOT NULL,
            sum INTEGER NOT NULL,
            PRIMARY KEY (device, operation)
        ) STRICT;
        CREATE INDEX receipts_of_session ON receipts(session) WHERE session IS NOT NULL;
        CREATE INDEX receipts_by_age ON receipts(device, at_ms) WHERE session IS NULL;
        CREATE TABLE operations (
            device BLOB PRIMARY KEY,
            highest BLOB NOT NULL,
            highest_evicted BLOB
        ) STRICT;
        CREATE TABLE devices (
            node BLOB PRIMARY KEY,
            name TEXT NOT NULL,
            scope TEXT NOT NULL,
            paired_at_ms INTEGER NOT NULL,
            revoked_at_ms INTEGER,
            revoke_reason TEXT,
            spent_token BLOB
        ) STRICT;
        CREATE TABLE groups (
            id TEXT PRIMARY KEY,
            name TEXT NOT NULL,
            color TEXT,
            position INTEGER NOT NULL
        ) STRICT;
        CREATE TABLE settings (
            name TEXT PRIMARY KEY,
            value TEXT NOT NULL
        ) STRICT;
        """

    enum Verdict: Equatable {
        case current
        case older(Int)
        /// Written by a newer program.
        case newer(Int)
        /// A database, but not one of ours.
        case foreign
    }

    static func verdict(on database: Database) throws(SQLiteError) -> Verdict {
        let found = Int(try database.first("PRAGMA user_version") { $0.integer(0) } ?? 0)
        let owner = try database.first("PRAGMA application_id") { $0.integer(0) }
        let isEmpty = try database.first("SELECT count(*) FROM sqlite_schema") { $0.integer(0) } == 0
        guard owner == applicationID || isEmpty else { return .foreign }
        guard found <= version else { return .newer(found) }
        return found == version ? .current : .older(found)
    }

    /// Brings a file of format `found` to `version`, whole or not at all.
    static func migrate(_ database: Database, from found: Int) throws(SQLiteError) {
        try database.transaction { () throws(SQLiteError) in
            for step in found..<version { try database.script(migrations[step]) }
            try database.script("PRAGMA application_id=\(applicationID); PRAGMA user_version=\(version)")
        }
    }
}
