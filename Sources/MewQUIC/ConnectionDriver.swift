internal import MewBase
internal import MewIdentity
internal import MewLoop
internal import MewQUICCore

/// One connection within the turns of its loop: gives its core the packets and the time, writes what is due, and resumes
/// the tasks that wait for what the core reports.
///
/// Everything here is synchronous and touched on the loop's thread only. It is no actor on purpose: the endpoint and the
/// connection call each other several times a packet, and asking the runtime each time whether that is allowed costs as
/// much as QUIC itself. `Connection` lends it to tasks.
final class ConnectionDriver {
    /// What the endpoint keeps about the connection.
    struct Standing {
        /// Set while the handshake of an incoming connection is in flight.
        var handshake: Newcomer?
        /// Complete, and nobody has authorized it yet.
        var isStranger = false
        /// What the dialler chose as our connection ID.
        var firstChoice: ForeignConnectionID?
        var resetTokens: [ResetToken] = []
    }

    let loop: any Loop
    let role: ConnectionCore.Role
    let slot: ConnectionSlot
    var standing = Standing()
    /// In the endpoint's list of connections to flush at the end of the turn.
    var isDirty = false
    /// In the endpoint's list of connections to flush when a carrier has room.
    var isWaitingForRoom = false

    /// Nil after the end: nothing leads back to the endpoint.
    private(set) var endpoint: EndpointDriver?
    /// Nil after the end: the library's memory is given back at once.
    private(set) var core: ConnectionCore?
    let outlets: Outlets
    var routes: RouteTable

    let waiters: Waiters
    var streams: [Int64: StreamRecord] = [:]
    /// Opened by the peer and not accepted yet.
    var incomingStreams = RingQueue<StreamRecord>()
    let acceptors = WaitList()
    let openers = WaitList()
    let datagramReaders = WaitList()
    let pathWaiters = WaitList()
    /// Paths being checked that a task waits for, with the outcome once it is known.
    var migrations: [CorePath: Bool?] = [:]
    /// Told everything about streams and datagrams at once, instead of tasks that wait.
    var handler: (any DirectHandler)?
    /// Told what happens to paths; called within a turn.
    var onPath: ((PathNotice) -> Void)?
    /// Told on the listening side when the connection goes another way; called within a turn.
    var onMove: ((RouteMove) -> Void)?
    /// Which way that was told last.
    var toldRoute: Route?
    /// When the dialler was called last because it was not heard.
    var unheardCall: Instant?
    /// `onPath` is to hear of the next packet that the peer has to acknowledge.
    var tellsWhenSent = false
    /// Where the packets came from that are being read.
    private(set) var arrival: Outlet?
    private var datagramsLeft: [[UInt8]] = []
    /// What was sent last on another path than the present one, until that path is checked.
    var lastCheck: CheckFlight?
    /// When the peer was last heard before it came back after a silence.
    private var epochBegan: Instant?
    /// Those of `issued` that the peer has used.
    private var usedIDs: [LocalConnectionID] = []
    /// Nil unless the peer knows path messages.
    var talk: ConnectionTalk?
    /// Calls of the listener that nobody has taken yet.
    var calls: [PeerCall] = []
    let callWaiters = WaitList()

    private(set) var isEstablished = false
    private(set) var closure: QUICClosure?
    private(set) var peer: NodeID?
    private(set) var applicationProtocol: String?
    /// Connection IDs of ours that are in use; the endpoint retires them at the end.
    private var issued: [LocalConnectionID] = []
    /// Where the first genuine packet came from, while dialling.
    private(set) var answeredBy: Route?
    private var lastStatus: ConnectionStatus?
    private var refusals = Refusals()

    init(_ core: ConnectionCore, routes: RouteTable, slot: ConnectionSlot, of endpoint: EndpointDriver) {
        loop = endpoint.loop
        role = core.role
        self.slot = slot
        self.endpoint = endpoint
        self.core = core
        self.routes = routes
        outlets = endpoint.outlets
        waiters = Waiters(on: endpoint.loop)
    }

