import MewBase
import MewIdentity
import MewTestSupport
import MewWire
import Testing

@testable import MewClient

// Every state of the client's machines against everything that can happen to them. A changed line is a changed transition: look
// at it, then change the table.

private let id = SessionID("sess_1")!  // a literal that is one
private let epoch = Epoch(ULID(high: 1, low: 1))

@Suite("The phases of an attached session")
struct SessionPhaseTableTests {
    private static let states: [(name: String, frames: [DaemonFrame])] = [
        ("attaching", []),
        ("snapshot", [Frames.ready(.snapshot)]),
        ("live", live),
        ("replaying", live + [Frames.gap(after: 3)]),
        ("lost", live),
        ("gone", live),
    ]
    private static let live = [Frames.ready(.snapshot), Frames.page(asOf: 1), Frames.caughtUp(1)]

    private static let inputs: [(name: String, apply: @Sendable (inout AttachedSession) -> [AttachedSession.Effect])] =
        [
            ("ready, snapshot", { take(Frames.ready(.snapshot), &$0) }),
            ("ready, replay", { take(Frames.ready(.replay), &$0) }),
            ("page", { take(Frames.page(asOf: 1), &$0) }),
            ("next event", { take(Frames.event($0.lastSequence.rawValue + 1), &$0) }),
            ("seen event", { take(Frames.event($0.lastSequence.rawValue), &$0) }),
            ("event beyond a hole", { take(Frames.event($0.lastSequence.rawValue + 2), &$0) }),
            ("gap", { take(Frames.gap(after: 9), &$0) }),
            ("caught_up", { take(Frames.caughtUp($0.lastSequence.rawValue), &$0) }),
            ("caught_up too far", { take(Frames.caughtUp($0.lastSequence.rawValue + 1), &$0) }),
            ("turn over", { take(Frames.activity(.idle), &$0) }),
            ("channel lost", { $0.channelLost(ClientError(.unreachable, "lost")) }),
            ("attaching again", { $0.attachingAgain() }),
            ("unknown session", { $0.sessionGone() }),
        ]

    private static func take(_ frame: DaemonFrame, _ session: inout AttachedSession) -> [AttachedSession.Effect] {
        session.receive(frame, isNative: true, now: WallTime(milliseconds: 1))
    }

    private static func session(in state: (name: String, frames: [DaemonFrame])) -> AttachedSession {
        var session = AttachedSession(id: id)
        for frame in state.frames { _ = take(frame, &session) }
        if state.name == "lost" { _ = session.channelLost(ClientError(.unreachable, "lost")) }
        if state.name == "gone" { _ = session.sessionGone() }
        return session
    }

    private static func words(_ effect: AttachedSession.Effect) -> String {
        switch effect {
        case .accept: "take"
        case .phaseChanged(let phase): words(phase)
        case .resume(let sequence): "resume(\(sequence.rawValue))"
        case .turnEnded: "ASK"
        }
    }

    private static func words(_ phase: AttachedSession.Phase) -> String {
        switch phase {
        case .attaching: "→attaching"
        case .replaying: "→replaying"
        case .live: "→live"
        case .lost(let reason): "→lost(\(reason.message))"
        case .gone: "→gone"
        }
    }

    @Test("every phase against every frame and every end")
    func table() {
        let lines = Self.states.flatMap { state in
            Self.inputs.map { input in
                var session = Self.session(in: state)
                let effects = input.apply(&session).map(Self.words)
                return "\(state.name), \(input.name): \(effects.isEmpty ? "–" : effects.joined(separator: " "))"
            }
        }
        #expect(changes(in: lines, since: Self.snapshot) == [])
    }

