package import MewBase
package import MewQUICCore

// Moving to another path (RFC 9000 §9). Dialler only; the listener follows.

extension Connection {
    /// Checks the way by `route` and moves there when it answers. The present path carries everything meanwhile.
    ///
    /// - Parameter source: the address of ours to leave from; nil lets the kernel choose.
    /// - Returns: false when it did not answer: nothing has changed.
    package func migrate(to route: Route, from source: SocketAddress? = nil) async throws(QUICError) -> Bool {
        let path = try driver.migrate(to: route, from: source)
        defer { driver.migrations[path] = nil }
        while true {
            if let outcome = driver.migrations[path] ?? nil { return outcome }
            if let closure = driver.closure { throw .closed(closure) }
            if Task.isCancelled { throw .cancelled }
            await driver.waiters.wait(
                in: driver.pathWaiters,
                unless: { (driver.migrations[path] ?? nil) != nil || driver.closure != nil })
        }
    }

    /// Moves at once: for a way that is known to work, or when the present path is dead.
    package func migrateImmediately(to route: Route, from source: SocketAddress? = nil) throws(QUICError) {
        try driver.migrateImmediately(to: route, from: source)
    }
}
