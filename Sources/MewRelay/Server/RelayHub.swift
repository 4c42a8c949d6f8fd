internal import MewBase
internal import MewIdentity
internal import MewLoop
internal import MewWire

/// Everything a relay has: its listeners, its connections, who is who, and what it serves. Touched on the loop's thread only;
/// the actor around it is `RelayServer`.
final class RelayHub {
    let loop: any Loop
    let limits: RelayLimits
    let entropy: any Entropy
    let diagnostics: any DiagnosticSink
    /// What `/healthz` says.
    let programVersion: String
    let secret: SecretKey?

    var rules: AccessRules
    /// Of listeners with TLS.
    var identity: TLSIdentity?
    var metrics = RelayMetrics()
    var records: RecordShelf
    var refusals = RefusalLog()

    /// What waits in all of them.
    let backlog = FrameBacklog()
    var connections: [ConnectionNumber: RelayConnection] = [:]
    /// Those over HTTP/3.
    var http3: [ConnectionNumber: HTTP3Client] = [:]
    var budget = SourceBudget()
    /// Those who have not proven a node ID, in the order they came.
    var strangers: [ConnectionNumber] = []
    var table: RelayTable
    var lastNumber: UInt64 = 0
    private var listeners: [any StreamListener] = []
    var datagrams: [any DatagramSocket] = []
    private(set) lazy var stun = StunDoors(limits.stun) { [unowned self] counter in metrics[keyPath: counter] += 1 }
    private var toFlush: [RelayConnection] = []
    var emptied: CheckedContinuation<Void, Never>?
    /// Nobody is let in any more.
    private(set) var isStopping = false

    /// Where connections read to; what must stay is copied.
    let scratch = UnsafeMutableRawBufferPointer.allocate(byteCount: RelayHub.scratchBytes, alignment: 64)
    let sealedScratch = UnsafeMutableRawBufferPointer.allocate(byteCount: RelayHub.sealedBytes, alignment: 64)

    /// One read: some 90 full packets.
    static let readBytes = 128 << 10
    /// One read of TLS records.
    static let sealedBytes = 64 << 10
    /// What is unread (less than one frame), and one read; with TLS also the record that was not whole before.
    static let scratchBytes = readBytes + 2 * (RelayFrame.maxBytes + 64)
    /// RFC 8446 §5.1.
    static let recordBytes = 16 << 10
    /// While so much waits for one receiver, it is not left until the end of the turn.
    static let flushBytes = 64 << 10

    init(_ settings: RelaySettings, on loop: any Loop, entropy: any Entropy, diagnostics: any DiagnosticSink) {
        self.loop = loop
        self.entropy = entropy
        self.diagnostics = diagnostics
        limits = settings.limits
        rules = settings.rules
        identity = settings.identity
        programVersion = settings.programVersion
        secret = settings.secret
        table = RelayTable(inactivePerNode: limits.inactivePerNode)
        records = RecordShelf(
            capacity: limits.records, perSource: limits.recordsPerSource, lifetime: limits.recordLifetime)
    }

    deinit {
        for memory in [scratch, sealedScratch] { memory.deallocate() }
    }

    var now: Instant { loop.now }

    /// What is there now, and what was counted.
    var snapshot: RelayMetrics {
        var metrics = metrics
        metrics.connections = connections.count + http3.count
        metrics.http3Connections = http3.count
        metrics.strangers = budget.strangers
        metrics.sources = budget.sourceCount
        metrics.nodes = table.nodeCount
        metrics.records = records.count
        return metrics
    }

    // MARK: - Listening

    func listen(
        _ address: SocketAddress, sealed: Bool, _ network: any StreamNetwork
    ) throws(SocketError) -> SocketAddress {
        let listener = try network.listen(address, on: loop) { [self] in accept($0, sealed: sealed) }
        listeners.append(listener)
        return listener.localAddress
    }

    // MARK: - Leaving

    /// Why a connection ended; for the log and the metrics.
    enum Cause: Equatable {
        case closed, tooSlow, silent, stalled, evicted, ending
        case denied(String)
        case violation(String)

