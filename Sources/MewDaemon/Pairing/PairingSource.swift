package import MewBase
package import MewWire

/// Where a connection comes from, coarse enough that one machine with many addresses is one source: the /24 of an IPv4
/// address, the /56 of an IPv6 address (DESIGN §5), or the relay.
package enum PairingSource: Hashable, Sendable, CustomStringConvertible {
    case network(SocketAddress)
    case relay(String)

    package init(_ path: LinkPath) {
        switch path {
        case .direct(let address): self = .network(Self.prefix(of: address))
        case .relay(let url): self = .relay(url)
        }
    }

    package var description: String {
        switch self {
        case .network(let address): "\(address.host)/\(address.family == .ipv4 ? 24 : 56)"
        case .relay(let url): url.printable(limit: 120)
        }
    }

    private static func prefix(of address: SocketAddress) -> SocketAddress {
        switch address.family {
        case .ipv4: SocketAddress(ipv4: address.ipv4 & 0xffff_ff00, port: 0)
        case .ipv6: SocketAddress(ipv6High: address.high & ~0xff, low: 0, port: 0)
        }
    }
}
