package import MewBase
import MewLoop
import MewPath
import MewQUIC
import MewWire
import Synchronization

// Changes of the machine's network.

extension Node {
    /// The addresses of this machine have changed, or it was asleep: relays are asked whether they are there, peers that
    /// dialled us are called, and dialled connections look for their way anew. Called by the node itself when its loop is a
    /// real one.
    ///
    /// - Parameter machine: all addresses of this machine; nil when they are not known.
    package func networkChanged(machine: Set<SocketAddress>? = nil) async {
        machineAddresses.withLock { $0 = machine }
        if let discovery { endpoint.loop.spawn { await discovery.networkChanged() } }
        await endpoint.presenceChanged(await presence(machine, known: []))
        await relays?.networkChanged()
        for keeper in keepers.all { await keeper.networkChanged() }
        if natReport != nil { await refreshPresence() }
    }

    /// Relays see this node elsewhere than before.
    func candidatesChanged() async {
        let machine = machineAddresses.withLock { $0 }
        await endpoint.presenceChanged(await presence(machine, known: discovery?.candidates ?? []))
    }

    /// What calls say of us: relays, addresses at which we listen, and those that relays see.
    func presence(_ machine: Set<SocketAddress>?, known reflexive: [SocketAddress] = []) async -> Presence {
        let relays = await relays?.reachable() ?? []
        let own = ownAddresses?(addresses) ?? []
        let candidates = own + reflexive.filter { !own.contains($0) }
        return Presence(candidates: Array(candidates.prefix(Call.maxCandidates)), relays: relays, machine: machine)
    }

    /// Where this node may be reached, as new as it is known.
    func ownCandidates() async -> OwnCandidates {
        let report = await natReport?()
        return OwnCandidates(host: ownAddresses?(addresses) ?? [], nat: report)
    }

    /// A dialler that offers its addresses is told ours, and what the outside says of them is asked anew for that.
    func watchOffers() async {
        guard natReport != nil else { return }
        let loop = endpoint.loop
        await endpoint.observeOffers { [weak self] in
            loop.spawn { [weak self] in await self?.refreshPresence() }
        }
        loop.spawn { [weak self] in await self?.refreshPresence() }
    }

    private func refreshPresence() async {
        let own = await ownCandidates()
        await endpoint.presenceRefreshed(Presence(candidates: own.addresses, nat: own.nat))
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
        machineAddresses.withLock { $0 = machine }
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