        var words: String {
            switch self {
            case .closed: "it closed"
            case .tooSlow: "it proved no node ID in time"
            case .silent: "it answered no ping"
            case .stalled: "it took nothing of what waited for it"
            case .evicted: "its node has newer connections"
            case .ending: "the relay ends"
            case .denied(let reason), .violation(let reason): reason
            }
        }
    }

    /// Takes the node of a connection away; its socket may still have something to say.
    func leave(_ connection: RelayConnection, _ cause: Cause) {
        count(cause)
        guard let node = connection.node else { return }
        diagnostics.record(ifWanted: .info) {
            Diagnostic(
                .info, "relay", "client_left", "a client left: \(cause.words)",
                ["node": .text(node.z32), "connection": .integer(Int64(clamping: connection.number.raw))])
        }
        for action in table.leave(node, connection.number) { perform(action, of: node, connection.audience) }
    }

    func count(_ cause: Cause) {
        switch cause {
        case .violation: metrics.violations += 1
        case .silent: metrics.silent += 1
        case .stalled: metrics.stalled += 1
        case .closed, .tooSlow, .evicted, .ending, .denied: break
        }
    }

    /// Ends a connection at once.
    func drop(_ connection: RelayConnection, _ cause: Cause) {
        guard connections.removeValue(forKey: connection.number) != nil else { return }
        if case .closing = connection.stage {} else { leave(connection, cause) }
        connection.stage = .closing(until: now)
        budget.leave(connection)
        if connection.isStranger { strangers.removeAll { $0 == connection.number } }
        connection.release(aborting: cause == .silent || cause == .stalled)
        tellWhenEmpty()
    }

    func tellWhenEmpty() {
        guard connections.isEmpty, http3.isEmpty else { return }
        emptied?.resume()
        emptied = nil
    }

    func perform(_ action: RelayTable.Action, of node: NodeID, _ audience: Set<NodeID>) {
        switch action {
        case .displaced(let number): client(number)?.tell(.sameNodeConnectedElsewhere)
        case .promoted(let number): client(number)?.tell(.healthy)
        case .evict(let number): client(number)?.evict()
        case .gone:
            for listener in audience { table.active(listener).flatMap(client)?.hear(gone: node) }
        }
    }

    private func client(_ number: ConnectionNumber) -> (any RelayClient)? { connections[number] ?? http3[number] }

    // MARK: - Admission

    func admit(_ connection: RelayConnection, as node: NodeID) {
        connection.stage = .serving(node)
        connection.isStranger = false
        budget.admit(connection.source)
        strangers.removeAll { $0 == connection.number }
        metrics.admitted += 1
        connection.ping = PingClock(now: now, random: entropy.uint64())
        if let rate = limits.bytesPerSecond {
            connection.bucket = TokenBucket(rate: rate, burst: limits.burstBytes, now: now)
            connection.socket.limitUnread(to: limits.unreadBytes(atRate: rate))
        }
        connection.answer(.serverConfirmsAuth)
        connection.rearm()
        diagnostics.record(ifWanted: .info) {
            var fields: [String: Diagnostic.Value] = [
                "node": .text(node.z32), "from": .text(connection.socket.peer.description),
                "protocol": .text(connection.version.rawValue),
                "connection": .integer(Int64(clamping: connection.number.raw)),
            ]
            if let account = connection.account { fields["account"] = .text(account.z32) }
            return Diagnostic(.info, "relay", "client_joined", "a client joined", fields)
        }
        for action in table.enter(node, connection.number) { perform(action, of: node, []) }
    }

    // MARK: - Forwarding

