internal import MewBase
internal import MewQUICCore

/// Which packets belong to which path of one connection, and where the packets of a path go. A value.
///
/// The dialler names its paths itself: one number for each, with a synthetic local address behind it (DESIGN §6). The
/// first one is a *race*: all candidate addresses at once, until one has answered. The listener uses one number per carrier
/// and the peer's address.
struct RouteTable {
    private struct Path {
        let path: CorePath
        var outlets: [Outlet]
    }

    private let isDialler: Bool
    /// The newest last.
    private var paths: [Path]
    private var nextNumber: UInt32
    /// Listener only: how often the peer came back after a silence, or took its way anew.
    private var carriedEpoch: UInt32 = 0
    private var directEpoch: UInt32 = 0

    /// A listener's number for all direct paths; carriers follow.
    private static let directNumber: UInt32 = 1

    /// The dialler's first path.
    private static let racingNumber: UInt32 = 1

    /// More ways than are in use at a time: the present path, the one being checked, and copies of a first flight.
    static let maxPaths = 8

    /// - Parameter candidates: all are sent every packet until one of them answers.
    init(racing candidates: [Outlet]) {
        isDialler = true
        paths = [Path(path: Self.racingPath, outlets: candidates)]
        nextNumber = Self.racingNumber + 1
    }

    init(listeningOn arrival: Outlet) {
        isDialler = false
        paths = [Path(path: Self.listenerPath(arrival.route), outlets: [arrival])]
        nextNumber = 0
    }

    /// The path that a packet from `arrival` belongs to; nil when it came from nowhere we know, and is to be dropped.
    func path(for arrival: Outlet) -> CorePath? {
        isDialler ? knownPath(arrival) : presentPath(arrival.route)
    }

    private func presentPath(_ route: Route) -> CorePath {
        switch route {
        case .direct: Self.listenerPath(route, epoch: directEpoch)
        case .carried: Self.listenerPath(route, epoch: carriedEpoch)
        }
    }

    /// Listener only: the peer is heard again after a silence, or has taken its way anew, and what comes like `route` from now on
    /// is a path of its own. For the library a peer that has moved: it forgets the window that is full of what was lost, its
    /// probe timer, which has doubled for as long as the silence was, and how long a round trip takes (RFC 9000 §9.4).
    ///
    /// Where the library is not, it sees a move as it is. And it may owe an answer there: ngtcp2 1.11 sends no PATH_RESPONSE while
    /// its window is full, and once that path is not the one it moves to, it never can, and spends a connection ID of the peer
    /// every 3 PTO on trying.
    mutating func beginEpoch(of route: Route, instead current: CorePath) {
        guard presentPath(route) == current else { return }
        switch route {
        case .direct: directEpoch &+= 1
        case .carried: carriedEpoch &+= 1
        }
    }

    /// Two paths may lead to the same address from different ones of ours; otherwise the newest is meant.
    private func knownPath(_ arrival: Outlet) -> CorePath? {
        var found: CorePath?
        for path in paths.reversed() {
            for outlet in path.outlets where outlet.route == arrival.route {
                guard let source = outlet.source else {
                    found = found ?? path.path
                    continue
                }
                if source.with(port: 0) == arrival.source?.with(port: 0) { return path.path }
            }
        }
        return found
    }

    /// A genuine packet came from `arrival`. The listener answers there, from the address it was sent to; whoever only
    /// knows our connection ID cannot turn our packets away.
    ///
    /// - Parameter current: is never forgotten, however many other addresses the peer shows.
    mutating func noteArrival(_ arrival: Outlet, keeping current: CorePath?) {
        let path = presentPath(arrival.route)
        guard !isDialler, let last = paths.last, last.outlets[0] != arrival || last.path != path else { return }
        paths.removeAll { $0.path == path }
        if paths.count >= Self.maxPaths, let oldest = paths.firstIndex(where: { $0.path != current }) {
            paths.remove(at: oldest)
        }
        paths.append(Path(path: path, outlets: [arrival]))
    }

    /// Where packets of `path` go. More than one while a race is open.
    func outlets(of path: CorePath) -> [Outlet] {
        paths.last { $0.path == path }?.outlets ?? []
    }

    /// A packet from `arrival` was genuine: the race is over, and it has won.
    mutating func settleRace(_ arrival: Outlet) {
        if isDialler { settle(Self.racingPath, by: arrival) }
    }

    /// Where the peer was, the last one first.
    var arrivals: [Outlet] { paths.reversed().flatMap(\.outlets) }

    /// Dialler only: a new path, for a migration. With several outlets it is a race, until `settle`.
    mutating func addPath(_ outlets: [Outlet]) -> CorePath {
        precondition(isDialler, "a listener's paths come from its packets")
        let path = Self.diallerPath(nextNumber)
        nextNumber += 1
        paths.append(Path(path: path, outlets: outlets))
        return path
    }

    /// Dialler only: the packets of `path` go by these as well from now on.
    mutating func widen(_ path: CorePath, by outlets: [Outlet]) {
        guard let index = paths.firstIndex(where: { $0.path == path }) else { return }
        paths[index].outlets += outlets
    }

    /// Dialler only: packets of `path` go to `outlets` from now on.
    mutating func reroute(_ path: CorePath, to outlets: [Outlet]) {
        guard isDialler, let index = paths.lastIndex(where: { $0.path == path }) else { return }
        paths[index].outlets = outlets
    }

    /// Dialler only: what the race of `path` was about came from `arrival`.
    mutating func settle(_ path: CorePath, by arrival: Outlet) {
        guard let index = paths.firstIndex(where: { $0.path == path }), paths[index].outlets.count > 1,
            let winner = paths[index].outlets.first(where: { $0.route == arrival.route })
        else { return }
        paths[index].outlets = [winner]
    }

    /// Dialler only: forgets a path that did not answer or was left.
    mutating func removePath(_ path: CorePath) {
        paths.removeAll { $0.path == path }
    }

    /// The dialler uses `path` now. Those it left stay a while for packets on their way, the oldest go.
    mutating func pathChanged(to path: CorePath) {
        guard isDialler else { return }
        while paths.count > Self.maxPaths, let index = paths.firstIndex(where: { $0.path != path }) {
            paths.remove(at: index)
        }
    }

    var count: Int { paths.count }

    static let racingPath = diallerPath(racingNumber)

    private static func diallerPath(_ number: UInt32) -> CorePath {
        CorePath(number: number, remote: SocketAddress(ipv6High: 0x0100_0000_0000_0001, low: UInt64(number), port: 1))
    }

    static func listenerPath(_ route: Route, epoch: UInt32 = 0) -> CorePath {
        switch route {
        // The numbers of carriers begin below.
        case .direct(let remote):
            CorePath(number: epoch == 0 ? directNumber : epoch | 0x8000_0000, remote: remote)
        case .carried(let id, let peer):
            CorePath(
                number: directNumber + id.number,
                remote: SocketAddress(
                    ipv6High: 0x0100_0000_0000_0002 | UInt64(UInt16(truncatingIfNeeded: epoch)) << 16, low: peer,
                    port: 1))
        }
    }
}
