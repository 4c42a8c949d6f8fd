internal import MewBase

// Decisions while a relay carries the connection.

extension PathSelector {
    mutating func relayed(_ number: RelayNumber, _ sample: PathSample, _ now: Instant) -> [Step] {
        guard let relay = relays[number], let connectedSince = relay.connectedSince else {
            return relayAway(number, now)
        }
        if let call = unheard {
            unheard = nil
            let better = called(by: call) ?? number
            // Soon after a move it tells of the way before. And each move costs one of the few connection IDs that a peer gives.
            let isNews = sample.since.duration(to: now) >= max(Self.renewalSpacing, sample.probeTimeout * 2)
            if better != number || isNews { return [.use(.relay(better))] }
        }
        guard let since = sample.unansweredSince else { return probeDue(now) }
        // What was sent while it was away is lost, and the library has begun to wait for long.
        if connectedSince > since { return [.use(.relay(number))] }
        return unanswered(on: number, sample, since: since, now)
    }

    /// The peer does not answer. First the relay is asked; when it is there, another one has its turn, once.
    private mutating func unanswered(on number: RelayNumber, _ sample: PathSample, since: Instant, _ now: Instant)
        -> [Step]
    {
        guard var silence else { return probeDue(now) }
        defer { self.silence = silence }
        let doubt = since.advanced(by: max(Self.shortestDoubt, sample.probeTimeout * 2))
        guard doubt <= now else {
            lookBy(doubt)
            return probeDue(now)
        }
        var steps: [Step] = []
        if !silence.hasAsked {
            silence.hasAsked = true
            steps = [.ask(number)]
        }
        let turn = since.advanced(by: turnTime(sample))
        guard turn <= now else {
            lookBy(turn)
            return steps + probeDue(now)
        }
        if !silence.hasProbed {
            silence.hasProbed = true
            candidates.hurry(now: now)
        }
        guard !silence.hasTurned, let other = relays.best(except: number, now: now) else {
            return steps + probeDue(now)
        }
        silence.hasTurned = true
        silence.hasAsked = false
        return steps + [.use(.relay(other))]
    }

    private func turnTime(_ sample: PathSample) -> Duration {
        let hasAnswered = sample.lastAcknowledged > sample.since
        return max(hasAnswered ? Self.shortestTurn : Self.lateTurn, sample.probeTimeout * 4)
    }

    /// The relay that carries the connection does not forward any more.
    mutating func relayAway(_ number: RelayNumber?, _ now: Instant) -> [Step] {
        if let other = called(by: unheard) ?? relays.best(except: number, now: now) {
            unheard = nil
            return [.use(.relay(other))]
        }
        guard !knowsOfLoss else { return probeDue(now) }
        return search(now)
    }
}
