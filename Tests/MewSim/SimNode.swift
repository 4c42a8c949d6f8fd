package import MewBase
internal import MewLoop

/// One machine of the world: its loops, addresses, sockets and sources of chance.
///
/// `@unchecked Sendable`: a simulated world runs on one thread.
package final class SimNode: @unchecked Sendable {
    package enum State: Hashable, Sendable {
        case running
        /// The process is stopped (SIGSTOP, a debugger): the kernel still takes packets, up to a full socket buffer.
        case stopped
        /// The machine sleeps: packets to it vanish. Time goes on, so its timers are overdue when it wakes.
        case asleep
        /// The process was killed: nothing it still does has an effect. Its tasks are cancelled and unwind.
        case killed
    }

    /// What happened to a packet that came in.
    enum Fate {
        case queued, dropped, portClosed
    }

    package let name: String
    package let world: SimWorld
    /// Its addresses now.
    package private(set) var hosts: [SocketAddress]
    /// The network they are in.
    private(set) var realm: SimRealm
    private(set) lazy var kernel = SimStreams(self)
    package let entropy: SeededEntropy
    package let wallClock: SimWallClock
    package private(set) var state = State.running { didSet { for loop in loops { loop.nodeState = state } } }

    /// The loop of its network.
    package let loop: SimLoop
    private(set) var loops: [SimLoop]
    /// Few: looked through from the first one on.
    private var sockets: [SimSocket] = []
    private var nextPort: UInt16 = 49_152
    private let tasks = SimTasks()
    private var killActions: [() -> Void] = []
    private var releases: [@Sendable () async -> Void] = []

    init(_ world: SimWorld, _ name: String, _ hosts: [SocketAddress], behind router: SimRouter?, seed: UInt64) {
        self.world = world
        self.name = name
        self.hosts = []
        realm = router?.inside ?? world.internet.outside
        entropy = SeededEntropy(seed: seed)
        wallClock = SimWallClock(world)
        loop = SimLoop(world, name, tasks)
        loops = [loop]
        world.add(loop)
        move(to: hosts, behind: router)
    }

    package var network: SimNetwork { SimNetwork(node: self) }

    package var streams: SimStreamNetwork { SimStreamNetwork(node: self) }

    /// Another loop of the same machine, for what blocks in reality.
    package func makeLoop() -> SimLoop {
        let loop = SimLoop(world, name, tasks)
        loop.nodeState = state
        loops.append(loop)
        world.add(loop)
        return loop
    }

    package var isAlive: Bool { state != .killed }

    // MARK: - Addresses

    /// It has these addresses from now on, and no others: plugged in elsewhere. None: the cable is out. Sockets stay; what
    /// they send from an address that is gone goes nowhere.
    ///
    /// - Parameter router: the box it is behind now.
    package func move(to addresses: [SocketAddress], behind router: SimRouter? = nil) {
        for host in hosts { world.internet.abandon(host, in: realm, by: self) }
        hosts = addresses.map { $0.with(port: 0) }
        realm = router?.inside ?? world.internet.outside
        for host in hosts { world.internet.claim(host, in: realm, for: self) }
    }

    /// Moves behind a box that gives it a free address.
    package func move(behind router: SimRouter) {
        move(to: [router.inside.freeAddress()], behind: router)
    }

    var ownHosts: [SimHost] { hosts.map { world.internet.host(at: $0, in: realm) } }

    /// As seen outside all boxes.
    var outerHosts: [SimHost] {
        var (hosts, realm) = (hosts, realm)
        while let box = realm.gateway {
            realm = box.outside
            let kept = hosts.filter { !box.translates($0) }
            hosts = (hosts.contains { box.translates($0) } ? [box.address] : []) + kept
        }
        return hosts.map { world.internet.host(at: $0, in: realm) }
    }

    /// The first address of the node, with `port`.
    package func address(port: UInt16) -> SocketAddress { hosts[0].with(port: port) }

    // MARK: - Tasks

    /// Tasks of this node that have not ended.
    package var taskCount: Int { tasks.count }

    // MARK: - Being stopped, put to sleep, killed

    package func stop() { freeze(.stopped) }

    package func sleep() { freeze(.asleep) }

    private func freeze(_ state: State) {
        guard isAlive else { return }
        self.state = state
        for loop in loops { world.unlist(loop) }
    }

    /// Ends `stop` and `sleep`.
    package func resume() {
        guard isAlive else { return }
        state = .running
        for loop in loops where loop.hasWork { loop.wake() }
        kernel.resume()
    }

    /// Runs at the instant of the kill, before anything else: where a simulated disk is cut off.
    package func onKill(_ action: @escaping () -> Void) {
        killActions.append(action)
    }

    /// Runs as a task after the kill, when nothing it does has an effect any more: for what a real process leaves to the
    /// kernel, and would otherwise stay in the memory of the test.
    package func afterKill(_ release: @escaping @Sendable () async -> Void) {
        releases.append(release)
    }

    /// From this instant nothing the node does has an effect: sockets send nothing, timers do not fire. Then its tasks
    /// are cancelled in the order they were started, and their code unwinds while the world runs.
    package func kill() {
        guard isAlive else { return }
        state = .killed
        for action in killActions { action() }
        killActions = []
        for socket in sockets { socket.cut() }
        sockets = []
        kernel.processEnded()
        for loop in loops {
            loop.forgetTimers()
            if loop.hasWork { loop.wake() }
        }
        tasks.cancelAll()
        for release in releases { loop.spawn(release) }
        releases = []
    }

    // MARK: - Sockets

    func bind(_ address: SocketAddress, on loop: SimLoop) throws(SocketError) -> SimSocket {
        loop.checkIsolated()
        guard address.isUnspecified || hosts.contains(address.with(port: 0)) else {
            throw .addressNotAvailable(address)
        }
        let bound = address.port == 0 ? freePort(address) : address
        guard !isTaken(bound) else { throw .addressInUse(address) }
        let socket = SimSocket(node: self, loop: loop, address: bound)
        if isAlive { sockets.append(socket) }
        return socket
    }

    private func freePort(_ address: SocketAddress) -> SocketAddress {
        repeat {
            nextPort = nextPort == .max ? 49_152 : nextPort + 1
        } while isTaken(address.with(port: nextPort))
        return address.with(port: nextPort)
    }

    /// Linux: a port is taken by its own address and by the wildcard of the family, in both directions.
    private func isTaken(_ address: SocketAddress) -> Bool {
        sockets.contains { socket in
            let other = socket.localAddress
            return other.port == address.port && other.family == address.family
                && (other.isUnspecified || address.isUnspecified || other == address)
        }
    }

    func close(_ socket: SimSocket) {
        sockets.removeAll { $0 === socket }
    }

    func arrived(_ flight: Flight) -> Fate {
        guard state != .asleep else { return .dropped }
        if let segment = flight.segment {
            kernel.arrived(segment, from: flight.from, to: flight.to)
            return .dropped
        }
        for socket in sockets where socket.takes(flight.to) { return socket.queue(flight) ? .queued : .dropped }
        return .portClosed
    }

    /// The address packets leave from: `wanted`, or the first of the family; nil when the node has none.
    func source(_ wanted: SocketAddress?, for target: SocketAddress) -> SocketAddress? {
        guard let wanted, !wanted.isUnspecified else { return hosts.first { $0.family == target.family } }
        let host = wanted.with(port: 0)
        return hosts.contains(host) && host.family == target.family ? host : nil
    }
}

