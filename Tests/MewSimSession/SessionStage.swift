internal import MewBase
package import MewClient
internal import MewDaemon
internal import MewLoop
package import MewSim
package import MewWire

/// The desk, three devices, and one session that all of them show.
///
///     device 0 ──┐
///     device 1 ──┼── desk: daemon ── agent (judged)
///     device 2 ──┘
///
/// `@unchecked Sendable`: a simulated world runs on one thread.
package final class SessionStage: @unchecked Sendable {
    package let world: SimWorld
    package let judge = Judge()
    package let desk: SimDesk
    package let devices: [SimDevice]
    package private(set) var session: SessionID
    let log: WorldLog
    /// How many reasons there are that nothing passes, by device.
    private var cuts = [(toDesk: Int, fromDesk: Int)](repeating: (0, 0), count: SessionScript.devices)
    private var random: SeededGenerator
    private var texts = 0

    /// - Parameters:
    ///   - fault: of the daemon, which the laws are to notice.
    ///   - take: takes what happens, line by line.
    package init(
        _ world: SimWorld, fault: DaemonFault? = nil, log take: (@Sendable (String) -> Void)? = nil
    ) throws {
        self.world = world
        var random = SeededGenerator(seed: SeededGenerator.mix(world.seed &+ 0x57a6))
        let (wire, log) = (Self.wire(&random), WorldLog(world, take))
        world.changeLinks { $0 = wire }
        (self.random, self.log) = (random, log)
        desk = SimDesk(
            world, serving: (0..<SessionScript.devices).map { SimDevice.node($0) }, judge: judge, fault: fault,
            log: log)
        devices = (0..<SessionScript.devices).map { SimDevice(world, number: $0, log: log) }
        session = SessionID(ULID(high: 0, low: 0))
        session = try open()
    }

    private static func wire(_ random: inout SeededGenerator) -> LinkProfile {
        LinkProfile(
            latency: .milliseconds(Int64(1 + random.below(60))), jitter: .milliseconds(Int64(random.below(5))),
            loss: Double(random.below(15)) / 1_000)
    }

    /// Everybody is connected; the first device makes the session, and all show it.
    private func open() throws -> SessionID {
        let first = devices[0]
        let session = try world.run(on: first.machine, limit: .seconds(60)) {
            while true {
                if let supervisor = first.supervisor, await supervisor.view.phase.readyLink != nil,
                    let session = try? await supervisor.newSession(cwd: nil)
                {
                    return session
                }
                try await LoopClock(first.machine.loop).sleep(for: .milliseconds(100))
            }
        }
        for device in devices { device.show(session) }
        for device in devices {
            try waitUntilLive(device, session)
            // Nobody is told of a session that another device makes; it is in the next list.
            _ = try ask(device) { try await $0.listSessions() }
        }
        return session
    }

    private func waitUntilLive(_ device: SimDevice, _ session: SessionID) throws {
        try world.run(on: device.machine, limit: .seconds(60)) {
            while await device.supervisor?.view.attached[session]?.phase != .live {
                try await LoopClock(device.machine.loop).sleep(for: .milliseconds(100))
            }
        }
    }

    // MARK: - Acts

    package func perform(_ act: SessionAct) {
        log.note("\(act)")
        switch act {
        case .prompt(let device): say(.prompt, at: device)
        case .flood(let device): say(.prompt, at: device, JudgeAgent.flooding)
        case .guide(let device): say(.guide, at: device)
        case .answer(let device): answer(at: device)
        case .race: for device in devices.indices { answer(at: device) }
        case .cancel(let device): doOnce(at: device) { try await $0.cancel(in: $1) }
        case .clear(let device): command("/clear", at: device)
        case .compact(let device): command("/compact", at: device)
        case .takeLease(let device): lease(.takeIfFree, at: device)
        case .releaseLease(let device): lease(.release, at: device)
        case .detach(let device): devices[device].hide(session)
        case .attach(let device): devices[device].show(session)
        case .pageBack(let device): doOnce(at: device) { try await $0.loadOlder(in: $1) }
        case .resend(let device, let time): devices[device].hurries(for: time)
        case .cut(let cut, let time): self.cut(cut, for: time)
        case .freeze(let device, let time): freeze(devices[device].machine, time)
        case .freezeDesk(let time): freeze(desk.machine, time)
        case .killDevice(let device, let pause): devices[device].kill(startingAgainAfter: pause)
        case .stopDesk(let pause): desk.stopInOrder(startingAgainAfter: pause)
        case .killDesk(let dying, let pause): desk.kill(dying, startingAgainAfter: pause)
        case .fillDisk(let bytes, let time):
            desk.fillDisk(leaving: bytes)
            after(time) { stage in stage.desk.freeDisk() }
        case .narrow(let device, let time):
            limit(device, to: Self.narrowLine)
            after(time) { $0.limit(device, to: nil) }
        case .hold(let held, let device, let time):
            let hold = desk.holds.begin(held, of: SimDevice.node(device))
            after(time) { $0.desk.holds.end(hold) }
        }
    }

    private func say(_ manner: Person.Manner, at device: Int, _ first: String = "") {
        texts += 1
        devices[device].person.say("\(first)\(manner) \(texts) at \(device), \(world.seed)", in: session, manner)
    }

    /// Somebody does it once; what comes of it shows in the journals.
    private func doOnce<Value>(
        at device: Int, _ body: @escaping @Sendable (DaemonSupervisor, SessionID) async throws -> Value
    ) {
        guard let supervisor = devices[device].supervisor else { return }
        let (session, log) = (session, log)
        devices[device].machine.loop.spawn {
            do { _ = try await body(supervisor, session) } catch { log.note("device \(device): \(error)") }
        }
    }

    private func answer(at device: Int) {
        let decision = [PermissionDecision.allowOnce, .deny, .allowOnce, .allowOnce][Int(random.below(4))]
        doOnce(at: device) { supervisor, session in
            let open = await supervisor.view.attached[session]?.requests.first { $0.answering == .open }
            guard let open else { return }
            _ = try await supervisor.answer(open, .permission(decision), in: session)
        }
    }

    private func command(_ words: String, at device: Int) {
        doOnce(at: device) { try await $0.change(.slashCommand(.init(command: words)), on: $1) }
    }

    private func lease(_ act: LeaseAct, at device: Int) {
        doOnce(at: device) { try await $0.change(.lease(.init(kind: .input, target: $1.text, act: act))) }
    }

    // MARK: - Mishaps

    private func after(_ time: Duration, _ body: @escaping (SessionStage) -> Void) {
        world.plan(at: world.now.advanced(by: time)) { [weak self] in if let self { body(self) } }
    }

    private func freeze(_ machine: SimNode, _ time: Duration) {
        machine.stop()
        after(time) { _ in machine.resume() }
    }

    /// Bytes per second.
    private static let narrowLine = 60_000

    private func limit(_ device: Int, to bytesPerSecond: Int?) {
        world.changeLink(from: desk.machine, to: devices[device].machine) {
            $0.bytesPerSecond = bytesPerSecond
            $0.queueBytes = 32 << 10
        }
    }

    private func cut(_ cut: SessionAct.Cut, for time: Duration) {
        change(cut, by: 1)
        after(time) { $0.change(cut, by: -1) }
    }

    private func change(_ cut: SessionAct.Cut, by count: Int) {
        switch cut {
        case .all: for device in devices.indices { change(.device(device), by: count) }
        case .device(let device):
            change(.toDesk(device), by: count)
            change(.fromDesk(device), by: count)
        case .toDesk(let device):
            cuts[device].toDesk += count
            applyCuts(device)
        case .fromDesk(let device):
            cuts[device].fromDesk += count
            applyCuts(device)
        }
    }

    /// Links are between addresses: they are the same for the next life of a machine.
    private func applyCuts(_ device: Int) {
        let (machine, cuts) = (devices[device].machine, cuts[device])
        world.changeLink(from: machine, to: desk.machine) { $0.isDown = cuts.toDesk > 0 }
        world.changeLink(from: desk.machine, to: machine) { $0.isDown = cuts.fromDesk > 0 }
    }

    /// Everything is well again; what is down starts by itself.
    package func heal() {
        for device in devices.indices {
            cuts[device] = (0, 0)
            applyCuts(device)
            limit(device, to: nil)
            devices[device].machine.resume()
            devices[device].start()
            devices[device].show(session)
        }
        desk.holds.endAll()
        desk.freeDisk()
        desk.machine.resume()
        desk.start()
    }

    // MARK: - Looking at it

    /// What `body` says of a device's view; nil while the device has none.
    package func ask<Value: Sendable>(
        _ device: SimDevice, _ body: @escaping @Sendable (DaemonSupervisor) async throws -> Value
    ) throws -> Value? {
        guard let supervisor = device.supervisor else { return nil }
        return try world.run(on: device.machine, limit: .seconds(60)) { try await body(supervisor) }
    }

    /// Ends everything in order.
    package func end() throws {
        for device in devices { device.stop() }
        try world.run(for: .seconds(1))
        desk.stopInOrder(startingAgainAfter: nil)
        try world.run(for: .seconds(1))
    }
}
