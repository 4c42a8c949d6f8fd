import MewBase
import MewIdentity
import MewTestSupport
import MewWire
import Testing

@testable import MewClient

private let id = SessionID("sess_1")!  // a literal that is one
private let epoch = Epoch(ULID(high: 1, low: 1))
private let ours = SecretKey.generate(entropy: SeededEntropy(seed: 2)).node
private let phone = By(
    node: SecretKey.generate(entropy: SeededEntropy(seed: 3)).node, name: "phone", clientKind: .mobile)
private let laptop = By(node: ours, name: "laptop", clientKind: .cli)

// What a client knows of a session's lease: every state against every word of the daemon and everything that ends the session's
// being live. A changed line is a changed transition: look at it, then change the table.

@Suite("Who types in a session, as a client knows it")
struct LeaseTableTests {
    private static func said(_ holder: By?, kind: LeaseKind = .input, of target: String = id.text) -> DaemonFrame {
        DaemonFrame(.leaseState(.init(kind: kind, target: target, holder: holder)))
    }

    private static let live = [Frames.ready(.snapshot), Frames.page(asOf: 1), Frames.caughtUp(1)]

    private static let states: [(name: String, frames: [DaemonFrame])] = [
        ("unknown", live), ("free", live + [said(nil)]), ("phone, from before", live + [said(phone)]),
        ("phone", live + [said(nil), said(phone)]), ("ours", live + [said(nil), said(laptop)]),
    ]

    private static let inputs: [(name: String, apply: @Sendable (inout AttachedSession) -> Void)] = [
        ("nobody", { take(said(nil), &$0) }),
        ("phone", { take(said(phone), &$0) }),
        ("ours", { take(said(laptop), &$0) }),
        ("a terminal's size", { take(said(phone, kind: .size), &$0) }),
        ("another session", { take(said(phone, of: "sess_2"), &$0) }),
        ("event", { take(Frames.event(2), &$0) }),
        ("gap", { take(Frames.gap(after: 9), &$0) }),
        ("hole", { take(Frames.event(3), &$0) }),
        ("channel lost", { _ = $0.channelLost(ClientError(.unreachable, "lost")) }),
        ("attaching again", { _ = $0.attachingAgain() }),
        ("ready again", { take(Frames.ready(.replay), &$0) }),
        ("gone", { _ = $0.sessionGone() }),
    ]

    private static func take(_ frame: DaemonFrame, _ session: inout AttachedSession) {
        _ = session.receive(frame, isNative: true, now: WallTime(milliseconds: 7))
    }

    private static func words(_ lease: InputLease) -> String {
        switch lease {
        case .unknown: "unknown"
        case .free: "free"
        case .held(let holder):
            holder.by.name + (holder.isOurs ? ", ours" : "") + (holder.since.map { ", since \($0.milliseconds)" } ?? "")
        }
    }

    @Test("every state against what can happen")
    func table() {
        let lines = Self.states.flatMap { state in
            Self.inputs.map { name, apply in
                var session = AttachedSession(id: id, device: ours)
                for frame in state.frames { _ = session.receive(frame, isNative: true, now: WallTime(milliseconds: 3)) }
                let before = session.lease
                apply(&session)
                return "\(state.name), \(name): \(session.lease == before ? "–" : Self.words(session.lease))"
            }
        }
        #expect(changes(in: lines, since: Self.snapshot) == [])
    }

    private static let snapshot = """
        unknown, nobody: free
        unknown, phone: phone
        unknown, ours: laptop, ours
        unknown, a terminal's size: –
        unknown, another session: –
        unknown, event: –
        unknown, gap: –
        unknown, hole: –
        unknown, channel lost: –
        unknown, attaching again: –
        unknown, ready again: –
        unknown, gone: –
        free, nobody: –
        free, phone: phone, since 7
        free, ours: laptop, ours, since 7
        free, a terminal's size: –
        free, another session: –
        free, event: –
        free, gap: unknown
        free, hole: unknown
        free, channel lost: unknown
        free, attaching again: unknown
        free, ready again: unknown
        free, gone: unknown
        phone, from before, nobody: free
        phone, from before, phone: –
        phone, from before, ours: laptop, ours, since 7
        phone, from before, a terminal's size: –
        phone, from before, another session: –
        phone, from before, event: –
        phone, from before, gap: unknown
        phone, from before, hole: unknown
        phone, from before, channel lost: unknown
        phone, from before, attaching again: unknown
        phone, from before, ready again: unknown
        phone, from before, gone: unknown
        phone, nobody: free
        phone, phone: –
        phone, ours: laptop, ours, since 7
        phone, a terminal's size: –
        phone, another session: –
        phone, event: –
        phone, gap: unknown
        phone, hole: unknown
        phone, channel lost: unknown
        phone, attaching again: unknown
        phone, ready again: unknown
        phone, gone: unknown
        ours, nobody: free
        ours, phone: phone, since 7
        ours, ours: –
        ours, a terminal's size: –
        ours, another session: –
        ours, event: –
        ours, gap: unknown
        ours, hole: unknown
        ours, channel lost: unknown
        ours, attaching again: unknown
        ours, ready again: unknown
        ours, gone: unknown
        """

