internal import MewBase
internal import MewLoop
internal import MewPath
internal import MewQUICCore

// Path messages: what is said beside QUIC, on any way (ARCHITECTURE.md, "Path messages").

extension ConnectionDriver {
    /// On both sides when the handshake is complete: the listener has no keying material after `authorize`.
    func beginTalk(_ core: ConnectionCore) {
        guard let endpoint, let name = core.applicationProtocol,
            endpoint.configuration.pathMessageProtocols.contains(name),
            let secret = core.export(label: PathKeys.exporterLabel, byteCount: PathKeys.exportedBytes)
        else { return }
        let keys = PathKeys(secret: secret, isDialler: role == .client)
        talk = ConnectionTalk(keys)
        endpoint.talks[keys.receiveTag] = slot
    }

    func endTalk() {
        guard let talk else { return }
        endpoint?.talks[talk.talk.keys.receiveTag] = nil
        self.talk = nil
        calls = []
    }

    // MARK: - Hearing

    /// Something that bears our tag. False when the peer did not write it.
    func heard(message bytes: [UInt8], from arrival: Outlet, now: Instant) -> Bool {
        // Strangers are told nothing.
        guard let core, core.isAuthorized, talk != nil else { return false }
        var source: SocketAddress?
        if case .direct(let address) = arrival.route { source = address }
        guard let heard = talk?.talk.hear(bytes, from: source, now: now) else { return false }
        talk?.noteWay(arrival)
        switch heard {
        case .question(let answer):
            endpoint?.send(answer, by: arrival)
            if role == .client, let source { onPath?(.asked(source)) }
        case .call(let call, let isNew, let answer):
            endpoint?.send(answer, by: arrival)
            if role == .client, isNew { willBeCalled(call, from: arrival.route) }
        case .offer(let offer, let isNew, let answer):
            guard role == .server else { return false }
            endpoint?.send(answer, by: arrival)
            if isNew { offered(offer, by: arrival, now: now) }
        case .answer(let question, _, _): answered(question, by: arrival.route, now: now)
        }
        return true
    }

    private func answered(_ question: PathTalk.Question, by route: Route, now: Instant) {
        switch question {
        case .probe:
            talk?.announcements.answered(route)
            onPath?(.answered(route))
        case .check(let address):
            talk?.punch.answered(address)
            onPath?(.checked(address))
        case .offer: onPath?(.offerTaken)
        case .call: talk?.schedule.answered(now: now)
        }
        touched()
    }

    /// Unread calls kept; the latest say it all.
    private static let maxCalls = 4

    /// Packets that wait in the sockets are looked at first: they may show that the listener's complaint is answered.
    private func willBeCalled(_ call: Call, from route: Route) {
        _ = loop.schedule(at: loop.now) { [weak self] in self?.called(call, from: route) }
    }

    private func called(_ call: Call, from route: Route) {
        guard let core, talk?.passesOn(call, now: loop.now) == true else { return }
        let present = talk?.talk.keys.mark(ofPeers: core.presentPeerID)
        var isUnheard = false
        if let mark = call.unheard, mark == present {
            isUnheard = talk?.doubt.believes(mark, lastProof: core.lastProof, now: loop.now) ?? false
        }
        if calls.count >= Self.maxCalls { calls.removeFirst() }
        calls.append(PeerCall(call: call, isUnheard: isUnheard, route: route))
        waiters.resumeAll(callWaiters)
    }

    /// Genuine packets of the peer, all for one connection ID.
    func heard(_ packets: UnsafeRawBufferPointer) {
        if talk?.schedule.isQuiet == false { talk?.schedule.heard() }
        guard role == .server, let id = PacketHead.shortID(packets) else { return }
        talk?.heardID = id
    }

    // MARK: - Saying

    /// A timer of the connection has fired.
    func tendTalk(now: Instant) {
        guard let core else { return }
        for way in talk?.announcements.due(now: now) ?? [] { probe(way, now: now) }
        guard role == .server, core.isAuthorized, core.closure == nil else { return }
        tendPunch(now: now)
        // A dialler that is heard and does not answer sees for itself that its packets get through and ours do not.
        let silentSince = stalledSince(core, now: now) ?? core.unansweredSince.map { max($0, core.lastProof) }
        let sample = CallSchedule.Sample(silentSince: silentSince, probeTimeout: core.probeTimeout)
        if talk?.schedule.look(sample, now: now) == true { call(now: now) }
    }

