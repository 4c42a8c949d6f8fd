import MewBase
import MewLoop

/// How long processes are waited for.
struct Patience: Sendable {
    /// How long background processes that hold the output open may go on after the shell has ended.
    var linger: Duration = .seconds(2)
    /// Between SIGTERM and SIGKILL.
    var grace: Duration = .seconds(2)
    /// Killed processes are gone at once, except those that hang in the kernel; nobody waits longer for these.
    var kill: Duration = .seconds(2)
}

/// One command from its start to the end of everything it started (`ShellPhase`).
///
/// Pinned to a loop that is not the network's: looking for processes takes a millisecond. One consumer calls `next`.
actor ShellRun {
    enum Event: Equatable {
        case output([OutputPacer.Action])
        case ended(ShellEnd)
    }

    nonisolated let unownedExecutor: UnownedSerialExecutor
    private let loop: EventLoop
    private let patience: Patience
    private(set) var phase = ShellPhase.idle
    private var pacer: OutputPacer
    private var child: ChildProcess?
    private var exit: ProcessExit?
    private var gate: Descriptor?
    private var output: Descriptor?
    private var outputWatch: DescriptorWatch?
    private var exitWatch: DescriptorWatch?
    private var timer: LoopTimer?
    private var waiter: CheckedContinuation<Event, Never>?
    /// Processes that outlived the shell, watched while they get their grace.
    private var leftovers: [(process: Descriptor, watch: DescriptorWatch)] = []
    private var endedLeftovers: [String] = []
    /// The environment entry by which processes that left the session are found.
    private var marker = ""

    init(loop: EventLoop, patience: Patience = Patience()) {
        self.loop = loop
        self.patience = patience
        unownedExecutor = loop.asUnownedSerialExecutor()
        pacer = OutputPacer(now: loop.now)
    }

    // MARK: - Life

    /// Starts the command as far as its gate.
    ///
    /// - Parameter marker: an environment entry that only this run has.
    func start(_ program: ChildProcess.Program, marker: String) throws(SystemError) -> ProcessIdentity {
        precondition(phase == .idle, "a run is one command")
        let (gate, output) = (try Pipe(), try Pipe())
        var program = program
        program.environment.append(marker)
        self.marker = marker
        let child = try ChildProcess(program, input: gate.reader, output: output.writer)
        try output.reader.makeNonBlocking()
        self.child = child
        self.gate = gate.writer
        self.output = output.reader
        exitWatch = try loop.watch(child.descriptor.number, for: .readable) { [self] _ in
            assumeIsolated { $0.leaderExited() }
        }
        phase = .held
        return child.identity
    }

    /// Opens the gate: from now on the command runs.
    func release() { perform(phase.released) }

    /// Ends the command and all it started: SIGTERM, and SIGKILL for who is left after the grace. Idempotent.
    func terminate() {
        perform(phase.terminated)
        rearm()
    }

    private func perform(_ step: ShellPhase.Step) {
        switch step {
        case .nothing: break
        case .open: open()
        case .giveUpGate:
            // Without its opening the gate ends by itself.
            gate = nil
            phase = .ending(until: loop.now.advanced(by: patience.grace))
        case .linger: phase = .lingering(until: loop.now.advanced(by: patience.linger))
        case .endLeftovers: endLeftovers()
        case .endSession: endSession()
        case .kill: kill()
        case .finish: finish()
        }
    }

    private func open() {
        phase = .running
        pacer = OutputPacer(now: loop.now)
        gate?.write(Shell.opening)
        readOn()
    }

    /// What happens next: output as it is due, then the end, once.
    func next() async -> Event {
        await withCheckedContinuation { continuation in
            // Looked at in here: the closure may run later than the call (spec/swift-notes.md §4).
            waiter = continuation
            wake()
        }
    }

    private func take() -> Event? {
        let actions = phase == .over ? pacer.finish() : pacer.due(now: loop.now)
        // Also when there was nothing to tell: past `liveBytes` batches are only kept.
        readOn()
        if !actions.isEmpty { return .output(actions) }
        return phase == .over ? .ended(end) : nil
    }

    private var end: ShellEnd {
        ShellEnd(
            exit: exit, output: pacer.kept.text, ended: endedLeftovers,
            escaped: ProcessSession.processes(marked: marker).compactMap(Shell.commandLine(of:)))
    }

    private func wake() {
        if let waiting = waiter, let event = take() {
            waiter = nil
            waiting.resume(returning: event)
        }
        rearm()
    }

    // MARK: - Output

    /// Watches the output as long as there is room; otherwise not at all, since a closed pipe is reported unasked.
    private func readOn() {
        guard let output, phase != .held, pacer.readableBytes > 0 else { return stopReading() }
        guard outputWatch == nil else { return }
        outputWatch = try? loop.watch(output.number, for: .readable) { [self] _ in
            assumeIsolated { $0.readOutput() }
        }
        if outputWatch == nil { outputEnded() }
    }

    private func stopReading() {
        if let watch = outputWatch { loop.unwatch(watch) }
        outputWatch = nil
    }

    private func readOutput() {
        guard let output, pacer.readableBytes > 0 else { return stopReading() }
        switch output.read(maxBytes: pacer.readableBytes) {
        case .bytes(let bytes):
            pacer.receive(bytes, now: loop.now)
            if pacer.readableBytes == 0 { stopReading() }
            wake()
        case .nothing:
            return
        case .end:
            outputEnded()
        }
    }

    private func outputEnded() {
        stopReading()
        output = nil
        settle()
    }

    // MARK: - The end

    private func leaderExited() {
        guard let ended = child?.reap() else { return }
        exit = ended
        if let watch = exitWatch { loop.unwatch(watch) }
        exitWatch = nil
        perform(phase.leaderExited)
        settle()
    }

    /// Goes on as far as what has happened allows.
    private func settle() {
        perform(
            phase.settled(hasExited: exit != nil, hasOutput: output != nil, isAnybodyLeft: !living.isEmpty))
        wake()
    }

    private func deadlinePassed() {
        perform(phase.due(now: loop.now))
        wake()
    }

    private func endLeftovers() {
        guard !living.isEmpty else { return finish() }
        endedLeftovers = living.compactMap(Shell.commandLine(of:))
        endSession()
    }

    private func endSession() {
        phase = .ending(until: loop.now.advanced(by: patience.grace))
        // Watched before they are signalled, so that no end is missed. More than these are looked at when the grace is over.
        for member in living.prefix(64) {
            guard let process = member.descriptor() else { continue }
            let watch = try? loop.watch(process.number, for: .readable) { [self] _ in
                assumeIsolated { $0.leftoverEnded(process) }
            }
            if let watch { leftovers.append((process, watch)) }
        }
        session?.signal(ProcessSession.termination)
    }

    private func leftoverEnded(_ process: Descriptor) {
        for leftover in leftovers where leftover.process === process { loop.unwatch(leftover.watch) }
        leftovers.removeAll { $0.process === process }
        settle()
    }

    private func kill() {
        phase = .killed(until: loop.now.advanced(by: patience.kill))
        session?.kill()
        settle()
    }

    private var session: ProcessSession? { child.map { ProcessSession(leader: $0.identity) } }

    private var living: [ProcessSession.Member] {
        (session?.members() ?? []).filter { Shell.commandLine(of: $0) != nil }
    }

    private func finish() {
        phase = .over
        drain()
        for leftover in leftovers { loop.unwatch(leftover.watch) }
        leftovers = []
        if let watch = exitWatch { loop.unwatch(watch) }
        exitWatch = nil
        gate = nil  // the watcher goes
    }

    /// Takes what is in the pipe already; whoever still holds its other end is not waited for.
    private func drain() {
        stopReading()
        while let output, pacer.readableBytes > 0, case .bytes(let bytes) = output.read(maxBytes: pacer.readableBytes) {
            pacer.receive(bytes, now: loop.now)
        }
        output = nil
    }

    // MARK: - Time

    private func rearm() {
        if let timer { loop.cancel(timer) }
        timer = nil
        guard let deadline = nextDeadline else { return }
        timer = loop.schedule(at: deadline) { [self] in assumeIsolated { $0.deadlinePassed() } }
    }

    private var nextDeadline: Instant? {
        switch phase {
        case .idle, .held, .over: nil
        // Without a consumer there is nobody to tell, and the batch waits.
        case .running, .lingering, .ending, .killed:
            [phase.deadline, waiter == nil ? nil : pacer.nextDeadline].compactMap(\.self).min()
        }
    }
}

/// How a command ended, and what became of the processes it left.
struct ShellEnd: Equatable, Sendable {
    /// Nil when it does not die: it hangs in the kernel.
    let exit: ProcessExit?
    let output: String
    /// Command lines of background processes that were ended after the shell.
    let ended: [String]
    /// Command lines of processes that left the session, and still run.
    let escaped: [String]
}
