import MewBase
import MewTestSupport
import MewWire
import Testing

@testable import MewClient

private let id = SessionID("sess_1")!  // a literal that is one
private let epoch = Epoch(ULID(high: 1, low: 1))

@Suite("Sessions over a link", .timeLimit(.minutes(1)))
struct SessionTests {
    private func attached(
        _ stage: Stage, _ feed: Feed<ClientEvent>, head: UInt64 = 0
    ) async throws -> (FakeLink, FakeChannel) {
        try await stage.attached(feed, id, epoch: epoch, head: head)
    }

    private func event(_ text: String) -> DaemonMessage { .errorEvent(DaemonMessage.ErrorEvent(message: text)) }

    @Test("after a loss the session goes on after the last event, and nothing is shown twice")
    func resumes() async throws {
        let stage = Stage()
        try await stage.run { feed in
            let (_, channel) = try await attached(stage, feed, head: 4)
            try await channel.send(event("five"), session: id, seq: 5)
            _ = try await feed.sessionEvent { $0.frame.message == event("five") }
            let link = try await stage.reconnect(feed)
            let again = try await link.channel()
            guard case .attachSession(let attach) = try await again.receive().message else {
                throw FakeDaemonError("no attach")
            }
            #expect(attach.afterSequence == SequenceNumber(5))
            #expect(attach.epoch == epoch)
            try await again.send(
                .sessionReady(DaemonMessage.SessionReady(sessionID: id, epoch: epoch, resume: .replay)))
            try await again.send(event("five"), session: id, seq: 5)
            try await again.send(event("six"), session: id, seq: 6)
            try await again.send(.caughtUp(DaemonMessage.CaughtUp(sessionID: id, sequence: SequenceNumber(6))))
            let next = try await feed.sessionEvent { $0.frame.message.kind == .errorEvent }
            #expect(next.frame.message == event("six"))
            #expect(next.isLive == false)
            try await feed.sessionPhase(.live)
        }
    }

    @Test("a gap is answered with resume_session on the same channel")
    func gap() async throws {
        let stage = Stage()
        try await stage.run { feed in
            let (_, channel) = try await attached(stage, feed, head: 2)
            try await channel.send(.gap(DaemonMessage.Gap(sessionID: id, afterSequence: SequenceNumber(9))))
            guard case .resumeSession(let resume) = try await channel.receive().message else {
                throw FakeDaemonError("no resume")
            }
            #expect(resume.afterSequence == SequenceNumber(2))
        }
    }

    @Test("a session that is unknown is a failed attach with its code, and leaves nothing behind")
    func unknownSession() async throws {
        let stage = Stage()
        try await stage.run { feed in
            let link = try await stage.connected(feed)
            async let failure = stage.failureOfAttach(id)
            let channel = try await link.askedChannel()
            try await channel.send(
                .error(DaemonMessage.ErrorReply(message: "there is no such session", code: .unknownSession)))
            #expect(await failure == ClientError(.unknownSession, "there is no such session"))
            #expect(await stage.supervisor.view.attached.isEmpty)
        }
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

    @Test("a new session is attached under the ID the daemon gave it, and its operation settles")
    func newSession() async throws {
        let stage = Stage()
        try await stage.run { feed in
            let link = try await stage.connected(feed)
            async let made = stage.supervisor.newSession(cwd: "/src", agent: "shell")
            let channel = try await link.channel()
            let frame = try await channel.receive()
            #expect(
                frame.message
                    == .newSession(ClientMessage.NewSession(cwd: "/src", clientKind: .cli, agent: "shell")))
            let operation = try #require(frame.operation)
            try await channel.receipt(operation, .stored)
            try await channel.attach(id, epoch: epoch, resume: .new)
            #expect(try await made == id)
            try await channel.receipt(operation, .done)
            _ = try await feed.operation { $0.kind == .newSession && $0.isOver }
        }
    }

