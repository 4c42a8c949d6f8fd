internal import MewBase
internal import MewDaemon
internal import MewHost
internal import MewIdentity
internal import MewLoop
internal import MewNode
internal import MewSession
package import MewSim
package import MewStore
internal import MewTestSupport
internal import MewWire

/// The daemon's machine through all its lives. Its key, its address and its disk stay; node, sessions and store are of one life.
///
///     down ──start──▶ starting ──▶ running ──stop──▶ stopping ──▶ down
///      ▲                 │ no room    │ kill           │ kill
///      └─────────────────┴────────────┴────────────────┘
///
/// `@unchecked Sendable`: a simulated world runs on one thread.
package final class SimDesk: @unchecked Sendable {
    package static let port: UInt16 = 4_433
    private static let host = SocketAddress(ipv4: 0x0a04_0001, port: 0)
    private static let secret = SimDevice.secret(99)
    /// What starts the daemon again when it could not start, as systemd does.
    private static let restartPause: Duration = .seconds(2)

    package enum Dying: Hashable, Sendable {
        /// Its kernel keeps what was written.
        case process
        /// The machine loses its power: what was not synced is gone, in part.
        case power(seed: UInt64)
    }

    private enum Phase {
        case down, starting, stopping
        case running(Life)
    }

    /// What is of one life of the daemon.
    struct Life {
        let daemon: Daemon
        let sessions: SessionRegistry
        let node: Node
        let store: SQLiteStore
    }

    private let world: SimWorld
    private let disk: ForgetfulDisk
    private let judge: Judge
    private let devices: [NodeID]
    private let fault: DaemonFault?
    private let log: WorldLog
    /// What is held back on the way to it.
    let holds = StreamHolds()
    package private(set) var machine: SimNode
    private var phase = Phase.down
    private var lives = 0
    /// Bytes that still fit on the full disk.
    private var room: Int?

    init(_ world: SimWorld, serving devices: [NodeID], judge: Judge, fault: DaemonFault?, log: WorldLog) {
        (self.world, self.devices, self.judge, self.fault, self.log) = (world, devices, judge, fault, log)
        disk = ForgetfulDisk(label: "desk")
        machine = world.addNode("desk", hosts: [Self.host])
        begin()
    }

    static var node: NodeID { secret.node }
    static var address: SocketAddress { host.with(port: port) }

    /// Of the life that serves now.
    var life: Life? { if case .running(let life) = phase { life } else { nil } }
    package var store: SQLiteStore? { life?.store }

    // MARK: - Living

    func start() {
        guard case .down = phase else { return }
        lives += 1
        machine = world.addNode("desk \(lives)", hosts: [Self.host])
        begin()
    }

    private func begin() {
        phase = .starting
        let machine = machine
        machine.onKill { [disk] in disk.endProcess() }
        machine.loop.spawn { [self] in
            do {
                let life = try await makeLife(on: machine)
                if machine.isAlive { phase = .running(life) }
            } catch {
                log.note("the daemon does not start: \(error)")
                world.plan(at: world.now) { [self] in failed(machine) }
            }
        }
    }

    private func failed(_ machine: SimNode) {
        guard machine.isAlive else { return }
        machine.kill()
        isDown(for: Self.restartPause)
    }

    private func isDown(for time: Duration) {
        phase = .down
        world.plan(at: world.now.advanced(by: time)) { [self] in start() }
    }

    private func makeLife(on machine: SimNode) async throws -> Life {
        let diskLoop = machine.makeLoop()
        let store = try await SQLiteStore.open(path: "/mew.db", on: diskLoop, vfs: disk.name, diagnostics: log)
        machine.afterKill { await store.close() }
        if try await store.devices().isEmpty { try await pair(in: store) }
        let files = HostFiles(loop: diskLoop, home: "/")
        let ids = MonotonicIDs(entropy: machine.entropy)
        let sessions = SessionRegistry(
            SessionEnvironment(
                loop: machine.loop, store: store, agents: [JudgeAgent(judge: judge, loop: machine.loop)],
                files: files, ids: ids, wallClock: machine.wallClock, diagnostics: log
            ) { _ in [] })
        let node = try await Node.start(
            .init(
                secret: Self.secret, addresses: [SocketAddress.anyIPv4.with(port: Self.port)], accepts: [.native],
                offers: []), network: machine.network, loop: machine.loop, entropy: machine.entropy)
        let door = DeskDoor(node, holds: holds, broken: fault.map { BrokenDaemon($0, store: store) })
        let boot = BootID(ids.next(milliseconds: machine.wallClock.millisecondsSinceEpoch))
        let daemon = Daemon(
            .init(node: node.node, name: "desk", version: "0.2.0", bootID: boot),
            in: .init(
                loop: machine.loop, wall: machine.wallClock, listener: door, devices: StoredDevices(store),
                sessions: sessions, files: files, home: "/", diagnostics: log))
        try await sessions.start()
        try await daemon.load()
        machine.loop.spawn { await daemon.run() }
        return Life(daemon: daemon, sessions: sessions, node: node, store: store)
    }

    private func pair(in store: SQLiteStore) async throws {
        for (number, node) in devices.enumerated() {
            let name = SimDevice.name(number)
            let device = Device(node: node, name: name, scope: .control, pairedAtMs: 1, spentCode: nil)
            try await StoredDevices(store).save(device, dropping: nil)
        }
    }

    // MARK: - Dying

    /// As `SIGTERM`: turns are ended and written down, devices are told.
    ///
    /// - Parameter pause: until it is started again; nil for never.
    func stopInOrder(startingAgainAfter pause: Duration?) {
        guard let life else { return }
        phase = .stopping
        let machine = machine
        machine.resume()
        // It reads what is there before it ends.
        holds.endAll()
        machine.loop.spawn { [self] in
            await life.sessions.shutDown()
            await life.daemon.stop(backIn: nil)
            await life.node.stop(code: .shuttingDown, reason: "the daemon is stopping")
            await life.store.close()
            world.plan(at: world.now) { [self] in ended(machine, startingAgainAfter: pause) }
        }
    }

    private func ended(_ machine: SimNode, startingAgainAfter pause: Duration?) {
        guard machine.isAlive else { return }
        machine.kill()
        phase = .down
        if let pause { isDown(for: pause) }
    }

    func kill(_ dying: Dying, startingAgainAfter pause: Duration) {
        if case .down = phase { return }
        machine.kill()
        if case .power(let seed) = dying {
            disk.crash(seed: seed)
            // A full disk is full afterwards as well.
            disk.limitRoom(to: room)
        }
        isDown(for: pause)
    }

    // MARK: - The disk

    func fillDisk(leaving bytes: Int) {
        room = bytes
        disk.limitRoom(to: bytes)
    }

    func freeDisk() {
        room = nil
        disk.limitRoom(to: nil)
    }
}
