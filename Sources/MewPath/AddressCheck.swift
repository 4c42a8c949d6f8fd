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

    package let number: PathSelector.ProbeNumber
    private var silent: [SocketAddress]
    private var answered: [SocketAddress] = []
    private var probing: [SocketAddress] = []
    private var inVain: [SocketAddress] = []
    /// None of them has answered a small packet.
    private let dialled: Set<SocketAddress>
    private var asked = 0
    private let began: Instant

    /// When each address is asked, after the beginning: a listener answers once it has authorized us, and packets get lost.
    /// No address gets more than five packets in any second (`CandidateList.spacing`): with the two of a large probe, that is.
    static let times: [Duration] = [.zero, .milliseconds(200), .milliseconds(700)]
    /// When those that have not answered are given up: the last question has had more than a second.
    static let patience: Duration = .seconds(2)
    /// Of all addresses of one connection together: two rounds over as many as a call names, then one packet of 88 bytes for
    /// what a listener has to spend to name an address anew.
    package static let budget = RateLimit(burst: 32, perSecond: 16)

    /// - Parameter dialled: those of `addresses` that need no question.
    package init(
        _ number: PathSelector.ProbeNumber, _ addresses: [SocketAddress], dialled: Set<SocketAddress> = [], now: Instant
    ) {
        self.number = number
        self.dialled = dialled
        silent = addresses.filter { !dialled.contains($0) }
        answered = addresses.filter(dialled.contains)
        began = now
    }

    package var deadline: Instant {
        if !probing.isEmpty && silent.isEmpty { return .distantFuture }
        let end = probing.isEmpty ? began.advanced(by: Self.patience) : .distantFuture
        return asked < Self.times.count ? min(end, began.advanced(by: Self.times[asked])) : end
    }

    /// It answered a small question that was sent to it.
    package mutating func answered(_ address: SocketAddress) {
        guard let index = silent.firstIndex(of: address) else { return }
        answered.append(silent.remove(at: index))
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
        let isOver = silent.isEmpty || began.advanced(by: Self.patience) <= now
        if probing.isEmpty, isOver { return [.over(passSmall: inVain)] }
        if asked < Self.times.count, began.advanced(by: Self.times[asked]) <= now {
            // What was missed while the machine did not run is not made up for.
            asked += Self.times[asked...].prefix { began.advanced(by: $0) <= now }.count
            if !silent.isEmpty { actions.append(.ask(silent)) }
        }
        return actions
    }
}
