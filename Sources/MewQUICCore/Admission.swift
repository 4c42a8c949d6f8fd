package import MewBase

/// How much strangers may cost (DESIGN §5). Each number with what happens at it.
package struct AdmissionLimits: Sendable {
    /// From here on a stranger must first prove its address (Retry): forged sources stop costing memory.
    package var retryFrom = 64
    /// Connections whose handshake is not complete; beyond it an Initial is dropped, and the dialler repeats it.
    package var halfOpen = 512
    /// Handshakes in flight from one /24 or /56 whose sender has proved nothing: the next must prove its address. Forged
    /// packets, however many, cost their supposed sender a round trip and never the way in.
    package var unprovenPerNetwork = 8
    /// Handshakes in flight from one address that has proved itself; beyond it an Initial is dropped.
    package var provenPerAddress = 8
    /// The same for the /24 or /56 around it: four addresses of an attacker do not shut out their neighbours, and one
    /// network cannot use up the rest.
    package var provenPerNetwork = 32
    /// Handshakes in flight through one carrier: who throws keys away at a relay, or a relay that makes up senders, leaves three
    /// quarters of `halfOpen` to those that come directly or through another relay.
    package var perCarrier = 128
    /// Connections that are complete and that nobody has authorized.
    package var strangers = 32
    /// Beyond `strangers`, so many more wait for `provisionalTime` in case the owner knows their key; the rest is refused.
    package var provisional = 32
    package var provisionalTime = Duration.seconds(1)
    /// A stranger has this long to say who it is.
    package var authorizationTime = Duration.seconds(10)

    package init() {}
}

/// Whoever sent an Initial packet, as the limits count.
package struct Newcomer: Hashable, Sendable {
    /// What its handshake is counted under.
    enum Place: Hashable, Sendable {
        /// /24 of an IPv4 address, /56 of an IPv6 address: what one household or one attacker usually has.
        case network(family: SocketAddress.Family, prefix: UInt64, isProven: Bool)
        case address(SocketAddress)
        /// Through the carrier of that number, from whom it calls `sender`.
        case relayed(carrier: UInt32, sender: UInt64)
        case carrier(UInt32)
    }

    let places: [Place]
    /// A good Retry token came along, or the packet came through a relay, whose sender address nobody can forge and which
    /// a Retry would not prove.
    package let isProven: Bool

    package init(_ address: SocketAddress, isProven: Bool) {
        let prefix =
            switch address.family {
            case .ipv4: address.high >> 40
            case .ipv6: address.high >> 8
            }
        let network = Place.network(family: address.family, prefix: prefix, isProven: isProven)
        places = isProven ? [network, .address(address.with(port: 0))] : [network]
        self.isProven = isProven
    }

    package init(carrier: UInt32, sender: UInt64) {
        places = [.carrier(carrier), .relayed(carrier: carrier, sender: sender)]
        isProven = true
    }
}

/// Counts strangers and says who may come in. A pure value.
package struct Admission {
    package let limits: AdmissionLimits
    package private(set) var halfOpen = 0
    package private(set) var strangers = 0
    /// No more entries than two for each half-open connection.
    private var inFlight: [Newcomer.Place: Int] = [:]

    package init(limits: AdmissionLimits = AdmissionLimits()) {
        self.limits = limits
    }

    package enum Verdict: Equatable {
        case accept
        /// Answer with a Retry and keep nothing.
        case retry
        /// Say nothing and keep nothing.
        case drop
    }

    package func verdict(on newcomer: Newcomer) -> Verdict {
        if halfOpen >= limits.halfOpen { return .drop }
        let isFull = newcomer.places.contains { inFlight[$0, default: 0] >= limit(of: $0) }
        if newcomer.isProven { return isFull ? .drop : .accept }
        return isFull || halfOpen >= limits.retryFrom ? .retry : .accept
    }

    private func limit(of place: Newcomer.Place) -> Int {
        switch place {
        case .network(_, _, isProven: false): limits.unprovenPerNetwork
        case .network(_, _, isProven: true): limits.provenPerNetwork
        case .address, .relayed: limits.provenPerAddress
        case .carrier: limits.perCarrier
        }
    }

    package mutating func handshakeStarted(by newcomer: Newcomer) {
        halfOpen += 1
        for place in newcomer.places { inFlight[place, default: 0] += 1 }
    }

    /// Complete or given up: either way it is no longer in flight.
    package mutating func handshakeEnded(by newcomer: Newcomer) {
        halfOpen -= 1
        for place in newcomer.places {
            let left = inFlight[place, default: 1] - 1
            inFlight[place] = left > 0 ? left : nil
        }
    }

    package enum StrangerVerdict: Equatable {
        /// May wait this long for its authorization.
        case wait(Duration)
        case refuse
    }

    /// A handshake is complete: the peer is a stranger until it is authorized or gone.
    package mutating func strangerArrived() -> StrangerVerdict {
        guard strangers < limits.strangers + limits.provisional else { return .refuse }
        strangers += 1
        return .wait(strangers <= limits.strangers ? limits.authorizationTime : limits.provisionalTime)
    }

    package mutating func strangerLeft() {
        strangers -= 1
    }
}
