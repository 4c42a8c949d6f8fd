package import MewWire

/// By whose authorities the certificates of relays are believed.
package struct RelayTrust: Sendable {
    /// Authorities, or why there are none: then the relay is not believed.
    package typealias Belief = Result<TLSTrust, TLSFailure>

    /// Of every relay that has none of its own; nil for the system's.
    package var general: Belief?
    private var particular: [(relay: RelayURL, belief: Belief)] = []

    package init(general: TLSTrust? = nil) {
        self.general = general.map { .success($0) }
    }

    /// Makes it so for just this relay; the first belief about a relay counts.
    package mutating func add(_ belief: Belief, for relay: RelayURL) {
        if own(of: relay) == nil { particular.append((relay, belief)) }
    }

    /// What was made for just this relay.
    package func own(of url: RelayURL) -> Belief? {
        particular.first { $0.relay.isSamePlace(as: url) }?.belief
    }
}
