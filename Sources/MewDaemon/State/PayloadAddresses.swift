package import MewBase
import MewLoop

/// Where a peer may reach this daemon, for the payload of a pairing, or this relay: the addresses of the machine behind the
/// sockets that are bound.
package struct PayloadAddresses {
    /// One address of an interface that is up.
    struct Candidate {
        let address: SocketAddress
        let isLoopback: Bool
        /// Joins containers of this machine; nobody outside reaches us there (NEEDS N-12).
        let isBridge: Bool
        let isTunnel: Bool
    }

    /// A QR code with more is hard to scan.
    package static let limit = 8
    /// As many as are exchanged after authorization (DESIGN §6).
    static let reachLimit = 16

    /// Those of real interfaces first, then tunnels; the loopback address only when there is nothing else, for two nodes on
    /// one machine without a network. Link-local IPv6 addresses mean another interface on every machine and are left out.
    static func addresses(
        bound: [SocketAddress], candidates: [Candidate], limit: Int = Self.limit
    ) -> [SocketAddress] {
        var result: [SocketAddress] = []
        for socket in bound {
            let found = socket.isUnspecified ? expand(socket, candidates) : [socket]
            for address in found where !result.contains(address) { result.append(address) }
        }
        return Array(result.prefix(limit))
    }

    private static func expand(_ socket: SocketAddress, _ candidates: [Candidate]) -> [SocketAddress] {
        let usable = candidates.filter {
            $0.address.family == socket.family && !$0.isBridge && $0.address.scope == 0
        }
        let outside = usable.filter { !$0.isLoopback }
        let ordered = outside.filter { !$0.isTunnel } + outside.filter(\.isTunnel)
        let hasOutside = candidates.contains { !$0.isLoopback && !$0.isBridge && $0.address.scope == 0 }
        return (hasOutside ? ordered : usable).map { $0.address.with(port: socket.port) }
    }
}

extension PayloadAddresses {
    /// Asks the system. A machine whose interfaces cannot be listed has a payload without addresses.
    package static func current(bound: [SocketAddress], limit: Int = Self.limit) -> [SocketAddress] {
        let interfaces = (try? InterfaceAddress.all()) ?? []
        return addresses(
            bound: bound,
            candidates: interfaces.filter(\.isUp).map {
                Candidate(
                    address: $0.address, isLoopback: $0.isLoopback, isBridge: $0.isBridge, isTunnel: $0.isPointToPoint)
            }, limit: limit)
    }
}