    /// Since when the dialler acknowledges small packets only, when that is long enough to be no chance: it cannot know that
    /// our large ones do not arrive, and the library never tries smaller ones. A path that it takes anew begins with the size
    /// that every path carries.
    private func stalledSince(_ core: ConnectionCore, now: Instant) -> Instant? {
        guard let since = core.stalledSince else { return nil }
        talk?.stallLooked = now
        let patience = max(ConnectionTalk.stallPatience, core.probeTimeout * 3)
        return since.advanced(by: patience) <= now ? since : nil
    }

    /// When a timer of the connection has to fire.
    func deadline(of core: ConnectionCore) -> Instant {
        guard let talk else { return core.deadline }
        let stall = role == .server ? talk.stallDeadline(since: core.stalledSince) : .distantFuture
        return min(core.deadline, talk.deadline, stall)
    }

    private func probe(_ route: Route, now: Instant) {
        guard let endpoint, let outlet = outlets.outlet(to: route),
            let bytes = talk?.talk.ask(.probe, entropy: endpoint.entropy, now: now)
        else { return }
        endpoint.send(bytes, by: outlet)
    }

    /// Asks whether the peer is at `address`; `PathNotice.checked` tells the dialler if it is.
    func check(_ address: SocketAddress) {
        guard let endpoint, let outlet = outlets.outlet(to: .direct(address)),
            let bytes = talk?.talk.ask(.probe, of: address, entropy: endpoint.entropy, now: loop.now)
        else { return }
        endpoint.send(bytes, by: outlet)
    }

    /// Dialler: the listener shall know that it can call us there.
    func announce(_ route: Route) {
        guard role == .client, talk != nil else { return }
        talk?.announcements.add(route, now: loop.now)
        for way in talk?.announcements.due(now: loop.now) ?? [] { probe(way, now: loop.now) }
        touched()
    }

    /// Listener: our addresses or relays are others now, or `carrier` is back after it was away.
    func presenceChanged(returned carrier: CarrierID? = nil) {
        guard role == .server, let core, core.isAuthorized, core.closure == nil, talk != nil else { return }
        let present = routes.outlets(of: core.path).first
        var isLost = false
        switch present?.route {
        case .direct: isLost = endpoint?.presence.has(present?.source) == false
        case .carried(let id, _): isLost = id == carrier
        case nil: break
        }
        // Another way is back: good only for a call that is under way.
        if carrier != nil, !isLost, talk?.schedule.isCalling != true { return }
        let now = loop.now
        if talk?.schedule.moved(isLost: isLost, now: now) == true { call(now: now) }
        touched()
    }

    /// Calls by every way that may still lead to the dialler.
    func call(now: Instant) {
        guard let endpoint, let talk else { return }
        var call = Call(
            candidates: endpoint.presence.candidates, relays: endpoint.presence.relays, nat: endpoint.presence.nat)
        if talk.schedule.isUnheard, let id = talk.heardID {
            call.unheard = talk.talk.keys.mark(ofOwn: id.bytes)
        }
        let ways = callWays(talk)
        for way in ways {
            // What is asked there as well counts.
            if case .direct(let address) = way.route, self.talk?.punch.takes(address, now: now) == false { continue }
            guard let bytes = self.talk?.talk.ask(.call(call), entropy: endpoint.entropy, now: now) else { return }
            endpoint.send(bytes, by: way)
        }
        if call.unheard != nil { unheardCall = now }
        endpoint.called(ways.count, isUnheard: call.unheard != nil)
    }

    private func callWays(_ talk: ConnectionTalk) -> [Outlet] {
        var ways: [Outlet] = []
        for var way in routes.arrivals + talk.ways where !ways.contains(where: { $0.route == way.route }) {
            // From an address that is gone nothing leaves: the kernel chooses another.
            if endpoint?.presence.has(way.source) == false { way.source = nil }
            ways.append(way)
        }
        // Addresses that are being asked get enough, and a dialler that offers them hears us at a relay.
        let relays = ways.filter(\.isCarried)
        if talk.punch.isRunning, !talk.schedule.isUnheard, !relays.isEmpty { return relays }
        return ways
    }
}

extension Connection {
    /// Dialler: the next thing the listener says about where it is; nil once the connection is gone or the task is cancelled.
    package func nextCall() async -> PeerCall? {
        while true {
            if !driver.calls.isEmpty { return driver.calls.removeFirst() }
            if driver.closure != nil || Task.isCancelled { return nil }
            await driver.waiters.wait(
                in: driver.callWaiters, unless: { !driver.calls.isEmpty || driver.closure != nil })
        }
    }

    /// Dialler: the listener shall know that it can call us by `route`, which carries nothing else: it is probed until the
    /// listener has answered. Again after an interruption.
    package func announce(_ route: Route) {
        driver.announce(route)
    }
}
