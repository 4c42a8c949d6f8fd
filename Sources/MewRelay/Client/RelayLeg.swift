package import MewBase
package import MewIdentity
package import MewLoop
package import MewQUIC
package import MewWire

/// A connection to one relay that is kept up: upgrade, proof of the key, pings, and another try after each end
/// (spec/iroh-wire.md §4).
///
/// `start` begins it and `close` ends it, both by whoever made it. Pinned to the loop of the endpoint that uses it as a carrier.
/// Packets are dropped, never kept, while there is no connection: QUIC repeats what matters.
package actor RelayLeg {
    package struct Settings: Sendable {
        package let url: RelayURL
        /// The key the relay knows us by. A listener's own; for dialling one that is thrown away (DESIGN §7).
        package let secret: SecretKey
        /// The node's key, when `secret` is one that is thrown away: shown to a relay that asks whose guest we are, or refuses
        /// strangers. Ours take it as a proof beside `secret`; at a relay of others the leg is known by it, and takes turns
        /// with others of its node.
        package var account: SecretKey?
        /// The relay is known to refuse strangers.
        package var showsAccount = false
        /// Whoever runs this node named the relay, and no peer.
        package var isNamedByOwner = false
        /// For relays that want one.
        package var token: String?
        package var diagnostics: any DiagnosticSink

        package init(
            url: RelayURL, secret: SecretKey, token: String? = nil, diagnostics: any DiagnosticSink = NoDiagnostics()
        ) {
            self.url = url
            self.secret = secret
            self.token = token
            self.diagnostics = diagnostics
        }
    }

    package nonisolated let unownedExecutor: UnownedSerialExecutor
    package nonisolated let settings: Settings
    package nonisolated let loop: any Loop
    let connector: any RelayConnector
    /// Whose socket HTTP/3 goes by; nil: only WebSocket.
    let endpoint: Endpoint?
    var http3 = LegHTTP3()
    let entropy: any Entropy

    var phase = RelayLegStatus.Phase.connecting
    var problem: String?
    /// Why the last connection or try ended.
    private var lastEnd: LegEnd?
    /// No other try ends better.
    private var isHopeless = false
    private var warnings = RepeatedWarning()
    /// Takes the present complaint of the relay back.
    var problemTimer: LoopTimer?
    var supersession = Supersession.none
    /// The node key is shown: the relay has refused a stranger.
    private(set) var showsAccount: Bool
    let output: LegOutput
    var peers = LegPeers()
    var receiver: LegReceiver? {
        didSet {
            output.onRoom = receiver?.room
            http3.serving?.onRoom = receiver?.room
        }
    }
    /// Of the connection that is up.
    var framing: LegFraming?
    /// Where the relay says that it answers STUN, of the connection that is up or was up last.
    var stunServer: SocketAddress?
    var pings: PingClock?
    var firstPong: Instant?
    /// It has worked before: who uses it has to hear that it does again.
    var wasConnected = false
    /// Why the present connection, or try, is to be given up.
    var interruption: LegEnd?
    /// A question besides those of `pings`.
    var doubt: (payload: UInt64, asked: Instant, timer: LoopTimer)?
    /// When a relay that said it restarts wants us back.
    var restartDelay: Duration?
    private var backOff = LegBackOff()
    private var runner: Task<Void, Never>?
    var waiters = LegWaiters()

    /// - Parameter endpoint: of the same loop; by its socket the relay is reached over HTTP/3.
    package init(
        _ settings: Settings, connector: any RelayConnector, endpoint: Endpoint? = nil, loop: any Loop,
        entropy: any Entropy
    ) {
        self.endpoint = endpoint
        self.settings = settings
        showsAccount = settings.showsAccount && settings.account != nil
        self.connector = connector
        self.loop = loop
        self.entropy = entropy
        output = LegOutput(loop)
        unownedExecutor = loop.asUnownedSerialExecutor()
    }

    package nonisolated var url: RelayURL { settings.url }

    // MARK: - Life

    /// Begins to connect; a second call does nothing.
    package func start() {
        guard runner == nil, phase != .closed else { return }
        runner = loop.spawn { await self.run() }
    }

    /// Ends the connection and all waits. Idempotent.
    package func close() {
        phase = .closed
        // Nothing takes it back any more.
        set(problem: problem)
        endSupersession()
        runner?.cancel()
        giveUpHTTP3()
        http3.serving?.close()
        http3.serving = nil
        receiver = nil
        output.removeAll()
        waiters.resumeAll()
    }

    /// The network has changed, or somebody needs the leg now: a try that waits for its time is made at once.
    package func retryNow() {
        backOff.reset()
        guard case .waiting = phase else { return }
        phase = .connecting
        waiters.resumeAll()
    }

    private func run() async {
        while phase != .closed, !Task.isCancelled {
            phase = .connecting
            let end = await connectOnce()
            guard phase != .closed, !Task.isCancelled else { break }
            await ended(end)
        }
    }

    /// Waits until it is time for the next try.
    private func ended(_ end: LegEnd) async {
        let lived = firstPong.map { $0.duration(to: loop.now) }
        let delay = delay(after: end, lived: lived)
        lastEnd = end
        warn(end, again: delay, wasUp: pings != nil)
        (firstPong, pings) = (nil, nil)
        endDoubt()
        endSupersession()
        set(problem: end.words)
        isHopeless = end.isFinal
        if case .denied = end, settings.account != nil {
            // Who was refused as a stranger is not refused yet.
            isHopeless = showsAccount
            showsAccount = true
        }
        framing = nil
        output.removeAll()
        let until = loop.now.advanced(by: delay)
        phase = .waiting(until: until)
        waiters.resumeAll()
        let timer = loop.schedule(at: until) { self.assumeIsolated { $0.waiters.resumeAll() } }
        while phase == .waiting(until: until), loop.now < until, !Task.isCancelled {
            await wait(unless: { phase != .waiting(until: until) || loop.now >= until })
        }
        loop.cancel(timer)
    }

    /// - Parameter lived: since the first pong.
    private func delay(after end: LegEnd, lived: Duration?) -> Duration {
        defer { restartDelay = nil }
        let isFull = if case .crowded = end { true } else { false }
        return max(
            backOff.delay(lived: lived, isFull: isFull, random: entropy.uint64()), restartDelay ?? .zero)
    }

    // MARK: - What others see

    package var status: RelayLegStatus {
        RelayLegStatus(
            phase: phase, transport: transport, roundTrip: pings?.roundTrip, measured: pings?.measured,
            problem: problem, advice: advice, lastFailure: lastEnd?.failure, isSuperseded: supersession == .certain)
    }

    var transport: RelayLegStatus.Transport? {
        guard case .connected = phase else { return nil }
        return http3.serving == nil ? .webSocket : .http3
    }

    /// TCP reaches the relay there, and it says that it answers STUN there as well; nil while it does not, or it is not known.
    package var stunAddress: SocketAddress? { framing == nil ? nil : stunServer }

    /// Nothing while there is a connection.
    private var advice: String? {
        switch phase {
        case .connected, .closed: nil
        case .connecting: lastEnd?.advice(again: .zero)
        case .waiting(let until): lastEnd?.advice(again: max(.zero, loop.now.duration(to: until)))
        }
    }

    /// Each reason once, not each try. A guest who is refused shows the node's key next: nothing is wrong yet.
    private func warn(_ end: LegEnd, again delay: Duration, wasUp: Bool) {
        if case .denied = end, settings.account != nil, !showsAccount { return }
        let isNew = end != .networkChanged && warnings.isDue(end.words, now: loop.now)
        report(
            isNew ? .warning : wasUp ? .info : .debug, "relay_lost",
            "the relay \(url): \(end.words); \(end.advice(again: delay) ?? "it is tried again")")
    }

    /// The relay serves this node, and would not have served a stranger.
    package var needsAccount: Bool { showsAccount && wasConnected }

    /// - Parameter time: after which it is of no interest any more; nil until the next.
    func set(problem words: String?, for time: Duration? = nil) {
        if let problemTimer { loop.cancel(problemTimer) }
        problem = words
        problemTimer = time.map { time in
            loop.schedule(at: loop.now.advanced(by: time)) { self.assumeIsolated { $0.forgetProblem() } }
        }
    }

    private func forgetProblem() {
        problemTimer = nil
        problem = nil
        waiters.resumeAll(.phase)
    }

    /// Suspends until the status differs from `seen`, the leg is closed or the task cancelled; returns the present one.
    package func changed(from seen: RelayLegStatus) async -> RelayLegStatus {
        while status == seen, phase != .closed, !Task.isCancelled { await wait(unless: { status != seen }) }
        return status
    }

    /// Suspends until the relay forwards for us; false when the leg was closed or the task was cancelled before that, or when there
    /// is no hope: the last try failed, and no other one mends that or is made within `patience`.
    ///
    /// - Parameter patience: from now on; nil is without end.
    package func connected(within patience: Duration? = nil) async -> Bool {
        let end = patience.map { loop.now.advanced(by: $0) }
        while true {
            switch phase {
            case .connected: return true
            case .closed: return false
            case .waiting(let next) where end.map { isHopeless || next > $0 } ?? false: return false
            case .connecting, .waiting:
                if Task.isCancelled { return false }
                let seen = phase
                await wait(unless: { phase != seen })
            }
        }
    }

    /// Suspends until the phase is another one than `seen`, and returns it; `closed` when the task is cancelled before that.
    package func phase(after seen: RelayLegStatus.Phase?) async -> RelayLegStatus.Phase {
        while phase == seen {
            if Task.isCancelled { return .closed }
            await wait(unless: { phase != seen })
        }
        return phase
    }

    /// How this leg's carrier calls `node`.
    package func number(of node: NodeID) -> UInt64 {
        peers.number(of: node, now: loop.now)
    }

    /// The node that the carrier calls so, while it is remembered.
    package func node(numbered number: UInt64) -> NodeID? {
        peers.node(number, now: loop.now)
    }

    // MARK: - Packets out

    /// More of one size in one frame would keep a pong waiting behind them for too long.
    private static let maxBatchPackets = 12

    /// False: what is sent now may be dropped, and `LegReceiver.room` is called when that has changed. While there is no
    /// connection nothing waits, and everything is dropped.
    func hasRoom(for peer: UInt64) -> Bool {
        guard case .connected = phase else { return true }
        if let http3 = http3.serving { return http3.hasRoom(for: peer) }
        return output.hasRoom(for: peer)
    }

    /// What an HTTP datagram carries on most paths (QUIC and HTTP add some 45 bytes), and one of the sizes that connections look for
    /// (`TransportConfiguration.probedPayloads`). Larger ones are lost over WebSocket too, so that no connection grows used to
    /// something that HTTP/3 cannot carry on when it takes over.
    static let maxPacketBytes = 1_342

    func enqueue(_ packets: LegPackets, to peer: UInt64) {
        guard case .connected = phase, min(packets.segmentSize, packets.bytes.count) <= Self.maxPacketBytes,
            let node = peers.node(peer, now: loop.now)
        else { return }
        if let http3 = http3.serving { return http3.send(packets, to: node, numbered: peer) }
        guard let framing else { return }
        let wasEmpty = output.isEmpty
        let size = max(1, packets.segmentSize)
        let batch = size * Self.maxBatchPackets
        for start in stride(from: 0, to: packets.bytes.count, by: batch) {
            let piece = UnsafeRawBufferPointer(
                rebasing: packets.bytes[start..<min(start + batch, packets.bytes.count)])
            guard piece.count <= RelayFrame.maxDatagramBytes - 2 else { continue }
            let frame = AddressedPackets(
                contents: piece, segmentSize: piece.count > size ? UInt16(clamping: size) : nil, node: node)
            output.append(frame, packets: (piece.count + size - 1) / size, to: peer, framing)
        }
        if wasEmpty { waiters.resumeAll(.writer) }
    }

    func report(_ level: Diagnostic.Level, _ name: String, _ message: @autoclosure () -> String) {
        settings.diagnostics.record(ifWanted: level) { Diagnostic(level, "relay", name, message()) }
    }
}
