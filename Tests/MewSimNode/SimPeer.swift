package import MewBase
internal import MewIdentity
internal import MewLoop
package import MewMapping
package import MewNode
package import MewSim
package import MewWire

/// A machine with a whole node on it.
///
/// `@unchecked Sendable`: a simulated world runs on one thread.
package final class SimPeer: @unchecked Sendable {
    package let machine: SimNode
    package let node: Node

    package static let port: UInt16 = 4_000

    /// The network of a machine besides the box it is behind.
    package struct Network: Sendable {
        /// Of the node's sockets.
        package var families: [SocketAddress.Family] = [.ipv4]
        /// The machine's IPv6 address, if it has one.
        package var ipv6: SocketAddress?

        package init() {}
    }

    /// - Parameters:
    ///   - key: fills the 32 bytes of the node key.
    ///   - relays: where it can be reached; a node that only dials has none.
    ///   - publishes: the relays are given its record.
    ///   - known: where it looks for nodes of which it knows nothing but the ID.
    ///   - surveys: asks its relays where they see it.
    ///   - routers: asked to open its port.
    ///   - cutsStreams: its streams to relays take and give pieces of any size.
    package init(
        _ world: SimWorld, _ name: String, key: UInt8, relays: [RelayURL] = [], publishes: Bool = false,
        knows known: [RelayURL] = [],
        behind router: SimRouter? = nil, network site: Network = Network(), surveys: Bool = false,
        routers: (any Routers)? = nil, cutsStreams: Bool = false,
        diagnostics: any DiagnosticSink = NoDiagnostics()
    ) throws {
        let machine = world.addNode(name, and: site.ipv6.map { [$0] } ?? [], behind: router)
        self.machine = machine
        var configuration = Node.Configuration(
            secret: Self.secret(key), addresses: site.families.map { Self.wildcard($0) }, offers: [.native],
            diagnostics: diagnostics)
        (configuration.relays, configuration.knownRelays) = (relays, known)
        configuration.routers = routers
        if publishes {
            configuration.nextRecordTimestamp = { [loop = SimClock(loop: machine.loop)] in loop.microseconds }
        }
        let own = MachineAddresses(node: machine)
        configuration.ownAddresses = { own.all($0) }
        let ready = configuration
        let (network, loop, entropy) = (machine.network, machine.loop, machine.entropy)
        let connector = SimRelayConnector(machine, cutsStreams: cutsStreams, tellsAddresses: surveys)
        node = try world.run(on: machine) {
            try await Node.start(ready, network: network, relays: connector, loop: loop, entropy: entropy)
        }
    }

    static func secret(_ key: UInt8) -> SecretKey {
        guard let secret = SecretKey(seed: [UInt8](repeating: key, count: 32)) else {
            preconditionFailure("32 bytes are a seed")
        }
        return secret
    }

    private static func wildcard(_ family: SocketAddress.Family) -> SocketAddress {
        switch family {
        case .ipv4: .anyIPv4.with(port: port)
        case .ipv6: .anyIPv6.with(port: port)
        }
    }

    package var address: SocketAddress { machine.address(port: Self.port) }

    /// All at which it listens, as a payload names them.
    package var addresses: [SocketAddress] { MachineAddresses(node: machine).all(node.addresses) }

    /// What the kernel tells of the machine's addresses, told on.
    package func networkChanged() {
        let (node, addresses) = (node, Set(machine.hosts))
        machine.loop.spawn { await node.networkChanged(machine: addresses) }
    }

    /// Ends in order, so that nothing is left when the world ends.
    package func stop() {
        machine.resume()
        let node = node
        machine.loop.spawn { await node.stop() }
    }
}

/// Numbers records by the time.
///
/// `@unchecked Sendable`: a simulated world runs on one thread.
private struct SimClock: @unchecked Sendable {
    let loop: SimLoop

    var microseconds: UInt64 { loop.now.nanoseconds / 1_000 }
}

/// The addresses at which others reach what a machine has bound.
///
/// `@unchecked Sendable`: a simulated world runs on one thread.
private struct MachineAddresses: @unchecked Sendable {
    let node: SimNode

    func all(_ bound: [SocketAddress]) -> [SocketAddress] {
        bound.flatMap { address in
            node.hosts.filter { $0.family == address.family }.map { $0.with(port: address.port) }
        }
    }
}
