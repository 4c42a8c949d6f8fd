package import MewBase

/// What a node has found out about the routers and firewalls between it and the outside. A value; unknown where nothing says it.
package struct NATReport: Hashable, Sendable {
    package enum UDP: UInt8, Sendable, CaseIterable { case unknown, works, blocked }

    /// Which outer address and port the routers give one socket (RFC 4787 §4.1).
    package enum Mapping: UInt8, Sendable, CaseIterable {
        case unknown
        /// The outer address is one of this machine.
        case none
        case endpointIndependent
        /// One relay saw the same from both of its ports; of other addresses nothing is known.
        case independentOfPort
        /// At least on the port.
        case dependsOnPort
        case dependsOnAddress
    }

    /// Who may send to that outer address (RFC 4787 §5).
    package enum Filtering: UInt8, Sendable, CaseIterable {
        case unknown
        /// Another port of a host that was written to, at least.
        case open
        case dependsOnPort
    }

    package struct Family: Hashable, Sendable {
        package var udp = UDP.unknown
        package var mapping = Mapping.unknown
        package var filtering = Filtering.unknown
        /// Where others see this node's socket, the latest first.
        package var reflexive: [SocketAddress] = []

        package init() {}
    }

    package var ipv4 = Family()
    package var ipv6 = Family()

    package init() {}
}
