import MewBase
import MewIdentity
import MewTestSupport
import MewWire
import Testing

@testable import mew

private let session = SessionID("sess_01K4SJKHR00000000000SESS01")!  // a literal that is one

@Suite("Commands against a daemon", .timeLimit(.minutes(1)))
struct CommandTests {
    private let epoch = Epoch(ULID(high: 1, low: 1))

    private var info: SessionInfo {
        SessionInfo(
            sessionID: session, state: .idle, createdAt: WallTime(milliseconds: 1), cwd: "/src",
            pendingPermissions: 0, firstMessage: "Fix it", agent: "shell", headSequence: SequenceNumber(7))
    }

    @Test("add pairs, remembers, and prints its fields; ls shows the daemon with what needs you")
    func addAndList() async throws {
        let stage = CommandStage()
        let token = PairingToken(entropy: SystemEntropy())
        let payload = PairingPayload(
            node: stage.daemon.node, name: "desk", token: token, relays: [], addresses: [.loopback(port: 1)])
        let added = try await stage.run("add", payload.text, "--json") { link in
            let hello = try await link.welcome()
            #expect(hello.token == token.revealed)
            _ = await link.link.closed()
        }
        #expect(added.exit == .ok)
        #expect(
            added.objects == [
                [
                    "daemon": "desk", "node_id": .string(stage.daemon.node.z32), "name": "desk", "scope": "control",
                ]
            ])
        var asking = info
        asking.pendingPermissions = 1
        let listed = try await stage.run("ls", "--json") { [asking] link in
            let hello = try await link.welcome()
            #expect(hello.token == nil, "the token is spent")
            try await link.list([asking])
            _ = await link.link.closed()
        }
        let row = try #require(listed.objects.first)
        #expect(row["daemon"] == "desk")
        #expect(row["state"] == "connected")
        #expect(row["needs_you"] == 1)
        #expect(row["version"] == "9.9")
        #expect(row["last_proof_ms"]?.asInteger != nil)
    }

    @Test("a bare node ID shows the six digits and waits for the person there")
    func digits() async throws {
        let stage = CommandStage()
        let result = try await stage.run("add", stage.daemon.node.z32, "--addr", "127.0.0.1:1", "--json") { link in
            _ = try await link.control.receive()
            try await link.control.send(.pairPending(DaemonMessage.PairPending(expiresInSeconds: 120)))
            try await link.control.send(
                .remoteReady(DaemonMessage.RemoteReady(scope: .observe, capabilities: ["ops", "resume", "desk"])))
            _ = await link.link.closed()
        }
        #expect(result.exit == .ok)
        #expect(result.objects.first?["event"] == "confirm")
        #expect(result.objects.first?["digits"]?.asString?.count == 6)
        #expect(result.objects.last?["scope"] == "observe")
    }

    @Test(
        "a daemon that closes says why, with its exit code",
        arguments: [
            (CloseCode.unauthorized, "window_closed", ExitCode.timedOut), (.revoked, "revoked", .unauthorized),
            (.pairingRefused, "unauthorized", .unauthorized), (.shuttingDown, "unreachable", .unreachable),
            (.protocolViolation, "protocol", .failed),
        ])
    func refusals(code: CloseCode, error: String, exit: ExitCode) async throws {
        let stage = CommandStage()
        let result = try await stage.run("add", stage.daemon.node.z32, "--addr", "127.0.0.1:1", "--json") { link in
            _ = try await link.control.receive()
            await link.link.close(code: code, reason: "because")
        }
        #expect(result.exit == exit)
        #expect(result.objects.last?["error"]?["code"] == .string(error))
        #expect(result.err.sentences.count == 1, "one sentence: \(result.err.text)")
    }

    @Test("unknown daemons, bad payloads and unreachable ones each have their exit code and sentence")
    func failures() async throws {
        let stage = CommandStage()
        let cases: [([String], ExitCode)] = [
            (["ping", "nobody"], .usage), (["add", "mew002:x"], .usage), (["add", "nonsense"], .usage),
            (["sessions"], .usage), (["pnig", "x"], .usage), (["status"], .unreachable), (["peers"], .unreachable),
            (["ops", "--check"], .usage),
        ]
        for (words, exit) in cases {
            let result = try await stage.run(words)
            #expect(result.exit == exit, "\(words): \(result.err.text)")
            #expect(result.err.lines.count == 1)
            #expect(result.out.text.isEmpty)
        }
        try await stage.add()
        stage.daemon.stopListening()
        let result = try await stage.run("sessions", "desk", "--json")
        #expect(result.exit == .unreachable)
        #expect(result.objects.last?["error"]?["code"] == "unreachable")
        let listed = try #require(try await stage.run("ls", "--json").objects.first)
        #expect(listed["state"] == "unreachable" && listed["reason"] == "unreachable")
        #expect(listed["problem"]?.asString?.hasPrefix("could not reach desk: ") == true, "\(listed)")
    }

    @Test("sessions prints its fields, and a session is named by number or by the end of its ID")
    func sessions() async throws {
        let stage = CommandStage()
        try await stage.add()
        let listed = try await stage.run("sessions", "desk", "--json") { [info] link in
            try await link.welcome()
            try await link.list([info])
            _ = await link.link.closed()
        }
        let row = try #require(listed.objects.first)
        #expect(
            row["session_id"] == .string(session.text) && row["title"] == "Fix it" && row["state"] == "idle"
                && row["cwd"] == "/src" && row["agent"] == "shell" && row["pending_permissions"] == 0
                && row["pending_questions"] == 0 && row["last_event_seq"] == 7)
        for name in ["1", "SS01", session.text] {
            let renamed = try await stage.run("session", "rename", "desk", name, "new", "title", "--json") {
                [info] link in
                try await link.welcome()
                try await link.list([info])
                let request = try await link.control.receive()
                #expect(
                    request.message
                        == .renameSession(ClientMessage.RenameSession(sessionID: session, title: "new title")))
                try await link.control.receipt(try #require(request.operation), .stored)
                try await link.control.receipt(try #require(request.operation), .done)
                _ = await link.link.closed()
            }
            #expect(renamed.exit == .ok, "\(renamed.err.text)")
        }
        let unknown = try await stage.run("history", "desk", "zzzz") { [info] link in
            try await link.welcome()
            try await link.list([info])
            _ = await link.link.closed()
        }
        #expect(unknown.exit == .usage)
    }

    @Test("prompt streams the turn as JSON events and ends with its outcome", arguments: TurnResult.allCases)
    func prompt(result outcome: TurnResult) async throws {
        let stage = CommandStage()
        try await stage.add()
        let result = try await stage.run("prompt", "desk", "say", "hi", "--json", "--permit", "once") {
            [epoch] link in
            try await link.welcome()
            let channel = try await link.channel()
            let made = try await channel.receive()
            guard case .newSession = made.message else { throw FakeDaemonError("no new_session") }
            try await channel.receipt(try #require(made.operation), .stored)
            try await channel.attach(session, epoch: epoch, resume: .new)
            try await channel.receipt(try #require(made.operation), .done)
            let prompt = try await channel.receive()
            #expect(prompt.message == .prompt(ClientMessage.Prompt(text: "say hi")))
            let operation = try #require(prompt.operation)
            try await channel.receipt(operation, .stored)
            try await channel.send(
                .userMessage(DaemonMessage.UserMessage(text: "say hi", operation: operation)), session: session,
                seq: 1)
            try await channel.receipt(operation, .started)
            let content = Request.Content.permission(toolName: "shell", input: ["command": "echo hi"])
            let id = RequestID(ULID(high: 5, low: 5))
            try await channel.send(
                .request(Request(id: id, content: content, shown: content.shownText)), session: session, seq: 2)
            let answer = try await channel.receive()
            guard case .answer(let given) = answer.message else { throw FakeDaemonError("no answer") }
            #expect(given.content == .permission(.allowOnce))
            #expect(given.shownDigest == ShownDigest(of: content.shownText, request: id))
            try await channel.send(
                .answerVerdict(
                    DaemonMessage.AnswerVerdict(
                        operation: try #require(answer.operation), requestID: id, outcome: .settled)))
            try await channel.send(
                .toolProgress(DaemonMessage.ToolProgress(callID: "c", chunk: "hi\n")), session: session, seq: 3)
            try await channel.receipt(operation, .done, result: outcome)
            _ = await link.link.closed()
        }
        let exits: [TurnResult: ExitCode] = [
            .completed: .ok, .failed: .failed, .interrupted: .failed, .cancelled: .refused,
        ]
        #expect(result.exit == exits[outcome], "\(result.err.text)")
        let types = result.objects.map { $0["type"]?.asString ?? $0["event"]?.asString }
        #expect(types == ["user_message", "permission_request", "answer_verdict", "tool_progress", "done"])
        #expect(result.objects.dropLast().allSatisfy { $0["session_id"] == .string(session.text) })
        #expect(result.objects[0]["seq"] == 1)
        let done = try #require(result.objects.last)
        #expect(done["outcome"] == .string(outcome.rawValue))
        #expect(done["session_id"] == .string(session.text))
        #expect(done["op_id"]?.asString?.count == 26)
    }

    @Test("a connection that breaks before the receipt is exit 7 once the daemon is gone for good")
    func deliveryUnknown() async throws {
        let stage = CommandStage()
        try await stage.add()
        let result = try await stage.run("prompt", "desk", "hi", "--json") { [epoch] link in
            try await link.welcome()
            let channel = try await link.channel()
            let made = try await channel.receive()
            try await channel.attach(session, epoch: epoch, resume: .new)
            try await channel.receipt(try #require(made.operation), .done)
            _ = try await channel.receive()
            await link.link.close(code: .revoked, reason: "lost")
        }
        #expect(result.exit == .deliveryUnknown)
        #expect(result.objects.last?["error"]?["code"] == "delivery_unknown")
        let pending = try await stage.run("ops", "--json")
        #expect(pending.objects.map { $0["state"] } == ["unknown"])
        #expect(pending.objects.first?["kind"] == "prompt")
    }

    @Test("a turn at a stock daemon whose connection is lost: its list says how it went", arguments: [true, false])
    func stockLoss(hasFailed: Bool) async throws {
        let stage = CommandStage(protocols: [.stock])
        try await stage.add()
        var ended = info
        ended.lastTurnFailed = hasFailed
        let result = try await stage.run("prompt", "desk", "hi", "--json") { [ended, daemon = stage.daemon] link in
            try await link.welcome()
            guard case .newSession = try await link.control.receive().message else {
                throw FakeDaemonError("no new_session")
            }
            try await link.showSession()
            guard case .prompt = try await link.control.receive().message else { throw FakeDaemonError("no prompt") }
            try await link.control.send(.userMessage(.init(text: "hi")))
            try await link.control.send(.sessionActivityChanged(.init(sessionID: session, activity: .running)))
            await link.link.close(code: .shuttingDown, reason: "a minute")
            let second = try await FakeLink.accept(on: daemon)
            try await second.welcome()
            guard case .attachSession = try await second.control.receive().message else {
                throw FakeDaemonError("no attach_session")
            }
            try await second.showSession()
            try await second.list([ended])
            _ = await second.link.closed()
        }
        #expect(result.exit == (hasFailed ? .failed : .ok), "\(result.err.text)")
        #expect(result.objects.last?["outcome"] == (hasFailed ? "failed" : "completed"))
    }

    @Test(
        "ops --check and --drop settle what the daemon never stored", arguments: ["--check", "--drop"], [false, true])
    func operations(flag: String, isStored: Bool) async throws {
        let stage = CommandStage()
        try await stage.add()
        try await loseAPrompt(stage, "hi")
        let result = try await stage.run("ops", "desk", "1", flag, "--json") { link in
            try await link.welcome()
            let request = try await link.control.receive()
            guard case .receiptQuery(let query) = request.message else { throw FakeDaemonError("no query") }
            #expect(query.settle, "an absence that is not settled would let a late original run")
            try await link.control.receipt(
                try #require(query.operations.first), isStored ? .started : .absent, ref: request.ref)
            _ = await link.link.closed()
        }
        #expect(result.exit == .ok, "\(result.err.text)")
        #expect(result.objects.first?["state"] == (isStored ? "delivered" : "absent"))
        let left = try await stage.run("ops", "--json").objects.map { $0["state"] }
        #expect(left == (isStored && flag == "--check" ? ["delivered"] : []))
    }

    @Test(
        "ops --drop of a prompt that the daemon has says that it runs all the same, and what ends it",
        arguments: [ReceiptState.stored, .started, .absent])
    func dropOfWhatRuns(_ state: ReceiptState) async throws {
        let stage = CommandStage()
        try await stage.add()
        try await loseAPrompt(stage, "hi")
        let result = try await stage.run("ops", "desk", "1", "--drop") { link in
            try await link.welcome()
            let request = try await link.control.receive()
            guard case .receiptQuery(let query) = request.message else { throw FakeDaemonError("no query") }
            try await link.control.receipt(try #require(query.operations.first), state, ref: request.ref)
            _ = await link.link.closed()
        }
        #expect(result.exit == .ok, "\(result.err.text)")
        let words =
            state == .absent
            ? "Dropped (never arrived, and cannot any more; nothing was done)."
            : "Forgotten on this device only: desk has the prompt, and runs it all the same. Once it runs, and not "
                + "while it waits for another turn, 'mew cancel desk \(session.text)' ends it."
        #expect(result.out.lines == [words])
    }

    @Test(
        "a number below one is no session, not even one of those that are too many to have numbers",
        arguments: ["-1", "0"])
    func noNumber(text: String) async throws {
        let stage = CommandStage()
        try await stage.add()
        let many = (1...1_100 as ClosedRange<UInt64>).map { number in
            SessionInfo(
                sessionID: SessionID(ULID(high: 9, low: number)), state: .idle,
                createdAt: WallTime(milliseconds: Int64(number)))
        }
        let result = try await stage.run("session", "rename", "desk", text, "mine") { link in
            try await link.welcome()
            try await link.list(many)
            _ = await link.link.closed()
        }
        #expect(result.err.text.contains("desk has no session '\(text)'"), "\(result.err.text)")
    }

    @Test("ls says when a daemon runs another version", arguments: [true, false])
    func versions(isOther: Bool) async throws {
        let stage = CommandStage()
        try await stage.add()
        let result = try await stage.run("ls") { link in
            try await link.welcome(version: isOther ? "9.9" : CommandLineProgram.version)
            try await link.list([])
            _ = await link.link.closed()
        }
        #expect(result.exit == .ok, "\(result.err.text)")
        #expect(result.err.text.contains("another version runs on desk") == isOther, "\(result.err.text)")
    }

    @Test("watch of a whole daemon begins with what needs you already, and with another version, once")
    func watchBegins() async throws {
        let stage = CommandStage()
        try await stage.add()
        let play = { @Sendable [info] (link: FakeLink, seat: CommandStage.Seat) in
            try await link.welcome(version: "9.9")
            var asking = info
            asking.pendingPermissions = 1
            try await link.list([info, asking])
            // What a closing finds unread may be lost.
            _ = await seat.out.line(containing: "needs permission")
            await link.link.close(code: .revoked, reason: "over")
        }
        let result = try await stage.run(["watch", "desk"], daemonAndPerson: play)
        #expect(result.exit == .unauthorized)
        #expect(result.out.lines == ["Fix it needs permission"])
        let note = "(desk runs mew 9.9; this is mew \(CommandLineProgram.version))"
        #expect(result.err.lines.count { $0 == note } == 1, "\(result.err.text)")
    }

    /// A prompt of which nobody knows whether it arrived.
    private func loseAPrompt(_ stage: CommandStage, _ text: String) async throws {
        _ = try await stage.run("prompt", "desk", text) { [epoch] link in
            try await link.welcome()
            let channel = try await link.channel()
            let made = try await channel.receive()
            try await channel.attach(session, epoch: epoch, resume: .new)
            try await channel.receipt(try #require(made.operation), .done)
            _ = try await channel.receive()
            await link.link.close(code: .revoked, reason: "lost")
        }
    }

    @Test(
        "the same prompt again is asked about first: sent when it never arrived, followed when it did, else exit 7",
        arguments: [ReceiptState.absent, .done, nil])
    func samePrompt(answer: ReceiptState?) async throws {
        let stage = CommandStage()
        try await stage.add()
        try await loseAPrompt(stage, "hi")
        let result = try await stage.run("prompt", "desk", "hi", "--session", "1", "--json") { [info, epoch] link in
            try await link.welcome()
            try await link.list([info])
            let channel = try await link.channel()
            _ = try await channel.receive()
            try await channel.attach(session, epoch: epoch)
            let request = try await link.control.receive()
            guard case .receiptQuery(let query) = request.message else { throw FakeDaemonError("no query") }
            #expect(query.settle)
            guard let answer, let operation = query.operations.first else {
                return await link.link.close(code: .revoked, reason: "gone")
            }
            let result: TurnResult? = answer == .done ? .completed : nil
            try await link.control.receipt(operation, answer, result: result, ref: request.ref)
            if answer == .absent {
                let prompt = try await channel.receive()
                #expect(prompt.message == .prompt(ClientMessage.Prompt(text: "hi")) && prompt.operation != operation)
                try await channel.receipt(try #require(prompt.operation), .done, result: .completed)
            }
            _ = await link.link.closed()
        }
        #expect(result.exit == (answer == nil ? .deliveryUnknown : .ok), "\(result.err.text)")
        #expect(result.err.text.contains("has arrived before") == (answer == .done), "\(result.err.text)")
        let left = try await stage.run("ops", "--json").objects.map { $0["state"] }
        #expect(left == (answer == nil ? ["unknown"] : []))
    }

    @Test("ops --resend sends the same under the same ID; one that is not unknown is not sent")
    func resend() async throws {
        let stage = CommandStage()
        try await stage.add()
        try await loseAPrompt(stage, "hi")
        let result = try await stage.run("ops", "desk", "1", "--resend", "--json") { [epoch] link in
            try await link.welcome()
            let channel = try await link.channel()
            _ = try await channel.receive()
            try await channel.attach(session, epoch: epoch)
            let prompt = try await channel.receive()
            #expect(prompt.message == .prompt(ClientMessage.Prompt(text: "hi")))
            try await channel.receipt(try #require(prompt.operation), .started)
            _ = await link.link.closed()
        }
        #expect(result.exit == .ok, "\(result.err.text)")
        #expect(result.objects.first?["state"] == "delivered")
        let again = try await stage.run("ops", "desk", "1", "--resend", "--json")
        #expect(again.exit == .refused)
        #expect(again.err.text.contains("this one is delivered"), "\(again.err.text)")
    }

    @Test("history pages back to the start of one frozen list, oldest first")
    func history() async throws {
        let stage = CommandStage()
        try await stage.add()
        @Sendable func message(_ number: UInt64) -> Message {
            Message(
                id: MessageID(ULID(high: 1, low: number)), session: ULID(high: 0, low: 0), role: .assistant,
                parts: [], time: MessageTime(created: WallTime(milliseconds: 1)), sequence: SequenceNumber(number))
        }
        let list = HistoryID(ULID(high: 3, low: 3))
        let result = try await stage.run("history", "desk", "1", "--json") { [info, epoch] link in
            try await link.welcome()
            try await link.list([info])
            let channel = try await link.channel()
            _ = try await channel.receive()
            try await channel.send(
                .sessionReady(DaemonMessage.SessionReady(sessionID: session, epoch: epoch, resume: .snapshot)))
            try await channel.send(
                .sessionHistoryPage(
                    DaemonMessage.SessionHistoryPage(
                        sessionID: session, messages: [message(4), message(5)], nextCursor: 1, replaces: true,
                        asOfSequence: SequenceNumber(5), historyID: list)))
            try await channel.send(
                .caughtUp(DaemonMessage.CaughtUp(sessionID: session, sequence: SequenceNumber(5))))
            let request = try await channel.receive()
            #expect(
                request.message
                    == .loadSessionHistory(
                        ClientMessage.LoadSessionHistory(sessionID: session, before: 1, historyID: list)))
            try await channel.send(
                .sessionHistoryPage(
                    DaemonMessage.SessionHistoryPage(
                        sessionID: session, messages: [message(2)], replaces: false, historyID: list)),
                ref: request.ref)
            _ = await link.link.closed()
        }
        #expect(result.exit == .ok, "\(result.err.text)")
        #expect(result.objects.map { $0["seq"] } == [2, 4, 5])
        #expect(result.objects.allSatisfy { $0["message"]?["role"] == "assistant" })
    }

    @Test("history asks again for a message that comes alone: it may be cut")
    func historyOfOne() async throws {
        let stage = CommandStage()
        try await stage.add()
        @Sendable func message(_ text: String) -> Message {
            let id = MessageID(ULID(high: 1, low: 5))
            let part = Part(
                id: PartID(ULID(high: 2, low: 5)), messageID: id, session: ULID(high: 0, low: 0),
                content: .text(Part.Text(text: text)))
            return Message(
                id: id, session: ULID(high: 0, low: 0), role: .assistant, parts: [part],
                time: MessageTime(created: WallTime(milliseconds: 1)), sequence: SequenceNumber(5))
        }
        let list = HistoryID(ULID(high: 3, low: 3))
        let result = try await stage.run("history", "desk", "1") { [info, epoch] link in
            try await link.welcome()
            try await link.list([info])
            let channel = try await link.channel()
            _ = try await channel.receive()
            try await channel.send(.sessionReady(.init(sessionID: session, epoch: epoch, resume: .snapshot)))
            try await channel.send(
                .sessionHistoryPage(
                    .init(
                        sessionID: session, messages: [message("…end")], nextCursor: 7, replaces: true,
                        asOfSequence: SequenceNumber(5), historyID: list)))
            try await channel.send(
                .caughtUp(.init(sessionID: session, sequence: SequenceNumber(5))))
            let request = try await channel.receive()
            #expect(
                request.message
                    == .loadSessionHistory(.init(sessionID: session, before: 8, historyID: list)))
            try await channel.send(
                .sessionHistoryPage(
                    .init(sessionID: session, messages: [message("all to the end")], replaces: false, historyID: list)),
                ref: request.ref)
            _ = await link.link.closed()
        }
        #expect(result.exit == .ok, "\(result.err.text)")
        #expect(result.out.lines == ["all to the end"])
    }

    @Test("an answer names what was shown: settled, too late by whom, and a changed question")
    func answers() async throws {
        let stage = CommandStage()
        try await stage.add()
        let content = Request.Content.permission(toolName: "shell", input: ["command": "ls"])
        let id = RequestID(ULID(high: 5, low: 5))
        let digest = ShownDigest(of: content.shownText, request: id)
        let handle = "\(id.description.suffix(4))-\(digest.hex.prefix(6))"
        var asking = info
        asking.pendingPermissions = 1
        let by = By(node: stage.daemon.node, name: "phone", clientKind: .mobile)
        let outcomes: [(AnswerOutcome, ExitCode)] = [
            (.settled, .ok), (.repeated, .ok), (.tooLate, .refused), (.notWhatWasShown, .refused),
            (.unknown, .refused),
        ]
        for (outcome, exit) in outcomes {
            let result = try await stage.run("answer", "desk", handle, "deny", "--json") { [asking, epoch] link in
                let channel = try await link.ask(
                    Request(id: id, content: content, shown: content.shownText), in: asking, epoch)
                let answer = try await channel.receive()
                try await channel.send(
                    .answerVerdict(
                        DaemonMessage.AnswerVerdict(
                            operation: try #require(answer.operation), requestID: id, outcome: outcome,
                            how: outcome == .tooLate ? .answered : nil, by: outcome == .tooLate ? by : nil,
                            decision: outcome == .tooLate ? "allow_once" : nil)))
                _ = await link.link.closed()
            }
            #expect(result.exit == exit, "\(outcome): \(result.err.text)")
            #expect(result.objects.first?["outcome"] == .string(outcome.rawValue))
            if outcome == .tooLate {
                #expect(result.err.text.contains("too late: answered by phone: once"))
                #expect(result.objects.first?["by"]?["name"] == "phone")
            }
        }
        let other = try await stage.run("answer", "desk", "\(id.description.suffix(4))-000000", "deny") {
            [asking, epoch] link in
            _ = try await link.ask(Request(id: id, content: content, shown: content.shownText), in: asking, epoch)
            _ = await link.link.closed()
        }
        #expect(other.exit == .refused, "an answer to another text is not sent")
        let nobody = try await stage.run("answer", "desk", id.description)
        #expect(nobody.exit == .usage, "without a digest the question must be shown, which needs a terminal")
    }

    @Test("an answer with a handle to a question that is settled learns who was first, and an older daemon is no fault")
    func lateAnswers() async throws {
        let stage = CommandStage()
        try await stage.add()
        let settled = DaemonMessage.requestResolved(
            .init(
                requestID: RequestID(ULID(high: 5, low: 5)), outcome: .answered,
                by: By(node: stage.daemon.node, name: "phone", clientKind: .mobile), decision: "deny", bound: true))
        let replies: [(DaemonMessage, outcome: String, sentence: String)] = [
            (settled, "too_late", "too late: answered by phone: deny"),
            (.error(.init(message: "no such request", code: .unknownRequest)), "unknown", "desk asks nothing"),
            (.error(.init(message: "unknown message type", code: .unknownType)), "unknown", "desk asks nothing"),
        ]
        for (reply, outcome, sentence) in replies {
            let result = try await stage.run("answer", "desk", "0005-a1b2c3", "once", "--json") { [info] link in
                try await link.welcome()
                try await link.list([info])
                let request = try await link.control.receive()
                #expect(request.message == .requestQuery(.init(ending: "0005")))
                try await link.control.send(reply, ref: request.ref)
                _ = await link.link.closed()
            }
            #expect(result.exit == .refused)
            #expect(result.objects.first?["outcome"] == .string(outcome), "\(result.out.text)")
            #expect(result.err.text.contains(sentence), "\(result.err.text)")
        }
    }

    @Test("a digest that is too short or none at all is a mistake in the command line", arguments: ["a1b2c", "a1b2cx"])
    func badDigest(digest: String) async throws {
        let result = try await CommandStage().run("answer", "desk", "7F3K", "once", "--digest", digest)
        #expect(result.exit == .usage)
        #expect(result.err.text.contains("--digest needs at least 6 hex digits"), "\(result.err.text)")
    }

    @Test("ping prints a line for each round trip")
    func ping() async throws {
        let stage = CommandStage()
        try await stage.add()
        let result = try await stage.run("ping", "desk", "-c", "1", "--json") { link in
            try await link.welcome()
            let request = try await link.control.receive()
            try await link.control.send(.pong(DaemonMessage.Pong(version: "9.9")), ref: request.ref)
            _ = await link.link.closed()
        }
        #expect(result.exit == .ok, "\(result.err.text)")
        let row = try #require(result.objects.first)
        #expect(row["n"] == 1 && row["path"] == "direct" && row["relay"] == .null)
        #expect(row["rtt_ms"]?.asDouble != nil && row["addr"]?.asString != nil)
        #expect(row["why_not_direct"] == .null && row["why_text"] == .null, "it is direct")
    }

    @Test("on a terminal tables and sentences fit it; into a pipe they go whole")
    func widths() async throws {
        let narrow = Terminal(canAsk: false, isScreen: true, columns: 40, rows: 24, errorColumns: 40)
        for (stage, fits) in [(CommandStage(), false), (CommandStage(terminal: narrow), true)] {
            try await stage.add()
            stage.daemon.stopListening()
            let listed = try await stage.run("ls")
            #expect(listed.out.text.contains(stage.daemon.node.z32) == !fits, "\(listed.out.text)")
            let failed = try await stage.run("sessions", "desk")
            #expect(failed.err.lines.allSatisfy { $0.count <= 40 } == fits, "\(failed.err.text)")
            #expect((failed.err.sentences.count == 1) == !fits)
        }
    }

    @Test("two daemons of one name: the second is called after its node ID, too")
    func secondOfOneName() async throws {
        let stage = CommandStage()
        try await stage.add()
        let other = stage.network.endpoint(SecretKey.generate(entropy: SystemEntropy()).node)
        other.listen()
        let payload = PairingPayload(
            node: other.node, name: "desk", token: PairingToken(entropy: SystemEntropy()), relays: [],
            addresses: [.loopback(port: 2)])
        async let played: Void = FakeLink.accept(on: other).greetOnce()
        let added = try await stage.run("add", payload.text, "--json")
        try await played
        #expect(added.objects.last?["name"] == .string("desk-\(other.node.z32.suffix(4))"), "\(added.err.text)")
    }

    @Test("forget and rename change the list of this device only")
    func registry() async throws {
        let stage = CommandStage()
        try await stage.add()
        #expect(try await stage.run("rename", "desk", "lab").exit == .ok)
        #expect(try await stage.run("rename", "lab", "12").exit == .usage)
        #expect(try await stage.run("forget", "lab").exit == .ok)
        #expect(try await stage.run("forget", "lab").exit == .usage)
        #expect(try await stage.run("ls").out.text.hasPrefix("No daemons yet."))
    }

    @Test("id and --version print their fields")
    func identity() async throws {
        let stage = CommandStage()
        let row = try #require(try await stage.run("id", "--json").objects.first)
        #expect(row["node_id"]?.asString?.count == 52 && row["hex"]?.asString?.count == 64)
        #expect(try await stage.run("id", "--json").objects.first == row, "the key is kept")
        let lines = try await stage.run("id").out.lines
        #expect(lines.map(JSON.string) == [row["node_id"]], "what a script puts in a variable")
        #expect(try await stage.run("--version", "--json").objects.first?["version"]?.asString != nil)
    }

    @Test("every command has help")
    func help() async throws {
        let stage = CommandStage()
        for command in CommandList.all {
            let result = try await stage.run(command.path + ["--help"])
            #expect(result.exit == .ok)
            #expect(result.out.text.hasPrefix("mew \(command.name): "))
        }
    }
}

extension FakeLink {
    /// Lets the device in, and waits until it leaves.
    fileprivate func greetOnce() async throws {
        try await welcome()
        _ = await link.closed()
    }

    /// Lists a session that waits for somebody, and shows its question to whoever attaches.
    fileprivate func ask(_ request: Request, in info: SessionInfo, _ epoch: Epoch) async throws -> FakeChannel {
        try await welcome()
        try await list([info])
        let channel = try await channel()
        _ = try await channel.receive()
        try await channel.send(.sessionReady(.init(sessionID: session, epoch: epoch, resume: .snapshot)))
        try await channel.send(.request(request))
        try await channel.send(.caughtUp(.init(sessionID: session, sequence: .zero)))
        return channel
    }

    /// Plays a stock daemon's answer to a new session, or to an attach.
    fileprivate func showSession() async throws {
        try await control.send(.sessionReady(.init(sessionID: session)))
        try await control.send(.thinkingVariantChanged(.init(variant: nil)))
        try await control.send(.sessionHistoryPage(.init(sessionID: session, messages: [], replaces: true)))
    }
}