    private static let snapshot = """
        attaching, ready, snapshot: →replaying take
        attaching, ready, replay: →replaying take
        attaching, page: take
        attaching, next event: take
        attaching, seen event: –
        attaching, event beyond a hole: →replaying resume(0)
        attaching, gap: →replaying resume(0)
        attaching, caught_up: take →live
        attaching, caught_up too far: →replaying resume(0)
        attaching, turn over: take ASK
        attaching, channel lost: →lost(lost)
        attaching, attaching again: –
        attaching, unknown session: →gone
        snapshot, ready, snapshot: take
        snapshot, ready, replay: take
        snapshot, page: take
        snapshot, next event: take
        snapshot, seen event: –
        snapshot, event beyond a hole: resume(0)
        snapshot, gap: resume(0)
        snapshot, caught_up: take →live
        snapshot, caught_up too far: resume(0)
        snapshot, turn over: take ASK
        snapshot, channel lost: →lost(lost)
        snapshot, attaching again: →attaching
        snapshot, unknown session: →gone
        live, ready, snapshot: →replaying take
        live, ready, replay: →replaying take
        live, page: take
        live, next event: take
        live, seen event: –
        live, event beyond a hole: →replaying resume(1)
        live, gap: →replaying resume(1)
        live, caught_up: take
        live, caught_up too far: →replaying resume(1)
        live, turn over: take ASK
        live, channel lost: →lost(lost)
        live, attaching again: →attaching
        live, unknown session: →gone
        replaying, ready, snapshot: take
        replaying, ready, replay: take
        replaying, page: take
        replaying, next event: take
        replaying, seen event: –
        replaying, event beyond a hole: –
        replaying, gap: resume(1)
        replaying, caught_up: take →live
        replaying, caught_up too far: –
        replaying, turn over: take ASK
        replaying, channel lost: →lost(lost)
        replaying, attaching again: →attaching
        replaying, unknown session: →gone
        lost, ready, snapshot: →replaying take
        lost, ready, replay: →replaying take
        lost, page: take
        lost, next event: take
        lost, seen event: –
        lost, event beyond a hole: →replaying resume(1)
        lost, gap: →replaying resume(1)
        lost, caught_up: take →live
        lost, caught_up too far: →replaying resume(1)
        lost, turn over: take ASK
        lost, channel lost: –
        lost, attaching again: →attaching
        lost, unknown session: →gone
        gone, ready, snapshot: →replaying take
        gone, ready, replay: →replaying take
        gone, page: take
        gone, next event: take
        gone, seen event: –
        gone, event beyond a hole: →replaying resume(1)
        gone, gap: →replaying resume(1)
        gone, caught_up: take →live
        gone, caught_up too far: →replaying resume(1)
        gone, turn over: take ASK
        gone, channel lost: –
        gone, attaching again: →attaching
        gone, unknown session: –
        """
}

@Suite("The greeting's table")
struct GreetingTableTests {
    private static let messages: [(name: String, message: DaemonMessage)] = [
        ("ready", .remoteReady(.init(scope: .control, capabilities: ["ops", "resume", "desk"]))),
        ("ready, but old", .remoteReady(.init(scope: .control, capabilities: ["ops"]))),
        ("pair_pending", .pairPending(.init(expiresInSeconds: 120))),
        ("pair_pending for a day", .pairPending(.init(expiresInSeconds: 86_400))),
        ("revoked", .revoked(.init(at: WallTime(milliseconds: 1), reason: "lost phone"))),
        ("error", .error(.init(message: "no"))),
        ("no --remote", .error(.init(message: "remote authentication is only available over iroh"))),
        ("a broadcast", .sessionList(.init(sessions: []))),
    ]

    private static func words(_ step: Greeting.Step) -> String {
        switch step {
        case .wait: "wait"
        case .ready(let link): "ready as \(link.clientKind.rawValue), scope \(link.scope?.rawValue ?? "–")"
        case .pairPending(let seconds): "pairing, \(seconds) s"
        case .refused(let refusal): "refused: \(ClientError(refusal).code.rawValue)"
        }
    }

