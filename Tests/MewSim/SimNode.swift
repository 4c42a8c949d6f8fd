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
    package unowned let world: SimWorld
    package let hosts: [SocketAddress]
    package let entropy: SeededEntropy
    package let wallClock: SimWallClock
    package private(set) var state = State.running

    private(set) var loops: [SimLoop] = []
    private var sockets: [SocketAddress: SimSocket] = [:]
    private var nextPort: UInt16 = 49_152
    private var tasks: [UInt64: () -> Void] = [:]
    private var taskNumber: UInt64 = 0
    private var killActions: [() -> Void] = []

    init(_ world: SimWorld, _ name: String, _ hosts: [SocketAddress], seed: UInt64) {
        self.world = world
        self.name = name
        self.hosts = hosts.map { $0.with(port: 0) }
        entropy = SeededEntropy(seed: seed)
        wallClock = SimWallClock(world)
        loops = [SimLoop(world, self)]
    }

    /// The loop of its network.
    package var loop: SimLoop { loops[0] }

    package var network: SimNetwork { SimNetwork(node: self) }

    /// Another loop of the same machine, for what blocks in reality.
    package func makeLoop() -> SimLoop {
        let loop = SimLoop(world, self)
        loops.append(loop)
        return loop
    }

    package var isAlive: Bool { state != .killed }
    var isRunnable: Bool { state == .running || state == .killed }

    /// The first address of the node, with `port`.
    package func address(port: UInt16) -> SocketAddress { hosts[0].with(port: port) }

    // MARK: - Tasks

    /// Tasks of this node that have not ended.
    package var taskCount: Int { tasks.count }

    func nextTaskNumber() -> UInt64 {
        taskNumber += 1
        return taskNumber
    }

    func taskStarted(_ number: UInt64, _ cancel: @escaping () -> Void) {
        tasks[number] = cancel
        if !isAlive { cancel() }
    }

    func taskEnded(_ number: UInt64) {
        tasks[number] = nil
    }

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
    }

    /// Runs at the instant of the kill, before anything else: where a simulated disk is cut off.
    package func onKill(_ action: @escaping () -> Void) {
        killActions.append(action)
    }

    /// From this instant nothing the node does has an effect: sockets send nothing, timers do not fire. Then its tasks
    /// are cancelled in the order they were started, and their code unwinds while the world runs.
    package func kill() {
        guard isAlive else { return }
        state = .killed
        for action in killActions { action() }
        killActions = []
        sockets = [:]
        for loop in loops {
            loop.forgetTimers()
            if loop.hasWork { loop.wake() }
        }
        for number in tasks.keys.sorted() { tasks[number]?() }
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
        if isAlive { sockets[bound] = socket }
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
        if address.isUnspecified {
            return sockets.keys.contains { $0.family == address.family && $0.port == address.port }
        }
        return sockets[address] != nil || sockets[address.wildcard] != nil
    }

    func close(_ socket: SimSocket) {
        if sockets[socket.localAddress] === socket { sockets[socket.localAddress] = nil }
    }

    func arrived(_ flight: Flight) -> Fate {
        guard state != .asleep else { return .dropped }
        guard let socket = sockets[flight.to] ?? sockets[flight.to.wildcard] else { return .portClosed }
        return socket.queue(flight) ? .queued : .dropped
    }

    /// The address packets leave from: `wanted`, or the first of the family; nil when the node has none.
    func source(_ wanted: SocketAddress?, for target: SocketAddress) -> SocketAddress? {
        guard let wanted, !wanted.isUnspecified else { return hosts.first { $0.family == target.family } }
        let host = wanted.with(port: 0)
        return hosts.contains(host) && host.family == target.family ? host : nil
    }
}

extension SocketAddress {
    fileprivate var wildcard: SocketAddress {
        (family == .ipv4 ? SocketAddress.anyIPv4 : .anyIPv6).with(port: port)
    }
}

/// A wall clock that starts at a fixed date and goes with the world's time; tests may set it wrong.
///
/// `@unchecked Sendable`: a simulated world runs on one thread.
package final class SimWallClock: WallClock, @unchecked Sendable {
    private unowned let world: SimWorld
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
