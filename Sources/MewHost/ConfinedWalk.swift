import MewLoop

/// Finds the object that a relative path names below a root directory, and nothing outside it.
///
/// One component at a time, each opened relative to the handle before it and without following links; links are read and
/// walked by the same rules, so that nothing outside is ever opened and a link swapped in between check and use has nothing
/// to gain. `..` goes back along the handles that were opened, never through the file system. A link with an absolute
/// target is followed only when the target begins with the root itself.
struct ConfinedWalk {
    enum Failure: Error, Equatable {
        case escapes
        /// More than `maxDepth` directories, `maxLinks` links or `maxSteps` components.
        case tooLong
        case notDirectory
        case system(SystemError)
    }

    /// Each level is an open descriptor while we walk; real trees stay far below, the process limit of 1,024 far above.
    static let maxDepth = 128
    /// As in Linux (path_resolution(7)): 40 links, then it is a loop.
    static let maxLinks = 40
    /// Bounds the work that links with long targets can cause.
    static let maxSteps = 2_048

    private let root: DirectoryHandle
    /// The root's own path, for links with an absolute target.
    private let rootComponents: [[UInt8]]
    private var opened: [(name: [UInt8], handle: DirectoryHandle)] = []
    /// What is still to be walked, last component first.
    private var pending: [[UInt8]] = []
    private var linksLeft = Self.maxLinks
    private(set) var stepsLeft: Int

    init(root: DirectoryHandle, steps: Int = Self.maxSteps) throws(SystemError) {
        self.root = root
        stepsLeft = steps
        rootComponents = Self.components(of: try root.currentPath())
    }

    /// What `path` names, and the path without links and dots that leads there from the root.
    mutating func resolve(_ path: [UInt8]) throws(Failure) -> (handle: DirectoryHandle, path: [UInt8]) {
        pending = Self.components(of: path).reversed()
        while let name = pending.popLast() {
            stepsLeft -= 1
            guard stepsLeft >= 0 else { throw .tooLong }
            try step(name)
        }
        return (current, Array(opened.map(\.name).joined(separator: [UInt8(ascii: "/")])))
    }

    private var current: DirectoryHandle { opened.last?.handle ?? root }

    private mutating func step(_ name: [UInt8]) throws(Failure) {
        guard current.kind == .directory else { throw .notDirectory }
        if name == Array("..".utf8) {
            guard opened.popLast() != nil else { throw .escapes }
            return
        }
        guard opened.count < Self.maxDepth else { throw .tooLong }
        let next: DirectoryHandle
        do { next = try current.entry(name) } catch { throw .system(error) }
        if next.kind == .link { try follow(next) } else { opened.append((name, next)) }
    }

    private mutating func follow(_ link: DirectoryHandle) throws(Failure) {
        linksLeft -= 1
        guard linksLeft >= 0 else { throw .tooLong }
        let target: [UInt8]
        do { target = try link.linkTarget() } catch { throw .system(error) }
        var components = Self.components(of: target)
        if target.first == UInt8(ascii: "/") {
            guard components.starts(with: rootComponents) else { throw .escapes }
            components.removeFirst(rootComponents.count)
            opened.removeAll()
        }
        pending += components.reversed()
    }

    /// The components that mean something: without empty ones and `.`.
    private static func components(of path: [UInt8]) -> [[UInt8]] {
        path.split(separator: UInt8(ascii: "/")).map(Array.init).filter { $0 != [UInt8(ascii: ".")] }
    }
}
