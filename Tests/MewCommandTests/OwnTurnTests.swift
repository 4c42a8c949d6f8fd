import MewBase
import MewIdentity
import MewLoop
import MewTestSupport
import MewWire
import Testing

@testable import mew

private let session = SessionID("sess_01K4SJKHR00000000000SESS01")!  // a literal that is one
private let theirs = TurnID(ULID(high: 4, low: 1))
private let ours = TurnID(ULID(high: 4, low: 2))

@Suite("A prompt among the turns of others", .timeLimit(.minutes(1)))
struct OwnTurnTests {
    private static let info = SessionInfo(
        sessionID: session, state: .running, createdAt: WallTime(milliseconds: 1), firstMessage: "Fix it",
        agent: "shell", turnID: theirs)

    /// The session while the turn of another device runs in it; returns with our prompt.
    @Sendable
    private static func busy(_ link: FakeLink) async throws -> (FakeChannel, OperationID) {
        try await link.welcome()
        try await link.list([info])
        let channel = try await link.channel()
        _ = try await channel.receive()
        try await channel.attach(session, epoch: Epoch(ULID(high: 1, low: 1)))
        try await channel.send(
            .sessionActivityChanged(.init(sessionID: session, activity: .running, turnID: theirs)), session: session)
        let prompt = try await channel.receive()
        return (channel, try #require(prompt.operation))
    }

    @Test("a prompt behind another turn says that it waits, and a second Ctrl-C cancels it and not the other")
    func cancelsItsOwn() async throws {
        let stage = CommandStage()
        try await stage.add()
        let result = try await stage.run(["prompt", "desk", "hi", "--session", "1"]) { link, person in
            let (channel, prompt) = try await Self.busy(link)
            try await channel.receipt(prompt, .stored, turn: ours)
            _ = await person.err.line(containing: "(waits: another turn is running)")
            person.signal(.interrupt)
            _ = await person.err.line(containing: "detaching")
            person.signal(.interrupt)
            let cancel = try await channel.receive()
            #expect(cancel.message == .cancel(ClientMessage.Cancel(turnID: ours)))
            try await channel.receipt(try #require(cancel.operation), .done)
            try await channel.receipt(prompt, .done, turn: ours, result: .cancelled)
            _ = await link.link.closed()
        }
        #expect(result.exit == .refused, "\(result.err.text)")
        #expect(result.err.text.contains("(waits: another turn is running)"), "\(result.err.text)")
    }

    @Test("while no receipt names its turn a second Ctrl-C sends nothing, and says so")
    func cancelsNobody() async throws {
        let stage = CommandStage()
        try await stage.add()
        let result = try await stage.run(["prompt", "desk", "hi", "--session", "1"]) { link, person in
            let (channel, prompt) = try await Self.busy(link)
            person.signal(.interrupt)
            _ = await person.err.line(containing: "detaching")
            person.signal(.interrupt)
            _ = await person.err.line(containing: "nothing is cancelled")
            try await channel.receipt(prompt, .done, turn: ours, result: .completed)
            await #expect(throws: (any Error).self, "nothing more was sent") { _ = try await channel.receive() }
            _ = await link.link.closed()
        }
        #expect(result.exit == .ok, "\(result.err.text)")
        #expect(
            result.err.text.contains("(nothing is cancelled: desk has not said yet which turn this prompt is)"),
            "\(result.err.text)")
    }

    @Test("an answer that came too late is told once, by its verdict")
    func lateAnswer() async throws {
        let stage = CommandStage()
        try await stage.add()
        let words = ["prompt", "desk", "hi", "--session", "1", "--permit", "once"]
        let result = try await stage.run(words) { link in
            let (channel, prompt) = try await Self.busy(link)
            try await channel.receipt(prompt, .started, turn: ours)
            let content = Request.Content.permission(toolName: "shell", input: ["command": "ls"])
            let request = RequestID(ULID(high: 5, low: 5))
            try await channel.send(
                .request(Request(id: request, content: content, shown: content.shownText)), session: session, seq: 1)
            let answer = try #require(try await channel.receive().operation)
            try await channel.send(
                .answerVerdict(.init(operation: answer, requestID: request, outcome: .tooLate, how: .answered)),
                session: session)
            try await channel.receipt(answer, .refused, code: .tooLate, message: "too late: answered: once")
            try await channel.receipt(prompt, .done, turn: ours, result: .completed)
            _ = await link.link.closed()
        }
        #expect(result.exit == .ok, "\(result.err.text)")
        let told = result.out.text + result.err.text
        #expect(told.ranges(of: "too late").count == 1, "\(told)")
    }

    @Test("a refused answer is told with its reason, and --permit does not give it again")
    func refusedAnswer() async throws {
        let stage = CommandStage()
        try await stage.add()
        let words = ["prompt", "desk", "hi", "--session", "1", "--permit", "once"]
        let result = try await stage.run(words) { link in
            let (channel, prompt) = try await Self.busy(link)
            try await channel.receipt(prompt, .started, turn: ours)
            let content = Request.Content.permission(toolName: "shell", input: ["command": "ls"])
            try await channel.send(
                .request(Request(id: RequestID(ULID(high: 5, low: 5)), content: content, shown: content.shownText)),
                session: session, seq: 1)
            let answer = try await channel.receive()
            try await channel.receipt(
                try #require(answer.operation), .refused, code: .leaseHeld, message: "this device only looks on")
            try await channel.receipt(prompt, .done, turn: ours, result: .completed)
            await #expect(throws: (any Error).self, "no second answer") { _ = try await channel.receive() }
            _ = await link.link.closed()
        }
        #expect(result.exit == .ok, "\(result.err.text)")
        #expect(
            result.err.lines.contains("(the answer was not taken: this device only looks on)"), "\(result.err.text)")
        #expect(result.err.text.contains("Answer from any device"), "\(result.err.text)")
    }

    @Test("mew answer ends with the refusal of its answer, not with a verdict that never comes")
    func answerCommand() async throws {
        let stage = CommandStage()
        try await stage.add()
        var asking = Self.info
        asking.pendingPermissions = 1
        let content = Request.Content.permission(toolName: "shell", input: ["command": "ls"])
        let id = RequestID(ULID(high: 5, low: 5))
        let handle = "\(id.description.suffix(4))-\(ShownDigest(of: content.shownText, request: id).hex.prefix(6))"
        let result = try await stage.run(["answer", "desk", handle, "deny", "--json"]) { [asking] link in
            try await link.welcome()
            try await link.list([asking])
            let channel = try await link.channel()
            _ = try await channel.receive()
            try await channel.send(
                .sessionReady(
                    .init(sessionID: session, epoch: Epoch(ULID(high: 1, low: 1)), resume: .snapshot)))
            try await channel.send(.request(Request(id: id, content: content, shown: content.shownText)))
            try await channel.send(.caughtUp(.init(sessionID: session, sequence: .zero)))
            let answer = try await channel.receive()
            try await channel.receipt(
                try #require(answer.operation), .refused, code: .leaseHeld, message: "this device only looks on")
            _ = await link.link.closed()
        }
        #expect(result.objects.last?["error"]?["code"] == "lease_held", "\(result.err.text)")
        #expect(result.err.text.contains("could not send the answer"), "\(result.err.text)")
    }
}
