package import MewBase

/// One try of several addresses that the peer has named: a small question to each, and a packet of full size only to those
/// that have answered one (DESIGN §6). A peer may name anybody; who is none of its addresses gets some small packets and no more.
/// Those that were dialled had a handshake's first packets from us already: they are probed in full size at once, which a peer
/// without path messages can answer too. Who answers meanwhile joins that probe. A value.
///
///     asked ──answered──▶ probed ──▶ moved there (the owner drops this)
///       │                   └── in vain: passes small packets only
///       └── no answer
///
/// Its owner calls `look` at once, at `deadline` and after whatever else it has told, and performs the actions in order.
package struct AddressCheck: Sendable {
    package enum Action: Hashable, Sendable {
        /// Sends each a probe of the path messages.
        case ask([SocketAddress])
        /// Sends a probe of full size to all of these at once; `probedInVain` tells when none has answered.
        case probe([SocketAddress])
        /// Sends the probe that is under way to these as well, and nothing more to those that have it.
        case join([SocketAddress])
        /// Nothing more will come; these have answered small packets, and no large one.
        case over(passSmall: [SocketAddress])
    }

    /// An address that has not answered.
    private struct Question {
        let address: SocketAddress
        let began: Instant
        var asked = 0
        var next: Instant

        init(_ address: SocketAddress, now: Instant) {
            (self.address, began, next) = (address, now, now)
        }

        var end: Instant { began.advanced(by: AddressCheck.patience) }

        /// What was missed while the machine did not run is not made up for.
        mutating func ask(now: Instant) {
            asked = max(asked + 1, AddressCheck.times.count { began.advanced(by: $0) <= now })
            next = asked < AddressCheck.times.count ? began.advanced(by: AddressCheck.times[asked]) : .distantFuture
        }
    }

    package let number: PathSelector.ProbeNumber
    private var silent: [Question]
    private var answered: [SocketAddress] = []
    private var probing: [SocketAddress] = []
    private var inVain: [SocketAddress] = []
    /// None of them has answered a small packet.
    private let dialled: Set<SocketAddress>
    private let began: Instant

    /// When each address is asked, after the beginning: a listener answers once it has authorized us, and packets get lost.
    /// No address gets more than five packets in any second (`CandidateList.spacing`): with the two of a large probe, that is.
    static let times: [Duration] = [.zero, .milliseconds(200), .milliseconds(700)]
    /// When those that have not answered are given up: the last question has had more than a second.
    static let patience: Duration = .seconds(2)
    /// What becomes known later is asked in another try, so that each has an end.
    static let joinTime = patience
    /// Of all addresses of one connection together: two rounds over as many as a call names, then one packet of 88 bytes for
    /// what a listener has to spend to name an address anew.
    package static let budget = RateLimit(burst: 32, perSecond: 16)

    /// - Parameter dialled: those of `addresses` that need no question.
    package init(
        _ number: PathSelector.ProbeNumber, _ addresses: [SocketAddress], dialled: Set<SocketAddress> = [], now: Instant
    ) {
        self.number = number
        self.dialled = dialled
        silent = addresses.filter { !dialled.contains($0) }.map { Question($0, now: now) }
        answered = addresses.filter(dialled.contains)
        began = now
    }

    package var deadline: Instant {
        if !probing.isEmpty && silent.isEmpty { return .distantFuture }
        let end = probing.isEmpty ? silent.map(\.end).max() ?? began : .distantFuture
        return min(end, silent.map(\.next).min() ?? .distantFuture)
    }

    /// These became known meanwhile.
    package mutating func add(_ addresses: [SocketAddress], now: Instant) {
        guard began.duration(to: now) < Self.joinTime else { return }
        for address in addresses where !knows(address) { silent.append(Question(address, now: now)) }
    }

    private func knows(_ address: SocketAddress) -> Bool {
        silent.contains { $0.address == address } || [answered, probing, inVain].contains { $0.contains(address) }
    }

    /// The peer asks us from there: what has not got through until now may get through from now on, and the next question does
    /// not wait for its time.
    package mutating func heard(_ address: SocketAddress, now: Instant) {
        guard let index = silent.firstIndex(where: { $0.address == address }) else { return }
        if silent[index].next < .distantFuture { silent[index].next = min(silent[index].next, now) }
    }

    /// It answered a small question that was sent to it.
    package mutating func answered(_ address: SocketAddress) {
        guard let index = silent.firstIndex(where: { $0.address == address }) else { return }
        answered.append(silent.remove(at: index).address)
    }

    package mutating func probedInVain() {
        inVain += probing.filter { !dialled.contains($0) }
        probing = []
    }

    package mutating func look(now: Instant) -> [Action] {
        var actions: [Action] = []
        // Whoever has answered does not wait for those that were dialled, of which nothing is known, and takes nothing from them:
        // they may be just slower.
        if !answered.isEmpty, probing.isEmpty || probing.contains(where: dialled.contains) {
            actions.append(probing.isEmpty ? .probe(answered) : .join(answered))
            probing += answered
            answered = []
        }
        let isOver = silent.allSatisfy { $0.end <= now }
        if probing.isEmpty, isOver { return [.over(passSmall: inVain)] }
        let due = silent.indices.filter { silent[$0].next <= now }
        for index in due { silent[index].ask(now: now) }
        if !due.isEmpty { actions.append(.ask(due.map { silent[$0].address })) }
        return actions
    }
}
