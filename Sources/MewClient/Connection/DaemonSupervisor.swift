internal import MewBase
public import MewWire

/// Keeps one connection to one daemon: dials, says hello, attaches again after a loss, and backs off (NEEDS N-15: one owner of
/// "reconnect" per peer).
///
/// Its owner runs `run()`, which returns when it is cancelled or `stop()` was called; everything it starts runs inside. The
/// state is one value, `view`; what happens comes out of `subscribe()` in order. Methods that ask something of the daemon need
/// a ready link and fail at once without one: a prompt is never queued behind an outage that nobody sees.
public actor DaemonSupervisor {
    let environment: ClientEnvironment
    let deadlines: ClientDeadlines
    /// Tried before what the registry knows, for this supervisor only.
    let extraRoutes: DialTarget?
    /// A person wants this device to be let in there.
    let pairs: Bool
    /// Whether operations of programs that have ended are this one's to ask about.
    let adopts: Bool

    /// Changed by `handle` alone.
    var state: DaemonState
    /// What is known now: what an app draws.
    public var view: DaemonView { state.view }
    var policy = ReconnectPolicy()
    private var feeds: [UInt64: Feed<ClientEvent>] = [:]
    private var nextFeed: UInt64 = 0
    /// Reasons to give up a wait or an attempt: `retry()` and `stop()`.
    private(set) var interruptions = Feed<Interruption>(capacity: 8)
    private(set) var isStopped = false

    // What lives as long as one connection.
    var connection: Connection?
    /// Counts connections.
    var generation: UInt64 = 0
    var waiters = Waiters()
    /// Asked of stock daemons on the one channel there is; at most one at a time.
    var stockOpening: Opening?
    var channels: [SessionID: SessionChannel] = [:]
    var generations: UInt64 = 0
    var attempts = AttachAttempts()
    /// Room for the one page that is being asked for; whoever wants another waits here.
    let pageLine = Feed<Void>(capacity: 1)
    /// Said just before a close with code 2.
    var revocation: DaemonMessage.Revoked?

    var operationWaiters: [OperationID: [Feed<Operation>]] = [:]
    /// How many states of an operation are on their way into the records.
    var beingKept: [OperationID: Int] = [:]

    enum Interruption: Sendable { case retry, stop }

    struct Connection {
        let link: any Link
        let control: any MessageChannel
        let ready: ReadyLink
        /// Work that must run inside `run()`: reading a session channel, attaching one again.
        let jobs: Feed<@Sendable () async -> Void>
    }

    /// - Parameters:
    ///   - extraRoutes: addresses and relays that the user named for this command.
    ///   - pairs: ask to be let in where this device is not known; otherwise that is a refusal, and nobody there is asked.
    ///   - adopts: ask about what programs of this device that have ended left without an end, and drop what has one. Not for
    ///     a command that shows only what it did itself: nobody would see how the others went.
    public init(
        record: DaemonRecord, environment: ClientEnvironment, deadlines: ClientDeadlines = ClientDeadlines(),
        extraRoutes: DialTarget? = nil, pairs: Bool = false, adopts: Bool = true
    ) {
        state = DaemonState(record: record, app: environment.app, device: environment.dialer.node)
        self.environment = environment
        self.deadlines = deadlines
        self.extraRoutes = extraRoutes
        self.pairs = pairs
        self.adopts = adopts
    }

    // MARK: - Events

    /// Everything that happens from now on. Read it or `finish()` it: an unread feed stops the reading of the connection.
    public func subscribe(capacity: Int = Feed<ClientEvent>.usualCapacity) -> Feed<ClientEvent> {
        nextFeed += 1
        let feed = Feed<ClientEvent>(capacity: capacity)
        feeds[nextFeed] = feed
        return feed
    }

    /// Call with nothing left to decide: it suspends while a reader is slow.
    func publish(_ event: ClientEvent) async {
        for (number, feed) in feeds.sorted(by: { $0.key < $1.key }) {
            // A connection that is cancelled meanwhile has happened all the same: `view` knows of the event.
            if await !feed.send(event), !feed.post(event) { feeds[number] = nil }
        }
    }

    /// How far an operation got. Does not wait for a reader, who may be the one that asked for it; an operation has few states.
    func publish(_ operation: Operation) {
        for feed in feeds.values { feed.post(.operation(operation)) }
    }

    // MARK: - What happens

    /// The one way in: the state decides, and what it wants is done in order.
    func handle(_ input: ClientInput) async {
        for effect in state.apply(input, at: environment.wallClock()) { await perform(effect) }
    }

    private func perform(_ effect: ClientEffect) async {
        switch effect {
        case .publish(let event): await publish(event)
        case .keep(let operation): await keep(operation)
        case .remember(let news): await remember(news)
        case .query(let operations, let settle, let ref):
            let query = ClientMessage.ReceiptQuery(operations: operations, settle: settle)
            // A link that is gone already says so when it is read, and the next one asks again.
            try? await send(.receiptQuery(query), ref: ref)
        case .resume(let id, let sequence):
            let message = ClientMessage.ResumeSession(sessionID: id, afterSequence: sequence)
            try? await send(.resumeSession(message), on: id)
        case .listSessions: try? await send(.listSessions)
        case .reattach(let id): reattach(id)
        case .handOver(let frame): waiters.take(frame, isNative: state.isNative)
        case .pass(let addresses, let relays):
            await connection?.link.learned(addresses: addresses, relays: relays)
        case .succeeded: policy.answered()
        case .revoked(let revoked): revocation = revoked
        }
    }

    // MARK: - What the owner says

    /// Dials now: ends a wait, replaces a running attempt, leaves a refusal behind. Does nothing while the link is ready.
    public func retry() { interrupt(if: policy.retried()) }

    /// The network changed, or the machine woke: whoever waits dials now, an attempt that is going on is joined.
    public func triggered() { interrupt(if: policy.triggered()) }

    /// The app is not seen any more (NEEDS N-16): no timer runs and nothing dials. A link that lives stays, until the system ends it.
    public func enterBackground() { interrupt(if: policy.enteredBackground()) }

    /// The app is seen again: dials at once. A link that seems to live is asked for a sign of life, and replaced without one.
    public func enterForeground() async {
        let reaction = policy.enteredForeground()
        interrupt(if: reaction)
        guard reaction == .probe else { return }
        let suspect = generation
        do throws(ClientError) {
            try await ping(within: deadlines.probe)
        } catch {
            // Not the one that replaced it meanwhile; and that too much is being asked already is no silence.
            // And a link that has ended meanwhile has said why: a dial now would throw that away.
            if connection != nil, generation == suspect, error.code != .busy { offer(.retry) }
        }
    }

    private func interrupt(if reaction: ReconnectPolicy.Reaction) {
        if reaction == .interrupt { offer(.retry) }
    }

    /// When it is full, the wait is over already.
    private func offer(_ interruption: Interruption) { interruptions.offerNow(interruption) }

    /// Ends `run()`, with a goodbye to the daemon.
    public func stop() {
        isStopped = true
        connection?.jobs.finish()
        offer(.stop)
        // Nothing more is told, and `run` must not wait for a reader that has left.
        for feed in feeds.values { feed.finish() }
    }

    // MARK: - Life

    public func run() async {
        await adoptOrphans()
        while !Task.isCancelled, !isStopped {
            let mayAttempt = policy.mayAttempt()
            forgetInterruptions()
            guard mayAttempt else {
                _ = await interruptions.next()
                continue
            }
            let end = await untilInterrupted { await self.connectAndServe() }
            guard !Task.isCancelled, !isStopped else { break }
            guard let end else { continue }  // replaced by a retry
            let step = policy.ended(end, entropy: environment.entropy)
            forgetInterruptions()
            await rest(after: step)
        }
        let wasIdle = view.phase == .idle
        _ = state.apply(.phase(.idle), at: environment.wallClock())
        for feed in feeds.values {
            if !wasIdle { feed.post(.phase(.idle)) }
            feed.finish()
        }
        feeds = [:]
    }

    /// What came before this moment the policy knows; it must not end what begins now.
    private func forgetInterruptions() { interruptions = Feed(capacity: 8) }

    private func rest(after step: ReconnectPolicy.Step) async {
        switch step {
        case .stop:
            isStopped = true
        case .park(let refusal):
            await handle(.phase(.parked(refusal)))
            _ = await interruptions.next()
        case .sleep(let trouble):
            await handle(.phase(.waiting(.zero, trouble)))
        case .dial(let wait, let trouble):
            await handle(.phase(.waiting(wait, trouble)))
            let clock = environment.clock
            await untilInterrupted { try? await clock.sleep(for: wait) }
        }
    }

    /// Nil when `retry()` or `stop()` came first; the body is cancelled then.
    @discardableResult
    private func untilInterrupted<Value: Sendable>(
        _ body: @escaping @Sendable () async -> Value
    ) async -> Value? {
        let interruptions = interruptions
        return await withTaskGroup(of: Value?.self) { group in
            group.addTask { await body() }
            group.addTask {
                _ = await interruptions.next()
                return nil
            }
            let first = await group.next() ?? nil
            group.cancelAll()
            return first
        }
    }
}
