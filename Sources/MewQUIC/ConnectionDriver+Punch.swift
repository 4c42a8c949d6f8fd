internal import MewBase
internal import MewLoop
package import MewPath
internal import MewQUICCore

// Punching: both ends look for each other at the same time, so that a firewall on either side takes what comes in for the answer
// to what went out (ARCHITECTURE.md, "Punching").

extension ConnectionDriver {
    // MARK: - Dialler

    /// Tells the listener where we may be; `PathNotice.offerTaken` tells that it knows.
    func offer(_ offer: Offer, by route: Route) {
        guard role == .client, let endpoint, let outlet = outlets.outlet(to: route),
            let bytes = talk?.talk.ask(.offer(offer), entropy: endpoint.entropy, now: loop.now)
        else { return }
        endpoint.send(bytes, by: outlet)
    }

    // MARK: - Listener

    /// The dialler looks for us: it is told where we are, and is looked for where it may be.
    func offered(_ offer: Offer, by arrival: Outlet, now: Instant) {
        talk?.punch.offered(offer.candidates.filter { outlets.outlet(to: .direct($0)) != nil }, now: now)
        punch(now: now)
        let isRefreshing = endpoint?.wantPresence() ?? false
        talk?.owesCall = ConnectionTalk.OwedCall(
            offered: now, by: isRefreshing ? now.advanced(by: ConnectionTalk.presencePatience) : now)
        payCall(now: now)
        touched()
    }

    /// A timer of the connection has fired.
    func tendPunch(now: Instant) {
        punch(now: now)
        payCall(now: now)
    }

    private func punch(now: Instant) {
        for address in talk?.punch.due(now: now) ?? [] { check(address) }
    }

    private func payCall(now: Instant) {
        guard let owed = talk?.owesCall, owed.by <= now else { return }
        talk?.owesCall?.by = .distantFuture
        callBack(now: now)
    }

    private func callBack(now: Instant) {
        if talk?.schedule.moved(isLost: false, now: now) == true { call(now: now) }
    }

    /// What the outside says of our addresses is as new as it can be, for now.
    ///
    /// - Parameters:
    ///   - isNews: it is something else than before.
    ///   - hasMoved: we may be reached where nobody was told.
    func presenceRefreshed(isNews: Bool, hasMoved: Bool) {
        guard role == .server, let core, core.isAuthorized, core.closure == nil, talk != nil else { return }
        let now = loop.now
        guard let owed = talk?.owesCall, owed.offered.duration(to: now) < ConnectionTalk.offerAge else {
            talk?.owesCall = nil
            if hasMoved { presenceChanged() }
            return
        }
        if isNews || owed.by < .distantFuture {
            talk?.owesCall?.by = .distantFuture
            callBack(now: now)
        }
        touched()
    }
}

extension EndpointDriver {
    /// False when nobody can say more than `presence` does.
    func wantPresence() -> Bool {
        onOffer?()
        return onOffer != nil
    }

    func presenceRefreshed(_ presence: Presence) {
        let isNews = presence.candidates != self.presence.candidates || presence.nat != self.presence.nat
        let hasMoved = !Set(presence.candidates).isSubset(of: self.presence.candidates)
        (self.presence.candidates, self.presence.nat) = (presence.candidates, presence.nat)
        for connection in table.all { connection.presenceRefreshed(isNews: isNews, hasMoved: hasMoved) }
    }
}

extension Endpoint {
    /// Calls `observer` on the loop, in the midst of a turn, each time a dialler offers its addresses: it looks where we are ourselves, and
    /// tells `presenceRefreshed` soon.
    package func observeOffers(_ observer: @escaping @Sendable () -> Void) {
        driver.onOffer = observer
    }

    /// What calls say of our addresses from now on; whoever has offered its own and waits for ours is called, and everybody when
    /// there are new ones. The addresses of the machine and the relays stay as they were.
    package func presenceRefreshed(_ presence: Presence) {
        driver.presenceRefreshed(presence)
    }
}

extension Connection {
    /// Dialler: tells the listener by `route` where we may be and that we look for it; `PathNotice.offerTaken` tells that it
    /// knows.
    package func offer(_ offer: Offer, by route: Route) {
        driver.offer(offer, by: route)
    }
}
