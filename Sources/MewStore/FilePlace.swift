internal import CSQLite
internal import Glibc

/// Whether a database still is where it was opened.
///
/// SQLite goes on writing to a file that was deleted or replaced under it, and says that all is well; at the next start all of
/// it would be gone. So every commit looks whether the names still lead to the files that were opened, which costs microseconds
/// beside a sync (NEEDS N-34).
struct FilePlace {
    /// The database and its write-ahead log, which exists as long as the database is open.
    private let files: [(path: String, identity: [UInt64])]

    init(_ path: String) {
        files = [path, path + "-wal"].compactMap { path in Self.identity(of: path).map { (path, $0) } }
    }

    func check() throws(SQLiteError) {
        for file in files where Self.identity(of: file.path) != file.identity {
            throw SQLiteError(
                code: SQLITE_IOERR, message: "\(file.path) was removed or replaced while the daemon was running",
                operation: "commit")
        }
    }

    /// Device and inode behind the name. Without opening anything: a process that has no descriptors left still saves.
    private static func identity(of path: String) -> [UInt64]? {
        var info = stat()
        return stat(path, &info) == 0 ? [UInt64(info.st_dev), UInt64(info.st_ino)] : nil
    }
}
