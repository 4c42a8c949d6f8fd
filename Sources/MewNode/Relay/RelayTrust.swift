package import MewLoop
package import MewRelay
package import MewWire

/// By whose authorities the certificates of relays are believed.
package struct RelayTrust: Sendable {
    /// Of every relay that has none of its own; nil for the system's.
    package var general: TLSTrust?
    /// The first one of a relay counts.
    package var particular: [(relay: RelayURL, trust: TLSTrust)] = []

    package init(general: TLSTrust? = nil) {
        self.general = general
    }

    /// What was made for just this relay.
    package func own(of url: RelayURL) -> TLSTrust? {
        particular.first { $0.relay.isSamePlace(as: url) }?.trust
    }
}

extension NetworkRelayConnector {
    package convenience init(on loop: EventLoop, _ trust: RelayTrust) {
        self.init(on: loop, trust: trust.general, particular: trust.particular)
    }
}
