package import MewBase
import MewLoop
import MewMapping
import MewPath
import MewQUIC
package import MewWire
import Synchronization

// Changes of the machine's network.

extension Node {
    /// The addresses of this machine have changed, or it was asleep: relays are asked whether they are there, peers that
    /// dialled us are called, and dialled connections look for their way anew. Called by the node itself when its loop is a
    /// real one.
    ///
    /// - Parameter machine: all addresses of this machine; nil when they are not known.
    package func networkChanged(machine: Set<SocketAddress>? = nil) async {
        await discovery?.networkChanged()
        await portMapper?.networkChanged()
        await endpoint.presenceChanged(await presence(machine))
        await relays?.networkChanged()
        for keeper in keepers.all { await keeper.networkChanged() }
    }

    /// What calls say of us: relays, addresses at which we listen, and what relays see.
    private func presence(_ machine: Set<SocketAddress>?) async -> Presence {
        let relays = await relays?.reachable() ?? []
        let own = await ownPlaces().candidates
        return Presence(candidates: own.addresses, relays: relays, machine: machine, nat: own.nat)
    }

    /// Where this node may be reached, as far as that is known.
    func ownPlaces() async -> OwnPlaces {
        let (report, stage) = await (discovery?.report, discovery?.stage ?? .over)
        let nat = report == NATReport() ? nil : report
        let mapped = await portMapper?.candidate
        let own = OwnCandidates(
            host: ownAddresses?(addresses) ?? [], mapped: mapped.map { [$0] } ?? [], nat: nat)
        return OwnPlaces(candidates: own, stage: stage)
    }

    /// Asks relays everything about this node's network, for a person who wants to know. Nil when nothing can be asked.
    ///
    /// - Parameter relays: asked by a node that listens at none.
    package func examineNetwork(asking relays: [RelayURL] = []) async -> Discovery.Examination? {
        await discovery?.use(relays)
        await self.relays?.ask()
        return await discovery?.examine()
    }

    /// The latest inputs and steps of the choice of paths, of each dialled connection that is up; each a line.
    package func pathTraces() async -> [[String]] {
        var traces: [[String]] = []
        for keeper in keepers.all { traces.append(await keeper.traceLines) }
        return traces
    }

    /// The same, for a peer that is to be told. What relays say is asked anew when it is old: whoever is told something then is told
    /// again by `discovered`.
    func freshPlaces() async -> OwnPlaces {
        _ = await discovery?.refresh()
        return await ownPlaces()
    }

    /// A dialler that offers its addresses is told ours.
    func watchOffers() async {
        guard discovery != nil else { return }
        let loop = endpoint.loop
        await endpoint.observeOffers { [weak self] in
            loop.spawn { [weak self] in await self?.refreshPresence() }
        }
    }

    private func refreshPresence() async {
        let places = await freshPlaces()
        if places.areFresh { await endpoint.presenceRefreshed(places.presence) }
    }

    /// Relays have told something new of where this node is, or will tell nothing.
    func discovered() async {
        let places = await ownPlaces()
        await endpoint.presenceRefreshed(places.presence)
        for keeper in keepers.all { await keeper.gathered(places) }
    }

    /// Watches the network of a real machine until `stop`. A kernel that does not tell costs only the time until silence is
    /// noticed.
    func watchNetwork() async {
        guard let loop = endpoint.loop as? EventLoop else { return await setPresence(nil) }
        await setPresence(NetworkPicture.current().addresses)
        let watch = await loop.spawn { [weak self] in
            Result { () throws(SystemError) in
                try NetworkWatch(on: loop) { event, picture in
                    guard let self else { return }
                    self.report(event)
                    loop.spawn { await self.networkChanged(machine: picture.addresses) }
                }
            }
        }.value
        switch watch {
        case .success(let watch): self.watch.withLock { $0 = watch }
        case .failure(let error):
            diagnostics.record(ifWanted: .warning) {
                Diagnostic(.warning, "node", "network_not_watched", "changes of the network are not told: \(error)")
            }
        }
    }

    private func setPresence(_ machine: Set<SocketAddress>?) async {
        await endpoint.setPresence(await presence(machine))
    }

    private func report(_ event: NetworkEvent) {
        diagnostics.record(ifWanted: .info) {
            switch event {
            case .changed: Diagnostic(.info, "node", "network_changed", "the network of this machine has changed")
            case .woke(let slept):
                Diagnostic(.info, "node", "woke", "this machine was asleep for \(slept.components.seconds) s")
            }
        }
    }
}

/// Where a node may be reached, and whether more will be known soon.
struct OwnPlaces: Sendable {
    let candidates: OwnCandidates
    let stage: NATSurvey.Stage

    /// Nobody is being asked who may say something else at once.
    var areFresh: Bool { stage != .unanswered }
}

extension OwnPlaces {
    fileprivate var presence: Presence { Presence(candidates: candidates.addresses, nat: candidates.nat) }
}