    @Test("every link and every wish against every first word")
    func table() {
        var lines: [String] = []
        for link in [ApplicationProtocol.native, .stock] {
            for (hasToken, pairs) in [(false, false), (true, false), (false, true)] {
                for (name, message) in Self.messages {
                    var greeting = Greeting(
                        applicationProtocol: link, clientKind: .cli, hasToken: hasToken, pairs: pairs)
                    let who = "\(link)\(hasToken ? ", token" : "")\(pairs ? ", pairs" : "")"
                    lines.append("\(who), \(name): \(Self.words(greeting.receive(message)))")
                }
            }
        }
        #expect(changes(in: lines, since: Self.snapshot) == [])
    }

    private static let snapshot = """
        native, ready: ready as cli, scope control
        native, ready, but old: refused: protocol
        native, pair_pending: refused: unauthorized
        native, pair_pending for a day: refused: unauthorized
        native, revoked: wait
        native, error: wait
        native, no --remote: wait
        native, a broadcast: wait
        native, token, ready: ready as cli, scope control
        native, token, ready, but old: refused: protocol
        native, token, pair_pending: pairing, 120 s
        native, token, pair_pending for a day: pairing, 3600 s
        native, token, revoked: wait
        native, token, error: wait
        native, token, no --remote: wait
        native, token, a broadcast: wait
        native, pairs, ready: ready as cli, scope control
        native, pairs, ready, but old: refused: protocol
        native, pairs, pair_pending: pairing, 120 s
        native, pairs, pair_pending for a day: pairing, 3600 s
        native, pairs, revoked: wait
        native, pairs, error: wait
        native, pairs, no --remote: wait
        native, pairs, a broadcast: wait
        stock, ready: ready as remote, scope control
        stock, ready, but old: ready as remote, scope control
        stock, pair_pending: refused: unauthorized
        stock, pair_pending for a day: refused: unauthorized
        stock, revoked: wait
        stock, error: refused: unauthorized
        stock, no --remote: ready as mobile, scope –
        stock, a broadcast: wait
        stock, token, ready: ready as remote, scope control
        stock, token, ready, but old: ready as remote, scope control
        stock, token, pair_pending: pairing, 120 s
        stock, token, pair_pending for a day: pairing, 3600 s
        stock, token, revoked: wait
        stock, token, error: refused: unauthorized
        stock, token, no --remote: ready as mobile, scope –
        stock, token, a broadcast: wait
        stock, pairs, ready: ready as remote, scope control
        stock, pairs, ready, but old: ready as remote, scope control
        stock, pairs, pair_pending: pairing, 120 s
        stock, pairs, pair_pending for a day: pairing, 3600 s
        stock, pairs, revoked: wait
        stock, pairs, error: refused: unauthorized
        stock, pairs, no --remote: ready as mobile, scope –
        stock, pairs, a broadcast: wait
        """
}

@Suite("What the state of a daemon wants done")
struct DaemonStateTableTests {
    private enum Link: String, CaseIterable { case none, native, stock }

    private static let node = SecretKey.generate(entropy: SeededEntropy(seed: 1)).node
    private static let prompt = OperationID(ULID(high: 1, low: 1))
    private static let unknown = OperationID(ULID(high: 1, low: 2))
    private static let stored = OperationID(ULID(high: 1, low: 3))
    private static let names = [prompt: "sending", unknown: "unknown", stored: "stored"]

    /// A session that is live, a prompt that is being sent there, one that is unknown, one that is stored; and a list of sessions.
    private static func state(_ link: Link) -> DaemonState {
        var state = DaemonState(
            record: DaemonRecord(node: node, name: "desk", addedAt: WallTime(milliseconds: 0)), app: "mew 1")
        let ready = ReadyLink(
            applicationProtocol: link == .stock ? .stock : .native, scope: .control, capabilities: [], bootID: nil,
            deviceName: nil, clientKind: .cli)
        var inputs: [ClientInput] = [.opening(id)]
        if link != .none { inputs.append(.linkReady(ready, .direct(.loopback(port: 1)))) }
        inputs += [.bound(id), .session(Frames.ready(.snapshot), id)]
        inputs += [.session(Frames.page(asOf: 1), id), .session(Frames.caughtUp(1), id)]
        inputs += [(unknown, .unknown), (stored, .stored(nil)), (prompt, .sending)].map { .found([operation($0, $1)]) }
        inputs.append(.control(DaemonFrame(.sessionList(.init(sessions: [])))))
        for input in inputs { _ = state.apply(input, at: WallTime(milliseconds: 1)) }
        return state
    }

