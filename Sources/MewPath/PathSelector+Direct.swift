internal import MewBase
internal import MewWire

// Decisions while an address carries the connection.

extension PathSelector {
    mutating func direct(_ address: SocketAddress, _ sample: PathSample, _ now: Instant) -> [Step] {
        if unheard != nil { return leave(address, .notHeard, sample, now) }
        if let since = sample.unansweredSince {
            let limit = since.advanced(by: Self.silenceLimit(sample))
            if limit <= now { return leave(address, .fellSilent, sample, now) }
            lookBy(limit)
        }
        if let since = sample.stalledSince {
            let limit = since.advanced(by: Self.stallLimit(sample))
            if limit <= now { return stalled(address, sample, now) }
            lookBy(limit)
        }
        return []
    }

    /// Packets above some size do not arrive. The library never finds out by itself: a new path to the same address starts
    /// again with the size that every path carries.
    private mutating func stalled(_ address: SocketAddress, _ sample: PathSample, _ now: Instant) -> [Step] {
        if let renewed, renewed.address == address, renewed.at.duration(to: now) < Self.renewalTrial {
            return leave(address, .largePacketsLost, sample, now)
        }
        renewed = (address, now)
        return [.use(.direct(address))]
    }

    /// To a relay; without one, to whatever address answers.
    private mutating func leave(
        _ address: SocketAddress, _ objection: WhyNotDirect.Code, _ sample: PathSample, _ now: Instant
    ) -> [Step] {
        let call = unheard
        unheard = nil
        guard let relay = called(by: call, now: now) ?? relays.best(now: now) else { return search(now) }
        if sample.since.duration(to: now) >= Self.acquittal { candidates.acquit(address) }
        candidates.failed(address, objection, now: now)
        // It may be that only the peer has moved, or that a new path to it helps: the first time, it is asked soon.
        if objection == .notHeard, candidates[address]?.failures == 1 {
            candidates.hold(address, until: now.advanced(by: Self.shortStay))
        }
        return [.use(.relay(relay))]
    }

    /// The relay through which the peer has called. Not one that has just come back while another one works: the peer calls
    /// by all its ways, and the first copy may come by any.
    func called(by call: PathCall?, now: Instant) -> RelayNumber? {
        guard case .relay(let number)? = call?.cameBy, relays.isConnected(number) else { return nil }
        guard relays.isOnProbation(number, now: now), let best = relays.best(now: now) else { return number }
        return relays.isOnProbation(best, now: now) ? number : nil
    }

    /// No relay forwards: all addresses are asked, and the relays are tried again.
    mutating func search(_ now: Instant) -> [Step] {
        candidates.hurry(now: now)
        return retryOnce() + probeDue(now)
    }

    private mutating func retryOnce() -> [Step] {
        guard !knowsOfLoss else { return [] }
        knowsOfLoss = true
        return [.retryRelays]
    }
}
