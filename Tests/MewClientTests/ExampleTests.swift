import MewBase
import MewTestSupport
import MewWire
import Testing

@testable import ClientExample
@testable import MewClient

private let id = SessionID("sess_1")!  // a literal that is one
private let epoch = Epoch(ULID(high: 1, low: 1))

@Suite("The example of the README", .timeLimit(.minutes(1)))
struct ExampleTests {
    @Test("attaches, draws, answers with what was shown, and says what the person says")
    func works() async throws {
        let (stage, drawn) = (Stage(), Feed<String>(capacity: 100))
        let content = Request.Content.permission(toolName: "bash", input: ["command": "ls"])
        let app = try await PocketApp(
            stage.record, session: id, dialer: stage.device, wallClock: { WallTime(milliseconds: 1) },
            draw: { drawn.post($0) }, allows: { $0 == content.shownText })
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await app.run() }
            let link = try await stage.accept()
            try await link.welcome()
            let channel = try await link.channel()
            _ = try await channel.receive()
            try await channel.attach(id, epoch: epoch)
            try await channel.send(.userMessage(DaemonMessage.UserMessage(text: "hello")), session: id, seq: 1)
            while let picture = await drawn.next(), picture != "hello" {}
            let request = Request(
                id: RequestID(ULID(high: 4, low: 4)), content: content, shown: content.shownText)
            try await channel.send(.request(request), session: id, seq: 2)
            guard case .answer(let answer) = try await channel.receive().message else {
                throw FakeDaemonError("no answer")
            }
            #expect(answer.content == .permission(.allowOnce))
            #expect(answer.shownDigest == ShownDigest(of: content.shownText, request: request.id))
            await app.wentToBackground()
            async let front: Void = app.cameToFront()
            let ping = try await link.control.receive()
            try await link.control.send(.pong(DaemonMessage.Pong(version: "9.9")), ref: ping.ref)
            await front
            try await app.say("go on")
            #expect(try await channel.receive().message == .prompt(ClientMessage.Prompt(text: "go on")))
            group.cancelAll()
        }
    }

    @Test("goes on drawing while the person thinks about a question, and asks one at a time")
    func thinking() async throws {
        let (stage, drawn, asked) = (Stage(), Feed<String>(capacity: 100), Feed<String>(capacity: 10))
        let answers = Feed<Bool>(capacity: 10)
        let app = try await PocketApp(
            stage.record, session: id, dialer: stage.device, wallClock: { WallTime(milliseconds: 1) },
            draw: { drawn.post($0) },
            allows: {
                asked.post($0)
                return await answers.next() ?? false
            })
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await app.run() }
            let link = try await stage.accept()
            try await link.welcome()
            let channel = try await link.askedChannel()
            try await channel.attach(id, epoch: epoch)
            for number in 1...2 as ClosedRange<UInt64> {
                let content = Request.Content.permission(toolName: "bash", input: ["command": .string("ls \(number)")])
                let request = RequestID(ULID(high: 4, low: number))
                try await channel.send(
                    .request(Request(id: request, content: content, shown: content.shownText)), session: id, seq: number
                )
            }
            let first = try #require(await asked.next())
            #expect(first.contains("ls 1"))
            try await channel.send(.userMessage(DaemonMessage.UserMessage(text: "meanwhile")), session: id, seq: 3)
            while let picture = await drawn.next(), picture != "meanwhile" {}
            for number in 1...2 as ClosedRange<UInt64> {
                answers.post(true)
                guard case .answer(let answer) = try await channel.receive().message else {
                    throw FakeDaemonError("no answer")
                }
                #expect(answer.requestID == RequestID(ULID(high: 4, low: number)))
            }
            #expect(await asked.next()?.contains("ls 2") == true)
            group.cancelAll()
        }
    }

    @Test("who goes away while thinking about a question has not answered it")
    func goesAway() async throws {
        let (stage, asked, answers) = (Stage(), Feed<String>(capacity: 10), Feed<Bool>(capacity: 1))
        let app = try await PocketApp(
            stage.record, session: id, dialer: stage.device, wallClock: { WallTime(milliseconds: 1) }, draw: { _ in },
            allows: {
                asked.post($0)
                return await answers.next() ?? false
            })
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await app.run() }
            let link = try await stage.accept()
            try await link.welcome()
            let channel = try await link.askedChannel()
            try await channel.attach(id, epoch: epoch)
            let content = Request.Content.permission(toolName: "bash", input: ["command": "ls"])
            let request = Request(id: RequestID(ULID(high: 4, low: 1)), content: content, shown: content.shownText)
            try await channel.send(.request(request), session: id, seq: 1)
            _ = try #require(await asked.next())
            group.cancelAll()
            while let said = try? await channel.receive() {
                if case .answer = said.message { Issue.record("answered: \(said.message)") }
            }
            try await group.waitForAll()
        }
    }

    @Test("a refusal is drawn beside what was shown, and nothing dials until the person says so")
    func parked() async throws {
        let (stage, drawn) = (Stage(), Feed<String>(capacity: 100))
        let app = try await PocketApp(
            stage.record, session: id, dialer: stage.device, wallClock: { WallTime(milliseconds: 1) },
            draw: { drawn.post($0) }, allows: { _ in false })
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await app.run() }
            let link = try await stage.accept()
            try await link.welcome()
            let channel = try await link.askedChannel()
            try await channel.attach(id, epoch: epoch)
            try await channel.send(.userMessage(DaemonMessage.UserMessage(text: "hello")), session: id, seq: 1)
            while let picture = await drawn.next(), picture != "hello" {}
            await link.link.close(code: .revoked, reason: "lost phone")
            let refusal = ClientError(ConnectionRefusal.revoked(at: nil, reason: "lost phone"))
            while let picture = await drawn.next(), picture != "hello\n(\(refusal.message): mend that, then retry)" {}
            await app.retry()
            try await stage.accept().welcome()
            group.cancelAll()
        }
    }

    @Test("stands in the README word for word, imports MewClient alone, and has fewer than a hundred lines")
    func isTheBlock() throws {
        let example = try RepositoryFile.text(of: "Tests/ClientExample/PocketApp.swift")
        let blocks = try RepositoryFile.text(of: "README.md").split(
            separator: "```swift\n", omittingEmptySubsequences: false)
        let swift = blocks.dropFirst().compactMap { $0.split(separator: "```", omittingEmptySubsequences: false).first }
        let isThere = swift.contains { String($0) == example }
        #expect(isThere, "copy Tests/ClientExample/PocketApp.swift into the README")
        let lines = example.split(separator: "\n", omittingEmptySubsequences: false)
        #expect(lines.count < 100)
        #expect(lines.filter { $0.hasPrefix("import") } == ["import MewClient"])
    }
}