    private static func operation(
        _ operation: OperationID, _ state: MewClient.Operation.State
    ) -> MewClient.Operation {
        Operation(
            id: operation, daemon: node, session: id, kind: .prompt, state: state, begun: WallTime(milliseconds: 0))
    }

    private static func receipt(_ operation: OperationID, _ state: ReceiptState) -> DaemonMessage {
        .receipt(.init(operation: operation, state: state, isRepeat: false, at: WallTime(milliseconds: 1)))
    }

    private static let inputs: [(name: String, input: ClientInput)] = [
        (
            "link ready",
            .linkReady(
                ReadyLink(
                    applicationProtocol: .native, scope: nil, capabilities: [], bootID: nil, deviceName: nil,
                    clientKind: .cli), .direct(.loopback(port: 2)))
        ),
        ("link lost", .linkLost(ClientError(.unreachable, "lost"))),
        ("ask again", .askAgain),
        ("turn over", .session(Frames.activity(.idle), id)),
        ("gap", .session(Frames.gap(after: 9), id)),
        ("lease", .session(DaemonFrame(.leaseState(.init(kind: .input, target: id.text, holder: nil))), id)),
        ("channel ended", .channelEnded(id)),
        ("left", .left(id)),
        ("gone", .gone(id)),
        ("not opened", .notOpened(id)),
        ("stored, on control", .control(DaemonFrame(receipt(prompt, .stored)))),
        ("absent, unasked", .control(DaemonFrame(receipt(unknown, .absent)))),
        (
            "absent, settled",
            .answered(
                .init(operation: unknown, state: .absent, isRepeat: false, at: WallTime(milliseconds: 1)),
                isSettled: true)
        ),
        ("not sent", .notSent(prompt, ClientError(.unreachable, ""))),
        ("perhaps sent", .notSent(prompt, ClientError(.deliveryUnknown, ""))),
        ("found again", .found([operation(prompt, .unknown)])),
        ("pong", .control(DaemonFrame(.pong(.init(version: "2"))))),
        ("error", .control(DaemonFrame(.error(.init(message: "no", operation: prompt))))),
        ("revoked", .control(DaemonFrame(.revoked(.init(at: WallTime(milliseconds: 1), reason: ""))))),
    ]

