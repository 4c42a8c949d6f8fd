import MewBase
import MewDaemon
import MewWire

/// Where others reach a relay that is bound to some addresses: those themselves, and for a wildcard the machine's own, those
/// that the whole Internet can reach first.
struct RelayPlaces {
    let addresses: [SocketAddress]

    init(
        bound: [SocketAddress],
        expand: ([SocketAddress]) -> [SocketAddress] = { PayloadAddresses.current(bound: $0) }
    ) {
        let found = expand(bound)
        let ordered = found.filter(\.isPublic) + found.filter { !$0.isPublic }
        // A machine without any address: what is bound says at least the port.
        addresses = ordered.isEmpty ? bound : ordered
    }

    /// Those of a relay with TLS, by what its certificate is for. A name that is no host, such as a wildcard, makes none.
    static func urls(hosts: [String], bound: [SocketAddress]) -> [String] {
        var ports: [UInt16] = []
        for address in bound where !ports.contains(address.port) { ports.append(address.port) }
        return hosts.flatMap { host in
            ports.compactMap { port in (try? RelayURL("https://\(host):\(port)/"))?.description }
        }
    }

    /// Nobody on another machine reaches any of them.
    var areOnlyHere: Bool { addresses.allSatisfy(\.isLoopback) }

    /// - Parameter scheme: `http` or `https`.
    func urls(_ scheme: String) -> [String] { addresses.map { "\(scheme)://\($0)/" } }
}

extension SocketAddress {
    /// Blocks for private networks, carriers' networks, links, the machine itself, and groups (RFC 6890, RFC 5771).
    private static let localBlocks: [(address: UInt32, bits: UInt32)] = [
        (0x0000_0000, 8), (0x0a00_0000, 8), (0x6440_0000, 10), (0x7f00_0000, 8), (0xa9fe_0000, 16), (0xac10_0000, 12),
        (0xc0a8_0000, 16), (0xe000_0000, 3),
    ]

    /// Of a block that is given out for the Internet.
    var isPublic: Bool {
        switch family {
        case .ipv4: !Self.localBlocks.contains { (ipv4 ^ $0.address) >> (32 - $0.bits) == 0 }
        // 2000::/3 (RFC 4291 §2.4).
        case .ipv6: high >> 61 == 1
        }
    }
}
