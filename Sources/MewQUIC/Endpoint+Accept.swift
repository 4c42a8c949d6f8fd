internal import MewBase
internal import MewLoop
internal import MewQUICCore

// Incoming connections: who may start a handshake, who may stay, and what the endpoint keeps about each.

extension Endpoint {
    /// The next peer whose handshake is complete; nil once the endpoint is closed or the task is cancelled.
    ///
    /// The peer is restricted until the owner calls `authorize` on the connection, and is dropped when nobody does in time.
    package func accept() async -> Connection? {
        while true {
            if !incoming.isEmpty { return incoming.removeFirst() }
            if isClosing || Task.isCancelled { return nil }
            await wait(in: acceptors, unless: { !incoming.isEmpty || isClosing })
        }
    }

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
            case .connection(let slot): deliver(bytes, to: slot, from: pending)
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
        guard let newcomer = newcomer(&initial, from: pending.arrival) else {
            counters.initialsDropped += 1
            return
        }
        switch admission.verdict(on: newcomer) {
        case .accept:
            if let slot = admit(initial, newcomer, from: pending.arrival) { deliver(bytes, to: slot, from: pending) }
        case .retry: sendRetry(initial, to: pending.arrival)
        case .drop: counters.initialsDropped += 1
        }
    }

    private func deliver(_ bytes: UnsafeRawBufferPointer, to slot: ConnectionSlot, from pending: PendingInitial) {
        guard let connection = table[slot]?.connection else { return }
        let packet = LoopBound(bytes)
        connection.assumeIsolated {
            $0.input(packet, segmentSize: packet.value.count, from: pending.arrival, ecn: pending.ecn)
        }
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
    ) -> ConnectionSlot? {
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
        let slot = table.reserveSlot()
        let connection = start(core, routes: routes, slot: slot)
        table[slot]?.handshake = newcomer
        table[slot]?.firstChoice = initial.destination
        demultiplexer.registerFirstChoice(initial.destination, for: slot)
        admission.handshakeStarted(by: newcomer)
        connection.assumeIsolated { $0.takeEvents() }
        return slot
    }

    /// Makes the actor around a core and puts it into the table.
    func start(_ core: ConnectionCore, routes: RouteTable, slot: ConnectionSlot) -> Connection {
        let connection = Connection(
            LoopBound(core), routes: LoopBound(routes), outlets: LoopBound(outlets), slot: slot, endpoint: self)
        table.insert(connection, at: slot)
        return connection
    }

    // MARK: - What connections report

    func issued(_ id: LocalConnectionID, for slot: ConnectionSlot) {
        demultiplexer.register(id, for: slot)
    }

    func retired(_ id: LocalConnectionID) {
        demultiplexer.retire(id, now: loop.now)
    }

    func resetTokensChanged(_ tokens: [ResetToken], for slot: ConnectionSlot) {
        demultiplexer.replaceResetTokens(table[slot]?.resetTokens ?? [], with: tokens, for: slot)
        table[slot]?.resetTokens = tokens
    }

    func established(_ slot: ConnectionSlot) {
        handshakeOver(slot)
        guard let entry = table[slot], entry.role == .server else { return }
        switch admission.strangerArrived() {
        case .refuse:
            counters.strangersRefused += 1
            entry.connection.assumeIsolated { $0.refuse(reason: "too many strangers") }
        case .wait(let time):
            table[slot]?.isStranger = true
            strangerDeadlines.set(slot, deadline: loop.now.advanced(by: time))
            incoming.append(entry.connection)
            waiters.resumeFirst(acceptors)
        }
    }

    private func handshakeOver(_ slot: ConnectionSlot) {
        guard let newcomer = table[slot]?.handshake else { return }
        table[slot]?.handshake = nil
        admission.handshakeEnded(by: newcomer)
    }

    func authorized(_ slot: ConnectionSlot) {
        guard table[slot]?.isStranger == true else { return }
        table[slot]?.isStranger = false
        admission.strangerLeft()
        waits(slot)
    }

    /// No time limit any more; the stranger still counts.
    func waits(_ slot: ConnectionSlot) {
        strangerDeadlines.set(slot, deadline: .distantFuture)
    }

    func strangerTimedOut(_ slot: ConnectionSlot) {
        guard let entry = table[slot], entry.isStranger else { return }
        counters.strangersRefused += 1
        entry.connection.assumeIsolated { $0.refuse(reason: "not authorized in time") }
    }

    func ended(
        _ slot: ConnectionSlot, closure: QUICClosure, ids: [LocalConnectionID], words: LoopBound<LastWords>?
    ) {
        guard let entry = table[slot] else { return }
        handshakeOver(slot)
        if entry.isStranger {
            admission.strangerLeft()
            incoming.removeAll { $0 === entry.connection }
        }
        let now = loop.now
        for id in ids { demultiplexer.retire(id, words: words?.value, now: now) }
        if let choice = entry.firstChoice { demultiplexer.retireFirstChoice(choice, now: now) }
        demultiplexer.replaceResetTokens(entry.resetTokens, with: [], for: slot)
        deadlines.set(slot, deadline: .distantFuture)
        strangerDeadlines.set(slot, deadline: .distantFuture)
        table.remove(slot)
        report(.debug, "connection_ended", "a connection ended: \(closure)")
    }

    func report(_ level: Diagnostic.Level, _ name: String, _ message: @autoclosure () -> String) {
        configuration.diagnostics.record(ifWanted: level) { Diagnostic(level, "quic", name, message()) }
    }
}
