import MewBase
package import MewIdentity
package import MewLoop
package import MewNode
import MewWire

extension StateDirectory {
    /// Makes the directory if there is none.
    ///
    /// - Parameter path: a relative one is taken from the current directory.
    package static func open(_ path: String) throws(StartFailure) -> StateDirectory {
        do throws(SystemError) {
            return StateDirectory(try PrivateDirectory(creating: path, ours: Name.all))
        } catch  where error.kind == .notEmpty {
            throw .open(path, isOurs: PrivateDirectory.holds(nothingBut: Name.all + [Name.configuration], at: path))
        } catch {
            throw StartFailure(path, error)
        }
    }

    /// The node's key; made when there is none.
    package func nodeKey() throws(StartFailure) -> SecretKey {
        do throws(KeyFileError) {
            return try key()
        } catch {
            throw StartFailure(error)
        }
    }

    /// The right to listen under this directory's key: two daemons with one key would fight over every peer.
    package func lockListener() throws(StartFailure) -> FileLock {
        do throws(SystemError) {
            return try files.lock(Name.listenerLock, waiting: false)
        } catch {
            throw error.kind == .busy
                ? .locked(files.path, by: files.lastHolder(of: Name.listenerLock)) : StartFailure(files.path, error)
        }
    }

    /// The port of the first start; nil before that. A damaged file costs a new port, not the start.
    func keptPort() throws(StartFailure) -> UInt16? {
        do throws(SystemError) {
            return try files.read(Name.port, maxBytes: 16).flatMap(ListenPort.parse)
        } catch {
            throw StartFailure(files.path, error)
        }
    }

    func keep(port: UInt16, entropy: some Entropy) throws(StartFailure) {
        do throws(SystemError) {
            try files.write(ListenPort.stored(port), to: Name.port, entropy: entropy)
        } catch {
            throw StartFailure(files.path, error)
        }
    }
}
