internal import MewBase
internal import MewLoop
internal import MewQUICCore

// Moving to another path (RFC 9000 §9). Dialler only; the listener follows.

/// Packets that were sent to check a path: two, of full size.
struct CheckFlight {
    let path: CorePath
    let batch: Outlets.Outgoing
    let packets: [UInt8]

    init(_ path: CorePath, _ batch: Outlets.Outgoing, _ memory: UnsafeMutableRawBufferPointer) {
        (self.path, self.batch) = (path, batch)
        packets = Array(memory[..<batch.byteCount])
    }
}

extension ConnectionDriver {
    /// Starts the check of a path that may lead by any of `routes`; `PathNotice.probed` tells the outcome.
    func probe(_ routes: [Route], from source: SocketAddress?) throws(QUICError) -> CorePath {
        try startMigration(to: routes, from: source) { (core, path) throws(QUICError) in
            try core.migrate(to: path, now: loop.now)
        }
    }

    /// Lets the check of `path` go by these as well. They get what it has sent last, which belongs to no route: whoever answers it
    /// first has won.
    func widen(_ path: CorePath, by ways: [Route]) {
        guard let core, core.path != path else { return }
        let added = ways.compactMap { outlets.outlet(to: $0) }
        routes.widen(path, by: added)
        guard let lastCheck, lastCheck.path == path else { return }
        for outlet in added { outlets.send(lastCheck.packets, lastCheck.batch, by: outlet) }
        touched()
    }

    func migrateImmediately(to route: Route, from source: SocketAddress?) throws(QUICError) {
        do throws(QUICError) {
            _ = try startMigration(to: [route], from: source) { (core, path) throws(QUICError) in
                try core.migrateImmediately(to: path, now: loop.now)
            }
        } catch .noConnectionID {
            try reroute(to: route, from: source)
        }
    }

    /// The peer gives new connection IDs only when it is heard: without one left, the present path leads another way. For the
    /// peer that is as if a NAT had given us another address: it "MAY continue to use the current connection ID with the new
    /// remote address" (RFC 9000 §9.5). What is under way and how long to wait is not forgotten, as it is with a new path.
    private func reroute(to route: Route, from source: SocketAddress?) throws(QUICError) {
        let core = try requireCore()
        routes.reroute(core.path, to: try outlets(to: [route], from: source))
        core.rerouted(now: loop.now)
        touched()
    }

    private func startMigration(
        to ways: [Route], from source: SocketAddress?, _ start: (ConnectionCore, CorePath) throws(QUICError) -> Void
    ) throws(QUICError) -> CorePath {
        let path = try addPath(ways, from: source)
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

    private func addPath(_ ways: [Route], from source: SocketAddress?) throws(QUICError) -> CorePath {
        guard role == .client else { throw .refused("the listening side cannot migrate") }
        return routes.addPath(try outlets(to: ways, from: source))
    }

    private func outlets(to ways: [Route], from source: SocketAddress?) throws(QUICError) -> [Outlet] {
        var found: [Outlet] = []
        for way in ways {
            guard var outlet = outlets.outlet(to: way) else { continue }
            outlet.source = source
            found.append(outlet)
        }
        guard !found.isEmpty else { throw .refused("no way to \(ways)") }
        return found
    }

    func pathValidated(_ path: CorePath, succeeded: Bool) {
        if lastCheck?.path == path { lastCheck = nil }
        if succeeded {
            if let arrival { routes.settle(path, by: arrival) }
        } else if path != core?.path {
            routes.removePath(path)
        }
        if migrations[path] != nil { migrations[path] = .some(succeeded) }
        waiters.resumeAll(pathWaiters)
        onPath?(.probed(path, answeredBy: succeeded ? routes.outlets(of: path).first?.route : nil))
    }

    func pathChanged() {
        guard let core else { return }
        routes.pathChanged(to: core.path)
        tellMove(routes.outlets(of: core.path).first?.route)
    }

    /// A new path by the same way is no move.
    private func tellMove(_ route: Route?) {
        guard let onMove, let route, route != toldRoute else { return }
        let wasUnheard = unheardCall.map { $0.advanced(by: RouteMove.callAge) >= loop.now } ?? false
        if let from = toldRoute { onMove(RouteMove(from: from, to: route, wasUnheard: wasUnheard)) }
        (toldRoute, unheardCall) = (route, nil)
    }

    func tellWhetherSent() {
        guard core?.unansweredSince != nil else { return }
        tellsWhenSent = false
        onPath?(.sent)
    }

    var pathState: PathState? {
        guard let core else { return nil }
        return PathState(
            route: routes.outlets(of: core.path).first?.route, since: core.pathSince,
            unansweredSince: core.unansweredSince, stalledSince: core.stalledSince,
            lastAcknowledged: core.lastAcknowledged, probeTimeout: core.probeTimeout, isMisled: core.isMisled,
            isConfirmed: core.isConfirmed)
    }
}
