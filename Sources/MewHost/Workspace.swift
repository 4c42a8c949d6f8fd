import MewLoop

/// The directory that a session works in, seen as a fence: what lies outside cannot be named (NEEDS N-45).
///
/// Every call opens the directory anew and judges the objects it opened, never a path's text. The calls block on slow file
/// systems: make them on a loop for blocking work.
package struct Workspace: Sendable {
    /// Absolute. May be gone since the session was made.
    package let cwd: String

    /// Longer paths cannot be opened anyway (PATH_MAX).
    package static let maxPathBytes = 4_096

    package init(cwd: String) {
        self.cwd = cwd
    }

    /// Lists `path`, which is relative to `cwd`; nil, empty and `.` name `cwd` itself.
    package func list(_ path: String?) throws(WorkspaceError) -> DirectoryListing {
        let path = path ?? ""
        try Self.check(path)
        let root = try openRoot()
        let (directory, resolved) = try Self.resolve(path, below: root)
        guard directory.kind == .directory else { throw .notDirectory(path) }
        var stepsLeft = DirectoryListing.maxLinkSteps
        do {
            return try DirectoryListing(of: directory, path: resolved) { name in
                Self.kind(of: name, in: directory, at: resolved, below: root, stepsLeft: &stepsLeft)
            }
        } catch {
            throw WorkspaceError(error, path: path)
        }
    }

    private static func resolve(
        _ path: String, below root: DirectoryHandle
    ) throws(WorkspaceError) -> (handle: DirectoryHandle, path: [UInt8]) {
        var walk: ConfinedWalk
        do { walk = try ConfinedWalk(root: root) } catch { throw WorkspaceError(error, path: path) }
        do { return try walk.resolve(Array(path.utf8)) } catch { throw WorkspaceError(error, path: path) }
    }

    private static func check(_ path: String) throws(WorkspaceError) {
        guard path.utf8.count <= maxPathBytes else { throw .pathTooLong }
        guard !path.utf8.contains(0) else { throw .unusable(path: "", reason: "the path contains a zero byte") }
        guard path.utf8.first != UInt8(ascii: "/") else { throw .absolutePath(path) }
    }

    private func openRoot() throws(WorkspaceError) -> DirectoryHandle {
        let root: DirectoryHandle
        do { root = try DirectoryHandle(following: cwd) } catch { throw .unusable(path: cwd, reason: error.reason) }
        guard root.kind == .directory else { throw .notDirectory(cwd) }
        return root
    }

    /// A link shows what it points to as long as that is inside; otherwise it is a file of unknown size, so that nothing of
    /// the world outside shows through.
    private static func kind(
        of name: DirectoryHandle.Name, in directory: DirectoryHandle, at path: [UInt8], below root: DirectoryHandle,
        stepsLeft: inout Int
    ) -> DirectoryHandle.Kind? {
        guard let handle = try? directory.entry(name) else { return nil }
        guard handle.kind == .link else { return handle.kind }
        let steps = min(stepsLeft, ConfinedWalk.maxSteps)
        guard steps > 0, var walk = try? ConfinedWalk(root: root, steps: steps) else { return nil }
        defer { stepsLeft -= steps - max(walk.stepsLeft, 0) }
        return try? walk.resolve(path + [UInt8(ascii: "/")] + name).handle.kind
    }
}

/// Why a path of a workspace cannot be shown; the description is what the wire says (spec/mew-wire.md §4.12).
package enum WorkspaceError: Error, Equatable, CustomStringConvertible {
    /// The session was made without a directory.
    case noCwd
    case absolutePath(String)
    case escapes(String)
    case notDirectory(String)
    /// Longer than `Workspace.maxPathBytes`, or deeper or with more links than `ConfinedWalk` follows.
    case pathTooLong
    case unusable(path: String, reason: String)

    init(_ failure: ConfinedWalk.Failure, path: String) {
        switch failure {
        case .escapes: self = .escapes(path)
        case .tooLong: self = .pathTooLong
        case .notDirectory: self = .notDirectory(path)
        case .system(let error): self.init(error, path: path)
        }
    }

    init(_ error: SystemError, path: String) {
        self = .unusable(path: path, reason: error.reason)
    }

    package var description: String {
        switch self {
        case .noCwd: "session has no cwd"
        case .absolutePath(let path): "absolute paths not allowed: \(path)"
        case .escapes(let path): "path escapes workspace: \(path)"
        case .notDirectory(let path): "not a directory: \(path)"
        case .pathTooLong: "path too long"
        case .unusable(let path, let reason): path.isEmpty ? reason : "\(reason): \(path)"
        }
    }
}
