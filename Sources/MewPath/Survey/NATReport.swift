package import MewBase

/// What a node knows of the routers before it, for each address family by itself. The words are those of RFC 4787 §4 and §5; each
/// says only what was seen. Their numbers go into path messages (`NATAttribute`).
package struct NATReport: Hashable, Sendable {
    package var ipv4 = Finding()
    package var ipv6 = Finding()

    package init() {}

    package subscript(family: SocketAddress.Family) -> Finding {
        get {
            switch family {
            case .ipv4: ipv4
            case .ipv6: ipv6
            }
        }
        set {
            switch family {
            case .ipv4: ipv4 = newValue
            case .ipv6: ipv6 = newValue
            }
        }
    }

    /// At which others may reach this node, if its routers let them: those of both families, the likeliest first. What each of them
    /// would see differently is left out.
    package var reflexive: [SocketAddress] {
        [ipv6, ipv4].flatMap { $0.mapping.isPredictable == false ? [] : $0.reflexive }
    }

    package struct Finding: Hashable, Sendable {
        package var udp = UDP.unknown
        package var mapping = Mapping.unknown
        package var filtering = Filtering.unknown
        package var hairpin = Hairpin.unknown
        /// Where servers saw this node, none of which is an address of its own; the one that most saw first.
        package var reflexive: [SocketAddress] = []

        package init() {}
    }

    package enum UDP: UInt8, Sendable, CaseIterable {
        case unknown
        case works
        /// TCP reaches a relay by this family, and nothing it answers on UDP comes back.
        case blocked
    }

    package enum Mapping: UInt8, Sendable, CaseIterable {
        case unknown
        /// Servers see an address of this machine.
        case none
        /// Servers at two addresses see the same.
        case endpointIndependent
        /// One server sees the same at both of its ports; nothing is known of other addresses.
        case independentOfPort
        /// One server sees different ones at its two ports: it depends at least on the port.
        case dependsOnPort
        /// Servers at two addresses see different ones.
        case dependsOnAddress

        /// A peer can be told an address by which this node is reached: what servers see is what others see.
        package var isPredictable: Bool? {
            switch self {
            case .unknown, .independentOfPort: nil
            case .none, .endpointIndependent: true
            case .dependsOnPort, .dependsOnAddress: false
            }
        }
    }

    /// Whether the router sends back what goes from inside to where it shows this node (RFC 4787 §6). Asked only by `mew net`: nothing
    /// depends on it, because a path that needs it is found by trying.
    package enum Hairpin: Sendable, CaseIterable {
        case unknown
        case works
        case fails
    }

    package enum Filtering: UInt8, Sendable, CaseIterable {
        case unknown
        /// An answer came in from a port of the server that nothing was ever sent to.
        case open
        /// The same answer did not come in, though that port answers who asks it.
        case dependsOnPort
    }
}
