internal import MewBase
package import MewClient
package import MewIdentity
internal import MewLoop
internal import MewNode
package import MewSim
internal import MewWire

/// A device through all its lives: the real client library over a real node, and a person who uses it.
///
/// `@unchecked Sendable`: a simulated world runs on one thread.
package final class SimDevice: @unchecked Sendable {
    package let number: Int
    package let shelf: DeviceShelf
    package let diary = Diary()
    package let person: Person
    private let world: SimWorld
    private let log: WorldLog
    private let secret: SecretKey
    private let host: SocketAddress
    package private(set) var machine: SimNode
    /// Of this life; nil while it starts.
    package private(set) var supervisor: DaemonSupervisor?
    private var node: Node?
    private var lives = 0
    private var hurriesUntil = SimWorld.start
    /// Sessions that its screen shows.
    private var wanted: [SessionID] = []

    private static let port: UInt16 = 5_000
    /// How often it looks whether a session that it wants is there.
    private static let patience: Duration = .seconds(1)

    init(_ world: SimWorld, number: Int, log: WorldLog) {
        (self.world, self.number, self.log) = (world, number, log)
        secret = Self.secret(UInt8(number + 1))
        host = SocketAddress(ipv4: 0x0a05_0001 + UInt32(number), port: 0)
        shelf = DeviceShelf(knowing: Self.daemon)
        machine = world.addNode(Self.name(number), hosts: [host])
        person = Person(number)
        shelf.onBegun = { [person] operation in person.began(operation) }
        begin()
    }

    static func name(_ number: Int) -> String { "device \(number)" }

    static func secret(_ key: UInt8) -> SecretKey {
        guard let secret = SecretKey(seed: [UInt8](repeating: key, count: 32)) else {
            preconditionFailure("32 bytes are a seed")
        }
        return secret
    }

    package static func node(_ number: Int) -> NodeID { secret(UInt8(number + 1)).node }

    private static let daemon = DaemonRecord(
        node: SimDesk.node, name: "desk", addresses: [SimDesk.address], scope: .control,
        addedAt: WallTime(milliseconds: 0))

    // MARK: - Life

    func start() {
        guard !machine.isAlive else { return }
        lives += 1
        machine = world.addNode("\(Self.name(number)), life \(lives)", hosts: [host])
        begin()
    }

    private func begin() {
        let machine = machine
        let store = shelf.open(on: machine.loop)
        diary.restarted()
        machine.loop.spawn { [self] in await live(on: machine, store) }
    }

    private func live(on machine: SimNode, _ store: any ClientStore) async {
        let configuration = Node.Configuration(
            secret: secret, addresses: [SocketAddress.anyIPv4.with(port: Self.port)], accepts: [], offers: [.native])
        guard
            let node = try? await Node.start(
                configuration, network: machine.network, loop: machine.loop, entropy: machine.entropy)
        else { return }
        let record = shelf.records.registry[SimDesk.node] ?? Self.daemon
        let supervisor = DaemonSupervisor(record: record, environment: environment(of: machine, node, store))
        let feed = await supervisor.subscribe()
        guard machine.isAlive else { return }
        (self.node, self.supervisor) = (node, supervisor)
        machine.loop.spawn { await supervisor.run() }
        machine.loop.spawn { [self] in for await event in feed { heard(event) } }
        machine.loop.spawn { [self] in await keepAttached(supervisor, machine) }
        person.sitsDown(at: supervisor, on: machine)
    }

    private func environment(of machine: SimNode, _ node: Node, _ store: any ClientStore) -> ClientEnvironment {
        let clock = machine.wallClock
        return ClientEnvironment(
            dialer: node, clock: LoopClock(machine.loop),
            wallClock: { WallTime(milliseconds: Int64(clamping: clock.millisecondsSinceEpoch)) },
            entropy: machine.entropy, store: store, diagnostics: log, deviceName: Self.name(number), app: "mew 0.2.0",
            clientKind: .cli)
    }

    private func heard(_ event: ClientEvent) {
        diary.note(event)
        switch event {
        case .operation(let operation): person.heard(operation)
        case .phase(.ready):
            listSessions()
            if isHasty || world.now < hurriesUntil { sendAgain() }
        case .sessionPhase(_, .live):
            // It left the channel, and nobody asks about what was sent there before that is read to its end.
            if world.now < hurriesUntil { sendAgain() }
        case .phase, .control, .session, .sessionPhase: break
        }
        if log.isHeard { tell(event) }
    }

    /// As an app does until it has a list. From then on it is told what changes, and the client asks on every new connection.
    private func listSessions() {
        guard let supervisor else { return }
        machine.loop.spawn {
            guard await supervisor.view.sessions == nil else { return }
            _ = try? await supervisor.listSessions()
        }
    }

    /// Its person does not wait for news of what was under way, and sends it again as it was as soon as that is possible. The
    /// question about it, which settles it, is on its way at the same time.
    private var isHasty: Bool { number == SessionScript.devices - 1 }

    /// The same for anybody, for a time, over every loss and restart.
    func hurries(for time: Duration) {
        hurriesUntil = max(hurriesUntil, world.now.advanced(by: time))
        sendAgain()
    }

    /// Every 5 ms: until a session that has to be attached again is.
    private static let looks = 300

    private func sendAgain() {
        guard let supervisor else { return }
        let machine = machine
        machine.loop.spawn {
            for _ in 0..<Self.looks {
                let unknown = await supervisor.view.operations.values.filter { $0.state == .unknown }
                guard !unknown.isEmpty else { return }
                // Until its session is attached, none of it can be.
                for operation in unknown.sorted(by: { $0.id < $1.id }) { _ = try? await supervisor.resend(operation) }
                guard await LoopClock(machine.loop).pause(for: .milliseconds(5)) == .over else { return }
            }
        }
    }

    private func tell(_ event: ClientEvent) {
        switch event {
        case .phase(let phase): log.note("\(Self.name(number)) \(phase)")
        case .sessionPhase(_, let phase): log.note("\(Self.name(number)) session \(phase)")
        case .operation(let operation):
            log.note("\(Self.name(number)) \(operation.kind) …\(operation.id.description.suffix(4)) \(operation.state)")
        case .session(let event) where event.frame.sequence != nil:
            log.note("\(Self.name(number)) event \(event.frame.sequence ?? .zero) \(event.frame.message.kind)")
        case .session(let event): log.note("\(Self.name(number)) \(event.frame.message.kind)")
        case .control: break
        }
    }

    /// The process is killed; it starts again after `pause`.
    func kill(startingAgainAfter pause: Duration) {
        guard machine.isAlive else { return }
        machine.kill()
        (supervisor, node) = (nil, nil)
        person.leaves()
        world.plan(at: world.now.advanced(by: pause)) { [self] in start() }
    }

    /// Ends in order, so that nothing is left when the world ends.
    func stop() {
        machine.resume()
        guard let supervisor, let node else { return }
        machine.loop.spawn {
            await supervisor.stop()
            await node.stop()
        }
    }

    // MARK: - Sessions

    /// Its screen shows the session from now on, over every loss and restart.
    func show(_ session: SessionID) { if !wanted.contains(session) { wanted.append(session) } }

    func hide(_ session: SessionID) {
        wanted.removeAll { $0 == session }
        guard let supervisor else { return }
        machine.loop.spawn { await supervisor.detach(session) }
    }

    private func keepAttached(_ supervisor: DaemonSupervisor, _ machine: SimNode) async {
        while await LoopClock(machine.loop).pause(for: Self.patience) == .over {
            for session in wanted {
                let view = await supervisor.view
                guard view.phase.readyLink != nil, view.attached[session]?.isHeard != true else { continue }
                // It did not work this time; the next round tries again.
                try? await supervisor.attach(session)
            }
        }
    }
}

extension AttachedSession {
    /// Live, or on the way to it without anybody's help.
    fileprivate var isHeard: Bool {
        switch phase {
        case .attaching, .replaying, .live: true
        case .lost, .gone: false
        }
    }
}
