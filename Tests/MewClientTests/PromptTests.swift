import MewBase
import MewTestSupport
import MewWire
import Testing

@testable import MewClient

private let id = SessionID("sess_1")!  // a literal that is one
private let epoch = Epoch(ULID(high: 1, low: 1))

@Suite("What is asked of a session, over a link", .timeLimit(.minutes(1)))
struct PromptTests {
    private func attached(
        _ stage: Stage, _ feed: Feed<ClientEvent>
    ) async throws -> (FakeLink, FakeChannel) {
        try await stage.attached(feed, id, epoch: epoch)
    }

    @Test("a prompt moves from sending to settled by its receipts, and its echo is known by op_id")
    func receipts() async throws {
        let stage = Stage()
        try await stage.run { feed in
            let (_, channel) = try await attached(stage, feed)
            let operation = try await stage.supervisor.prompt("hi", in: id)
            let frame = try await channel.receive()
            #expect(frame.operation == operation)
            #expect(frame.message == .prompt(ClientMessage.Prompt(text: "hi")))
            #expect(await stage.store.records().operations.map(\.id) == [operation])
            let steps: [(ReceiptState, MewClient.Operation.State)] = [
                (.stored, .stored(nil)), (.started, .delivered(nil)), (.stored, .delivered(nil)),
                (.done, .settled(.failed)),
            ]
            for (receipt, state) in steps {
                try await channel.receipt(operation, receipt, result: receipt == .done ? .failed : nil)
                guard receipt != .stored || state == .stored(nil) else { continue }  // going back is no news
                _ = try await feed.operation { $0.id == operation && $0.state == state }
            }
            #expect(await stage.store.records().operations.isEmpty)
            for (own, op) in [(true, operation), (false, OperationID(ULID(high: 8, low: 8)))] {
                try await channel.send(
                    .userMessage(DaemonMessage.UserMessage(text: "hi", operation: op)), session: id,
                    seq: own ? 1 : 2)
                #expect(
                    try await feed.sessionEvent { $0.frame.message.kind == .userMessage }.isOwnEcho == own)
            }
        }
    }

    @Test("a prompt whose channel is lost before a receipt is unknown, is asked about and never sent again")
    func unknownDelivery() async throws {
        let stage = Stage()
        try await stage.run { feed in
            let (_, channel) = try await attached(stage, feed)
            let operation = try await stage.supervisor.prompt("hi", in: id)
            _ = try await channel.receive()
            let link = try await stage.reconnect(feed)
            #expect(await stage.store.records().operations.map(\.state) == [.unknown])
            let request = try await link.control.receive()
            guard case .receiptQuery(let query) = request.message else { throw FakeDaemonError("no query") }
            #expect(query.operations == [operation])
            #expect(query.settle, "only a settled absence is an end")
            try await link.control.receipt(operation, .absent, ref: request.ref)
            _ = try await feed.operation { $0.id == operation && $0.state == .absent }
            let again = try await link.askedChannel()
            try await again.attach(id, epoch: epoch)
            try await feed.sessionPhase(.live)
            await stage.supervisor.stop()
            let rest = try? await again.receive()
            #expect(rest == nil, "nothing was sent again")
        }
    }

    @Test("what had a receipt stays stored over a loss, and the query after the turn tells its end")
    func storedSurvives() async throws {
        let stage = Stage()
        try await stage.run { feed in
            let (_, channel) = try await attached(stage, feed)
            let operation = try await stage.supervisor.prompt("hi", in: id)
            _ = try await channel.receive()
            try await channel.receipt(operation, .started)
            _ = try await feed.operation { $0.state == .delivered(nil) }
            let link = try await stage.reconnect(feed)
            let again = try await link.askedChannel()
            _ = try await link.control.receive()  // the query of the reconnect
            try await link.control.receipt(operation, .started)
            try await again.attach(id, epoch: epoch)
            try await feed.sessionPhase(.live)
            try await again.send(
                .sessionActivityChanged(
                    DaemonMessage.SessionActivityChanged(sessionID: id, activity: .idle)), session: id, seq: 1)
            guard case .receiptQuery = try await link.control.receive().message else {
                throw FakeDaemonError("no query")
            }
            try await link.control.receipt(operation, .done, result: .completed)
            _ = try await feed.operation { $0.state == .settled(.completed) }
        }
    }

    @Test("a refused prompt says why")
    func refused() async throws {
        let stage = Stage()
        try await stage.run { feed in
            let (_, channel) = try await attached(stage, feed)
            let operation = try await stage.supervisor.prompt("hi", in: id)
            try await channel.receipt(operation, .refused, code: .leaseHeld)
            let refused = try await feed.operation(\.isOver)
            guard case .refused(.leaseHeld, _) = refused.state else { throw FakeDaemonError("\(refused)") }
        }
    }

    @Test("nothing is sent, and nothing is queued, while there is no link")
    func offline() async throws {
        let stage = Stage()
        stage.daemon.stopListening()
        try await stage.run { feed in
            try await feed.phase { if case .waiting = $0 { true } else { false } }
            await #expect(throws: ClientError.self) { try await stage.supervisor.prompt("hi", in: id) }
            #expect(await stage.store.records().operations.isEmpty)
        }
    }

    @Test("an operation that cannot be recorded is not sent")
    func recordFirst() async throws {
        let stage = Stage()
        try await stage.run { feed in
            _ = try await attached(stage, feed)
            await stage.store.fail(with: .readOnly(path: "client.json"))
            let error = ClientError(.directoryReadOnly, "cannot write to client.json: it is read-only", isLocal: true)
            await #expect(throws: error) {
                try await stage.supervisor.prompt("hi", in: id)
            }
        }
    }

    @Test("an answer carries the digest of what was displayed")
    func answers() async throws {
        let stage = Stage()
        try await stage.run { feed in
            let (_, channel) = try await attached(stage, feed)
            let content = Request.Content.permission(toolName: "bash", input: ["command": "ls"])
            let request = RequestID(ULID(high: 4, low: 4))
            try await channel.send(
                .request(Request(id: request, content: content, shown: content.shownText)), session: id, seq: 1)
            _ = try await feed.sessionEvent { $0.frame.message.kind == .permissionRequest }
            let pending = try #require(await stage.supervisor.view.attached[id]?.requests.first)
            let operation = try await stage.supervisor.answer(pending, .permission(.allowOnce), in: id)
            guard case .answer(let answer) = try await channel.receive().message else {
                throw FakeDaemonError("no answer")
            }
            #expect(answer.shownDigest == ShownDigest(of: content.shownText, request: request))
            #expect(answer.content == .permission(.allowOnce))
            #expect(await stage.supervisor.view.attached[id]?.requests.first?.answering == .sending(operation))
        }
    }
}
