/// A place in which sessions have worked, as `list_projects` tells it (spec/mew-wire.md §3.3.2).
package struct Project: Equatable, Sendable {
    /// What a session tells about where it works.
    package struct Use: Sendable {
        /// With all links resolved (`SessionDirectory.workspacePath`).
        package let path: String
        /// Milliseconds since the Unix epoch.
        package let lastUsed: UInt64

        package init(path: String, lastUsed: UInt64) {
            self.path = path
            self.lastUsed = lastUsed
        }
    }

    package let path: String
    /// The last component of the path.
    package let displayName: String
    package let sessionCount: UInt32
    /// Milliseconds since the Unix epoch.
    package let lastUsed: UInt64

    /// One project per path, the last used one first.
    package static func all(in uses: some Sequence<Use>) -> [Project] {
        Dictionary(grouping: uses, by: \.path)
            .map { path, uses in Project(path, uses) }
            .sorted { left, right in
                left.lastUsed == right.lastUsed ? left.path < right.path : left.lastUsed > right.lastUsed
            }
    }

    private init(_ path: String, _ uses: [Use]) {
        self.path = path
        displayName = path.split(separator: "/").last.map(String.init) ?? "/"
        sessionCount = UInt32(clamping: uses.count)
        lastUsed = uses.lazy.map(\.lastUsed).max() ?? 0
    }
}
