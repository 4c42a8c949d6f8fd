import MewBase
import MewClient
import MewIdentity
import MewLoop
import MewNode
import MewSim
import MewTestSupport
import MewWire
import Testing

/// A device on one machine of a simulated world: a node, and the client library on top of it.
///
/// `@unchecked Sendable`: a simulated world runs on one thread, and its parts are used on that thread only.
final class SimulatedDevice: @unchecked Sendable {
    let machine: SimNode
    let supervisor: DaemonSupervisor
    private let node: Node

    private init(_ machine: SimNode, _ node: Node, _ supervisor: DaemonSupervisor) {
        (self.machine, self.node, self.supervisor) = (machine, node, supervisor)
    }

    /// Pairs with the daemon and stays connected until `stop`. Returns when the link is ready.
    static func start(
        on machine: SimNode, _ name: String, seed: UInt8, _ target: DialTarget, _ token: PairingToken
    ) async throws -> SimulatedDevice {
        let secret = try #require(SecretKey(seed: [UInt8](repeating: seed, count: 32)))
        let node = try await Node.start(
            .init(secret: secret, addresses: [SocketAddress.anyIPv4.with(port: 5_000)], accepts: []),
            network: machine.network, loop: machine.loop, entropy: machine.entropy)
        let clock = machine.wallClock
        let record = DaemonRecord(
            node: target.node, name: "desk", addresses: target.addresses, token: token.revealed,
            addedAt: WallTime(milliseconds: 0))
        let supervisor = DaemonSupervisor(
            record: record,
            environment: ClientEnvironment(
                dialer: node, clock: LoopClock(machine.loop),
                wallClock: { WallTime(milliseconds: Int64(clock.millisecondsSinceEpoch)) }, entropy: machine.entropy,
                store: VolatileRecords(), deviceName: name, app: "mew test", clientKind: .cli),
            pairs: true)
        let feed = await supervisor.subscribe()
        machine.loop.spawn { await supervisor.run() }
        for await case .phase(.ready) in feed { break }
        feed.finish()
        return SimulatedDevice(machine, node, supervisor)
    }

    func lease(of session: SessionID) async -> InputLease {
        await supervisor.view.attached[session]?.lease ?? .unknown
    }

    /// What a prompt is refused with; nil when the daemon takes it.
    func refusal(of text: String, in session: SessionID) async throws -> String? {
        let feed = await supervisor.subscribe()
        defer { feed.finish() }
        let id = try await supervisor.prompt(text, in: session)
        for await case .operation(let operation) in feed where operation.id == id {
            switch operation.state {
            case .refused(let code, let message): return "\(code.rawValue): \(message)"
            case .stored, .delivered, .settled: return nil
            case .sending, .unknown, .absent: continue
            }
        }
        return "no answer"
    }

    func stop() async {
        await supervisor.stop()
        await node.stop()
    }
}

/// The records of a device that keeps nothing.
actor VolatileRecords: ClientStore {
    nonisolated let instance = ClientInstance("this")
    private var kept = ClientRecords()

    nonisolated func isRunning(_ instance: ClientInstance) -> Bool { instance == self.instance }

    func records() -> ClientRecords { kept }

    func update<Value: Sendable>(
        _ change: @Sendable (inout ClientRecords) throws(ClientStoreError) -> Value
    ) throws(ClientStoreError) -> Value {
        try change(&kept)
    }
}
