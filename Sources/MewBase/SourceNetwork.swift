/// Where somebody comes from, coarse enough that one household, or one small host with many addresses, is one source: an IPv4
/// /24 or an IPv6 /56.
package struct SourceNetwork: Hashable, Sendable, CustomStringConvertible {
    private let prefix: UInt64
    private let family: SocketAddress.Family

    package init(_ address: SocketAddress) {
        family = address.family
        prefix = address.high >> (address.family == .ipv4 ? 40 : 8)
    }

    /// `192.0.2.0/24`.
    package var description: String {
        switch family {
        case .ipv4: "\(SocketAddress(ipv4: UInt32(prefix << 8), port: 0).host)/24"
        case .ipv6: "\(SocketAddress(ipv6High: prefix << 8, low: 0, port: 0).host)/56"
        }
    }
}