    @Test("a stock daemon: attach, history, prompt with its echo, and the numbers of its requests")
    func stock() async throws {
        let stage = Stage(protocols: [.stock])
        try await stage.run { feed in
            let link = try await stage.connected(feed)
            async let attached: Void = stage.supervisor.attach(id)
            guard case .attachSession(let attach) = try await link.control.receive().message else {
                throw FakeDaemonError("no attach")
            }
            #expect(attach.clientKind == .remote)
            try await link.control.send(.sessionReady(DaemonMessage.SessionReady(sessionID: id)))
            try await link.control.send(
                .sessionHistoryPage(
                    DaemonMessage.SessionHistoryPage(sessionID: id, messages: [], replaces: true)))
            try await attached
            _ = try await stage.supervisor.prompt("hi", in: id)
            let prompt = try await link.control.receive()
            #expect(prompt.operation == nil, "stock daemons know no operations")
            try await link.control.send(.userMessage(DaemonMessage.UserMessage(text: "hi")))
            #expect(try await feed.sessionEvent { $0.frame.message.kind == .userMessage }.isOwnEcho)
            try await link.control.send(
                text: "{\"type\":\"permission_request\",\"request_id\":7,\"tool_name\":\"bash\",\"input\":{}}")
            _ = try await feed.sessionEvent { $0.frame.message.kind == .permissionRequest }
            let pending = try #require(await stage.supervisor.view.attached[id]?.requests.first)
            _ = try await stage.supervisor.answer(pending, .permission(.deny), in: id)
            guard case .answer(let answer) = try await link.control.receive().message else {
                throw FakeDaemonError("no answer")
            }
            #expect(answer.requestID == .number(7))
        }
    }

    @Test("a channel that the daemon ends is attached again over the same link, three times at most")
    func channelEnded() async throws {
        let stage = Stage()
        try await stage.run { feed in
            let (link, channel) = try await attached(stage, feed, head: 3)
            await channel.channel.finish()
            for _ in 0..<3 {
                let again = try await link.channel()
                guard case .attachSession(let attach) = try await again.receive().message else {
                    throw FakeDaemonError("no attach")
                }
                #expect(attach.afterSequence == SequenceNumber(3))
                try await again.send(
                    .sessionReady(DaemonMessage.SessionReady(sessionID: id, epoch: epoch, resume: .replay)))
                await again.channel.finish()
            }
            let lost = AttachedSession.Phase.lost(
                ClientError(.unreachable, "the daemon ended the channel of the session"))
            for _ in 0..<4 { try await feed.sessionPhase(lost) }
            #expect(await stage.supervisor.view.attached[id]?.phase == lost, "with the reason")
        }
    }

    @Test("a session says why it is lost: what the link says of itself")
    func reasonOfTheLoss() async throws {
        let stage = Stage()
        try await stage.run { feed in
            _ = try await attached(stage, feed)
            stage.daemon.breakLinks()
            var reason: ClientError?
            while reason == nil, let event = await feed.next() {
                if case .sessionPhase(id, .lost(let why)) = event { reason = why }
            }
            guard case .waiting(_, let trouble) = try await feed.phase({ $0.readyLink == nil }) else {
                throw FakeDaemonError("not waiting")
            }
            #expect(reason == ClientError(trouble))
        }
    }

    @Test("an older page goes before what is shown; at the start there is none to ask for")
    func olderPages() async throws {
        let stage = Stage()
        try await stage.run { feed in
            let link = try await stage.connected(feed)
            async let attached: Void = stage.supervisor.attach(id)
            let channel = try await link.askedChannel()
            let list = HistoryID(ULID(high: 3, low: 3))
            try await channel.send(
                .sessionReady(DaemonMessage.SessionReady(sessionID: id, epoch: epoch, resume: .snapshot)))
            try await channel.send(Frames.page(asOf: 5, messages: [5], cursor: 1, list: list).message)
            try await channel.send(.caughtUp(DaemonMessage.CaughtUp(sessionID: id, sequence: SequenceNumber(5))))
            try await attached
            async let older = stage.supervisor.loadOlder(in: id)
            let request = try await channel.receive()
            let wanted = ClientMessage.LoadSessionHistory(sessionID: id, before: 1, historyID: list)
            #expect(request.message == .loadSessionHistory(wanted))
            let page = Frames.page(asOf: nil, messages: [2, 3], list: list, replaces: false).message
            try await channel.send(page, ref: request.ref)
            #expect(try await older)
            let shown = await stage.supervisor.view.attached[id]?.transcript.messages.map(\.sequence)
            #expect(shown == [2, 3, 5].map { SequenceNumber($0) })
            #expect(try await stage.supervisor.loadOlder(in: id) == false)
        }
    }

