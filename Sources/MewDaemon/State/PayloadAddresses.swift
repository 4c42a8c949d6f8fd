package import MewBase
import MewLoop

/// Where a peer may reach this daemon, for the payload of a pairing, or this relay: the addresses of the machine behind the
/// sockets that are bound.
package struct PayloadAddresses {
    /// One address of an interface that is up.
    struct Candidate {
        let address: SocketAddress
        let isLoopback: Bool
        /// Joins containers of this machine, mostly; nobody outside reaches us there then (NEEDS N-12).
        let isBridge: Bool
        let isTunnel: Bool
    }

    /// A QR code with more is hard to scan.
    package static let limit = 8
    /// As many as are exchanged after authorization (DESIGN §6).
    static let reachLimit = 16

    /// Those of real interfaces first, then tunnels; without any, those of bridges, which are the machine's own where its card
    /// is part of one. The loopback address only when there is nothing else, for two nodes on one machine without a network.
    /// Link-local IPv6 addresses mean another interface on every machine and are left out.
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
        let usable = best(of: candidates.filter { $0.address.scope == 0 })
        let ordered = usable.filter { !$0.isTunnel } + usable.filter(\.isTunnel)
        return ordered.filter { $0.address.family == socket.family }.map { $0.address.with(port: socket.port) }
    }

    /// Of both families together: one without an address of the best kind has none.
    private static func best(of candidates: [Candidate]) -> [Candidate] {
        let outside = candidates.filter { !$0.isLoopback }
        let real = outside.filter { !$0.isBridge }
        return !real.isEmpty ? real : !outside.isEmpty ? outside : candidates
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
