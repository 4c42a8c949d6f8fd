package import MewBase
internal import MewLoop
package import MewQUICCore

// Moving to another path (RFC 9000 §9). Dialler only; the listener follows.

extension Connection {
    /// Checks the way by `route` and moves there when it answers. The present path carries everything meanwhile.
    ///
    /// - Parameter source: the address of ours to leave from; nil lets the kernel choose.
    /// - Returns: false when it did not answer: nothing has changed.
    package func migrate(to route: Route, from source: SocketAddress? = nil) async throws(QUICError) -> Bool {
        let path = try addPath(route, from: source)
        migrations[path] = .some(nil)
        defer { migrations[path] = nil }
        do {
            try requireCore().migrate(to: path, now: loop.now)
        } catch {
            routes.removePath(path)
            throw error
        }
        takeEvents()
        touched()
        while true {
            if let outcome = migrations[path] ?? nil { return outcome }
            if let closure { throw .closed(closure) }
            if Task.isCancelled { throw .cancelled }
            await wait(in: pathWaiters, unless: { (migrations[path] ?? nil) != nil || closure != nil })
        }
    }

    /// Moves at once: for a way that is known to work, or when the present path is dead.
    package func migrateImmediately(to route: Route, from source: SocketAddress? = nil) throws(QUICError) {
        let path = try addPath(route, from: source)
        do {
            try requireCore().migrateImmediately(to: path, now: loop.now)
        } catch {
            routes.removePath(path)
            throw error
        }
        takeEvents()
        touched()
    }

    private func requireCore() throws(QUICError) -> ConnectionCore {
        guard let core else { throw .closed(endOrUnknown) }
        return core
    }

    private func addPath(_ route: Route, from source: SocketAddress?) throws(QUICError) -> CorePath {
        guard role == .client else { throw .refused("the listening side cannot migrate") }
        guard var outlet = outlets.outlet(to: route) else { throw .refused("no way to \(route)") }
        outlet.source = source
        return routes.addPath(outlet)
    }

    func pathValidated(_ path: CorePath, succeeded: Bool) {
        if migrations[path] != nil { migrations[path] = .some(succeeded) }
        if !succeeded, path != core?.path { routes.removePath(path) }
        waiters.resumeAll(pathWaiters)
    }

    func pathChanged() {
        guard let core else { return }
        routes.pathChanged(to: core.path)
    }
}
