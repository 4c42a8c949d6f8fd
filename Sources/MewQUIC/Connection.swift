internal import MewBase
package import MewIdentity
package import MewLoop
package import MewQUICCore

/// One connection to an authenticated peer.
///
/// Its `ConnectionCore` decides everything; this actor lends it to tasks: it suspends them until there is something to
/// read, room to write, a stream to open. Pinned to the endpoint's loop, so a call from a task of that loop costs no
/// thread hop. It stays usable after its end: every call then says how it ended.
package actor Connection {
    package nonisolated let unownedExecutor: UnownedSerialExecutor
    package nonisolated let loop: any Loop
    package nonisolated let role: ConnectionCore.Role
    nonisolated let slot: ConnectionSlot

    /// Nil after the end: nothing leads back to the endpoint.
    private(set) var endpoint: Endpoint?
    /// Nil after the end: the library's memory is given back at once.
    private(set) var core: ConnectionCore?
    let outlets: Outlets
    var routes: RouteTable

    var waiters = Waiters()
    var streams: [Int64: StreamRecord] = [:]
    var incomingStreams = RingQueue<QUICStream>()
    let acceptors = WaitList()
    let openers = WaitList()
    let datagramReaders = WaitList()
    let pathWaiters = WaitList()
    /// Paths being checked, with the outcome once it is known.
    var migrations: [CorePath: Bool?] = [:]
    private var datagramsLeft: [[UInt8]] = []

    private(set) var isEstablished = false
    private(set) var closure: QUICClosure?
    private(set) var peerNode: NodeID?
    private(set) var negotiatedProtocol: String?
    /// Connection IDs of ours that are in use; the endpoint retires them at the end.
    private var issued: [LocalConnectionID] = []
    /// Where the first genuine packet came from, while dialling.
    private var answeredBy: Route?
    private var lastStatus: ConnectionStatus?

    init(
        _ core: LoopBound<ConnectionCore>, routes: LoopBound<RouteTable>, outlets: LoopBound<Outlets>,
        slot: ConnectionSlot, endpoint: Endpoint
    ) {
        loop = endpoint.loop
        unownedExecutor = endpoint.unownedExecutor
        role = core.value.role
        self.slot = slot
        self.endpoint = endpoint
        self.core = core.value
        self.routes = routes.value
        self.outlets = outlets.value
    }

    // MARK: - What the peer proved

    /// Who the peer is. Set on every connection that `connect` or `accept` returned.
    package var peer: NodeID {
        get throws(QUICError) {
            guard let peerNode else { throw .refused("the handshake is not complete") }
            return peerNode
        }
    }

    /// The application protocol both sides agreed on.
    package var applicationProtocol: String {
        get throws(QUICError) {
            guard let negotiatedProtocol else { throw .refused("the handshake is not complete") }
            return negotiatedProtocol
        }
    }

    /// Keying material that only the two ends can compute (RFC 8446 §7.5), with an empty context. Listener: before
    /// `authorize`.
    package func export(label: String, byteCount: Int) throws(QUICError) -> [UInt8] {
        guard let core else { throw .closed(endOrUnknown) }
        guard let material = core.export(label: label, byteCount: byteCount) else {
            throw .refused("no keying material before the handshake is complete, or after the peer was authorized")
        }
        return material
    }

    /// Listener: the peer is known; it may use all its streams and its whole window. Idempotent.
    package func authorize() {
        core?.authorize()
        endpoint?.assumeIsolated { $0.authorized(slot) }
        touched()
    }

    /// Listener: the peer's key is known, so that it is no stranger any more: it has no time limit and takes no stranger's
    /// place. It stays restricted. Idempotent.
    package func recognize() {
        endpoint?.assumeIsolated { $0.authorized(slot) }
    }

    /// Listener: the peer has said who it is and waits for a decision that may take longer than a stranger has. It stays
    /// restricted. Idempotent.
    package func keepWaiting() {
        endpoint?.assumeIsolated { $0.waits(slot) }
    }

    // MARK: - The end

    /// Tells the peer `code` and the sentence `reason`. What was not delivered yet is lost. The first call wins.
    package func close(code: UInt64, reason: String) {
        core?.close(code: code, reason: reason)
        touched()
    }

    /// Suspends until the connection is gone. Throws `cancelled` when the task is cancelled first.
    package func closed() async throws(QUICError) -> QUICClosure {
        while true {
            if let closure { return closure }
            if Task.isCancelled { throw .cancelled }
            await wait(unless: { closure != nil })
        }
    }

    enum HandshakeOutcome: Sendable {
        case established
        case failed(QUICClosure, answeredBy: Route?)
        case cancelled
    }

    /// Dialler: suspends until the handshake is over.
    func handshake() async -> HandshakeOutcome {
        while true {
            if Task.isCancelled { return .cancelled }
            if let closure { return .failed(closure, answeredBy: answeredBy) }
            if isEstablished { return .established }
            await wait(unless: { isEstablished || closure != nil })
        }
    }

    /// Ends without a word: a dial whose addresses are all closed.
    func abandon() {
        core?.abandon()
        takeEvents()
    }

    /// Refuses a stranger for whom there is no room.
    func refuse(reason: String) {
        core?.refuse(reason: reason)
        touched()
    }

    var endOrUnknown: QUICClosure { closure ?? .transport(code: 0, byPeer: false, reason: "gone") }

    // MARK: - Turns of the loop

    /// Packets of one size, back to back, from one sender.
    func input(_ packets: LoopBound<UnsafeRawBufferPointer>, segmentSize: Int, from arrival: Outlet, ecn: UInt8) {
        guard let core, let path = routes.path(for: arrival) else { return }
        let (bytes, now) = (packets.value, loop.now)
        var isProof = false
        for start in stride(from: 0, to: bytes.count, by: segmentSize) {
            let packet = UnsafeRawBufferPointer(rebasing: bytes[start..<min(start + segmentSize, bytes.count)])
            if core.receive(packet, on: path, ecn: ecn, now: now) { isProof = true }
        }
        if isProof { proven(arrival) }
        takeEvents()
        touched()
    }

    /// The peer itself has sent something from there: only then it may change where our packets go.
    private func proven(_ arrival: Outlet) {
        routes.noteArrival(arrival, keeping: core?.path)
        guard !isEstablished else { return }
        answeredBy = arrival.route
        routes.settleRace(arrival)
    }

    func expire() {
        core?.expire(now: loop.now)
        takeEvents()
        touched()
    }

    /// Writes what is due to the sockets and says when to look again.
    func flush() -> Instant {
        guard let core else { return .distantFuture }
        let now = loop.now
        core.beginBurst()
        while true {
            let expected = routes.outlets(of: core.path)
            let memory = outlets.reserve(for: expected)
            guard let batch = core.transmit(into: memory, now: now) else { break }
            let outgoing = Outlets.Outgoing(
                byteCount: batch.byteCount, segmentSize: batch.segmentSize, ecn: batch.ecn)
            outlets.commit(outgoing, in: memory, expected: expected, to: routes.outlets(of: batch.path))
        }
        takeEvents()
        return self.core?.deadline ?? .distantFuture
    }

    /// Something may have to be sent: the endpoint flushes us at the end of the turn.
    func touched() {
        endpoint?.assumeIsolated { $0.markDirty(slot) }
    }

    /// Whether a stateless reset with `token` from `route` ends this connection.
    func accepts(_ token: ResetToken, from route: Route) -> Bool {
        guard let core, core.acceptedResetToken(now: loop.now) == token else { return false }
        return routes.outlets(of: core.path).contains { $0.route == route }
    }

    func peerSentReset() {
        core?.peerSentReset()
        takeEvents()
    }

    // MARK: - Events

    /// Handles what the core has to tell. Called after every call that may have produced something.
    func takeEvents() {
        guard let core else { return }
        for event in core.takeEvents() { handle(event) }
    }

    private func handle(_ event: ConnectionEvent) {
        switch event {
        case .established: established()
        case .confirmed: break
        case .opened(let stream): opened(stream)
        case .readable(let stream): streams[stream.id].map { waiters.resumeAll($0.reader) }
        case .writable(let stream): streams[stream.id].map { waiters.resumeAll($0.writer) }
        case .streamsAllowed: waiters.resumeAll(openers)
        case .datagram: waiters.resumeAll(datagramReaders)
        case .issued(let id):
            issued.append(id)
            endpoint?.assumeIsolated { $0.issued(id, for: slot) }
        case .retired(let id):
            issued.removeAll { $0 == id }
            endpoint?.assumeIsolated { $0.retired(id) }
        case .resetTokensChanged:
            let tokens = core?.peerResetTokens ?? []
            endpoint?.assumeIsolated { $0.resetTokensChanged(tokens, for: slot) }
        case .pathChanged: pathChanged()
        case .pathValidated(let path, let succeeded): pathValidated(path, succeeded: succeeded)
        case .closed(let closure): ended(closure)
        }
    }

    private func established() {
        guard let core else { return }
        isEstablished = true
        peerNode = core.peer
        negotiatedProtocol = core.applicationProtocol
        endpoint?.assumeIsolated { $0.established(slot) }
        waiters.resumeAll()
    }

    private func opened(_ stream: StreamCore) {
        streams[stream.id] = StreamRecord(stream)
        incomingStreams.append(QUICStream(id: stream.id, of: self))
        waiters.resumeFirst(acceptors)
    }

    private func ended(_ closure: QUICClosure) {
        guard self.closure == nil, let core else { return }
        lastStatus = status(of: core)
        self.closure = closure
        let words = core.farewell.map { LoopBound(LastWords($0)) }
        while let datagram = core.takeDatagram() { datagramsLeft.append(datagram) }
        let ids = issued
        endpoint?.assumeIsolated { $0.ended(slot, closure: closure, ids: ids, words: words) }
        self.core = nil
        endpoint = nil
        issued = []
        incomingStreams.removeAll()
        waiters.resumeAll()
    }

    func takeLeftDatagram() -> [UInt8]? {
        datagramsLeft.isEmpty ? nil : datagramsLeft.removeFirst()
    }

    // MARK: - Status

    /// What is known about the connection right now; after its end, what was known last.
    package var status: ConnectionStatus {
        get throws(QUICError) {
            if let core { return status(of: core) }
            guard let lastStatus else { throw .closed(endOrUnknown) }
            return lastStatus
        }
    }

    private func status(of core: ConnectionCore) -> ConnectionStatus {
        ConnectionStatus(
            route: routes.outlets(of: core.path).first?.route, statistics: core.statistics,
            isAuthorized: core.isAuthorized)
    }
}

/// A snapshot of a connection.
package struct ConnectionStatus: Sendable {
    /// How packets reach the peer; nil when the way is gone.
    package let route: Route?
    package let statistics: ConnectionStatistics
    package let isAuthorized: Bool
}
