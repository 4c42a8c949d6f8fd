internal import MewBase
internal import MewLoop
internal import MewQUICCore

// Moving to another path (RFC 9000 §9). Dialler only; the listener follows.

extension ConnectionDriver {
    /// Starts the check of another path; what becomes of it stands in `migrations`.
    func migrate(to route: Route, from source: SocketAddress?) throws(QUICError) -> CorePath {
        try startMigration(to: route, from: source) { (core, path) throws(QUICError) in
            migrations[path] = .some(nil)
            do throws(QUICError) {
                try core.migrate(to: path, now: loop.now)
            } catch {
                migrations[path] = nil
                throw error
            }
        }
    }

    func migrateImmediately(to route: Route, from source: SocketAddress?) throws(QUICError) {
        _ = try startMigration(to: route, from: source) { (core, path) throws(QUICError) in
            try core.migrateImmediately(to: path, now: loop.now)
        }
    }

    private func startMigration(
        to route: Route, from source: SocketAddress?, _ start: (ConnectionCore, CorePath) throws(QUICError) -> Void
    ) throws(QUICError) -> CorePath {
        let path = try addPath(route, from: source)
        do {
            try start(requireCore(), path)
        } catch {
            routes.removePath(path)
            throw error
        }
        takeEvents()
        touched()
        return path
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
