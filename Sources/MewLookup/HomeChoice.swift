package import MewBase
package import MewWire

/// Which relays a listening node keeps connections to, home and a standby on another host, and which of them is home
/// (DESIGN §7). A value: tell it what happens, call `decide`, and look at `legs`, `home` and `advertised`.
///
/// The nearest relay becomes home. A home is left only when it is gone for a while, or when another has been there for a minute
/// and is clearly nearer: every change of home is told to all devices and published, and a restart must not cost that.
package struct HomeChoice: Sendable {
    private struct Candidate {
        let url: RelayURL
        /// The last round trips.
        var samples: [Duration] = []
        /// They are of a network that was left: better than none, and not to be compared with those of this one.
        var isOutdated = false
        var isWanted = false
        /// Since when the connection is up; nil while it is not.
        var up: Instant?
        /// Since when a wanted one is not up.
        var down: Instant?
        /// When one that was given up may be wanted again.
        var notBefore: Instant?

        /// The least of a few: one slow answer says little about a distance.
        var roundTrip: Duration? { samples.min() }
    }

    /// Home and a standby.
    package static let maxLegs = 2
    /// More relays than this make no node more reachable.
    package static let maxCandidates = 8
    /// A relay that restarts is back within two seconds (spec/iroh-wire.md §4.4), and stays home.
    package static let patience: Duration = .seconds(3)
    /// A leg that is down for so long gives its place to another relay, if there is one.
    package static let replaceAfter: Duration = .seconds(5)
    /// How long one that was lost is not taken back (DESIGN §7).
    package static let quarantine: Duration = .seconds(60)
    /// How long after the first connection the others may come and be compared with it.
    package static let settling: Duration = .seconds(1)
    /// A nearer relay is nearer by at least this, and by a third: less is noise.
    package static let margin: Duration = .milliseconds(20)
    private static let maxSamples = 4

    private var candidates: [Candidate]
    /// When the first comparison is made; nil before the first connection and after that comparison.
    private var settlesAt: Instant?
    private var isSettled = false
    package private(set) var home: RelayURL?
    /// What is told to others: home first. Before the first connection, the relays that are being tried.
    package private(set) var advertised: [RelayURL] = []

    /// - Parameter relays: in the order of the user's preference, which decides while nothing was measured.
    package init(_ relays: [RelayURL]) {
        var seen: Set<RelayURL> = []
        candidates = relays.filter { seen.insert($0).inserted }.prefix(Self.maxCandidates).map { Candidate(url: $0) }
    }

    package var relays: [RelayURL] { candidates.map(\.url) }

    /// To which a connection should be kept now, home first.
    package var legs: [RelayURL] {
        let wanted = candidates.filter(\.isWanted).map(\.url)
        return wanted.filter { $0 == home } + wanted.filter { $0 != home }
    }

    // MARK: What happens

    package mutating func measured(_ url: RelayURL, _ roundTrip: Duration) {
        change(url) { candidate in
            let known = candidate.isOutdated ? [] : candidate.samples
            candidate.samples = Array((known + [roundTrip]).suffix(Self.maxSamples))
            candidate.isOutdated = false
        }
    }

    package mutating func connected(_ url: RelayURL, now: Instant) {
        change(url) { candidate in
            candidate.down = nil
            candidate.up = candidate.up ?? now
        }
        if !isSettled, settlesAt == nil { settlesAt = now.advanced(by: Self.settling) }
    }

    package mutating func lost(_ url: RelayURL, now: Instant) {
        change(url) { candidate in
            candidate.up = nil
            candidate.down = candidate.down ?? now
        }
    }

    /// Distances and who is out of reach have to be found out anew.
    package mutating func networkChanged(now: Instant) {
        for index in candidates.indices {
            candidates[index].isOutdated = !candidates[index].samples.isEmpty
            candidates[index].notBefore = nil
        }
        isSettled = false
        settlesAt = home == nil ? nil : now.advanced(by: Self.settling)
    }

    private mutating func change(_ url: RelayURL, _ body: (inout Candidate) -> Void) {
        guard let index = candidates.firstIndex(where: { $0.url == url }) else { return }
        body(&candidates[index])
    }

    // MARK: Decisions

    /// Brings `legs`, `home` and `advertised` up to date.
    package mutating func decide(now: Instant) {
        replaceLostLegs(now)
        fillLegs(now)
        chooseHome(now)
        advertise(now)
    }

    /// When time alone may change a decision.
    package func nextDeadline(now: Instant) -> Instant? {
        var deadlines = [settlesAt].compactMap { $0 }
        for candidate in candidates where candidate.isWanted {
            if let down = candidate.down {
                deadlines += [down.advanced(by: Self.patience), down.advanced(by: Self.replaceAfter)]
            }
            if let up = candidate.up, candidate.url != home { deadlines.append(up.advanced(by: Self.quarantine)) }
        }
        deadlines += candidates.compactMap { $0.isWanted ? nil : $0.notBefore }
        return deadlines.filter { $0 > now }.min()
    }

    private mutating func replaceLostLegs(_ now: Instant) {
        for index in candidates.indices {
            guard candidates[index].isWanted, let down = candidates[index].down,
                down.duration(to: now) >= Self.replaceAfter, candidates.contains(where: { isFree($0, now) })
            else { continue }
            candidates[index].isWanted = false
            candidates[index].down = nil
            candidates[index].notBefore = now.advanced(by: Self.quarantine)
            fillLegs(now)
        }
    }

    private func isFree(_ candidate: Candidate, _ now: Instant) -> Bool {
        !candidate.isWanted && (candidate.notBefore ?? now) <= now
    }

    private mutating func fillLegs(_ now: Instant) {
        while candidates.count(where: \.isWanted) < Self.maxLegs, let index = nextLeg(now) {
            candidates[index].isWanted = true
            candidates[index].notBefore = nil
            // A leg that was given up may still be there, and come back before it is wanted again.
            candidates[index].down = candidates[index].up == nil ? now : nil
        }
    }

    /// The nearest that is free, on a host of its own if there is such a one: two relays of one host die together.
    private func nextLeg(_ now: Instant) -> Int? {
        let hosts = Set(candidates.filter(\.isWanted).map(\.url.host))
        let free = candidates.indices.filter { isFree(candidates[$0], now) }
        let apart = free.filter { !hosts.contains(candidates[$0].url.host) }
        return (apart.isEmpty ? free : apart).min { isNearer(candidates[$0], candidates[$1]) }
    }

    /// Measured ones before others; equals in the user's order, because `min` takes the first.
    private func isNearer(_ left: Candidate, _ right: Candidate) -> Bool {
        switch (left.roundTrip, right.roundTrip) {
        case (let left?, let right?): left < right
        case (_?, nil): true
        case (nil, _): false
        }
    }

    private mutating func chooseHome(_ now: Instant) {
        let up = candidates.filter { $0.isWanted && $0.up != nil }
        guard let nearest = up.min(by: { isNearer($0, $1) }) else { return }
        guard let present = candidates.first(where: { $0.url == home }), isThere(present, now) else {
            home = nearest.url
            return
        }
        if let settlesAt, settlesAt <= now {
            (isSettled, self.settlesAt) = (true, nil)
            let comparable = up.filter { !$0.isOutdated }
            guard present.up != nil, !present.isOutdated else { return }
            home = (comparable.min { isNearer($0, $1) } ?? present).url
        } else if isSettled, let better = up.first(where: { isClearlyNearer($0, than: present, now) }) {
            home = better.url
        }
    }

    private func isThere(_ candidate: Candidate, _ now: Instant) -> Bool {
        guard candidate.isWanted else { return false }
        return candidate.up != nil || (candidate.down.map { $0.duration(to: now) < Self.patience } ?? false)
    }

    private func isClearlyNearer(_ candidate: Candidate, than present: Candidate, _ now: Instant) -> Bool {
        guard let up = candidate.up, up.duration(to: now) >= Self.quarantine, !candidate.isOutdated,
            !present.isOutdated, let near = candidate.roundTrip, let far = present.roundTrip
        else { return false }
        return near + Self.margin <= far && near * 3 <= far * 2
    }

    /// Without any connection what was told last stays: nothing better is known.
    private mutating func advertise(_ now: Instant) {
        let there = legs.filter { url in candidates.contains { $0.url == url && isThere($0, now) } }
        if home == nil {
            advertised = legs
        } else if candidates.contains(where: { $0.isWanted && $0.up != nil }) {
            advertised = there
        }
    }
}
