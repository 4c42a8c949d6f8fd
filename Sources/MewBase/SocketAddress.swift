/// An IP address with a port: sixteen address bytes in two words, so that it is a cheap dictionary key.
///
/// IPv4 addresses keep their four bytes in the top of `high`. An IPv4-mapped IPv6 address (`::ffff:a.b.c.d`) is turned
/// into the IPv4 address it stands for, so that one peer has one spelling.
public struct SocketAddress: Hashable, Sendable, CustomStringConvertible {
    public enum Family: Hashable, Sendable { case ipv4, ipv6 }

    public let family: Family
    /// The first eight address bytes, most significant first.
    public let high: UInt64
    /// The last eight address bytes; zero for IPv4.
    public let low: UInt64
    public let port: UInt16
    /// Interface index of a link-local IPv6 address; zero otherwise.
    public let scope: UInt32

    public init(ipv4 address: UInt32, port: UInt16) {
        family = .ipv4
        high = UInt64(address) << 32
        low = 0
        self.port = port
        scope = 0
    }

    public init(ipv6High: UInt64, low ipv6Low: UInt64, port: UInt16, scope: UInt32 = 0) {
        let isMapped = ipv6High == 0 && ipv6Low >> 32 == 0xffff
        family = isMapped ? .ipv4 : .ipv6
        high = isMapped ? ipv6Low << 32 : ipv6High
        low = isMapped ? 0 : ipv6Low
        self.port = port
        self.scope = isMapped ? 0 : scope
    }

    /// The address of an IPv4 socket address, most significant byte first.
    public var ipv4: UInt32 { UInt32(truncatingIfNeeded: high >> 32) }

    public func with(port: UInt16) -> SocketAddress {
        switch family {
        case .ipv4: SocketAddress(ipv4: ipv4, port: port)
        case .ipv6: SocketAddress(ipv6High: high, low: low, port: port, scope: scope)
        }
    }

    /// `0.0.0.0` or `::`.
    public var isUnspecified: Bool { high == 0 && low == 0 }

    public var isLoopback: Bool {
        switch family {
        case .ipv4: high >> 56 == 127
        case .ipv6: high == 0 && low == 1
        }
    }

    public static let anyIPv4 = SocketAddress(ipv4: 0, port: 0)
    public static let anyIPv6 = SocketAddress(ipv6High: 0, low: 0, port: 0)
    public static func loopback(port: UInt16) -> SocketAddress { SocketAddress(ipv4: 0x7f00_0001, port: port) }
}
