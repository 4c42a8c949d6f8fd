package import MewBase
package import MewLoop

/// What a loop hands over at the beginning of a turn.
protocol SimReadable: AnyObject {
    func deliver()
}

/// A loop whose time is the world's: it does one thing at a time, whenever the world picks it.
///
/// Its turn is that of the real loop: packets, timers, jobs (one a step, so that nodes interleave), end-of-turn actions.
///
/// `@unchecked Sendable`: a simulated world runs on one thread, and `enqueue` refuses every other one.
package final class SimLoop: Loop, @unchecked Sendable {
    private enum Work {
        case job(UnownedJob)
        case action(@Sendable () -> Void)
    }

    private let world: SimWorld
    private let nodeName: String
    private let tasks: SimTasks
    var nodeState = SimNode.State.running
    private var queue: [Work] = []
    private var queueHead = 0
    private var timers = TimerHeap()
    private var endActions: [() -> Void] = []
    private var readable: [any SimReadable] = []
    /// Whether the world's list of runnable loops has it.
    var isListed = false

    init(_ world: SimWorld, _ nodeName: String, _ tasks: SimTasks) {
        self.world = world
        self.nodeName = nodeName
        self.tasks = tasks
    }

    // MARK: - Executor

    package func enqueue(_ job: consuming ExecutorJob) {
        add(.job(UnownedJob(job)))
    }

    package func post(_ action: @escaping @Sendable () -> Void) {
        add(.action(action))
    }

    private func add(_ work: Work) {
        world.checkThread()
        queue.append(work)
        wake()
    }

    package var isCurrent: Bool { world.current === self }

    package func checkIsolated() {
        precondition(isCurrent, "touched outside its loop, on node \(nodeName)")
    }

    package func isIsolatingCurrentContext() -> Bool? { isCurrent }

    @discardableResult
    package func spawn<Success: Sendable>(
        _ body: @escaping @Sendable () async -> Success
    ) -> Task<Success, Never> {
        let number = tasks.next()
        let task = Task(executorPreference: self) {
            let result = await body()
            self.tasks.ended(number)
            return result
        }
        tasks.started(number) { task.cancel() }
        return task
    }

    /// Runs `body` at once as if a turn had called it: for tests that set up sockets. Its end-of-turn actions follow when
    /// the world runs.
    package func enter<Result>(_ body: () throws -> Result) rethrows -> Result {
        let outer = world.current
        world.current = self
        defer { world.current = outer }
        return try body()
    }

    // MARK: - Time

    package var now: Instant { world.now }

    package func schedule(at deadline: Instant, _ action: @escaping () -> Void) -> LoopTimer {
        checkIsolated()
        let timer = timers.schedule(at: deadline, action)
        if nodeState == .killed { timers.cancel(timer) }
        return timer
    }

    package func cancel(_ timer: LoopTimer) {
        checkIsolated()
        timers.cancel(timer)
    }

    package func atEndOfTurn(_ action: @escaping () -> Void) {
        checkIsolated()
        endActions.append(action)
        wake()
    }

    /// When its next timer is due; `UInt64.max` when there is none, or its node does not run.
    var nextDeadline: UInt64 {
        nodeState == .running ? timers.nextDeadline?.nanoseconds ?? .max : .max
    }

    var timerCount: Int { timers.count }

    func forgetTimers() { timers.removeAll() }

    // MARK: - Steps

    var hasWork: Bool {
        queueHead < queue.count || !endActions.isEmpty || !readable.isEmpty
            || timers.nextDeadline?.nanoseconds ?? .max <= world.now.nanoseconds
    }

    func wake() {
        if !isListed { world.list(self) }
    }

    func becameReadable(_ socket: any SimReadable) {
        readable.append(socket)
        wake()
    }

    /// One job; or, when none is queued, the end of the turn; or, when that was done, the packets and timers of the next.
    func step() {
        enter {
            if queueHead < queue.count {
                runOne()
            } else if !endActions.isEmpty {
                runEndActions()
            } else {
                receive()
                fireTimers()
            }
        }
    }

    private func runOne() {
        let work = queue[queueHead]
        queueHead += 1
        if queueHead == queue.count {
            queue.removeAll(keepingCapacity: true)
            queueHead = 0
        }
        switch work {
        case .job(let job):
            job.runSynchronously(isolatedTo: asUnownedSerialExecutor(), taskExecutor: asUnownedTaskExecutor())
        case .action(let action):
            action()
        }
    }

    private func runEndActions() {
        while !endActions.isEmpty {
            let actions = endActions
            endActions.removeAll(keepingCapacity: true)
            for action in actions { action() }
        }
    }

    private func receive() {
        let sockets = readable
        readable.removeAll(keepingCapacity: true)
        for socket in sockets { socket.deliver() }
    }

    private func fireTimers() {
        let limit = timers.nextSequence
        while let action = timers.popDue(at: world.now, scheduledBefore: limit) { action() }
    }
}
