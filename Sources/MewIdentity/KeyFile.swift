internal import CSodium
public import MewBase

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// The file that holds a node's secret key: 32 bytes, readable by its owner only.
///
/// Created on first use: written under a temporary name with its final permissions, synced, then given its name in one
/// step. Two processes that start at once end up with the same key.
public struct KeyFile: Sendable {
    public let path: String

    public init(path: String) {
        self.path = path
    }

    /// The key in the file; a new one, saved, when there is no file.
    public func loadOrCreate(entropy: some Entropy) throws(KeyFileError) -> SecretKey {
        if let key = try loadIfPresent() { return key }
        let key = SecretKey.generate(entropy: entropy)
        guard try save(key, entropy: entropy) else {
            // Another process named its file first: its key is the node's.
            guard let winner = try loadIfPresent() else { throw .unreadable(path, .init(errno: ENOENT)) }
            return winner
        }
        return key
    }

    /// Nil when there is no such file.
    public func loadIfPresent() throws(KeyFileError) -> SecretKey? {
        // O_NONBLOCK: a named pipe at this path must not hang the start.
        let file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard file >= 0 else {
            if errno == ENOENT { return nil }
            throw .unreadable(path, .last)
        }
        defer { close(file) }
        try checkAccess(file)
        // One byte more than a key, so that a longer file is noticed.
        var bytes = [UInt8](repeating: 0, count: SecretKey.byteCount + 1)
        defer { sodium_memzero(&bytes, bytes.count) }
        let count = read(file, &bytes, bytes.count)
        guard count >= 0 else { throw .unreadable(path, .last) }
        guard let key = SecretKey(seed: bytes.prefix(count)) else { throw .wrongLength(path) }
        return key
    }

    /// On the opened file, not on its name, so that nothing can be swapped in between.
    private func checkAccess(_ file: Int32) throws(KeyFileError) {
        var info = stat()
        guard fstat(file, &info) == 0 else { throw .unreadable(path, .last) }
        guard info.st_mode & S_IFMT == S_IFREG else { throw .notAFile(path) }
        guard info.st_uid == geteuid() else { throw .wrongOwner(path) }
        guard info.st_mode & 0o077 == 0 else { throw .wrongMode(path, UInt16(info.st_mode & 0o777)) }
    }

    /// False when the name was taken meanwhile.
    private func save(_ key: SecretKey, entropy: some Entropy) throws(KeyFileError) -> Bool {
        let temporary = "\(path).\(Hex.encode(entropy.bytes(8)))"
        try write(key, to: temporary)
        defer { unlink(temporary) }
        // A link, where others rename: rename would replace the key another process has just made and already uses.
        guard link(temporary, path) == 0 else {
            if errno == EEXIST { return false }
            // File systems without links: the race is the lesser evil.
            guard rename(temporary, path) == 0 else { throw .unwritable(path, .last) }
            try syncDirectory()
            return true
        }
        try syncDirectory()
        return true
    }

    private func write(_ key: SecretKey, to temporary: String) throws(KeyFileError) {
        let file = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw .unwritable(path, .last) }
        defer { close(file) }
        let written = key.withSeed { writeBytes(file, $0) }
        guard written == SecretKey.byteCount, fsync(file) == 0 else {
            let cause = written < 0 || written == SecretKey.byteCount ? SystemCause.last : SystemCause(errno: ENOSPC)
            unlink(temporary)
            throw .unwritable(path, cause)
        }
    }

    /// The name itself is durable only when the directory is.
    private func syncDirectory() throws(KeyFileError) {
        let parent = path.lastIndex(of: "/").map { String(path[...$0]) } ?? "."
        let directory = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard directory >= 0 else { throw .unwritable(path, .last) }
        defer { close(directory) }
        guard fsync(directory) == 0 || errno == EINVAL else { throw .unwritable(path, .last) }
    }
}

/// What the operating system said.
public struct SystemCause: Error, Hashable, Sendable, CustomStringConvertible {
    public let errno: Int32

    public init(errno: Int32) {
        self.errno = errno
    }

    static var last: SystemCause { SystemCause(errno: lastErrno()) }

    /// The disk or the quota is full.
    public var isNoSpace: Bool { errno == ENOSPC || errno == EDQUOT }

    /// The system's words, in lower case as the rest of a sentence is.
    public var description: String {
        let words = String(cString: strerror(errno))
        return words.prefix(1).lowercased() + words.dropFirst()
    }
}

private func lastErrno() -> Int32 { errno }

/// `write(2)`, whose name the method beside it hides.
private func writeBytes(_ file: Int32, _ bytes: [UInt8]) -> Int { write(file, bytes, bytes.count) }

/// Why a key file could not be used. `problem` says what was tried and what stopped it, `advice` one thing to do.
public enum KeyFileError: Error, Hashable, Sendable, CustomStringConvertible {
    /// Others may read or write it; the low nine mode bits.
    case wrongMode(String, UInt16)
    case wrongOwner(String)
    case wrongLength(String)
    case notAFile(String)
    case unreadable(String, SystemCause)
    case unwritable(String, SystemCause)

    /// Half a sentence.
    public var problem: String {
        switch self {
        case .wrongMode(let path, let mode):
            "cannot use the key file \(path): its mode is 0\(String(mode, radix: 8)), so others can reach the key"
        case .wrongOwner(let path): "cannot use the key file \(path): it belongs to another user"
        case .wrongLength(let path): "cannot use the key file \(path): it does not hold exactly 32 bytes"
        case .notAFile(let path): "cannot use the key file \(path): it is no regular file"
        case .unreadable(let path, let cause): "cannot read the key file \(path): \(cause)"
        case .unwritable(let path, let cause): "cannot create the key file \(path): \(cause)"
        }
    }

    /// A whole sentence.
    public var advice: String {
        switch self {
        case .wrongMode(let path, _): "Run: chmod 600 \(path)"
        case .wrongOwner: "Run as that user, or choose another directory."
        case .wrongLength: "Restore it from a backup; deleting it gives this node a new ID."
        case .notAFile: "Move it away, or choose another directory."
        case .unreadable: "Check its permissions."
        case .unwritable(_, let cause) where cause.isNoSpace: "Free some space, then try again."
        case .unwritable: "Make its directory writable for this user, or choose another one."
        }
    }

    public var description: String { "\(problem). \(advice)" }
}
