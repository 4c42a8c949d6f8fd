import MewBase
import MewIdentity
import MewTestSupport
import MewWire
import Synchronization
import Testing

@testable import MewClient

@Suite("The app goes to the background and comes back", .timeLimit(.minutes(1)))
struct LifeCycleTests {
    private func waits(_ phase: LinkPhase) -> Bool { if case .waiting = phase { true } else { false } }

    @Test("in the background no timer runs and nothing dials; in front it dials at once")
    func parksTheWait() async throws {
        let stage = Stage()
        let dialer = CountingDialer(stage.device)
        let supervisor = DaemonSupervisor(record: stage.record, environment: stage.environment(dialer))
        stage.daemon.stopListening()
        try await stage.run(supervisor) { feed in
            let phase = try await feed.phase(waits)
            await stage.clock.sleeper(for: .seconds(1))
            await supervisor.enterBackground()
            await supervisor.expectRest()
            #expect(!stage.clock.hasSleeper)
            await supervisor.triggered()
            stage.daemon.listen()
            stage.clock.advance(by: .seconds(3_600))
            await supervisor.expectRest()
            #expect(dialer.dials == 1)
            #expect(await supervisor.view.phase == phase, "as it was")
            await supervisor.enterForeground()
            try await stage.accept().welcome()
            try await feed.ready()
            #expect(dialer.dials == 2)
        }
    }

    @Test("an attempt that is going on ends in the background, and begins anew in front")
    func attempting() async throws {
        let stage = Stage()
        let dialer = StuckDialer(stage.device)
        let supervisor = DaemonSupervisor(record: stage.record, environment: stage.environment(dialer))
        try await stage.run(supervisor) { feed in
            await dialer.dials()
            await supervisor.enterBackground()
            await stage.clock.noSleeper()
            await supervisor.enterForeground()
            try await stage.accept().welcome()
            try await feed.ready()
        }
    }

    @Test("a link that lives is left alone; when the system ends it, it is not dialled again until the app is in front")
    func lostInTheBackground() async throws {
        let stage = Stage()
        try await stage.run { feed in
            let link = try await stage.accept()
            try await link.welcome()
            try await feed.ready()
            await stage.supervisor.enterBackground()
            async let sessions = stage.supervisor.listSessions()
            let request = try await link.control.receive()
            try await link.control.send(.sessionList(DaemonMessage.SessionList(sessions: [])), ref: request.ref)
            #expect(try await sessions.isEmpty, "it lives")
            stage.daemon.breakLinks()
            guard case .waiting(.zero, .lost) = try await feed.phase(waits) else { throw FakeDaemonError("no reason") }
            await stage.clock.noSleeper()
            await stage.supervisor.enterForeground()
            try await stage.accept().welcome()
            try await feed.ready()
        }
    }

    @Test(
        "a link that gives a sign of life within two seconds is kept, one that does not is replaced",
        arguments: [true, false])
    func probe(isAlive: Bool) async throws {
        let stage = Stage()
        try await stage.run { feed in
            let link = try await stage.accept()
            try await link.welcome()
            try await feed.ready()
            await stage.supervisor.enterBackground()
            async let woken: Void = stage.supervisor.enterForeground()
            let ping = try await link.control.receive()
            guard case .ping = ping.message else { throw FakeDaemonError("no ping") }
            guard !isAlive else {
                try await link.control.send(.pong(DaemonMessage.Pong(version: "9.9")), ref: ping.ref)
                await woken
                #expect(await stage.supervisor.view.phase.readyLink != nil)
                return
            }
            await stage.clock.sleeper(for: .seconds(2))
            stage.clock.advance(by: .milliseconds(1_999))
            #expect(await stage.supervisor.view.phase.readyLink != nil)
            stage.clock.advance(by: .milliseconds(1))
            await woken
            try await stage.accept().welcome()
            try await feed.ready()
        }
    }

    @Test("the sessions of a link that gave no sign of life say so, and are attached again on the next one")
    func sessionsOfTheSilent() async throws {
        let (stage, id) = (Stage(), SessionID("sess_1")!)
        try await stage.run { feed in
            let epoch = Epoch(ULID(high: 1, low: 1))
            let (link, _) = try await stage.attached(feed, id, epoch: epoch)
            async let woken: Void = stage.supervisor.enterForeground()
            _ = try await link.control.receive()
            await stage.clock.sleeper(for: .seconds(2))
            stage.clock.advance(by: .seconds(2))
            await woken
            try await feed.sessionPhase(.lost(ClientError(.unreachable, "it gave no sign of life")))
            let second = try await stage.accept()
            try await second.welcome()
            let channel = try await second.channel()
            _ = try await channel.receive()
            try await channel.attach(id, epoch: epoch)
            try await feed.sessionPhase(.live)
        }
    }

