package import MewIdentity
package import MewLoop

/// The directory that makes a node (DESIGN §4): its key, and what the daemon and the commands of this machine keep beside it.
///
/// One place for the names, because several processes meet here: the daemon, and any number of commands.
package struct StateDirectory: Sendable {
    package let files: PrivateDirectory

    package init(_ files: PrivateDirectory) {
        self.files = files
    }

    /// The names in it.
    package enum Name {
        /// The node's secret key: 32 bytes.
        package static let key = "node.key"
        /// Held by whoever listens under the node's key: the daemon, or a `mew pair` that serves without one.
        package static let listenerLock = "daemon.lock"
        /// The Unix socket on which the daemon answers the commands of this machine.
        package static let controlSocket = "control.sock"
        /// The UDP port that was chosen at the first start, in decimal.
        package static let port = "port"
        /// Sessions, journals, devices.
        package static let database = "sessions.db"
        /// The daemons this node knows, and its unfinished operations.
        package static let clientRecords = "client.json"
        /// Held while `clientRecords` is being changed.
        package static let clientLock = "client.lock"
        /// Settings of the user's, written by hand. Many programs have a file of this name.
        package static let configuration = "config.json"
        /// The last number under which the daemon told where it can be found, in decimal.
        package static let reach = "reach"

        /// Any of them shows that a directory is a state directory already.
        package static let all = [
            key, listenerLock, controlSocket, port, database, clientRecords, clientLock, reach,
        ]
    }

    package func path(_ name: String) -> String { files.file(name) }

    /// The node's key, made at the first use.
    package func key() throws(KeyFileError) -> SecretKey {
        try KeyFile(path: path(Name.key)).loadOrCreate(entropy: SystemEntropy())
    }
}
