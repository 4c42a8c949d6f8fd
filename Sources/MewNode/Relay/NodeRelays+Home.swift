import MewBase
import MewIdentity
import MewLoop
package import MewLookup
import MewQUIC
package import MewRelay
package import MewWire

/// One of the relays at which a node can be reached, as it is now.
package struct HomeRelay: Sendable {
    package enum Role: String, Sendable {
        case home
        /// Takes over when home is gone.
        case standby
        /// Not used: two others are nearer, or this one was lost a moment ago.
        case spare
    }

    package let url: RelayURL
    package let role: Role
    /// Nil while there is no leg to it.
    package let status: RelayLegStatus?
    /// Devices and records are told of it. When it is not connected, they are told something stale (NEEDS N-06).
    package let isAdvertised: Bool
    /// What became of publishing the node's record there; nil when nothing is published.
    package let record: PublicationPlan.State?
}

/// A leg under the node's own key, and the task that keeps it.
struct HomeLeg {
    let number: UInt64
    let keeper: Task<Void, Never>
    var joined: NodeRelays.Joined?
    var status: RelayLegStatus?
    /// Set while it is not wanted any more.
    var leaving: LoopTimer?
}

// Being reached: `HomeChoice` decides, this does it.

extension NodeRelays {
    /// How long the distances of more relays than are needed may take to measure at the start.
    private static let measuring: Duration = .seconds(1)

    /// Keeps legs to the best of `urls` from now on.
    func listen(at urls: [RelayURL]) {
        choice = HomeChoice(urls)
        guard choice.relays.count > HomeChoice.maxLegs else { return decide() }
        measurer = loop.spawn {
            await self.measure()
            await self.decide()
        }
    }

    private func measure() async {
        let service = RecordService(connector: connector, loop: loop)
        await withTaskGroup(of: (RelayURL, Duration?)?.self) { [relays = choice.relays, loop] group in
            for url in relays { group.addTask { (url, try? await service.roundTrip(to: url)) } }
            group.addTask {
                // Over or cancelled: nobody waits for more answers.
                _ = await LoopClock(loop).pause(for: Self.measuring)
                return nil
            }
            var left = relays.count
            for await answer in group {
                if case (let url, let roundTrip?)? = answer { choice.measured(url, roundTrip) }
                if answer != nil { left -= 1 }
                if answer == nil || left == 0 { group.cancelAll() }
            }
        }
    }

    /// Where peers find us, home first: what is told to them.
    func reachable() -> [RelayURL] { choice.advertised }

    func homeStatus() async -> [HomeRelay] {
        let published = await publisher?.states ?? [:]
        return choice.relays.map { url in
            let role: HomeRelay.Role = url == choice.home ? .home : choice.legs.contains(url) ? .standby : .spare
            return HomeRelay(
                url: url, role: role, status: homes[url]?.status, isAdvertised: choice.advertised.contains(url),
                record: published[url])
        }
    }

    /// Suspends until every relay that is wanted forwards for us or has failed once, at most for `limit`. For one caller at a
    /// time.
    func settled(within limit: Duration) async {
        guard !isSettled, !isStopped else { return }
        let (settling, end) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingOldest(1))
        whenSettled = end
        let timer = loop.schedule(at: loop.now.advanced(by: limit)) { end.finish() }
        for await _ in settling {}
        loop.cancel(timer)
        whenSettled = nil
    }

    private var isSettled: Bool {
        guard !choice.relays.isEmpty else { return true }
        return !choice.legs.isEmpty && choice.legs.allSatisfy { homes[$0]?.status?.isSettled ?? false }
    }

    // MARK: Doing what was decided

    private func decide() {
        guard !isStopped else { return }
        let formerHome = choice.home
        choice.decide(now: loop.now)
        let wanted = choice.legs
        // In the order of the list, so that a simulation repeats itself.
        for url in choice.relays where homes[url] != nil && !wanted.contains(url) { giveUp(url) }
        for url in wanted { want(url) }
        if let home = choice.home, home != formerHome { note(home, after: formerHome) }
        tell()
        if isSettled { whenSettled?.finish() }
        if let homeTimer { loop.cancel(homeTimer) }
        homeTimer = choice.nextDeadline(now: loop.now).map { deadline in
            loop.schedule(at: deadline) { self.assumeIsolated { $0.decide() } }
        }
    }

    private func note(_ home: RelayURL, after former: RelayURL?) {
        diagnostics.record(ifWanted: .info) {
            let words = former.map { "\(home) is the home relay now, instead of \($0)" } ?? "\(home) is the home relay"
            return Diagnostic(.info, "relay", "home_relay", words, ["relay": .text(home.description)])
        }
    }

    /// Publishing is part of re-homing (NEEDS N-06). Before the first connection nothing is published: a relay that was never
    /// reached is a hope, not a place.
    private func tell() {
        if choice.advertised != told {
            told = choice.advertised
            changes.yield()
            tellCallers()
        }
        guard choice.home != nil, told != published, let publisher else { return }
        published = told
        loop.spawn { [told] in await publisher.publish(told) }
    }

    /// Connections through a relay that comes back live on: the leg stays as long as one of them uses it (DESIGN §6).
    private func giveUp(_ url: RelayURL) {
        guard homes[url] != nil, homes[url]?.leaving == nil else { return }
        homes[url]?.leaving = loop.schedule(at: loop.now.advanced(by: Self.linger)) {
            self.assumeIsolated { $0.lingered(at: url) }
        }
    }

    private func lingered(at url: RelayURL) {
        homes[url]?.leaving = nil
        // The endpoint has the same loop.
        if let carrier = homes[url]?.joined?.carrier, endpoint.assumeIsolated({ $0.isUsing(carrier) }) {
            giveUp(url)
        } else {
            homes.removeValue(forKey: url)?.keeper.cancel()
        }
    }

    private func want(_ url: RelayURL) {
        if let timer = homes[url]?.leaving { loop.cancel(timer) }
        homes[url]?.leaving = nil
        guard homes[url] == nil else { return }
        lastHomeLeg += 1
        let number = lastHomeLeg
        let keeper = loop.spawn { await self.keep(url, number) }
        homes[url] = HomeLeg(number: number, keeper: keeper)
    }

    private func keep(_ url: RelayURL, _ number: UInt64) async {
        let joined = await join(url, as: secret)
        if homes[url]?.number == number { homes[url]?.joined = joined }
        var seen = await joined.leg.status
        while !Task.isCancelled {
            saw(url, number, seen)
            seen = await joined.leg.changed(from: seen)
        }
        await leave(joined)
    }

    private func saw(_ url: RelayURL, _ number: UInt64, _ status: RelayLegStatus) {
        guard homes[url]?.number == number else { return }
        let former = homes[url]?.status
        homes[url]?.status = status
        if status.isConnected {
            choice.connected(url, now: loop.now)
            // Two answers may take equally long.
            if let roundTrip = status.roundTrip, status.measured != former?.measured { choice.measured(url, roundTrip) }
            if former?.isConnected != true, let publisher { loop.spawn { await publisher.connected(to: url) } }
        } else {
            choice.lost(url, now: loop.now)
        }
        if status.isSuperseded != former?.isSuperseded ?? false { changes.yield() }
        decide()
    }

    /// Distances may have changed, and so has what else is told of where this node is.
    func reconsiderHome() {
        choice.networkChanged(now: loop.now)
        decide()
        changes.yield()
    }
}

extension RelayLegStatus {
    /// The first try is over, one way or the other.
    fileprivate var isSettled: Bool {
        switch phase {
        case .connecting: false
        case .connected, .waiting, .closed: true
        }
    }
}
