internal import CSys
package import MewBase
internal import Synchronization

/// A thread that waits in epoll and runs everything that is pinned to it: packets, timers, jobs.
///
/// It is the serial executor of its actors *and* the task executor of the tasks that touch them, so that a packet is
/// read, handled and answered without a thread hop (spec/swift-notes.md §4). An actor pins itself with a stored
/// executor, which saves an existential call per hop:
///
///     actor Connection {
///         nonisolated let unownedExecutor: UnownedSerialExecutor
///         private let loop: any Loop
///
///         init(loop: any Loop) {
///             self.loop = loop
///             unownedExecutor = loop.asUnownedSerialExecutor()
///         }
///     }
///
/// The actor must hold the loop, as above: the executor reference alone does not keep it alive. Timers and socket
/// callbacks run on the loop's thread outside any task; they enter the actor with `assumeIsolated`.
///
/// The owner stops what runs here (closes sockets, cancels tasks and waits for them) before it calls `stop`.
/// Blocking work gets a loop of its own, see `BlockingLoop`.
///
/// `@unchecked Sendable`: `inbox` is behind its lock; atomics are atomic; everything under "Loop thread only" is
/// touched by the one thread that `run` runs on, which the callers' preconditions check.
package final class EventLoop: Loop, @unchecked Sendable {
    enum Work {
        case job(UnownedJob)
        case action(@Sendable () -> Void)
    }

    struct Inbox {
        var work: [Work] = []
        /// False before the start and after the stop.
        var hasThread = false
    }

    // MARK: Any thread

    private let name: String
    let spin: Duration
    let waitsInMilliseconds: Bool
    let inbox = Mutex(Inbox())
    /// True from the first addition to `inbox` until the loop takes it. Cleared *before* the inbox is taken, and looked
    /// at before every wait, whoever set it: otherwise a job added late in a turn waits for the next packet.
    let signaled = Atomic<Bool>(true)
    private let thread = Atomic<UInt64>(0)
    let stopping = Atomic<Bool>(false)
    private let signals = Atomic<Int>(0)
    let poll: Int32
    let wake: Int32
    /// Epoll's time-out stands still while the machine sleeps: waits of a second and more are backed by this timer.
    let bootTimer: Int32

    // MARK: Loop thread only

    var turnTime: Instant
    var timers = TimerHeap()
    var endActions: [() -> Void] = []
    /// Those of the present end of turn. Two arrays that change places, so that neither is made anew for every turn.
    var runningEndActions: [() -> Void] = []
    var descriptors = DescriptorTable()
    var taken: [Work] = []
    /// How many turns there were. A gauge: an idle loop has a few a second at most.
    package internal(set) var turnCount = 0
    var spinning: Spinning
    /// What `bootTimer` is set to.
    var armedDeadline = Instant.distantFuture
    var sleepDetector = SleepDetector(boot: csys_boot_nanoseconds(), awake: csys_awake_nanoseconds())
    var wakeActions: [(Duration) -> Void] = []
    let events = UnsafeMutablePointer<csys_event>.allocate(capacity: EventLoop.eventsPerTurn)

    /// More sockets than one endpoint has; what does not fit is reported in the next turn.
    static let eventsPerTurn = 64

    /// - Parameters:
    ///   - name: shows in the list of threads, at most 15 bytes.
    ///   - spin: while events follow one another faster than this, poll that long before sleeping; see `Spinning`. For a loop
    ///     of sockets, not for one whose work comes from other threads.
    ///   - waitsInMilliseconds: a test switch: as on kernels before 5.11, which have no finer wait.
    package init(name: String, spin: Duration = .zero, waitsInMilliseconds: Bool = false) throws(SystemError) {
        self.name = name
        self.spin = spin
        spinning = Spinning(limit: spin)
        self.waitsInMilliseconds = waitsInMilliseconds
        turnTime = Self.systemTime
        poll = try checked(csys_poll_create(), "creating an event loop")
        wake = csys_wake_create()
        bootTimer = csys_boot_timer_create()
        // From here on `deinit` closes what was opened, also when the rest throws.
        try watch(wake, as: DescriptorTable.wakeToken)
        try watch(bootTimer, as: DescriptorTable.timerToken)
        inbox.withLock { $0.hasThread = true }
        try check(startThread(), "starting the thread \(name)")
    }

    private func watch(_ own: Int32, as token: UInt64) throws(SystemError) {
        let descriptor = try checked(own, "creating an event loop")
        try check(csys_poll_add(poll, descriptor, UInt32(CSYS_READABLE), token), "creating an event loop")
    }

    deinit {
        events.deallocate()
        for descriptor in [wake, bootTimer] where descriptor >= 0 { csys_close(descriptor) }
        csys_close(poll)
    }

    static var systemTime: Instant { Instant(nanoseconds: csys_boot_nanoseconds()) }

    // MARK: - Life of the thread

    private func startThread() -> Int32 {
        let context = Unmanaged.passRetained(self)
        let error = csys_thread_start(
            name, { Unmanaged<EventLoop>.fromOpaque($0!).takeRetainedValue().run() }, context.toOpaque())
        if error != 0 { context.release() }
        return error
    }

    private func run() {
        thread.store(csys_thread_current(), ordering: .relaxed)
        repeat { turn() } while !leave()
    }

    /// True when the thread may end: a stop was asked for and nothing is queued.
    private func leave() -> Bool {
        guard stopping.load(ordering: .acquiring) else { return false }
        timers.removeAll()
        descriptors.removeAll { csys_poll_remove(poll, $0) }
        wakeActions = []
        return inbox.withLock { inbox in
            guard inbox.work.isEmpty else { return false }
            inbox.hasThread = false
            thread.store(0, ordering: .relaxed)
            return true
        }
    }

    /// Ends the thread after the work that is queued. Timers, watched descriptors and wake actions are forgotten.
    /// Idempotent; from any thread.
    ///
    /// Jobs that come later (an actor's `isolated deinit`, the last step of a cancelled task) still run: a thread is
    /// started for them, which ends when the queue is empty.
    package func stop() {
        stopping.store(true, ordering: .releasing)
        post {}
    }

    // MARK: - Executor

    package func enqueue(_ job: consuming ExecutorJob) {
        add(.job(UnownedJob(job)))
    }

    package func post(_ action: @escaping @Sendable () -> Void) {
        add(.action(action))
    }

    private func add(_ work: Work) {
        let needsThread = inbox.withLock { inbox in
            inbox.work.append(work)
            defer { inbox.hasThread = true }
            return !inbox.hasThread
        }
        guard !needsThread else {
            signaled.store(true, ordering: .sequentiallyConsistent)
            let error = startThread()
            precondition(error == 0, "no thread for the last work of a stopped loop: error \(error)")
            return
        }
        if !signaled.exchange(true, ordering: .sequentiallyConsistent), !isCurrent {
            signals.add(1, ordering: .relaxed)
            csys_wake_signal(wake)
        }
    }

    /// How often another thread had to wake this one. For tests: a hop costs 14 µs, and there should be none.
    package var signalCount: Int { signals.load(ordering: .relaxed) }

    package var isCurrent: Bool { csys_thread_current() == thread.load(ordering: .relaxed) }

    package func checkIsolated() {
        precondition(isCurrent, "touched outside the thread of loop \(name)")
    }

    package func isIsolatingCurrentContext() -> Bool? { isCurrent }

    // MARK: - Time

    package var now: Instant { isCurrent ? turnTime : Self.systemTime }

    package func schedule(at deadline: Instant, _ action: @escaping () -> Void) -> LoopTimer {
        checkIsolated()
        return timers.schedule(at: deadline, action)
    }

    package func cancel(_ timer: LoopTimer) {
        checkIsolated()
        timers.cancel(timer)
    }

    package func atEndOfTurn(_ action: @escaping () -> Void) {
        checkIsolated()
        endActions.append(action)
    }

    /// Runs `action` in the first turn after each sleep of the machine, with how long it slept. On the loop's thread only.
    package func onWake(_ action: @escaping (Duration) -> Void) {
        checkIsolated()
        wakeActions.append(action)
    }
}

/// A loop whose actors may block their thread: the SQLite store, directory walks. The same machine as `EventLoop`; the
/// name says that no socket is to be bound on it, because nothing would be read while it blocks.
package typealias BlockingLoop = EventLoop
