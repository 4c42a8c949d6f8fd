import MewLoop

/// A directory that a new session may work in: it existed and could be entered when the session was made.
package struct SessionDirectory: Equatable, Sendable {
    /// Absolute, as asked for.
    package let cwd: String
    /// The same place with all links resolved: sessions of one project have equal ones.
    package let workspacePath: String

    /// - Parameter asked: an absolute path, `~` or `~/…`; nil means `home`.
    /// - Parameter home: the home directory of the daemon's user.
    package init(asked: String?, home: String) throws(SessionDirectoryError) {
        let cwd = Self.expand(asked ?? home, home: home)
        guard cwd.utf8.count <= Workspace.maxPathBytes else { throw .tooLong }
        guard cwd.utf8.first == UInt8(ascii: "/") else { throw .notAbsolute(cwd) }
        let handle: DirectoryHandle
        do {
            handle = try DirectoryHandle(following: cwd)
        } catch {
            throw error.kind == .notFound ? .missing(cwd) : .unusable(cwd, reason: error.reason)
        }
        guard handle.kind == .directory else { throw .notDirectory(cwd) }
        do {
            _ = try handle.entry([UInt8(ascii: ".")])  // needs the right to enter, which opening alone does not
            workspacePath = String(decoding: try handle.currentPath(), as: UTF8.self)
        } catch {
            throw .unusable(cwd, reason: error.reason)
        }
        self.cwd = cwd
    }

    private static func expand(_ path: String, home: String) -> String {
        if path.isEmpty || path == "~" { return home }
        return path.hasPrefix("~/") ? home + path.dropFirst() : path
    }
}

/// Why a session cannot be made there (spec/mew-wire.md §4.2).
package enum SessionDirectoryError: Error, Equatable, CustomStringConvertible {
    case missing(String)
    case notDirectory(String)
    case notAbsolute(String)
    case tooLong
    case unusable(String, reason: String)

    package var description: String {
        switch self {
        case .missing(let path): "session cwd does not exist: \(path)"
        case .notDirectory(let path): "session cwd is not a directory: \(path)"
        case .notAbsolute(let path): "session cwd is not an absolute path: \(path)"
        case .tooLong: "session cwd is too long"
        case .unusable(let path, let reason): "session cwd cannot be used (\(reason)): \(path)"
        }
    }
}
