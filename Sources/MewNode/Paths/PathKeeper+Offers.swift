import MewBase
import MewLoop
import MewPath
import MewQUIC

// Punching: while addresses are tried and a relay carries the connection, the peer is told ours, so that it tries them at the
// same time (ARCHITECTURE.md, "Punching").

extension PathKeeper {
    /// A peer whose router gives each destination another port shows a new address now and then; more is no network.
    static let learningBudget = RateLimit(burst: 8, perSecond: 1)

    func offer() {
        guard offerRoute != nil, offers.begin(now: loop.now) else { return }
        loop.spawn { await self.gather() }
    }

    private func gather() async {
        if let places = await own() { gathered(places) }
    }

    /// This is known of where we are. While more may come at once, an offer waits a moment for it.
    func gathered(_ places: OwnPlaces) {
        guard !isOver else { return }
        let wasSurveying = isSurveying
        isSurveying = places.stage != .over
        if places.areFresh { gathered(places.candidates) }
        if isSurveying != wasSurveying { decisions.made() }
    }

    private func gathered(_ found: OwnCandidates) {
        let isNews = found != offered
        offered = found
        if offerRoute != nil { offers.gathered(isNews: isNews, now: loop.now) }
        tendOffers()
        if isNews, let report = found.nat { take(.surveyed(report)) } else { rearm() }
    }

    /// Sends what is due.
    func tendOffers() {
        guard let route = offerRoute else { return offers.stop() }
        guard offers.isDue(now: loop.now) else { return }
        report("path_offer", "telling a peer \(offered.all.count) addresses of ours")
        let offer = Offer(candidates: offered.addresses, nat: offered.nat)
        connection.assumeIsolated { $0.offer(offer, by: route) }
    }

    /// The relay that carries the connection; nil when none does, or the peer does not know what an offer is.
    private var offerRoute: Route? {
        connection.assumeIsolated { connection in
            guard connection.speaksBeside, case .carried? = connection.pathState?.route else { return nil }
            return connection.pathState?.route
        }
    }

    func offerTaken() {
        offers.answered()
        rearm()
    }

    /// The peer asks from there whether we are here. What it names nowhere is how its router shows it to us alone: it is asked back.
    func asked(from address: SocketAddress) {
        guard offerRoute != nil, families.contains(address.family), address.canBeDialled else { return }
        check?.heard(address, now: loop.now)
        if !selector.knows(address), learning.take(now: loop.now) {
            report("path_learnt", "a peer asks us from \(address)")
            take(.learnt([address]))
        }
        tendCheck()
        rearm()
    }
}
