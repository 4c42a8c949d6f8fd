package import MewBase
internal import MewIdentity
internal import MewLoop
internal import MewRelay
package import MewSim
package import MewWire

/// A machine with the real relay server on it, and the ways in which such a machine fails.
///
/// `@unchecked Sendable`: a simulated world runs on one thread.
package final class SimRelay: @unchecked Sendable {
    package enum Failing: Hashable, Sendable, CaseIterable {
        /// The process is killed: connections end, and new ones are refused.
        case dies
        /// The machine has lost its power, or its network: nothing comes from it.
        case vanishes
        /// The process hangs: its kernel takes connections and bytes, and nobody answers.
        case hangs
    }

    package let url: RelayURL
    package let address: SocketAddress
    private let addresses: [SocketAddress]
    private let world: SimWorld
    private let name: String
    private var rules = AccessRules.everyone
    package private(set) var machine: SimNode
    package private(set) var failing: Failing?

    package static let port: UInt16 = 3_340
    /// Of UDP, besides the same number.
    package static let alternatePort: UInt16 = 7_842

    /// At `10.2.0.<number>`, or in IPv6 at `2001:db8:ff::<number>`; its URL names the first that it has of these.
    ///
    /// - Parameter keys: of the peers that it serves; nil for everybody.
    package init(
        _ world: SimWorld, number: UInt32, serving keys: [UInt8]? = nil, families: [SocketAddress.Family] = [.ipv4]
    ) {
        self.world = world
        rules.allowed = keys.map { keys in Set(keys.map { SimPeer.secret($0).node }) }
        name = "relay \(number)"
        addresses = Self.places(number).filter { families.contains($0.family) }
        address = addresses[0]
        guard let url = try? RelayURL("http://\(address)/") else { preconditionFailure("a relay's URL") }
        self.url = url
        machine = world.addNode(name, hosts: addresses)
        start()
    }

    private static func places(_ number: UInt32) -> [SocketAddress] {
        [
            SocketAddress(ipv4: 0x0a02_0000 + number, port: port),
            SocketAddress(ipv6High: 0x2001_0db8_00ff_0000, low: UInt64(number), port: port),
        ]
    }

    /// What a name server would say of the name in its URL: all that it may have.
    static func addresses(of url: RelayURL) -> [SocketAddress] {
        guard let named = SocketAddress(url.authority) else { return [] }
        let number = named.family == .ipv4 ? named.ipv4 & 0xffff : UInt32(truncatingIfNeeded: named.low)
        return places(number)
    }

    private func start() {
        let rules = rules
        let server = machine.loop.enter {
            var settings = RelaySettings(programVersion: "test")
            settings.rules = rules
            return RelayServer(settings, on: machine.loop, entropy: machine.entropy)
        }
        let (addresses, network, datagrams) = (addresses, machine.streams, machine.network)
        machine.loop.spawn {
            do throws(SocketError) {
                for address in addresses {
                    try await server.listen(address, network: network)
                    try await server.answerStun(address, network: datagrams)
                    try await server.answerProbes(address.with(port: Self.alternatePort), network: datagrams)
                }
            } catch {
                preconditionFailure("\(error)")
            }
        }
    }

    package func fail(_ how: Failing) {
        guard failing == nil else { return }
        failing = how
        switch how {
        case .dies: machine.kill()
        case .vanishes: machine.sleep()
        case .hangs: machine.stop()
        }
    }

    /// What failed works again; a relay that died is started anew.
    package func recover() {
        switch failing {
        case nil: return
        case .dies:
            machine = world.addNode(name, hosts: addresses)
            start()
        case .vanishes, .hangs: machine.resume()
        }
        failing = nil
    }
}
