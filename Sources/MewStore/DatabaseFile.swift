internal import Glibc
import MewSession

/// What stands at the path of the database, looked at before SQLite is: that takes a directory for a file that cannot be written,
/// and reads from a pipe. Nothing that stands there is changed.
struct DatabaseFile {
    let path: String

    /// Makes the file when there is none. SQLite would create it readable for everybody; its log takes over the permissions.
    func createPrivately() throws(StoreError) {
        for file in [path, path + "-wal"] { try check(file) }
        let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw Self.failure(errno, path: path) }
        close(descriptor)
    }

    /// - Throws: when it exists and is no regular file of this user's that he may read and write.
    private func check(_ file: String) throws(StoreError) {
        var info = stat()
        guard stat(file, &info) == 0 else { return }
        if let kind = Self.kind(info.st_mode & S_IFMT) { throw .unusable(path: file, .notAFile(kind)) }
        guard info.st_uid == geteuid() else { throw .unusable(path: file, .otherOwner) }
        let descriptor = open(file, O_RDWR | O_CLOEXEC)
        guard descriptor >= 0 else {
            // A file system that is read-only says so of the whole directory.
            throw errno == EROFS ? .readOnly(path: path) : .unusable(path: file, .unreadable(Self.words(errno)))
        }
        close(descriptor)
    }

    /// What it is in place of a regular file; nil for that.
    private static func kind(_ type: mode_t) -> String? {
        switch type {
        case S_IFREG: nil
        case S_IFDIR: "a directory"
        case S_IFIFO: "a named pipe"
        case S_IFSOCK: "a socket"
        case S_IFCHR, S_IFBLK: "a device"
        default: "no regular file"
        }
    }

    private static func failure(_ errno: Int32, path: String) -> StoreError {
        let isFull = errno == ENOSPC || errno == EDQUOT
        return isFull ? .notSaved(reason: words(errno)) : .readOnly(path: path)
    }

    /// The system's, in lower case as the rest of a sentence is.
    private static func words(_ errno: Int32) -> String {
        let words = String(cString: strerror(errno))
        return words.prefix(1).lowercased() + words.dropFirst()
    }
}
