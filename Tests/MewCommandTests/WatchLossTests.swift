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

    @Sendable
    private static func show(_ link: FakeLink, _ messages: [Message], lost: UInt64? = nil, to seat: CommandStage.Seat)
        async throws
    {
        let channel = try await link.channel()
        _ = try await channel.receive()
        let head = SequenceNumber(UInt64(messages.count))
        try await channel.send(
            .sessionReady(
                .init(
                    sessionID: session, epoch: Epoch(ULID(high: 1, low: 1)), headSequence: head, resume: .snapshot,
                    lost: lost)))
        try await channel.send(
            .sessionHistoryPage(.init(sessionID: session, messages: messages, replaces: true, asOfSequence: head)))
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