    @Test("automatic triggers join the attempt that is going on, an explicit retry replaces it")
    func joining() async throws {
        let stage = Stage()
        try await stage.run { feed in
            let first = try await stage.accept()
            try await feed.phase { $0 == .greeting }
            await stage.supervisor.triggered()
            try await first.welcome()
            try await feed.ready()
            stage.daemon.breakLinks()
            try await feed.phase(waits)
            await stage.supervisor.triggered()
            let second = try await stage.accept()
            try await feed.phase { $0 == .greeting }
            await stage.supervisor.retry()
            #expect(await second.link.closed() != nil)
            try await stage.accept().welcome()
            try await feed.ready()
        }
    }

    @Test("the last proof is the last thing that was heard, and is kept when the link is lost")
    func lastProof() async throws {
        let stage = Stage()
        try await stage.run { feed in
            let link = try await stage.accept()
            try await link.welcome()
            try await feed.ready()
            stage.wall.set(WallTime(milliseconds: 77_000))
            async let pinged: Void = stage.supervisor.ping()
            let ping = try await link.control.receive()
            try await link.control.send(.pong(DaemonMessage.Pong(version: "9.9")), ref: ping.ref)
            try await pinged
            #expect(await stage.supervisor.view.lastProof == WallTime(milliseconds: 77_000))
            stage.wall.set(WallTime(milliseconds: 99_000))
            #expect(await stage.supervisor.proof() == .seconds(22))
            stage.daemon.breakLinks()
            try await feed.phase(waits)
            let kept = await stage.store.records().registry[stage.record.node]?.lastProof
            #expect(kept == WallTime(milliseconds: 77_000))
        }
    }
}

@Suite("The age of the last proof", .timeLimit(.minutes(1)))
struct ProofTests {
    @Test("is the link's own while there is one, by the clock it counts by")
    func byTheLink() async throws {
        let stage = Stage()
        let environment = ClientEnvironment(
            dialer: stage.device, clock: StandingClock(now: Instant(nanoseconds: 5_000_000_000)),
            wallClock: stage.environment.wallClock, entropy: stage.environment.entropy, store: stage.store,
            deviceName: "laptop", app: "mew test", clientKind: .cli)
        let supervisor = DaemonSupervisor(record: stage.record, environment: environment)
        #expect(await supervisor.proof() == nil)
        try await stage.run(supervisor) { feed in
            try await stage.accept().welcome()
            try await feed.ready()
            #expect(await supervisor.proof() == .seconds(5), "the link had its last proof at zero")
        }
    }

    @Test(
        "at a loss it is the link's last sign, or now when the daemon closed the link itself", arguments: [true, false])
    func atTheLoss(saysGoodbye: Bool) async throws {
        let stage = Stage()
        let environment = ClientEnvironment(
            dialer: stage.device, clock: StandingClock(now: Instant(nanoseconds: 5_000_000_000)),
            wallClock: stage.environment.wallClock, entropy: stage.environment.entropy, store: stage.store,
            deviceName: "laptop", app: "mew test", clientKind: .cli)
        let supervisor = DaemonSupervisor(record: stage.record, environment: environment)
        try await stage.run(supervisor) { feed in
            let link = try await stage.accept()
            try await link.welcome()
            while await supervisor.view.record.version == nil { _ = await feed.next() }
            stage.wall.set(WallTime(milliseconds: 200_000))
            if saysGoodbye { await link.link.close(code: .shuttingDown, reason: "") } else { stage.daemon.breakLinks() }
            try await feed.phase { if case .waiting = $0 { true } else { false } }
            #expect(await supervisor.view.lastProof == WallTime(milliseconds: saysGoodbye ? 200_000 : 195_000))
        }
    }
}

/// A clock of links on which no time passes.
private struct StandingClock: Clock {
    let now: Instant
    var minimumResolution: Duration { .nanoseconds(1) }

    func sleep(until deadline: Instant, tolerance: Duration?) async throws {
        _ = await Feed<Bool>(capacity: 1).next()
        throw CancellationError()
    }
}

/// The first dial gets no answer.
private final class StuckDialer: Dialer {
    private let dialer: any Dialer
    private let isFirst = Mutex(true)
    private let begun = Feed<Bool>(capacity: 1)

    init(_ dialer: any Dialer) { self.dialer = dialer }

    var node: NodeID { dialer.node }

    /// Waits for the first one.
    func dials() async { _ = await begun.next() }

    func dial(_ target: DialTarget) async throws(DialError) -> any Link {
        guard
            isFirst.withLock({ isFirst in
                defer { isFirst = false }
                return isFirst
            })
        else { return try await dialer.dial(target) }
        begun.offerNow(true)
        _ = await Feed<Bool>(capacity: 1).next()
        throw .cancelled
    }
}
