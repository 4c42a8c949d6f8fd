import MewBase
import MewIdentity
import MewLoop
import MewPath
import MewQUIC
import MewRelay
import MewWire

// The relay legs of a dialled connection: the selector says which are kept, this opens and closes them. One that is closed
// stays with the node for a while (`NodeRelays.linger`), so that it is there at once when it is wanted again.

extension PathKeeper {
    struct Leg {
        let url: RelayURL
        /// The selector wants it.
        var isWanted = false
        /// Nil while there is none, or not yet.
        var joined: NodeRelays.Joined?
        var watch: Task<Void, Never>?
    }

    /// A relay by which the peer can be reached; nil when none can be used, or there is no room for it.
    @discardableResult
    func add(_ url: RelayURL) -> RelayNumber? {
        guard relays != nil, let number = selector.addRelay(url.description) else { return nil }
        if number.index == legs.count { legs.append(Leg(url: url)) }
        return number
    }

    func keepLegs() {
        let wanted = selector.legs
        for index in legs.indices {
            let number = RelayNumber(index)
            switch (legs[index].isWanted, wanted.contains(number)) {
            case (false, true):
                legs[index].isWanted = true
                loop.spawn { await self.open(number) }
            case (true, false): _ = drop(number)
            case (true, true), (false, false): break
            }
        }
    }

    func open(_ number: RelayNumber) async {
        guard let relays else { return }
        let url = legs[number.index].url
        let joined = await relays.visit(url)
        let phase = await joined.leg.status.phase
        // It may have become unwanted meanwhile, and wanted again.
        guard !isOver, legs[number.index].isWanted, legs[number.index].joined == nil else {
            return await relays.release(url)
        }
        legs[number.index].joined = joined
        legs[number.index].watch = loop.spawn { await self.watch(number, joined) }
        // Before anything else is decided: it may carry the connection.
        if case .connected(let since) = phase { take(.relayChanged(number, connectedSince: since)) }
    }

    /// - Returns: what gives it back, while there is something to give back.
    func drop(_ number: RelayNumber) -> Task<Void, Never>? {
        legs[number.index].isWanted = false
        legs[number.index].watch?.cancel()
        guard legs[number.index].joined != nil, let relays else { return nil }
        (legs[number.index].joined, legs[number.index].watch) = (nil, nil)
        let url = legs[number.index].url
        return loop.spawn { await relays.release(url) }
    }

    private func watch(_ number: RelayNumber, _ joined: NodeRelays.Joined) async {
        var seen: RelayLegStatus.Phase?
        while true {
            let phase = await joined.leg.phase(after: seen)
            if isOver || Task.isCancelled || phase == .closed { return }
            seen = phase
            if case .connected(let since) = phase {
                take(.relayChanged(number, connectedSince: since))
                // The listener knows only where packets have come from, and a direct connection came through no relay.
                await connection.announce(joined.route(to: peer))
            } else {
                take(.relayChanged(number, connectedSince: nil))
            }
        }
    }
}
