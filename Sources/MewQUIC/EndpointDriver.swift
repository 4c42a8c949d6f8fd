internal import MewBase
internal import MewLoop
internal import MewPath
internal import MewQUICCore

/// An endpoint within the turns of its loop: takes what the sockets received to the connections, and flushes at the end of
/// the turn what was touched. Only connections that something happened to are looked at, so a thousand idle ones cost
/// nothing.
///
/// Everything here is synchronous and touched on the loop's thread only; why it is no actor stands at `ConnectionDriver`.
final class EndpointDriver {
    let loop: any Loop
    let configuration: EndpointConfiguration
    let entropy: any Entropy
    var credentials: TLSCredentials
    let resetKey: ResetKey
    let statelessPackets: StatelessPackets
    let outlets = Outlets()

    var table = ConnectionTable()
    var demultiplexer = Demultiplexer()
    var admission: Admission
    var deadlines = DeadlineHeap()
    var strangerDeadlines = DeadlineHeap()
    /// Answers to packets of nobody: resets and Version Negotiation. A flood must not make us send one.
    var strayLimit = RateLimit(burst: 64, perSecond: 256)
    var counters = EndpointCounters()

    var dirtyEstablished: [ConnectionDriver] = []
    var dirtyUnauthorized: [ConnectionDriver] = []
    /// A carrier took nothing more of theirs; each once.
    var waitingForRoom: [ConnectionDriver] = []
    var initials: [PendingInitial] = []
    var held = HeldInitials()
    var isTurnScheduled = false
    var timer: (id: LoopTimer, deadline: Instant)?

    let waiters: Waiters
    /// Complete and not accepted yet: no more than there may be strangers.
    var incoming: [ConnectionDriver] = []
    let acceptors = WaitList()
    /// Dials under way, by number: slots may have a new owner before a dial that failed goes on.
    var dials: [UInt64: Dial] = [:]
    var lastDial: UInt64 = 0
    /// Connections with whose peers we exchange path messages, by the tag these write.
    var talks: [LinkTag: ConnectionSlot] = [:]
    /// What our calls say.
    var presence = Presence()
    /// Told when a dialler offers its addresses.
    var onOffer: (@Sendable () -> Void)?
    private(set) var isClosing = false
    /// Takes every connection that is accepted, instead of `incoming`.
    var directAcceptor: (any DirectAcceptor)?

    /// Packets that start with a byte below 4: STUN (RFC 9443). Called in the turn.
    var onStun: (@Sendable (StrayStun) -> Void)?

    init(
        _ configuration: EndpointConfiguration, loop: any Loop, entropy: any Entropy
    ) throws(TLSFailure) {
        self.loop = loop
        self.configuration = configuration
        self.entropy = entropy
        credentials = try TLSCredentials(configuration.secret, configuration.authentication)
        resetKey = ResetKey(configuration.secret)
        statelessPackets = StatelessPackets(configuration.secret)
        admission = Admission(limits: configuration.admission)
        waiters = Waiters(on: loop)
    }

    func open(_ network: any DatagramNetwork) throws(BindFailure) {
        var missing: SocketError?
        for address in configuration.addresses {
            do throws(SocketError) {
                listen(on: try network.bind(address, on: loop))
            } catch .familyNotSupported {
                missing = .familyNotSupported
            } catch {
                outlets.close()
                throw .socket(error)
            }
        }
        if outlets.sockets.isEmpty { throw .socket(missing ?? .familyNotSupported) }
    }

    private func listen(on socket: any DatagramSocket) {
        let index = outlets.sockets.count
        outlets.add(socket)
        // Strong on purpose: `closeSockets` takes the callbacks out and with them the cycle.
        socket.onReceive = { [self] in received($0, on: index) }
        socket.onUnreachable = { [self] in unreachable(.direct($0)) }
    }

    func attach(_ carrier: any DatagramCarrier) -> CarrierID {
        let id = outlets.add(carrier)
        carrier.onReceive = { [self] packets, size, peer in
            received(packets, segmentSize: size, from: Outlet(route: .carried(id, peer: peer)), ecn: 0)
        }
        carrier.onReturn = { [self] in carrierReturned(id) }
        carrier.onRoom = { [self] in carrierHasRoom() }
        carrier.onAbsent = { [self] in absent(.carried(id, peer: $0)) }
        return id
    }

    var gauges: EndpointGauges {
        let known = demultiplexer.counts
        return EndpointGauges(
            connections: table.count, halfOpen: admission.halfOpen, strangers: admission.strangers,
            incoming: incoming.count, connectionIDs: known.local, resetTokens: known.resetTokens,
            retiredIDs: known.retired, counters: counters)
    }

    func report(_ level: Diagnostic.Level, _ name: String, _ message: @autoclosure () -> String) {
        configuration.diagnostics.record(ifWanted: level) { Diagnostic(level, "quic", name, message()) }
    }

    // MARK: - Closing

    func beginClosing(code: UInt64, reason: String) {
        isClosing = true
        for connection in table.all where !connection.isCarrier { connection.close(code: code, reason: reason) }
        incoming.removeAll()
        waiters.resumeAll()
        // Now, not at the end of the turn: with no time to linger the sockets are closed before that.
        endTurn()
    }

    func closeSockets() {
        if let timer { loop.cancel(timer.id) }
        timer = nil
        // What their owners have closed by now has its last packet in this turn.
        endTurn()
        outlets.flush()
        outlets.close()
        (onStun, onOffer, directAcceptor) = (nil, nil, nil)
    }
}
