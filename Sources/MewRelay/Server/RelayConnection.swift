internal import MewBase
internal import MewIdentity
internal import MewLoop
internal import MewWire

/// One connection to the relay, from its first byte to its last. Touched on the loop's thread only.
///
///     request ──▶ admission ──▶ serving
///        │            │            │
///        └────────────┴────────────┴──▶ closing ──▶ (gone)
///
/// A class because the socket and the timer call back; what it decides with are values of their own.
final class RelayConnection {
    enum Stage {
        /// Collecting the head of an HTTP request, and its body if it has one.
        case request
        /// The WebSocket is open, and who it is not known.
        case admission(RelayAdmission)
        case serving(NodeID)
        /// The last bytes are queued; what still comes is thrown away.
        case closing(until: Instant)
    }

    let number: ConnectionNumber
    /// Its first request is answered with this, and nothing else happens.
    let turnedAway: SourceBudget.Refusal?
    let source: SourceBudget.Source
    let socket: any StreamEnd
    unowned let hub: RelayHub
    let tls: TLSEngine?

    var stage = Stage.request
    var version = RelayVersion.v2
    /// It has a place, and has not proven who it is.
    var isStranger: Bool
    /// What it has shown; the rules may change.
    var token: String?
    /// It says that its key is one that is thrown away.
    var isGuest = false
    /// The node whose guest it is, when it has proved that.
    var account: NodeID?
    /// What did not make up a whole request or frame yet. Bounded by the largest of them.
    var unread: [UInt8] = []
    var reader = WebSocketReader(maxMessageBytes: RelayConnection.maxMessageBytes)
    let queue: FrameQueue<ConnectionNumber>
    /// TLS records that the socket has not taken.
    var unsent: [UInt8] = []
    var unsentStart = 0
    /// Since when the socket takes nothing.
    var blockedSince: Instant?
    var isFlushPlanned = false
    var isReadingPaused = false
    var bucket: TokenBucket?
    /// When it was told last that it has to wait.
    var toldRate: Instant?
    var ping: PingClock
    let accepted: Instant
    private var timer: LoopTimer?
    private var timerDeadline = Instant.distantFuture
    private var pauseTimer: LoopTimer?

    /// Who has received packets of this node, and is told when it goes.
    var audience: Set<NodeID> = []
    var lastReceiver: NodeID?
    /// Whom it was told last not to be here, and when.
    var lastAbsent: (node: NodeID, told: Instant)?

    /// The type of a frame takes at most eight bytes (RFC 9000 §16).
    static let maxMessageBytes = RelayFrame.maxBytes + 8
    /// What a peer has to read its last bytes in.
    static let lingering: Duration = .seconds(2)

    init(
        number: ConnectionNumber, socket: any StreamEnd, tls: TLSEngine?, hub: RelayHub,
        turnedAway: SourceBudget.Refusal? = nil
    ) {
        self.number = number
        self.turnedAway = turnedAway
        isStranger = turnedAway == nil
        self.socket = socket
        self.tls = tls
        self.hub = hub
        source = SourceBudget.Source(socket.peer)
        queue = FrameQueue(hub.limits.queue, hub.backlog)
        ping = PingClock(now: hub.now, random: hub.entropy.uint64())
        accepted = hub.now
    }

    var node: NodeID? {
        if case .serving(let node) = stage { node } else { nil }
    }

    /// Why it may not be here as `node`, by the rules of now: they may have changed since it came.
    func refusal(as node: NodeID) -> AccessRules.Refusal? {
        if isGuest, account == nil, hub.rules.concernNodes { return .unknownGuest }
        return hub.rules.refusal(of: account ?? node, token: token)
    }

    func start() throws(SystemError) {
        try socket.start(for: .readable) { [self] readiness in ready(readiness) }
        rearm()
    }

    private func ready(_ readiness: Readiness) {
        if readiness.contains(.writable), socket.isOpen { flush() }
        let mayRead = readiness.contains(.readable) && !isReadingPaused
        let isOver = !readiness.isDisjoint(with: [.failed, .hungUp])
        if mayRead || isOver, socket.isOpen { readSome(isOver: isOver) }
    }

    func updateInterest() {
        let isWriting = blockedSince != nil
        if isReadingPaused {
            socket.wait(for: isWriting ? .writable : Self.neither)
        } else {
            socket.wait(for: isWriting ? Self.both : .readable)
        }
    }

    // Made once: this is asked after every write.
    private static let neither: Readiness = []
    private static let both: Readiness = [.readable, .writable]

    // MARK: - Time

    private var deadline: Instant {
        switch stage {
        case .request, .admission:
            return accepted.advanced(by: turnedAway == nil ? hub.limits.admission : hub.limits.admissionWhenFull)
        case .serving: return min(ping.deadline, blockedDeadline)
        case .closing(let until): return until
        }
    }

    /// What waits for a client that takes nothing is dropped when it is too old, and in the end the client with it.
    private var blockedDeadline: Instant {
        guard let blockedSince else { return .distantFuture }
        return min(blockedSince.advanced(by: hub.limits.stall), queue.nextExpiry ?? .distantFuture)
    }

    /// Deadlines that move away need nothing: the timer looks again when it fires.
    func rearm() {
        let deadline = deadline
        guard socket.isOpen, deadline < timerDeadline else { return }
        if let timer { hub.loop.cancel(timer) }
        timerDeadline = deadline
        timer = hub.loop.schedule(at: deadline) { [self] in
            timer = nil
            timerDeadline = .distantFuture
            timeout()
        }
    }

    private func timeout() {
        guard deadline <= hub.now else { return rearm() }
        switch stage {
        case .request, .admission:
            hub.drop(self, .tooSlow)
        case .serving:
            expire()
            if let blockedSince, blockedSince.advanced(by: hub.limits.stall) <= hub.now {
                return hub.drop(self, .stalled)
            }
            askWhetherAlive()
        case .closing:
            hub.drop(self, .closed)
        }
    }

    /// Forgets packets that have waited too long.
    func expire() {
        hub.metrics.packetsExpired += queue.expire(now: hub.now)
    }

    private func askWhetherAlive() {
        switch ping.timeout(now: hub.now, random: hub.entropy.uint64()) {
        case .wait: break
        case .ping(let payload): answer(.ping(payload))
        case .dead: return hub.drop(self, .silent)
        }
        rearm()
    }

    /// Reads nothing for a while: the sender has to wait.
    func pauseReading(for duration: Duration) {
        guard pauseTimer == nil else { return }
        isReadingPaused = true
        updateInterest()
        pauseTimer = hub.loop.schedule(at: hub.now.advanced(by: duration)) { [self] in
            pauseTimer = nil
            isReadingPaused = false
            updateInterest()
        }
    }

    // MARK: - Ending

    /// Gives everything back. Only the hub calls it.
    func release(aborting: Bool) {
        if let timer { hub.loop.cancel(timer) }
        if let pauseTimer { hub.loop.cancel(pauseTimer) }
        (timer, pauseTimer) = (nil, nil)
        _ = queue.removeAll()
        socket.close(aborting: aborting)
    }
}
