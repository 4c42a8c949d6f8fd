package import MewBase

/// How much strangers may cost (DESIGN §5). Each number with what happens at it.
package struct AdmissionLimits: Sendable {
    /// From here on a stranger must first prove its address (Retry): forged sources stop costing memory.
    package var retryFrom = 64
    /// Connections whose handshake is not complete; beyond it an Initial is dropped, and the dialler repeats it.
    package var halfOpen = 512
    /// Handshakes in flight from one /24 or /56, so that one network cannot use up the rest.
    package var handshakesPerSource = 8
    /// Connections that are complete and that nobody has authorized.
    package var strangers = 32
    /// Beyond `strangers`, so many more wait for `provisionalTime` in case the owner knows their key; the rest is refused.
    package var provisional = 32
    package var provisionalTime = Duration.seconds(1)
    /// A stranger has this long to say who it is.
    package var authorizationTime = Duration.seconds(10)

    package init() {}
}

/// Where an Initial packet came from, as coarse as the limits count.
package enum AdmissionSource: Hashable, Sendable {
    case network(family: SocketAddress.Family, prefix: UInt64)
    /// Through the carrier of that number, from whom it calls `sender`.
    case relayed(carrier: UInt32, sender: UInt64)

    /// /24 of an IPv4 address, /56 of an IPv6 address: what one household or one attacker usually has.
    package init(_ address: SocketAddress) {
        switch address.family {
        case .ipv4: self = .network(family: .ipv4, prefix: address.high >> 40)
        case .ipv6: self = .network(family: .ipv6, prefix: address.high >> 8)
        }
    }
}

/// Counts strangers and says who may come in. A pure value.
package struct Admission {
    package let limits: AdmissionLimits
    package private(set) var halfOpen = 0
    package private(set) var strangers = 0
    private var bySource: [AdmissionSource: Int] = [:]

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

    /// - Parameter hasProvenAddress: a good Retry token came along, or the packet came through a relay, whose sender
    ///   address nobody can forge and which a Retry would not prove.
    package func verdict(on source: AdmissionSource, hasProvenAddress: Bool) -> Verdict {
        if halfOpen >= limits.halfOpen { return .drop }
        if bySource[source, default: 0] >= limits.handshakesPerSource { return .drop }
        return halfOpen >= limits.retryFrom && !hasProvenAddress ? .retry : .accept
    }

    package mutating func handshakeStarted(from source: AdmissionSource) {
        halfOpen += 1
        bySource[source, default: 0] += 1
    }

    /// Complete or given up: either way it is no longer in flight.
    package mutating func handshakeEnded(from source: AdmissionSource) {
        halfOpen -= 1
        let left = bySource[source, default: 1] - 1
        bySource[source] = left > 0 ? left : nil
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