    @Test("only another device keeps this one from typing")
    func other() {
        for (holder, keepsOut) in [(phone, true), (laptop, false)] {
            var session = AttachedSession(id: id, device: ours)
            for frame in Self.live + [Self.said(holder)] { Self.take(frame, &session) }
            #expect((session.lease.other?.by == holder) == keepsOut)
        }
    }
}

@Suite("Leases at a daemon", .timeLimit(.minutes(1)))
struct LeaseTests {
    /// An attached session at a daemon that knows leases.
    private func attached(_ stage: Stage, _ feed: Feed<ClientEvent>) async throws -> (FakeLink, FakeChannel) {
        let link = try await stage.accept()
        try await link.welcome(optional: ["lease"])
        try await feed.ready()
        async let attached: Void = stage.supervisor.attach(id)
        let channel = try await link.channel()
        _ = try await channel.receive()
        try await channel.attach(id, epoch: epoch)
        try await attached
        return (link, channel)
    }

    private typealias Act = @Sendable (DaemonSupervisor) async throws(ClientError) -> Void

    private static let acts: [(LeaseAct, Act)] = [
        (.takeIfFree, { supervisor async throws(ClientError) in try await supervisor.takeLease(of: id) }),
        (.takeOver, { supervisor async throws(ClientError) in try await supervisor.takeOver(id) }),
        (.release, { supervisor async throws(ClientError) in try await supervisor.releaseLease(of: id) }),
    ]

    private func failure(_ supervisor: DaemonSupervisor, _ act: Act) async -> ClientError? {
        do throws(ClientError) {
            try await act(supervisor)
            return nil
        } catch {
            return error
        }
    }

    @Test("each is an operation on control that names its session, and ends with its receipt", arguments: 0..<3)
    func acts(number: Int) async throws {
        let (name, act) = Self.acts[number]
        let stage = Stage()
        try await stage.run { feed in
            let (link, _) = try await attached(stage, feed)
            for isDone in [true, false] {
                async let failure = failure(stage.supervisor, act)
                let request = try await link.control.receive()
                #expect(request.message == .lease(.init(kind: .input, target: id.text, act: name)))
                let operation = try #require(request.operation)
                if isDone {
                    try await link.control.receipt(operation, .done)
                } else {
                    try await link.control.receipt(operation, .refused, code: .leaseHeld, message: "phone is typing")
                }
                #expect(await failure == (isDone ? nil : ClientError(.leaseHeld, "phone is typing")))
            }
            #expect(await stage.store.records().operations.isEmpty)
        }
    }

    @Test("a daemon without leases is asked nothing, and neither is one without a link")
    func unknown() async throws {
        let stage = Stage()
        for (_, act) in Self.acts { #expect(await failure(stage.supervisor, act)?.code == .unreachable) }
        try await stage.run { feed in
            let (link, _) = try await stage.attached(feed, id, epoch: epoch)
            for (_, act) in Self.acts { #expect(await failure(stage.supervisor, act)?.code == .unknownType) }
            #expect(await stage.supervisor.lease(of: id) == .unknown)
            async let answer: Void = stage.supervisor.ping()
            let next = try await link.control.receive()
            #expect(next.message == .ping, "nothing was sent before it")
            try await link.control.send(.pong(.init(version: "9.9")), ref: next.ref)
            try await answer
        }
    }

    @Test("only what both sides can do is used")
    func offered() {
        for (theirs, common) in [(["lease", "future"], ["lease"]), (["future"], [])] {
            var greeting = Greeting(applicationProtocol: .native, clientKind: .cli, hasToken: false, pairs: false)
            let all = Greeting.mandatory + theirs
            guard case .ready(let link) = greeting.receive(.remoteReady(.init(scope: .control, capabilities: all)))
            else {
                Issue.record("not ready")
                continue
            }
            #expect(link.capabilities == Set(Greeting.mandatory + common))
        }
    }

    @Test("who types is told with the session's events; it is unknown from a loss until the daemon says it again")
    func told() async throws {
        let stage = Stage()
        try await stage.run { feed in
            let (_, channel) = try await attached(stage, feed)
            async let known = stage.supervisor.lease(of: id)
            try await channel.lease(of: id, phone)
            #expect(await known.other?.by == phone)
            _ = try await feed.sessionEvent { $0.frame.message.kind == .leaseState }
            #expect(await stage.supervisor.lease(of: id).other?.since == nil, "since before we came")
            try await channel.lease(of: id, By(node: stage.device.node, name: "laptop", clientKind: .cli))
            _ = try await feed.sessionEvent { $0.frame.message.kind == .leaseState }
            let held = await stage.supervisor.view.attached[id]?.lease.holder
            #expect(held?.isOurs == true && held?.since == stage.wall.now)
            stage.daemon.breakLinks()
            try await feed.phase { if case .waiting = $0 { true } else { false } }
            #expect(await stage.supervisor.view.attached[id]?.lease == .unknown)
        }
    }

    @Test("a prompt that the lease of another device refuses says whose it is")
    func refusedPrompt() async throws {
        let stage = Stage()
        try await stage.run { feed in
            let (_, channel) = try await attached(stage, feed)
            let operation = try await stage.supervisor.prompt("hi", in: id)
            _ = try await channel.receive()
            try await channel.receipt(operation, .refused, code: .leaseHeld, message: "phone is typing")
            let refused = try await feed.operation { $0.isOver }
            #expect(refused.state == .refused(.leaseHeld, message: "phone is typing"))
        }
    }
}