    /// Something of ours speaks by it, such as a leg to a relay; it ends when that does.
    var isCarrier: Bool { role == .client && handler != nil }

    /// Served after the established ones.
    var isUnauthorized: Bool { role == .server && (standing.handshake != nil || standing.isStranger) }

    var endOrUnknown: QUICClosure { closure ?? .transport(code: 0, byPeer: false, reason: "gone") }

    func requireCore() throws(QUICError) -> ConnectionCore {
        guard let core else { throw .closed(endOrUnknown) }
        return core
    }

    // MARK: - Turns of the loop

    /// Packets of one size, back to back, from one sender.
    func input(
        _ packets: UnsafeRawBufferPointer, segmentSize: Int, from arrival: Outlet, ecn: UInt8, now: Instant
    ) {
        guard let core else { return }
        if role == .server { noteEpoch(packets, from: arrival.route, core, now: now) }
        guard let path = routes.path(for: arrival) else { return }
        self.arrival = arrival
        var isProof = false
        for start in stride(from: 0, to: packets.count, by: segmentSize) {
            let packet = UnsafeRawBufferPointer(rebasing: packets[start..<min(start + segmentSize, packets.count)])
            if core.receive(packet, on: path, ecn: ecn, now: now) { isProof = true }
        }
        if isProof {
            proven(arrival)
            if talk != nil { heard(packets) }
        }
        takeEvents()
        touched()
    }

    /// Listener: a peer that was silent, or that has taken its way anew, is one that has moved. Once in a silence, and once for each
    /// connection ID: whoever only knows those makes no path after path.
    private func noteEpoch(_ packets: UnsafeRawBufferPointer, from route: Route, _ core: ConnectionCore, now: Instant) {
        if core.wasSilent(now: now), epochBegan != core.lastProof {
            epochBegan = core.lastProof
            routes.beginEpoch(of: route, instead: core.path)
        }
        guard let id = PacketHead.shortID(packets), !usedIDs.contains(id), issued.contains(id) else { return }
        usedIDs.append(id)
        // By another way it may be an address that is only checked.
        if usedIDs.count > 1 { routes.beginEpoch(of: route, instead: core.path) }
    }

    /// The peer itself has sent something from there: only then it may change where our packets go.
    private func proven(_ arrival: Outlet) {
        routes.noteArrival(arrival, keeping: core?.path)
        guard !isEstablished else { return }
        answeredBy = arrival.route
        routes.settleRace(arrival)
    }

    func expire(now: Instant) {
        core?.expire(now: now)
        takeEvents()
        if talk != nil { tendTalk(now: now) }
        touched()
    }

    /// Writes what is due to the sockets and says when to look again.
    func flush(now: Instant) -> Instant {
        isDirty = false
        guard let core else { return .distantFuture }
        core.beginBurst()
        var isHeldBack = false
        while true {
            let path = core.path
            let expected = routes.outlets(of: path)
            guard core.isClosing || outlets.hasRoom(for: expected) else {
                endpoint?.waitForRoom(self)
                isHeldBack = true
                break
            }
            let memory = outlets.reserve(for: expected)
            guard let batch = core.transmit(into: memory, now: now) else { break }
            let outgoing = Outlets.Outgoing(
                byteCount: batch.byteCount, segmentSize: batch.segmentSize, ecn: batch.ecn)
            let actual = batch.path == path ? expected : routes.outlets(of: batch.path)
            if batch.path != path, role == .client { lastCheck = CheckFlight(batch.path, outgoing, memory) }
            outlets.commit(outgoing, in: memory, expected: expected, to: actual)
        }
        takeEvents()
        if tellsWhenSent { tellWhetherSent() }
        guard let core = self.core else { return .distantFuture }
        let deadline = deadline(of: core)
        return isHeldBack ? max(deadline, now.advanced(by: Self.heldBackTimers)) : deadline
    }

    /// While a carrier takes nothing, timers need not be exact: what is due cannot leave.
    private static let heldBackTimers: Duration = .milliseconds(10)

