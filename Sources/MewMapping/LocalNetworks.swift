internal import MewBase
package import MewLoop

/// The IPv4 networks that this machine is in.
package struct LocalNetworks: Sendable {
    private let addresses: [InterfaceAddress]

    package init(_ addresses: [InterfaceAddress]) {
        self.addresses = addresses.filter {
            $0.isUp && !$0.isLoopback && $0.address.family == .ipv4 && (8...32).contains($0.prefixLength)
        }
    }

    /// A list that cannot be had is an empty one.
    package static func current() -> LocalNetworks {
        LocalNetworks((try? InterfaceAddress.all()) ?? [])
    }

    /// Whether a URL names a host in one of them by its address.
    package func hold(_ url: String) -> Bool { own(towards: url) != nil }

    /// Our address there, without a port.
    package func own(towards url: String) -> String? {
        guard let host = Self.host(of: url) else { return nil }
        let own = addresses.first { address in
            let shift = 32 - UInt64(address.prefixLength)
            return UInt64(address.address.ipv4 ^ host.ipv4) >> shift == 0
        }
        return own?.address.dotted
    }

    /// `http://192.0.2.1:5000/path`; other schemes and host names are nobody's.
    private static func host(of url: String) -> SocketAddress? {
        guard url.hasPrefix("http://"), url.utf8.count <= 1024 else { return nil }
        let authority = url.dropFirst(7).prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        return SocketAddress(authority.contains(":") ? String(authority) : "\(authority):80")
    }
}