    @Test("what the reader of a full feed asks for does not wait for the reader")
    func fullFeed() async throws {
        let stage = Stage()
        try await stage.run { feed in
            let (_, channel) = try await attached(stage, feed)
            let narrow = await stage.supervisor.subscribe(capacity: 1)
            for (number, text) in [(1, "one"), (2, "two")] as [(UInt64, String)] {
                try await channel.send(event(text), session: id, seq: number)
            }
            // The second one waits for room in the narrow feed now.
            _ = try await feed.sessionEvent { $0.frame.message == event("two") }
            let operation = try await stage.supervisor.prompt("go", in: id)
            #expect(try await channel.receive().operation == operation)
            #expect(try await narrow.sessionEvent { $0.frame.message == event("two") }.session == id)
        }
    }

    @Test("a reader that has left an unread feed behind does not keep the client from ending")
    func unreadFeed() async throws {
        let stage = Stage()
        try await stage.run { feed in
            _ = try await stage.connected(feed)
            _ = await stage.supervisor.subscribe(capacity: 1)
            stage.daemon.breakLinks()
            try await feed.phase { if case .waiting = $0 { true } else { false } }
        }
    }

    @Test("a reader that is slow misses nothing when the attempt that told it is replaced")
    func slowReader() async throws {
        let stage = Stage()
        try await stage.run { feed in
            let slow = await stage.supervisor.subscribe(capacity: 1)
            // Told to `feed` and waiting for room in the slow one, which has `dialing`.
            try await feed.phase { if case .greeting = $0 { true } else { false } }
            await stage.supervisor.retry()
            try await slow.phase { if case .greeting = $0 { true } else { false } }
            try await slow.phase { if case .dialing = $0 { true } else { false } }
        }
    }

    @Test("a daemon that allows no more channels lets an attach time out, and not before")
    func noChannel() async throws {
        let stage = Stage(opensChannels: 1)
        try await stage.run { feed in
            _ = try await stage.connected(feed)
            async let failure = stage.failureOfAttach(id)
            let limit = ClientDeadlines().attach
            await stage.clock.sleeper(for: limit)
            stage.clock.advance(by: limit)
            #expect(await failure?.code == .timedOut)
            #expect(await stage.supervisor.view.attached.isEmpty)
        }
    }

    @Test("a session that is attached already is not attached twice")
    func attachedTwice() async throws {
        for applicationProtocol in ApplicationProtocol.allCases {
            let stage = Stage(protocols: [applicationProtocol])
            try await stage.run { feed in
                let link = try await stage.connected(feed)
                async let made = stage.supervisor.newSession(cwd: nil)
                let channel = link.native ? try await link.channel() : link.control
                _ = try await channel.receive()
                try await channel.send(
                    .sessionReady(
                        DaemonMessage.SessionReady(sessionID: id, epoch: link.native ? epoch : nil, resume: .new)))
                if link.native {
                    try await channel.send(.caughtUp(DaemonMessage.CaughtUp(sessionID: id, sequence: .zero)))
                }
                #expect(try await made == id)
                try await stage.supervisor.attach(id)
            }
        }
    }

    @Test(
        "a stock daemon: the echo delivers a prompt, the end of its turn settles it, a loss before the echo is unknown")
    func stockOperations() async throws {
        let stage = Stage(protocols: [.stock])
        try await stage.run { feed in
            let link = try await stage.connected(feed)
            async let attached: Void = stage.supervisor.attach(id)
            _ = try await link.control.receive()
            try await link.control.send(.sessionReady(DaemonMessage.SessionReady(sessionID: id)))
            try await link.control.send(.sessionHistory(DaemonMessage.SessionHistory(messages: [])))
            try await attached
            let operation = try await stage.supervisor.prompt("hi", in: id)
            try await link.control.send(.userMessage(DaemonMessage.UserMessage(text: "hi")))
            _ = try await feed.operation { $0.id == operation && $0.state == .delivered(nil) }
            try await link.control.send(
                .sessionActivityChanged(DaemonMessage.SessionActivityChanged(sessionID: id, activity: .idle)))
            _ = try await feed.operation { $0.id == operation && $0.state == .settled(nil) }
            let lost = try await stage.supervisor.prompt("again", in: id)
            stage.daemon.breakLinks()
            _ = try await feed.operation { $0.id == lost && $0.state == .unknown }
            #expect(await stage.store.records().operations.map(\.id) == [lost])
        }
    }
}
