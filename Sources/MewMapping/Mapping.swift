package import MewBase

/// By which protocol a router was asked.
package enum MappingMethod: Hashable, Sendable, CaseIterable {
    /// RFC 6886.
    case natPMP
    /// WANIPConnection of the UPnP Internet Gateway Device.
    case upnp

    package var name: String {
        switch self {
        case .natPMP: "NAT-PMP"
        case .upnp: "UPnP"
        }
    }
}

/// A port that a router keeps open for us.
package struct Mapping: Hashable, Sendable {
    package let method: MappingMethod
    /// Where others reach us, IPv4.
    package let external: SocketAddress
    /// From when it was given. Zero is for ever: some routers know nothing else.
    package let lifetime: Duration
    /// Where the router takes requests about it.
    package let router: MappingRouter

    package init(_ method: MappingMethod, external: SocketAddress, lifetime: Duration, router: MappingRouter) {
        (self.method, self.external, self.lifetime, self.router) = (method, external, lifetime, router)
    }
}

/// The router of one mapping: who gave it is asked to prolong it and to take it back.
package enum MappingRouter: Hashable, Sendable {
    /// The default gateway.
    case gateway
    /// A device that announced itself; its control URL and the type of its service.
    case device(url: String, service: String)
}

/// Why there is no mapping.
package enum MappingFailure: Error, Hashable, Sendable {
    /// Nothing on this network takes requests.
    case noRouter
    /// It takes them and says no; in its words, or in those of the library.
    case refused(MappingMethod, String)
    /// It is behind a router itself (RFC 7021): the address it calls external is of a private network.
    case behindAnother(MappingMethod, SocketAddress)
    /// The system did not let us ask.
    case notAsked(String)

    /// Half a sentence.
    package var words: String {
        switch self {
        case .noRouter: "no router on this network opens ports (NAT-PMP, UPnP)"
        case .refused(let method, let reason): "the router refuses it (\(method.name): \(reason.printable(limit: 100)))"
        case .behindAnother(_, let address):
            "the router is behind another router: it calls itself \(address.dotted)"
        case .notAsked(let reason): "it could not be asked for (\(reason.printable(limit: 100)))"
        }
    }
}

extension SocketAddress {
    /// An IPv4 address without its port.
    var dotted: String { [24, 16, 8, 0].map { "\(ipv4 >> $0 & 0xff)" }.joined(separator: ".") }

    /// An IPv4 address that nobody outside of a private network reaches: private (RFC 1918), shared (RFC 6598), link-local,
    /// loopback, multicast, and none at all.
    package var isInternal: Bool {
        guard family == .ipv4 else { return false }
        let networks: [(UInt32, Int)] = [
            (0x0000_0000, 8), (0x0a00_0000, 8), (0x6440_0000, 10), (0x7f00_0000, 8), (0xa9fe_0000, 16),
            (0xac10_0000, 12), (0xc0a8_0000, 16), (0xe000_0000, 3),
        ]
        return networks.contains { network, length in (ipv4 ^ network) >> (32 - UInt32(length)) == 0 }
    }
}