    private static func words(_ effect: ClientEffect) -> String {
        switch effect {
        case .publish(.phase): "tell:link"
        case .publish(.control(let frame)): "tell:\(frame.message.kind.rawValue)"
        case .publish(.session(let event)): "tell:\(event.frame.message.kind.rawValue)"
        case .publish(.sessionPhase(_, let phase)): "tell:session→\("\(phase)".prefix { $0 != "(" })"
        case .publish(.operation): "tell:operation"
        case .keep(let operation):
            "keep:\(names[operation.id] ?? "?")→\("\(operation.state)".prefix { $0 != "(" })"
        case .remember: "remember"
        case .query(let operations, let settle, _):
            (settle ? "SETTLE(" : "QUERY(") + operations.map { names[$0] ?? "?" }.joined(separator: ",") + ")"
        case .resume(_, let sequence): "RESUME(\(sequence.rawValue))"
        case .reattach: "ATTACH"
        case .listSessions: "LIST"
        case .handOver: "hand"
        case .pass: "pass"
        case .succeeded: "succeeded"
        case .revoked: "revoked"
        }
    }

    @Test("every kind of link against what can happen")
    func table() {
        let lines = Link.allCases.flatMap { link in
            Self.inputs.map { name, input in
                var state = Self.state(link)
                let effects = state.apply(input, at: WallTime(milliseconds: 2)).map(Self.words)
                return "\(link.rawValue), \(name): \(effects.isEmpty ? "–" : effects.joined(separator: " "))"
            }
        }
        #expect(changes(in: lines, since: Self.snapshot) == [])
    }

    private static let snapshot = """
        none, link ready: remember tell:link tell:session→attaching ATTACH LIST
        none, link lost: keep:sending→unknown tell:session→lost remember
        none, ask again: –
        none, turn over: hand tell:session_activity_changed
        none, gap: hand tell:session→replaying RESUME(1)
        none, lease: hand tell:lease_state
        none, channel ended: keep:sending→unknown tell:session→lost tell:session→attaching ATTACH
        none, left: keep:sending→unknown
        none, gone: tell:session→gone
        none, not opened: –
        none, stored, on control: hand keep:sending→stored tell:receipt
        none, absent, unasked: hand tell:receipt
        none, absent, settled: keep:unknown→absent
        none, not sent: keep:sending→refused
        none, perhaps sent: keep:sending→unknown
        none, found again: –
        none, pong: hand succeeded remember tell:pong
        none, error: hand keep:sending→unknown SETTLE(sending) tell:error
        none, revoked: hand revoked tell:revoked
        native, link ready: remember tell:link tell:session→attaching ATTACH LIST
        native, link lost: keep:sending→unknown tell:session→lost remember
        native, ask again: SETTLE(unknown) QUERY(stored)
        native, turn over: hand tell:session_activity_changed SETTLE(unknown) QUERY(stored)
        native, gap: hand tell:session→replaying RESUME(1)
        native, lease: hand tell:lease_state
        native, channel ended: keep:sending→unknown tell:session→lost SETTLE(sending,unknown) QUERY(stored) tell:session→attaching ATTACH
        native, left: keep:sending→unknown QUERY(sending,unknown) QUERY(stored)
        native, gone: tell:session→gone
        native, not opened: –
        native, stored, on control: hand keep:sending→stored tell:receipt
        native, absent, unasked: hand tell:receipt
        native, absent, settled: keep:unknown→absent
        native, not sent: keep:sending→refused
        native, perhaps sent: keep:sending→unknown
        native, found again: –
        native, pong: hand succeeded remember tell:pong
        native, error: hand keep:sending→unknown SETTLE(sending) tell:error
        native, revoked: hand revoked tell:revoked
        stock, link ready: remember tell:link tell:session→attaching ATTACH LIST
        stock, link lost: keep:sending→unknown tell:session→lost remember
        stock, ask again: –
        stock, turn over: hand tell:session_activity_changed
        stock, gap: hand tell:session→replaying RESUME(1)
        stock, lease: hand tell:lease_state
        stock, channel ended: keep:sending→unknown tell:session→lost tell:session→attaching ATTACH
        stock, left: keep:sending→unknown
        stock, gone: tell:session→gone
        stock, not opened: –
        stock, stored, on control: hand keep:sending→stored tell:receipt
        stock, absent, unasked: hand tell:receipt
        stock, absent, settled: keep:unknown→absent
        stock, not sent: keep:sending→refused
        stock, perhaps sent: keep:sending→unknown
        stock, found again: –
        stock, pong: hand succeeded remember tell:pong
        stock, error: hand keep:sending→unknown tell:error
        stock, revoked: hand revoked tell:revoked
        """
}

@Suite("The answers of a request's table")
struct AnsweringTableTests {
    private static let first = OperationID(ULID(high: 3, low: 1))
    private static let second = OperationID(ULID(high: 3, low: 2))

    private enum State: String, CaseIterable { case open, sending }

    private static func session(in state: State) -> AttachedSession {
        var session = AttachedSession(id: id)
        let frames = [Frames.ready(.snapshot), Frames.page(asOf: 1), Frames.caughtUp(1)]
        for frame in frames + [Frames.request(1, command: "ls", seq: 2)] { take(frame, &session) }
        if state == .sending { session.answering(Frames.requestID(1), with: first) }
        return session
    }

    private static func take(_ frame: DaemonFrame, _ session: inout AttachedSession) {
        _ = session.receive(frame, isNative: true, now: WallTime(milliseconds: 1))
    }

    private static func verdict(_ outcome: AnswerOutcome) -> DaemonFrame {
        DaemonFrame(.answerVerdict(.init(operation: first, requestID: Frames.requestID(1), outcome: outcome)))
    }

    private static func snapshot(with requests: [DaemonFrame]) -> [DaemonFrame] {
        [Frames.ready(.snapshot), Frames.page(asOf: 2)] + requests + [Frames.caughtUp(2)]
    }

    private typealias Input = (name: String, apply: @Sendable (inout AttachedSession) -> Void)

    private static let verdicts: [Input] = AnswerOutcome.allCases.map { outcome in
        let apply: @Sendable (inout AttachedSession) -> Void = { take(verdict(outcome), &$0) }
        return ("verdict \(outcome.rawValue)", apply)
    }

    private static let others: [Input] =
        [
            ("answered from here", { $0.answering(Frames.requestID(1), with: second) }),
            ("that answer came to nothing", { $0.notAnswered(first) }),
            ("another answer came to nothing", { $0.notAnswered(second) }),
            ("resolved", { take(Frames.resolved(1), &$0) }),
            ("the same again", { take(Frames.request(1, command: "ls"), &$0) }),
            ("changed", { take(Frames.request(1, command: "rm"), &$0) }),
            ("turn over", { take(Frames.activity(.idle), &$0) }),
            ("channel lost", { _ = $0.channelLost(ClientError(.unreachable, "lost")) }),
            (
                "snapshot with it",
                { for frame in snapshot(with: [Frames.request(1, command: "ls")]) { take(frame, &$0) } }
            ),
            ("snapshot without it", { for frame in snapshot(with: []) { take(frame, &$0) } }),
        ]

    private static func words(_ session: AttachedSession) -> String {
        switch session.requests.first?.answering {
        case .open: "open"
        case .sending(let operation): "sending(\(operation == first ? 1 : 2))"
        case nil: "closed"
        }
    }

    @Test("open and sending against everything that is said of a request")
    func table() {
        let lines = State.allCases.flatMap { state in
            (Self.verdicts + Self.others).map { name, apply in
                var session = Self.session(in: state)
                apply(&session)
                return "\(state.rawValue), \(name): \(Self.words(session))"
            }
        }
        #expect(changes(in: lines, since: Self.snapshot) == [])
    }

    private static let snapshot = """
        open, verdict settled: closed
        open, verdict repeated: closed
        open, verdict too_late: closed
        open, verdict not_what_was_shown: open
        open, verdict unknown: closed
        open, answered from here: sending(2)
        open, that answer came to nothing: open
        open, another answer came to nothing: open
        open, resolved: closed
        open, the same again: open
        open, changed: open
        open, turn over: open
        open, channel lost: open
        open, snapshot with it: open
        open, snapshot without it: closed
        sending, verdict settled: closed
        sending, verdict repeated: closed
        sending, verdict too_late: closed
        sending, verdict not_what_was_shown: open
        sending, verdict unknown: closed
        sending, answered from here: sending(2)
        sending, that answer came to nothing: open
        sending, another answer came to nothing: sending(1)
        sending, resolved: closed
        sending, the same again: sending(1)
        sending, changed: open
        sending, turn over: sending(1)
        sending, channel lost: open
        sending, snapshot with it: sending(1)
        sending, snapshot without it: closed
        """
}