    /// Passes a client's frame on, rewritten where it lies.
    ///
    /// - Returns: false when it is no datagram frame in its usual form.
    func forward(_ frame: UnsafeMutableRawBufferPointer, from sender: RelayConnection, _ node: NodeID) -> Bool {
        guard let packets = DatagramFrame.packets(UnsafeRawBufferPointer(frame)) else { return false }
        let byteCount = frame.count
        guard let receiverID = DatagramFrame.readdress(frame, from: node) else {
            metrics.packetsUnknownReceiver += packets
            return true
        }
        guard let number = table.active(receiverID) else {
            metrics.packetsUnknownReceiver += packets
            tell(sender, isAbsent: receiverID)
            return true
        }
        guard let receiver = connections[number] else {
            forward(UnsafeRawBufferPointer(frame), of: node, from: sender, to: receiverID, number)
            return true
        }
        if receiver.blockedSince != nil { receiver.expire() }
        let wireBytes = WebSocketWriter.byteCount(payloadBytes: byteCount)
        guard receiver.queue.hasRoom(for: sender.number, byteCount: wireBytes) else {
            metrics.packetsQueueFull += packets
            return true
        }
        receiver.queue.append(of: sender.number, packets: packets, byteCount: wireBytes, now: now) {
            WebSocketWriter.write(.binary, UnsafeRawBufferPointer(frame), to: $0)
        }
        forwarded(packets, byteCount - RelayFrame.datagramHeadBytes)
        remember(receiverID, hears: sender)
        leaveSoon(receiver)
        return true
    }

    func forwarded(_ packets: Int, _ byteCount: Int) {
        metrics.framesForwarded += 1
        metrics.packetsForwarded += packets
        metrics.bytesForwarded += byteCount
    }

    func leaveSoon(_ receiver: RelayConnection) {
        if receiver.blockedSince != nil {
            receiver.rearm()
        } else if receiver.queue.waitingBytes >= Self.flushBytes {
            receiver.flush()
        } else {
            flushLater(receiver)
        }
    }

    /// Who dials a node that is not here need not wait for it. Clients that know nothing of it take it as the news that a node has
    /// left. Once in a while for each: a packet that is repeated sooner is of the same flight.
    func tell(_ sender: any RelayClient, isAbsent node: NodeID) {
        if let last = sender.lastAbsent, last.node == node, last.told.duration(to: now) < Self.absenceTold { return }
        sender.lastAbsent = (node, now)
        sender.hear(gone: node)
    }

    private static let absenceTold: Duration = .milliseconds(500)

    /// Most frames go where the one before went.
    func remember(_ receiver: NodeID, hears sender: any RelayClient) {
        guard sender.lastReceiver != receiver else { return }
        sender.lastReceiver = receiver
        if sender.audience.count < limits.goneAudience { sender.audience.insert(receiver) }
    }

    func flushLater(_ connection: RelayConnection) {
        guard !connection.isFlushPlanned else { return }
        connection.isFlushPlanned = true
        if toFlush.isEmpty { loop.atEndOfTurn { [self] in flushAll() } }
        toFlush.append(connection)
    }

    private func flushAll() {
        let planned = toFlush
        toFlush = []
        for connection in planned {
            connection.isFlushPlanned = false
            // What is blocked is flushed when there is room.
            if connection.blockedSince == nil { connection.flush() }
        }
    }

    // MARK: - Ending

    func stopListening() {
        isStopping = true
        for listener in listeners { listener.close() }
        for socket in datagrams { socket.close() }
        stun.removeAll()
        (listeners, datagrams) = ([], [])
    }

    /// Tells every client that the relay goes, and when to come back.
    func sayGoodbye() {
        let restarting = RelayFrame.restarting(
            reconnectInMs: UInt32(clamping: Int64(limits.restartIn.milliseconds)),
            tryForMs: UInt32(clamping: Int64(limits.restartFor.milliseconds)))
        for connection in Array(connections.values) {
            if connection.node != nil { connection.answer(restarting) }
            switch connection.stage {
            case .serving, .admission: connection.end(code: 1001, "the relay restarts", .ending)
            case .request: drop(connection, .ending)
            case .closing: break
            }
        }
        for client in Array(http3.values) { client.sayGoodbye(restartIn: limits.restartIn, for: limits.restartFor) }
    }

    func dropAll() {
        for connection in Array(connections.values) { drop(connection, .ending) }
        for client in Array(http3.values) { client.drop() }
    }

    /// Returns when no connection is left.
    func empty(_ continuation: CheckedContinuation<Void, Never>) {
        guard !connections.isEmpty || !http3.isEmpty else { return continuation.resume() }
        emptied = continuation
    }
}