    /// Something may have to be sent: the endpoint flushes us at the end of the turn.
    func touched() {
        if !isDirty { endpoint?.markDirty(self) }
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

    // MARK: - Ending

    func authorize() {
        core?.authorize()
        endpoint?.authorized(self)
        touched()
    }

    func close(code: UInt64, reason: String) {
        core?.close(code: code, reason: reason)
        touched()
    }

    /// Ends without a word: a dial whose addresses are all closed.
    func abandon() {
        core?.abandon()
        takeEvents()
    }

    /// The machine at the other end says that nobody listens there any more.
    func refused(by route: Route) {
        guard isEstablished, let core, let proof = status?.statistics.lastProof,
            routes.outlets(of: core.path).contains(where: { $0.route == route })
        else { return }
        refusals.add(lastProof: proof, now: loop.now)
        guard refusals.areBelieved(now: loop.now) else { return }
        core.fellSilent()
        takeEvents()
    }

    /// Refuses a stranger for whom there is no room.
    func refuse(reason: String) {
        core?.refuse(reason: reason)
        touched()
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
        case .confirmed: onPath?(.confirmed)
        case .opened(let stream): opened(stream)
        case .readable(let stream):
            if let handler { return handler.readable(stream.id) }
            streams[stream.id].map { waiters.resumeAll($0.reader) }
        case .writable(let stream):
            if let handler { return handler.writable(stream.id) }
            streams[stream.id].map { waiters.resumeAll($0.writer) }
        case .streamsAllowed: waiters.resumeAll(openers)
        case .datagram: waiters.resumeAll(datagramReaders)
        case .issued(let id):
            issued.append(id)
            endpoint?.issued(id, for: slot)
        case .retired(let id):
            issued.removeAll { $0 == id }
            usedIDs.removeAll { $0 == id }
            endpoint?.retired(id)
        case .resetTokensChanged: endpoint?.resetTokensChanged(core?.peerResetTokens ?? [], for: self)
        case .pathChanged: pathChanged()
        case .pathValidated(let path, let succeeded): pathValidated(path, succeeded: succeeded)
        case .closed(let closure): ended(closure)
        }
    }

    private func established() {
        guard let core else { return }
        isEstablished = true
        peer = core.peer
        applicationProtocol = core.applicationProtocol
        beginTalk(core)
        endpoint?.established(self)
        waiters.resumeAll()
        handler?.established()
    }

    private func opened(_ stream: StreamCore) {
        let record = StreamRecord(stream)
        streams[stream.id] = record
        // The handler hears of it when there is something to read.
        guard handler == nil else { return }
        incomingStreams.append(record)
        waiters.resumeFirst(acceptors)
    }

    private func ended(_ closure: QUICClosure) {
        guard self.closure == nil, let core else { return }
        lastStatus = status(of: core)
        self.closure = closure
        while let datagram = core.takeDatagram() { datagramsLeft.append(datagram) }
        endTalk()
        endpoint?.ended(self, closure: closure, ids: issued, words: core.farewell.map { LastWords($0) })
        self.core = nil
        endpoint = nil
        onPath = nil
        issued = []
        incomingStreams.removeAll()
        waiters.resumeAll()
        let handler = handler
        self.handler = nil
        handler?.ended(closure)
    }

    /// The next datagram of the peer, as long as there are any also after the end.
    func takeDatagram() -> [UInt8]? {
        if let core { return core.takeDatagram() }
        return datagramsLeft.isEmpty ? nil : datagramsLeft.removeFirst()
    }

    // MARK: - Status

    /// What is known right now; after the end, what was known last.
    var status: ConnectionStatus? { core.map { status(of: $0) } ?? lastStatus }

    private func status(of core: ConnectionCore) -> ConnectionStatus {
        ConnectionStatus(
            route: routes.outlets(of: core.path).first?.route, statistics: core.statistics,
            isAuthorized: core.isAuthorized)
    }
}
