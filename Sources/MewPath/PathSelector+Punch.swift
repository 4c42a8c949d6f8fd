internal import MewBase

// Both sides look for each other at the same time (ARCHITECTURE.md, "Punching").

extension PathSelector {
    /// What became known while addresses are being asked, of a peer that answers small questions.
    mutating func lateComers(_ sample: PathSample, _ now: Instant) -> [Step] {
        guard var probe, probe.began < now, sample.speaksBeside, sample.way?.relay != nil,
            probe.began.duration(to: now) < AddressCheck.joinTime
        else { return [] }
        let new = candidates.due(now: now).filter { !probe.addresses.contains($0) }
        guard !new.isEmpty else { return [] }
        probe.addresses += new
        self.probe = probe
        candidates.tried(new, now: now)
        return [.widen(probe.number, new)]
    }

    mutating func inviteDue(_ sample: PathSample, _ now: Instant) -> [Step] {
        guard candidates.all.isEmpty, sample.speaksBeside, let relay = sample.way?.relay, relays.isConnected(relay)
        else { return [] }
        guard invitation.next <= now else {
            lookBy(invitation.next)
            return []
        }
        invitation.next = now.advanced(by: invitation.pause)
        invitation.pause = min(invitation.pause * 2, CandidateList.longestQuarantine)
        lookBy(invitation.next)
        return [.invite]
    }

    /// Why no address can answer, as far as that is known.
    var obstacle: PunchObstacle? { PunchObstacle.between(reports.ours, reports.theirs) }
}
