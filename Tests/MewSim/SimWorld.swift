internal import CSys
package import MewBase
internal import MewLoop

/// Nodes, wires and a clock that moves only when nothing can run, all on the calling thread.
///
/// The seed decides which of the runnable nodes is next, what the links do and which random bytes the nodes draw: the
/// same seed gives the same run (spec/swift-notes.md §13). What would break that is refused: a bare `Task {}`,
/// `Task.sleep` and everything else that continues on another thread ends the process with a sentence.
///
///     try withSimWorld(seed: 7) { world in
///         let (left, right) = (world.addNode("left"), world.addNode("right"))
///         world.changeLinks { $0.loss = 0.05 }
///         let answer = try world.run(on: left) { try await dial(right.address(port: 443)) }
///     }
///
/// World and nodes hold each other until `shutDown`, which `withSimWorld` calls.
///
/// `@unchecked Sendable`: one thread, checked at every door.
package final class SimWorld: @unchecked Sendable {
    package let seed: UInt64
    package private(set) var now = SimWorld.start
    package private(set) var nodes: [SimNode] = []

    /// The world begins an hour after boot, so that code which subtracts from `now` meets no zero.
    package static let start = Instant(nanoseconds: 3_600_000_000_000)

    let internet: SimInternet
    /// The loop whose code is running.
    var current: SimLoop?
    private var thread = csys_thread_current()
    private var random: SeededGenerator
    private var loops: [SimLoop] = []
    private var runnable: [SimLoop] = []
    private var plans = TimerHeap()
    /// How many steps were taken: places to kill a node at.
    package private(set) var stepCount = 0

    package init(seed: UInt64) {
        self.seed = seed
        random = SeededGenerator(seed: seed)
        internet = SimInternet(seed: SeededGenerator.mix(seed &+ 1))
    }

    // MARK: - Building it

    /// A machine with its own address, `10.0.0.N` unless `hosts` are given. A name of a killed node may be used again,
    /// with its hosts: the machine restarted.
    ///
    /// - Parameters:
    ///   - more: addresses that it has as well.
    ///   - router: the box it is behind; its own address is one of that box's network then.
    package func addNode(
        _ name: String, hosts: [SocketAddress] = [], and more: [SocketAddress] = [], behind router: SimRouter? = nil
    ) -> SimNode {
        let number = nodes.count + 1
        var own = hosts
        if own.isEmpty { own = [freeAddress(behind: router, number)] }
        own += more
        let node = SimNode(self, name, own, behind: router, seed: SeededGenerator.mix(seed ^ UInt64(number) << 32))
        nodes.append(node)
        return node
    }

    private func freeAddress(behind router: SimRouter?, _ number: Int) -> SocketAddress {
        guard let router, router.behaviour.translates else {
            return SocketAddress(ipv4: 0x0a00_0000 + UInt32(number), port: 0)
        }
        return router.inside.freeAddress()
    }

    /// A NAT or a firewall. Its own address outside is `10.1.0.N`.
    ///
    /// - Parameter outer: the box it is behind itself, as those of many providers are.
    package func addRouter(
        _ name: String, behind outer: SimRouter? = nil, _ configure: (inout SimRouter.Behaviour) -> Void = { _ in }
    ) -> SimRouter {
        var behaviour = SimRouter.Behaviour()
        configure(&behaviour)
        let address =
            outer.map { $0.inside.freeAddress() }
            ?? SocketAddress(ipv4: 0x0a01_0001 + UInt32(internet.routers.count), port: 0)
        return internet.addRouter(name, behaviour, address: address, in: outer?.inside ?? internet.outside)
    }

    /// Changes what all links do that were not changed one by one before, except those inside boxes.
    package func changeLinks(_ body: (inout LinkProfile) -> Void) {
        body(&internet.outside.profile)
    }

    /// Changes the links between all addresses of two nodes, in both directions; of a node behind a box the box's link.
    package func changeLinks(between one: SimNode, and other: SimNode, _ body: (inout LinkProfile) -> Void) {
        changeLink(from: one, to: other, body)
        changeLink(from: other, to: one, body)
    }

    /// Changes one direction between two nodes, as `changeLinks(between:and:)` does both.
    package func changeLink(from: SimNode, to: SimNode, _ body: (inout LinkProfile) -> Void) {
        let isInside = from.realm === to.realm
        let (sources, targets) = isInside ? (from.ownHosts, to.ownHosts) : (from.outerHosts, to.outerHosts)
        for source in sources {
            for target in targets where source.address.family == target.address.family && source !== target {
                internet.change(source, target, body)
            }
        }
    }

    /// Changes one direction between two addresses outside.
    package func changeLink(from: SocketAddress, to: SocketAddress, _ body: (inout LinkProfile) -> Void) {
        let (source, target) = (
            internet.host(at: from, in: internet.outside), internet.host(at: to, in: internet.outside)
        )
        internet.change(source, target, body)
    }

    package var trace: Trace { internet.trace }

    /// Shows every datagram to `tap` when it leaves its machine; its bytes are lent for the call.
    package func watch(_ tap: @escaping (Trace.Entry, UnsafeRawBufferPointer) -> Void) { internet.tap = tap }

    /// Shows every datagram to `tap` when it comes to a machine, as `watch` does when it leaves one.
    package func watchArrivals(_ tap: @escaping (Trace.Entry, UnsafeRawBufferPointer) -> Void) {
        internet.arrivalTap = tap
    }

    package func keepTrace() { internet.trace.keepsEntries = true }

    /// Runs `action` when the clock gets to `time`, outside every node.
    package func plan(at time: Instant, _ action: @escaping () -> Void) {
        _ = plans.schedule(at: time, action)
    }

    // MARK: - Running it

    /// Runs until `goal` is true.
    ///
    /// - Throws: at once when the goal is not reached and nothing is left to do; when the goal takes more than `limit`
    ///   of virtual time, or more than `steps` steps without (two nodes that keep each other busy for ever).
    package func run(
        until goal: () -> Bool, limit: Duration = .seconds(3_600), steps: Int = 100_000_000
    ) throws(SimFailure) {
        thread = csys_thread_current()
        let (end, lastStep) = (now.advanced(by: limit), stepCount + steps)
        while !goal() {
            guard step() else { throw failure(.stuck) }
            guard now <= end else { throw failure(.tookTooLong) }
            guard stepCount <= lastStep else { throw failure(.tooManySteps) }
        }
    }

    /// Runs `body` as a task of `node` until it ends.
    package func run<Result: Sendable>(
        on node: SimNode, limit: Duration = .seconds(3_600), _ body: @escaping @Sendable () async throws -> Result
    ) throws -> Result {
        let outcome = Outcome<Result>()
        node.loop.spawn {
            do { outcome.value = .success(try await body()) } catch { outcome.value = .failure(error) }
        }
        try run(until: { outcome.value != nil }, limit: limit)
        guard let value = outcome.value else { throw failure(.stuck) }
        return try value.get()
    }

    /// Lets `time` pass.
    package func run(for time: Duration) throws(SimFailure) {
        var isOver = false
        plan(at: now.advanced(by: time)) { isOver = true }
        try run(until: { isOver }, limit: time + .seconds(1))
    }

    /// Takes exactly `count` steps, fewer when nothing is left to do: to kill a node at any point of its work.
    package func run(steps count: Int) {
        thread = csys_thread_current()
        for _ in 0..<count where !step() { return }
    }

    /// Kills every node, lets the code unwind, and lets go of the nodes. What it returns is a leak: tasks that did not
    /// end when they were cancelled.
    package func shutDown() -> Int {
        thread = csys_thread_current()
        for node in nodes { node.kill() }
        // A million steps: code that goes on for ever after its kill is a leak too.
        let lastStep = stepCount + 1_000_000
        while !runnable.isEmpty, stepCount < lastStep { _ = step() }
        plans.removeAll()
        let leaked = nodes.reduce(0) { $0 + $1.taskCount }
        internet.abandonAll()
        (nodes, loops, runnable) = ([], [], [])
        return leaked
    }

    // MARK: - Steps

    func checkThread() {
        precondition(
            csys_thread_current() == thread,
            "code left the simulation: a bare Task {}, Task.sleep or Task.detached below it? Use loop.spawn and LoopClock"
        )
    }

    func add(_ loop: SimLoop) {
        loops.append(loop)
    }

    func list(_ loop: SimLoop) {
        guard loop.nodeState == .running || loop.nodeState == .killed else { return }
        loop.isListed = true
        runnable.append(loop)
    }

    func unlist(_ loop: SimLoop) {
        guard loop.isListed else { return }
        loop.isListed = false
        runnable.removeAll { $0 === loop }
    }

    /// False when nothing is left to do.
    private func step() -> Bool {
        if runnable.isEmpty {
            guard advance() else { return false }
            guard !runnable.isEmpty else { return true }
        }
        stepCount += 1
        let index = runnable.count == 1 ? 0 : Int(random.below(UInt64(runnable.count)))
        let loop = runnable[index]
        loop.step()
        if !loop.hasWork { remove(loop, at: index) }
        return true
    }

    private func remove(_ loop: SimLoop, at index: Int) {
        // The step may have stopped or killed nodes, and with that changed the list.
        guard index < runnable.count, runnable[index] === loop else { return unlist(loop) }
        loop.isListed = false
        runnable[index] = runnable[runnable.count - 1]
        runnable.removeLast()
    }

    /// Moves the clock to what is next and makes it runnable.
    private func advance() -> Bool {
        var next = min(internet.nextArrival, plans.nextDeadline?.nanoseconds ?? .max)
        for loop in loops { next = min(next, loop.nextDeadline) }
        guard next < .max else { return false }
        if next > now.nanoseconds { now = Instant(nanoseconds: next) }
        internet.deliver(now: now.nanoseconds)
        let limit = plans.nextSequence
        while let plan = plans.popDue(at: now, scheduledBefore: limit) { plan() }
        for loop in loops where loop.nextDeadline <= now.nanoseconds { loop.wake() }
        return true
    }

    private func failure(_ reason: SimFailure.Reason) -> SimFailure {
        SimFailure(
            seed: seed, reason: reason, elapsed: Self.start.duration(to: now),
            nodes: nodes.map { node in
                let timers = node.loops.reduce(0) { $0 + $1.timerCount }
                return "\(node.name) \(node.state), \(node.taskCount) tasks, \(timers) timers"
            })
    }
}

