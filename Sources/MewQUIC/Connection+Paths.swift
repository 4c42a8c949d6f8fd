package import MewBase
package import MewQUICCore

// Moving to another path (RFC 9000 §9). Dialler only; the listener follows. Who moves connections is told what happens to
// their paths by `observePaths`, and acts in a later turn.

extension Connection {
    /// Calls `observer` on the loop, in the midst of a turn, until the connection ends: it must not call back at once.
    package func observePaths(_ observer: @escaping @Sendable (PathNotice) -> Void) {
        driver.onPath = observer
    }

    /// Listener: calls `observer` on the loop, in the midst of a turn, each time the dialler has moved the connection: it must not
    /// call back at once.
    package func observeMoves(_ observer: @escaping @Sendable (RouteMove) -> Void) {
        driver.toldRoute = driver.pathState?.route
        driver.onMove = observer
    }

    /// One `PathNotice.sent` as soon as something is under way that the peer has to acknowledge.
    package func tellWhenSent() {
        driver.tellsWhenSent = true
    }

    /// Whether both ends speak path messages.
    package var speaksBeside: Bool { driver.talk != nil }

    /// Asks with one small packet whether the peer is at `address`; `PathNotice.checked` tells if it is.
    package func check(_ address: SocketAddress) {
        driver.check(address)
    }

    /// Checks whether the peer answers by one of `routes`, all at once, and moves to the first by which it does. The present
    /// path carries everything meanwhile; a move made meanwhile ends the check.
    package func probe(_ routes: [Route], from source: SocketAddress? = nil) throws(QUICError) -> CorePath {
        try driver.probe(routes, from: source)
    }

    /// Lets a check that `probe` has begun go by `routes` as well: they get its last packets now, and those that follow. Nothing
    /// when it is over.
    package func widen(_ path: CorePath, by routes: [Route]) {
        driver.widen(path, by: routes)
    }

    /// Checks the way by `route` and moves there when it answers. The present path carries everything meanwhile.
    ///
    /// - Parameter source: the address of ours to leave from; nil lets the kernel choose.
    /// - Returns: false when it did not answer: nothing has changed.
    package func migrate(to route: Route, from source: SocketAddress? = nil) async throws(QUICError) -> Bool {
        let path = try driver.probe([route], from: source)
        driver.migrations[path] = .some(nil)
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

    /// What carries the connection, and how well; nil after its end.
    package var pathState: PathState? { driver.pathState }
}

/// What happens to the paths of a connection.
package enum PathNotice: Hashable, Sendable {
    /// The connection can be moved from now on.
    case confirmed
    /// Something is under way.
    case sent
    /// The peer has answered a path message there.
    case answered(Route)
    /// The peer is there: it has answered a small packet that was sent there.
    case checked(SocketAddress)
    /// The peer asks from there whether we are here: a hint where it may be, no more.
    case asked(SocketAddress)
    /// The peer knows our offer.
    case offerTaken
    /// A check is over: by which route the peer answered, nil when it did not.
    case probed(CorePath, answeredBy: Route?)
}

/// The dialler has moved a connection.
package struct RouteMove: Hashable, Sendable {
    package let from: Route
    package let to: Route
    /// It was called a moment before, because it was not heard.
    package let wasUnheard: Bool

    /// How old a call may be that a move is put down to: a dialler that hears it moves within some round trips.
    static let callAge: Duration = .seconds(10)
}

/// The path of a connection at one moment.
package struct PathState: Hashable, Sendable {
    /// Nil when the way is gone.
    package let route: Route?
    /// Since when it carries the connection.
    package let since: Instant
    /// Since when something is under way without any acknowledgement; nil while nothing is.
    package let unansweredSince: Instant?
    /// Since when stream data is under way and none of it is acknowledged; nil while there is none.
    package let stalledSince: Instant?
    package let lastAcknowledged: Instant
    /// RFC 9002 §6.2, without back-off.
    package let probeTimeout: Duration
    /// The library counts round trips that are much too long (`ConnectionCore.isMisled`).
    package let isMisled: Bool
    /// The connection can be moved.
    package let isConfirmed: Bool
}
