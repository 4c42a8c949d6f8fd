import MewLoop
package import MewWire

/// What a directory of a workspace holds, ready for `dir_listing` (spec/mew-wire.md §4.12).
package struct DirectoryListing: Equatable, Sendable {
    /// From the workspace's root, without links and dots; empty for the root.
    package let path: String
    /// Directories first, then by lower-cased name, then by name.
    package let entries: [DirEntry]
    /// True when the directory holds more than `maxEntries` or `maxNameBytes` allow; which ones are missing is up to the
    /// order of the file system. A reader must be told.
    package let isCut: Bool

    /// Ten thousand entries of usual length are half a megabyte of JSON; nobody scrolls further.
    package static let maxEntries = 10_000
    /// Escaped, a name byte is at most six characters of JSON: this keeps a listing under the 8 MiB of one frame.
    package static let maxNameBytes = 1 << 20
    /// How many path components per listing are walked to tell what is behind its links, some 50 ms of work; links after
    /// that are shown without saying what they are.
    package static let maxLinkSteps = 20_000

    /// - Parameter kind: what stands behind a name; nil when it is gone or cannot be read.
    init(
        of directory: DirectoryHandle, path: [UInt8], kind: (DirectoryHandle.Name) -> DirectoryHandle.Kind?
    ) throws(SystemError) {
        var entries: [DirEntry] = []
        var nameBytes = 0
        var isCut = false
        try directory.names { name in
            guard name.first != UInt8(ascii: ".") else { return true }
            guard entries.count < Self.maxEntries, nameBytes + name.count <= Self.maxNameBytes else {
                isCut = true
                return false
            }
            nameBytes += name.count
            entries.append(DirEntry(name, kind(name)))
            return true
        }
        self.path = String(decoding: path, as: UTF8.self)
        self.entries = entries.map { (entry: $0, key: $0.name.lowercased()) }
            .sorted { Self.precedes($0, $1) }.map(\.entry)
        self.isCut = isCut
    }

    private static func precedes(_ left: (entry: DirEntry, key: String), _ right: (entry: DirEntry, key: String))
        -> Bool
    {
        guard left.entry.isDirectory == right.entry.isDirectory else { return left.entry.isDirectory }
        return (left.key, left.entry.name) < (right.key, right.entry.name)
    }
}

extension DirEntry {
    /// Bytes of a name that are no UTF-8 are replaced: JSON cannot carry them, so such an entry can be seen, not opened.
    fileprivate init(_ name: DirectoryHandle.Name, _ kind: DirectoryHandle.Kind?) {
        var size: UInt64?
        if case .file(let bytes) = kind { size = bytes }
        self.init(name: String(decoding: name, as: UTF8.self), isDirectory: kind == .directory, size: size)
    }
}
