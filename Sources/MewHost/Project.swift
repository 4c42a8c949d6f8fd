package import MewWire

/// Where a session works and when it last did, as far as projects care.
package struct ProjectUse: Sendable {
    /// With all links resolved (`SessionDirectory.workspacePath`).
    package let path: String
    package let lastUsed: WallTime

    package init(path: String, lastUsed: WallTime) {
        self.path = path
        self.lastUsed = lastUsed
    }
}

extension ProjectInfo {
    /// The places in which sessions have worked, one project per path, the last used one first (spec/mew-wire.md §3.3.2).
    package static func all(in uses: some Sequence<ProjectUse>) -> [ProjectInfo] {
        Dictionary(grouping: uses, by: \.path)
            .map { path, uses in (path: path, count: uses.count, last: uses.map(\.lastUsed).max()) }
            .sorted { left, right in
                guard let older = left.last, let newer = right.last, older != newer else {
                    return left.path < right.path
                }
                return older > newer
            }
            .map { project in
                ProjectInfo(
                    path: project.path, displayName: project.path.split(separator: "/").last.map(String.init) ?? "/",
                    sessionCount: UInt32(clamping: project.count), lastUsedAt: project.last)
            }
    }
}
