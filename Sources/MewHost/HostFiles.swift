package import MewLoop

/// The file service of the daemon. Runs on a loop for blocking work, so that a slow disk never delays a packet.
package actor HostFiles {
    package nonisolated let unownedExecutor: UnownedSerialExecutor
    private let loop: any Loop
    private let home: String

    /// - Parameter loop: not the network's.
    /// - Parameter home: the home directory of the daemon's user.
    package init(loop: any Loop, home: String) {
        self.loop = loop
        unownedExecutor = loop.asUnownedSerialExecutor()
        self.home = home
    }

    /// - Parameter cwd: the session's; nil when it has none.
    package func list(_ path: String?, cwd: String?) throws(WorkspaceError) -> DirectoryListing {
        guard let cwd else { throw .noCwd }
        return try Workspace(cwd: cwd).list(path)
    }

    /// Where a new session asked to work, if it can.
    package func sessionDirectory(asked: String?) throws(SessionDirectoryError) -> SessionDirectory {
        try SessionDirectory(asked: asked, home: home)
    }
}
