internal import Glibc
package import MewBase
internal import Synchronization

/// A directory of small files that nobody but its owner may read: keys, registries, locks.
///
/// The calls block; a few small files at start are no harm, anything else belongs on a loop for blocking work.
package struct PrivateDirectory: Sendable {
    /// Absolute.
    package let path: String

    /// Makes the directory (mode 0700) and what is missing above it, and takes away the rights of others if somebody gave
    /// them any.
    ///
    /// - Parameter ours: names any of which shows that the directory has been used for this before. One that others can
    ///   enter and that holds other things only is left alone: shutting `/tmp` or a home directory would do harm.
    /// - Throws: with `ENOTEMPTY` for such a directory.
    package init(creating asked: String, ours: [String] = []) throws(SystemError) {
        path = try Self.absolute(asked)
        try Self.make(path, mode: 0o700)
        var info = stat()
        try check(stat(path, &info) == 0 ? 0 : errno, "opening \(path)")
        guard info.st_mode & S_IFMT == S_IFDIR else { throw SystemError(errno: ENOTDIR, doing: "opening \(path)") }
        guard info.st_uid == geteuid() else { throw SystemError(errno: EACCES, doing: "using \(path) of another user") }
        guard info.st_mode & 0o077 != 0 else { return }
        guard ours.contains(where: { access(file($0), F_OK) == 0 }) || Self.isEmpty(path) else {
            throw SystemError(errno: ENOTEMPTY, doing: "closing \(path) to others")
        }
        try check(chmod(path, 0o700) == 0 ? 0 : errno, "closing \(path) to others")
    }

    private static func isEmpty(_ path: String) -> Bool { holds(nothingBut: [], at: path) }

    /// True when every file in the directory at `path` has one of these names.
    package static func holds(nothingBut names: [String], at path: String) -> Bool {
        guard let directory = opendir(path) else { return false }
        defer { closedir(directory) }
        while let entry = readdir(directory) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { field in
                // The kernel ends every name with a zero.
                field.withMemoryRebound(to: CChar.self, capacity: 1) { String(cString: $0) }
            }
            guard name == "." || name == ".." || names.contains(name) else { return false }
        }
        return true
    }

    /// A relative path would mean another place after a change of directory.
    private static func absolute(_ path: String) throws(SystemError) -> String {
        guard path.utf8.first != UInt8(ascii: "/") else { return path }
        var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
        guard getcwd(&buffer, buffer.count) != nil else { throw SystemError(errno: errno, doing: "opening \(path)") }
        return String(decoding: buffer.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self) + "/" + path
    }

    private static func make(_ path: String, mode: mode_t) throws(SystemError) {
        guard mkdir(path, mode) != 0 else { return }
        let error = errno
        switch error {
        case EEXIST:
            return
        case ENOENT:
            guard let slash = path.dropFirst().lastIndex(of: "/") else { break }
            try make(String(path[..<slash]), mode: 0o755)
            guard mkdir(path, mode) != 0, errno != EEXIST else { return }
            throw SystemError(errno: errno, doing: "making \(path)")
        default:
            break
        }
        throw SystemError(errno: error, doing: "making \(path)")
    }

    /// The path of a file in this directory.
    package func file(_ name: String) -> String { "\(path)/\(name)" }

    /// Whether something stands there that is no empty file. Nothing is opened.
    package func holds(_ name: String) -> Bool {
        var info = stat()
        return stat(file(name), &info) == 0 && (info.st_mode & S_IFMT != S_IFREG || info.st_size > 0)
    }

    /// The bytes of a file; nil when there is none.
    ///
    /// - Throws: `tooLarge` beyond `maxBytes`.
    package func read(_ name: String, maxBytes: Int) throws(SystemError) -> [UInt8]? {
        do throws(SystemError) {
            return try WholeFile.bytes(of: file(name), maxBytes: maxBytes)
        } catch {
            guard error.errno == ENOENT else { throw error }
            return nil
        }
    }

    /// Replaces a file (mode 0600) in one step: after a crash it is the old one or the new one, whole.
    package func write(_ bytes: [UInt8], to name: String, entropy: some Entropy) throws(SystemError) {
        // A name of its own: two processes that write at once must not share a temporary file.
        let temporary = file(".\(name).\(String(entropy.uint64(), radix: 36))")
        let descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw SystemError(errno: errno, doing: "creating \(file(name))") }
        do throws(SystemError) {
            try fill(descriptor, bytes, name)
            try check(rename(temporary, file(name)) == 0 ? 0 : errno, "replacing \(file(name))")
        } catch {
            unlink(temporary)
            throw error
        }
        try synchronize()
    }

    /// Writes and closes.
    private func fill(_ descriptor: Int32, _ bytes: [UInt8], _ name: String) throws(SystemError) {
        defer { close(descriptor) }
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { writeBlock(descriptor, $0) }
            guard count >= 0 else { throw SystemError(errno: errno, doing: "writing \(file(name))") }
            rest = rest.dropFirst(count)
        }
        try check(fsync(descriptor) == 0 ? 0 : errno, "writing \(file(name)) to the disk")
    }

    /// Makes names that were added or replaced survive a loss of power.
    private func synchronize() throws(SystemError) {
        let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw SystemError(errno: errno, doing: "opening \(path)") }
        defer { close(descriptor) }
        // EINVAL: the file system cannot sync directories, and then it does not need to be told.
        try check(fsync(descriptor) == 0 || errno == EINVAL ? 0 : errno, "writing \(path) to the disk")
    }

    /// No error when there is none.
    package func remove(_ name: String) throws(SystemError) {
        try check(unlink(file(name)) == 0 || errno == ENOENT ? 0 : errno, "removing \(file(name))")
    }

    /// Takes the lock of that name, which another process may hold.
    ///
    /// - Parameter waiting: until the holder lets go; otherwise `busy` is thrown at once.
    package func lock(_ name: String, waiting: Bool) throws(SystemError) -> FileLock {
        let descriptor = open(file(name), O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw SystemError(errno: errno, doing: "opening \(file(name))") }
        while flock(descriptor, waiting ? LOCK_EX : LOCK_EX | LOCK_NB) != 0 {
            let error = errno
            guard error == EINTR else {
                close(descriptor)
                throw SystemError(errno: error, doing: "locking \(file(name))")
            }
        }
        // For people: who else wants the lock can name us. The lock itself needs no content, so a full disk is no error.
        if ftruncate(descriptor, 0) == 0 { _ = writeBlock(descriptor, Array("\(getpid())\n".utf8)) }
        return FileLock(owning: descriptor)
    }

    /// The process that took the lock last; for messages only, since it may be gone.
    package func lastHolder(of name: String) -> Int32? {
        guard let bytes = try? read(name, maxBytes: 16) else { return nil }
        return Int32(String(decoding: bytes.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self))
    }
}

/// A lock on a file, held until it is released, as long as this object lives, or until the end of the process, however it ends.
/// The file stays: removing it would let a second process lock a new file of the same name.
package final class FileLock: Sendable {
    /// Nil once it is released.
    private let descriptor: Mutex<Int32?>

    init(owning descriptor: Int32) {
        self.descriptor = Mutex(descriptor)
    }

    deinit { release() }

    /// Idempotent. Whoever waits for another to be done releases: when the last reference goes is nothing to rely on.
    package func release() {
        descriptor.withLock { descriptor in
            guard let held = descriptor else { return }
            // Closing alone is not enough: a child process between its fork and its exec still has the same open file.
            flock(held, LOCK_UN)
            close(held)
            descriptor = nil
        }
    }
}

/// `write(2)`, whose name a method above hides.
private func writeBlock(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> Int {
    write(descriptor, bytes.baseAddress, bytes.count)
}
private func writeBlock(_ descriptor: Int32, _ bytes: [UInt8]) -> Int { write(descriptor, bytes, bytes.count) }