/// The unfinished tasks of one node.
///
/// Touched on the world's thread only.
final class SimTasks {
    private var cancels: [UInt64: () -> Void] = [:]
    private var last: UInt64 = 0
    private var isOver = false

    var count: Int { cancels.count }

    func next() -> UInt64 {
        last += 1
        return last
    }

    func started(_ number: UInt64, _ cancel: @escaping () -> Void) {
        cancels[number] = cancel
        if isOver { cancel() }
    }

    func ended(_ number: UInt64) {
        cancels[number] = nil
    }

    /// In the order they were started; those that start later are cancelled at once.
    func cancelAll() {
        isOver = true
        for number in cancels.keys.sorted() { cancels[number]?() }
    }
}

/// A wall clock that starts at a fixed date and goes with the world's time; tests may set it wrong.
///
/// `@unchecked Sendable`: a simulated world runs on one thread.
package final class SimWallClock: WallClock, @unchecked Sendable {
    private let world: SimWorld
    /// How wrong the clock is.
    package var offset: Duration = .zero

    init(_ world: SimWorld) {
        self.world = world
    }

    /// 2026-01-01T00:00:00Z at the world's start.
    private static let start: Int64 = 1_767_225_600_000

    package var millisecondsSinceEpoch: UInt64 {
        let elapsed = SimWorld.start.duration(to: world.now) + offset
        return UInt64(max(0, Self.start + elapsed.saturatingNanoseconds / 1_000_000))
    }
}
