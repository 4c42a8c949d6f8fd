internal import MewBase

// Decisions while a relay carries the connection.

extension PathSelector {
    mutating func relayed(_ number: RelayNumber, _ sample: PathSample, _ now: Instant) -> [Step] {
        guard let relay = relays[number], let connectedSince = relay.connectedSince else {
            return relayAway(number, now)
        }
        if let call = unheard {
            unheard = nil
            if let better = answer(to: call, on: number, sample, now) { return [.use(.relay(better))] }
        }
        if let home = newHome(instead: number, sample, now) { return [.use(.relay(home))] }
        guard let since = sample.unansweredSince else { return probeDue(now) }
        // What was sent while it was away is lost, and the library has begun to wait for long.
        if connectedSince > since { return [.use(.relay(number))] }
        if isAwake(sample, since: since, now) { return [.use(.relay(number))] }
        return unanswered(on: number, sample, since: since, now)
    }

    /// The peer tells where it is although it has answered nothing for a while: it was asleep, or cut off. What is under way is
    /// lost, the library's window is full of it, and a full window does not even let it check another path.
    private func isAwake(_ sample: PathSample, since: Instant, _ now: Instant) -> Bool {
        let isLong = since.duration(to: now) >= max(Self.shortestDoubt, sample.probeTimeout)
        return wasCalled && isLong && mayRenew(sample)
    }

    /// Which relay a peer that does not hear us here is answered through.
    private mutating func answer(to call: PathCall, on number: RelayNumber, _ sample: PathSample, _ now: Instant)
        -> RelayNumber?
    {
        if let better = called(by: call, now: now), better != number { return better }
        // Soon after a move it tells of the way before. And each move costs one of the few connection IDs that a peer gives.
        let isNews = sample.since.duration(to: now) >= max(Self.renewalSpacing, sample.probeTimeout * 2)
        guard isNews else { return nil }
        guard let other = call.cameBy?.relay, other != number, relays.isConnected(other) else { return number }
        // It was not followed the last time, because that relay has just come back; but here it does not hear us at all.
        if let passedOver, passedOver.relay == other, passedOver.at.duration(to: now) < RelayList.probation {
            return other
        }
        passedOver = (other, now)
        return number
    }

    /// The peer is at other relays now and will leave this one (DESIGN §7): the connection goes first.
    private func newHome(instead number: RelayNumber, _ sample: PathSample, _ now: Instant) -> RelayNumber? {
        guard !relays.isAdvertised(number), sample.since.duration(to: now) >= Self.renewalSpacing else { return nil }
        return relays.ranked(now: now).first { relays.isAdvertised($0) && !relays.isOnProbation($0, now: now) }
    }

    /// The peer does not answer. First the relay is asked whether it is there, and the peer through every relay; it is followed
    /// to where it answers. When it answers nowhere, another relay has its turn, once.
    private mutating func unanswered(on number: RelayNumber, _ sample: PathSample, since: Instant, _ now: Instant)
        -> [Step]
    {
        if let way = followed(from: number, now) { return [.use(way)] }
        var steps = asked(number, sample, since: since, now)
        guard var silence, let sought = silence.sought else { return steps + probeDue(now) }
        defer { self.silence = silence }
        let turn = max(since.advanced(by: turnTime(sample)), sought.advanced(by: Self.answerTime))
        guard turn <= now else {
            lookBy(turn)
            return steps + probeDue(now)
        }
        if !silence.hasProbed {
            silence.hasProbed = true
            candidates.hurry(now: now)
        }
        // Where a peer with path messages is, it answers them, and it has been asked for everywhere.
        guard !sample.speaksBeside, !silence.hasTurned, let other = relays.best(except: number, now: now) else {
            return steps + probeDue(now)
        }
        silence.hasTurned = true
        silence.moved()
        steps.append(.use(.relay(other)))
        return steps
    }

    /// The peer is sought after half a second when nothing came by this relay yet, otherwise when the relay is doubted.
    private mutating func asked(_ number: RelayNumber, _ sample: PathSample, since: Instant, _ now: Instant) -> [Step] {
        guard var silence else { return [] }
        defer { self.silence = silence }
        var steps: [Step] = []
        let doubt = since.advanced(by: max(Self.shortestDoubt, sample.probeTimeout * 2))
        if doubt > now { lookBy(doubt) }
        if !silence.hasAsked, doubt <= now {
            silence.hasAsked = true
            steps.append(.ask(number))
        }
        let search = hasAnswered(sample) ? doubt : since.advanced(by: Self.shortestDoubt)
        if search > now { lookBy(search) }
        if silence.sought == nil, search <= now {
            (silence.sought, silence.hasSought) = (now, true)
            steps.append(.seek)
        }
        return steps
    }

    /// Where the peer has answered while it is silent here. When that is here, what is under way is lost and the library waits
    /// for long: a new path, with nothing remembered, once.
    private mutating func followed(from number: RelayNumber, _ now: Instant) -> PathWay? {
        guard var silence, let first = silence.firstFound else { return nil }
        let due = first.advanced(by: Self.foundGrace)
        guard due <= now else {
            lookBy(due)
            return nil
        }
        defer { self.silence = silence }
        if silence.found.contains(number) {
            guard !silence.hasRenewed else { return nil }
            silence.hasRenewed = true
            return .relay(number)
        }
        guard let other = relays.ranked(now: now).first(where: silence.found.contains) else { return nil }
        silence.moved()
        return .relay(other)
    }

    private func hasAnswered(_ sample: PathSample) -> Bool { sample.lastAcknowledged > sample.since }

    private func turnTime(_ sample: PathSample) -> Duration {
        max(hasAnswered(sample) ? Self.shortestTurn : Self.lateTurn, sample.probeTimeout * 4)
    }

    /// The relay that carries the connection does not forward any more.
    mutating func relayAway(_ number: RelayNumber?, _ now: Instant) -> [Step] {
        if let other = called(by: unheard, now: now) ?? relays.best(except: number, now: now) {
            unheard = nil
            return [.use(.relay(other))]
        }
        guard !knowsOfLoss else { return probeDue(now) }
        return search(now)
    }
}

extension PathSelector.Silence {
    /// To another relay: there everything is asked again.
    fileprivate mutating func moved() {
        (hasAsked, hasRenewed, sought, found, firstFound) = (false, false, nil, [], nil)
    }
}
