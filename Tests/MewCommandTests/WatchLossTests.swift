import MewBase
import MewIdentity
import MewTestSupport
import MewWire
import Testing

@testable import mew

private let session = SessionID("sess_01K4SJKHR00000000000SESS01")!  // a literal that is one

@Suite("Watching over a loss", .timeLimit(.minutes(1)))
struct WatchLossTests {
    private static func message(_ number: UInt64, _ role: Role, _ text: String) -> Message {
        let id = MessageID(ULID(high: 1, low: number))
        let part = Part(
            id: PartID(ULID(high: 2, low: number)), messageID: id, session: ULID(high: 0, low: 0),
            content: .text(Part.Text(text: text)))
        return Message(
            id: id, session: ULID(high: 0, low: 0), role: role, parts: [part],
            time: MessageTime(created: WallTime(milliseconds: 1)), sequence: SequenceNumber(number))
    }

    /// - Parameter earlier: how many of the messages the newest page leaves out; they are asked for, and sent if `isKept`.
    @Sendable
    private static func show(
        _ link: FakeLink, _ messages: [Message], earlier: Int = 0, isKept: Bool = true, lost: UInt64? = nil,
        to seat: CommandStage.Seat
    ) async throws {
        let channel = try await link.channel()
        _ = try await channel.receive()
        let head = SequenceNumber(UInt64(messages.count))
        try await channel.send(
            .sessionReady(
                .init(
                    sessionID: session, epoch: Epoch(ULID(high: 1, low: 1)), headSequence: head, resume: .snapshot,
                    lost: lost)))
        try await channel.send(
            .sessionHistoryPage(
                .init(
                    sessionID: session, messages: Array(messages[earlier...]),
                    nextCursor: earlier > 0 ? UInt64(earlier) : nil, replaces: true, asOfSequence: head)))
        if earlier > 0 {
            let asked = try await channel.receive()
            #expect(
                asked.message == .loadSessionHistory(.init(sessionID: session, before: UInt64(earlier), historyID: nil))
            )
            let page = DaemonMessage.SessionHistoryPage(
                sessionID: session, messages: Array(messages[..<earlier]), replaces: false)
            try await channel.send(
                isKept ? .sessionHistoryPage(page) : .error(.init(message: "the disk fails", code: .notSaved)),
                ref: asked.ref)
        }
        try await channel.send(.caughtUp(.init(sessionID: session, sequence: head)))
        // What a closing finds unread may be lost.
        let phone = "phone\(head)"
        try await channel.lease(
            of: session, By(node: SecretKey.generate(entropy: SystemEntropy()).node, name: phone, clientKind: .mobile))
        _ = await seat.out.line(containing: phone)
    }

    @Test(
        "what a snapshot brings after a loss is shown, what was there before is not, and lost events are told",
        arguments: [true, false])
    func snapshot(isJSON: Bool) async throws {
        let stage = CommandStage()
        try await stage.add()
        let before = [Self.message(1, .user, "old prompt"), Self.message(2, .assistant, "old answer")]
        let after = before + [Self.message(3, .user, "new prompt"), Self.message(4, .assistant, "new answer")]
        let info = SessionInfo(
            sessionID: session, state: .idle, createdAt: WallTime(milliseconds: 1), firstMessage: "Fix it",
            agent: "shell")
        let words = ["watch", "desk", "1"] + (isJSON ? ["--json"] : [])
        let result = try await stage.run(
            words,
            daemonAndPerson: { [daemon = stage.daemon] link, seat in
                try await link.welcome(optional: ["lease"])
                try await link.list([info])
                try await Self.show(link, before, to: seat)
                await link.link.close(code: .shuttingDown, reason: "a minute")
                let second = try await FakeLink.accept(on: daemon)
                try await second.welcome(optional: ["lease"])
                try await Self.show(second, after, lost: 3, to: seat)
                await second.link.close(code: .revoked, reason: "over")
            })
        #expect(result.exit == .unauthorized, "\(result.err.text)")
        if isJSON {
            let told = result.objects.compactMap { $0["event"]?.asString ?? $0["type"]?.asString }
                .filter { $0 != "lease_state" }
            #expect(told.prefix(4) == ["lost", "back", "events_lost", "session_history_page"], "\(told)")
            #expect(result.objects.first { $0["event"] == "events_lost" }?["lost"] == 3)
        } else {
            #expect(result.out.lines.filter { !$0.contains("typing") } == ["» new prompt", "new answer"])
            #expect(result.err.lines.contains("(3 events were lost on desk)"), "\(result.err.text)")
        }
    }

    @Test(
        "turns that a snapshot leaves out are fetched and shown in order, or it is said that they are not",
        arguments: [true, false])
    func leftOut(isKept: Bool) async throws {
        let stage = CommandStage()
        try await stage.add()
        let before = [Self.message(1, .user, "old prompt"), Self.message(2, .assistant, "old")]
        let after =
            [before[0], Self.message(2, .assistant, "old answer"), Self.message(3, .user, "second prompt")]
            + [Self.message(4, .assistant, "second answer"), Self.message(5, .user, "third prompt")]
        let info = SessionInfo(
            sessionID: session, state: .idle, createdAt: WallTime(milliseconds: 1), firstMessage: "Fix it",
            agent: "shell")
        let result = try await stage.run(
            ["watch", "desk", "1"],
            daemonAndPerson: { [daemon = stage.daemon] link, seat in
                try await link.welcome(optional: ["lease"])
                try await link.list([info])
                try await Self.show(link, before, to: seat)
                await link.link.close(code: .shuttingDown, reason: "a minute")
                let second = try await FakeLink.accept(on: daemon)
                try await second.welcome(optional: ["lease"])
                try await Self.show(second, after, earlier: 4, isKept: isKept, to: seat)
                await second.link.close(code: .revoked, reason: "over")
            })
        #expect(result.exit == .unauthorized, "\(result.err.text)")
        let shown = result.out.lines.filter { !$0.contains("typing") }
        #expect(
            shown == (isKept ? [" answer", "» second prompt", "second answer"] : []) + ["» third prompt"], "\(shown)")
        #expect(result.err.text.contains("more was said meanwhile than is shown here") == !isKept)
    }

    @Test("who begins to watch in the middle of a turn sees its prompt and what was said so far, and nothing before it")
    func joined() async throws {
        let stage = CommandStage()
        try await stage.add()
        let messages = [
            Self.message(1, .user, "old prompt"), Self.message(2, .assistant, "old answer"),
            Self.message(3, .user, "this prompt"), Self.message(4, .assistant, "so far"),
        ]
        let info = SessionInfo(
            sessionID: session, state: .running, createdAt: WallTime(milliseconds: 1), firstMessage: "Fix it",
            agent: "shell")
        let result = try await stage.run(
            ["watch", "desk", "1"],
            daemonAndPerson: { link, seat in
                try await link.welcome(optional: ["lease"])
                try await link.list([info])
                try await Self.show(link, messages, to: seat)
                await link.link.close(code: .revoked, reason: "over")
            })
        #expect(result.exit == .unauthorized, "\(result.err.text)")
        #expect(result.out.lines.filter { !$0.contains("typing") } == ["» this prompt", "so far"])
    }

    @Test("who needs you is told on the next connection when the first one breaks while that is asked")
    func lostWhileListing() async throws {
        let stage = CommandStage()
        try await stage.add()
        let asking = SessionInfo(
            sessionID: session, state: .idle, createdAt: WallTime(milliseconds: 1), pendingPermissions: 1,
            firstMessage: "Fix it", agent: "shell")
        let play = { @Sendable [daemon = stage.daemon] (link: FakeLink, seat: CommandStage.Seat) in
            try await link.welcome()
            await link.link.close(code: .shuttingDown, reason: "a minute")
            let second = try await FakeLink.accept(on: daemon)
            try await second.welcome()
            try await second.list([asking])
            _ = await seat.out.line(containing: "needs permission")
            await second.link.close(code: .revoked, reason: "over")
        }
        let result = try await stage.run(["watch", "desk"], daemonAndPerson: play)
        #expect(result.exit == .unauthorized, "\(result.err.text)")
        #expect(result.out.lines == ["Fix it needs permission"])
        let told = result.err.lines.filter { $0.contains("connection is lost") || $0.contains("connected again") }
        #expect(told.count == 2 && told.last == "(connected again)", "\(result.err.text)")
    }
}
