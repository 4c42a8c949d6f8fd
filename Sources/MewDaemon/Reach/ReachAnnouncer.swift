import MewBase
import MewLoop
import MewNode
import MewRelay
import MewWire

/// Tells devices where the daemon can be found, whenever that changes (DESIGN §7). What is published for strangers, the node
/// does by itself.
///
/// Pinned to the network loop.
actor ReachAnnouncer {
    nonisolated let unownedExecutor: UnownedSerialExecutor
    private nonisolated let loop: any Loop
    private let node: Node
    private let daemon: Daemon
    private let nextNumber: @Sendable () async -> UInt64
    private let addresses: @Sendable () -> [SocketAddress]
    private var told: Place?

    private struct Place: Hashable {
        let relays: [String]
        let addresses: [String]
        let isElsewhere: Bool
    }

    /// A look costs one system call. Events of the network come at once; this is for what they miss.
    static let interval: Duration = .seconds(15)
    /// Between two announcements of changes: a relay that says this and the opposite in turns makes one of them a second.
    static let pause: Duration = .seconds(1)

    init(
        _ node: Node, _ daemon: Daemon, loop: any Loop, addresses: @escaping @Sendable () -> [SocketAddress],
        nextNumber: @escaping @Sendable () async -> UInt64
    ) {
        (self.node, self.daemon, self.loop) = (node, daemon, loop)
        self.addresses = addresses
        self.nextNumber = nextNumber
        unownedExecutor = loop.asUnownedSerialExecutor()
    }

    /// Until it is cancelled.
    func run() async {
        await withDiscardingTaskGroup { group in
            group.addTask {
                await self.look()
                for await _ in self.node.reachChanges {
                    await self.look()
                    guard await LoopClock(self.loop).pause(for: Self.pause) == .over else { return }
                }
            }
            group.addTask {
                while await LoopClock(self.loop).pause(for: Self.interval) == .over { await self.look() }
            }
        }
    }

    /// Tells where the daemon is, if that is news.
    func look() async {
        let relays = await node.reachableRelays().map(\.description)
        let isElsewhere = await node.homeRelays().contains { $0.status?.isSuperseded == true }
        let place = Place(
            relays: relays, addresses: addresses().map(\.description),
            isElsewhere: isElsewhere)
        guard place != told else { return }
        told = place
        let number = await nextNumber()
        await daemon.announce(
            .init(
                counter: number, relays: place.relays, addresses: place.addresses,
                isElsewhere: place.isElsewhere ? true : nil))
    }
}
