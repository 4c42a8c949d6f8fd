internal import MewBase
internal import MewLoop
internal import MewQUICCore

// Incoming connections: who may start a handshake, who may stay, and what the endpoint keeps about each.

extension EndpointDriver {
    func acceptInitials() {
        guard !initials.isEmpty else { return }
        let waiting = initials
        initials.removeAll(keepingCapacity: true)
        for initial in waiting { consider(initial) }
    }

    private func consider(_ pending: PendingInitial) {
        pending.bytes.withUnsafeBytes { bytes in
            // An earlier copy of the same first flight may have made the connection meanwhile, or even ended it.
            switch demultiplexer.route(bytes, now: loop.now) {
            case .connection(let slot): deliver(bytes, to: table[slot], from: pending)
            case .initial: answer(bytes, pending)
            case .late: counters.late += 1
            case .stranger, .foreignVersion, .stun, .noise: counters.noise += 1
            }
        }
    }

    private func answer(_ bytes: UnsafeRawBufferPointer, _ pending: PendingInitial) {
        guard case .initial(var initial) = InitialPacket.read(bytes) else {
            counters.noise += 1
            return
        }
        if held.hold(pending, for: initial.destination, now: loop.now) { return }
        if case .direct = pending.arrival.route { held.drop(initial.destination) }
        guard let newcomer = newcomer(&initial, from: pending.arrival) else {
            counters.initialsDropped += 1
            return
        }
        switch admission.verdict(on: newcomer) {
        case .accept:
            deliver(bytes, to: admit(initial, newcomer, from: pending.arrival), from: pending)
        case .retry: sendRetry(initial, to: pending.arrival)
        case .drop: counters.initialsDropped += 1
        }
    }

    private func deliver(
        _ bytes: UnsafeRawBufferPointer, to connection: ConnectionDriver?, from pending: PendingInitial
    ) {
        connection?.input(
            bytes, segmentSize: bytes.count, from: pending.arrival, ecn: pending.ecn, now: loop.now)
    }

    /// Who sent it, after a look at the Retry token, if there is one; nil for a token that is no good here.
    private func newcomer(_ initial: inout InitialPacket, from arrival: Outlet) -> Newcomer? {
        switch arrival.route {
        case .carried(let carrier, let peer): return Newcomer(carrier: carrier.number, sender: peer)
        case .direct(let address):
            switch statelessPackets.verify(initial, source: address, now: loop.now) {
            case .absent: return Newcomer(address, isProven: false)
            case .invalid: return nil
            case .valid(let original):
                initial.originalDestination = original
                return Newcomer(address, isProven: true)
            }
        }
    }

    private func sendRetry(_ initial: InitialPacket, to arrival: Outlet) {
        guard case .direct(let address) = arrival.route,
            let packet = statelessPackets.retry(initial, source: address, entropy: entropy, now: loop.now)
        else { return }
        counters.retriesSent += 1
        outlets.send(packet, by: arrival)
    }

    private func admit(
        _ initial: InitialPacket, _ newcomer: Newcomer, from arrival: Outlet
    ) -> ConnectionDriver? {
        let routes = RouteTable(listeningOn: arrival)
        let core: ConnectionCore
        do {
            core = try ConnectionCore.accept(
                initial, protocols: configuration.acceptedProtocols, path: RouteTable.listenerPath(arrival.route),
                credentials: credentials, resetKey: resetKey, configuration: configuration.transport, entropy: entropy,
                now: loop.now)
        } catch {
            report(.warning, "accept_failed", "an incoming connection could not be set up: \(error)")
            return nil
        }
        let connection = start(core, routes: routes)
        connection.standing.handshake = newcomer
        connection.standing.firstChoice = initial.destination
        demultiplexer.registerFirstChoice(initial.destination, for: connection.slot)
        admission.handshakeStarted(by: newcomer)
        connection.takeEvents()
        return connection
    }

    /// Makes the driver around a core and puts it into the table.
    func start(_ core: ConnectionCore, routes: RouteTable) -> ConnectionDriver {
        let connection = ConnectionDriver(core, routes: routes, slot: table.reserveSlot(), of: self)
        table.insert(connection)
        return connection
    }

    // MARK: - What connections report

    func issued(_ id: LocalConnectionID, for slot: ConnectionSlot) {
        demultiplexer.register(id, for: slot)
    }

    func retired(_ id: LocalConnectionID) {
        demultiplexer.retire(id, now: loop.now)
    }

    func resetTokensChanged(_ tokens: [ResetToken], for connection: ConnectionDriver) {
        demultiplexer.replaceResetTokens(connection.standing.resetTokens, with: tokens, for: connection.slot)
        connection.standing.resetTokens = tokens
    }

    func established(_ connection: ConnectionDriver) {
        handshakeOver(connection)
        guard connection.role == .server else { return }
        switch admission.strangerArrived() {
        case .refuse:
            counters.strangersRefused += 1
            connection.refuse(reason: "too many strangers")
        case .wait(let time):
            connection.standing.isStranger = true
            strangerDeadlines.set(connection.slot, deadline: loop.now.advanced(by: time))
            if let directAcceptor { return directAcceptor.accept(DirectConnection(connection)) }
            incoming.append(connection)
            waiters.resumeFirst(acceptors)
        }
    }

    private func handshakeOver(_ connection: ConnectionDriver) {
        guard let newcomer = connection.standing.handshake else { return }
        connection.standing.handshake = nil
        admission.handshakeEnded(by: newcomer)
    }

    func authorized(_ connection: ConnectionDriver) {
        guard connection.standing.isStranger else { return }
        connection.standing.isStranger = false
        admission.strangerLeft()
        waits(connection)
    }

    /// No time limit any more; the stranger still counts.
    func waits(_ connection: ConnectionDriver) {
        strangerDeadlines.set(connection.slot, deadline: .distantFuture)
    }

    func strangerTimedOut(_ connection: ConnectionDriver) {
        guard connection.standing.isStranger else { return }
        counters.strangersRefused += 1
        connection.refuse(reason: "not authorized in time")
    }

    func ended(
        _ connection: ConnectionDriver, closure: QUICClosure, ids: [LocalConnectionID], words: LastWords?
    ) {
        let (slot, standing) = (connection.slot, connection.standing)
        handshakeOver(connection)
        if standing.isStranger {
            admission.strangerLeft()
            incoming.removeAll { $0 === connection }
        }
        let now = loop.now
        for id in ids { demultiplexer.retire(id, words: words, now: now) }
        if let choice = standing.firstChoice { demultiplexer.retireFirstChoice(choice, now: now) }
        demultiplexer.replaceResetTokens(standing.resetTokens, with: [], for: slot)
        deadlines.set(slot, deadline: .distantFuture)
        strangerDeadlines.set(slot, deadline: .distantFuture)
        table.remove(slot)
        report(.debug, "connection_ended", "a connection ended: \(closure)")
    }
}
