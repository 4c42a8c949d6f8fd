internal import CSys
internal import MewBase
internal import Synchronization

/// One turn of the loop: wait, packets, timers, jobs, end-of-turn actions.
extension EventLoop {
    /// Jobs that enqueue jobs are run in the same turn, so that what they write leaves in the same flush; after this
    /// many rounds the sockets and timers get their turn even if two tasks keep waking each other.
    private static let jobRounds = 32

    /// A wait from here on (in nanoseconds) is worth a system call that makes it end on waking, and may have been a sleep.
    private static let longWait: UInt64 = 1_000_000_000

    func turn() {
        let count = wait()
        turnCount += 1
        let before = turnTime
        turnTime = max(turnTime, Self.systemTime)
        if turnTime.nanoseconds - before.nanoseconds >= Self.longWait { noticeSleep() }
        deliver(count)
        // Packets first: an acknowledgement that waits in the socket must beat the loss timer that is due with it.
        fireTimers()
        runJobs()
        runEndActions()
    }

    /// How many descriptors are ready; returns when some are, when the next timer is due or when there is other work.
    ///
    /// Waking a sleeping thread costs a peer on the same machine or in the same rack more than QUIC itself does. So after
    /// a wait that was short the next one is expected to be, and begins with polling. When that was wrong it was wrong
    /// once: the wait was long, and the following one sleeps at once.
    private func wait() -> Int {
        let start = Self.systemTime
        let limit = waitNanoseconds(from: start)
        guard limit != 0, spin > .zero else { return pollDescriptors(limit) }
        let count = spinning.expectsSoon ? spin(from: start, limit) : 0
        if count > 0 || signaled.load(ordering: .sequentiallyConsistent) {
            spinning.waited(start.duration(to: Self.systemTime))
            return count
        }
        let slept = pollDescriptors(waitNanoseconds(from: Self.systemTime))
        spinning.waited(start.duration(to: Self.systemTime))
        return slept
    }

    /// Polls until something is ready, `spin` or `limit` is over, or another thread has brought work.
    private func spin(from start: Instant, _ limit: Int64) -> Int {
        let longest = UInt64(spin.saturatingNanoseconds)
        let end = Instant(nanoseconds: start.nanoseconds + (limit < 0 ? longest : min(longest, UInt64(limit))))
        repeat {
            let count = pollDescriptors(0)
            if count > 0 { return count }
        } while !signaled.load(ordering: .sequentiallyConsistent) && Self.systemTime < end
        return 0
    }

    private func pollDescriptors(_ nanoseconds: Int64) -> Int {
        let count = csys_poll_wait(
            poll, events, Int32(Self.eventsPerTurn), nanoseconds, waitsInMilliseconds ? 1 : 0)
        precondition(count >= 0, "epoll refused our descriptor: error \(-count)")
        return Int(count)
    }

    /// Nanoseconds from `now` until the next timer; 0 when there is work; -1 when only an event can bring any.
    func waitNanoseconds(from now: Instant = EventLoop.systemTime) -> Int64 {
        if signaled.load(ordering: .sequentiallyConsistent) { return 0 }
        guard let next = timers.nextDeadline else { return -1 }
        guard next > now else { return 0 }
        let wait = next.nanoseconds - now.nanoseconds
        if wait >= Self.longWait, next != armedDeadline {
            armedDeadline = next
            csys_boot_timer_arm(bootTimer, next.nanoseconds)
        }
        return Int64(clamping: wait)
    }

    private func noticeSleep() {
        let slept = sleepDetector.observe(boot: csys_boot_nanoseconds(), awake: csys_awake_nanoseconds())
        if let slept { for action in wakeActions { action(slept) } }
    }

    private func deliver(_ count: Int) {
        for index in 0..<count {
            let event = events[index]
            if event.token == DescriptorTable.wakeToken {
                csys_wake_clear(wake)
            } else if event.token == DescriptorTable.timerToken {
                csys_boot_timer_clear(bootTimer)
                armedDeadline = .distantFuture
            } else {
                // A handler that ran before may have unwatched this one: then there is none to call.
                descriptors.handler(for: event.token)?(Readiness(rawValue: event.ready))
            }
        }
    }

    private func fireTimers() {
        let limit = timers.nextSequence
        while let action = timers.popDue(at: turnTime, scheduledBefore: limit) { action() }
    }

    private func runJobs() {
        for _ in 0..<Self.jobRounds where signaled.load(ordering: .sequentiallyConsistent) {
            signaled.store(false, ordering: .sequentiallyConsistent)
            inbox.withLock { swap(&$0.work, &taken) }
            for work in taken { run(work) }
            taken.removeAll(keepingCapacity: true)
        }
    }

    private func run(_ work: Work) {
        switch work {
        case .job(let job):
            job.runSynchronously(
                isolatedTo: asUnownedSerialExecutor(), taskExecutor: asUnownedTaskExecutor())
        case .action(let action):
            action()
        }
    }

    private func runEndActions() {
        while !endActions.isEmpty {
            swap(&endActions, &runningEndActions)
            for action in runningEndActions { action() }
            runningEndActions.removeAll(keepingCapacity: true)
        }
    }
}