/// What a task of a world came to. `@unchecked Sendable`: one thread.
private final class Outcome<Value>: @unchecked Sendable {
    var value: Result<Value, any Error>?
}

/// Why a run ended without its goal, with the seed that repeats it.
package struct SimFailure: Error, CustomStringConvertible {
    package enum Reason: Hashable, Sendable {
        /// Nothing can run, no timer is set and no packet is on its way.
        case stuck
        case tookTooLong
        case tooManySteps
    }

    package let seed: UInt64
    package let reason: Reason
    /// Virtual time since the start.
    package let elapsed: Duration
    /// One line per node.
    package let nodes: [String]

    package var description: String {
        "seed \(seed): \(reason) after \(elapsed): \(nodes.joined(separator: "; "))"
    }
}

/// Runs `body` with a world of its own and shuts it down afterwards. Tasks that did not end when their node was killed are
/// a defect of the code under test and end the process.
///
/// - Parameter mayAbandonTasks: what is under test waits for something else than its cancellation, and a kill takes that away.
package func withSimWorld<Result>(
    seed: UInt64, mayAbandonTasks: Bool = false, _ body: (SimWorld) throws -> Result
) rethrows -> Result {
    let world = SimWorld(seed: seed)
    let result: Result
    do {
        result = try body(world)
    } catch {
        // What went wrong first is what the test is told.
        _ = world.shutDown()
        throw error
    }
    let leaked = world.shutDown()
    precondition(leaked == 0 || mayAbandonTasks, "seed \(seed): \(leaked) tasks did not end when their node was killed")
    return result
}
