import MewBase
import MewSession
import MewTestSupport
import MewWire
import Testing

@Suite("questions of the agent reach people, and one answer reaches the agent")
struct AnswerTests {
    private func running(_ mode: PermissionMode = .standard) -> (CoreBench, ClientID) {
        var bench = CoreBench()
        let client = bench.attach(isNew: true)
        if mode != .standard { bench.send(.setPermissionMode(.init(mode: mode.rawValue)), from: client) }
        bench.send(.prompt(.init(text: "run")), from: client)
        _ = bench.take(client)
        _ = bench.takeReceipts()
        _ = bench.takeBroadcasts()
        return (bench, client)
    }

    private func permission(
        _ sensitivity: ToolPermission.Sensitivity = .dangerous, tool: String = "bash"
    ) -> AgentCall {
        .permission(.init(toolName: tool, input: ["command": "ls"], call: "c", sensitivity: sensitivity))
    }

    private func verdict(_ frames: [DaemonFrame]) -> DaemonMessage.AnswerVerdict? {
        frames.lazy.compactMap { frame -> DaemonMessage.AnswerVerdict? in
            if case .answerVerdict(let verdict) = frame.message { verdict } else { nil }
        }.first
    }

    @Test("registered and stored, then shown: request, alert, attention")
    func asking() throws {
        var (bench, client) = running()
        let call = bench.call(permission())
        #expect(bench.lastWrites.contains { if case .putRequest(_, let row) = $0 { row.isOpen } else { false } })
        #expect(bench.take(client) == [.permissionRequest])
        #expect(bench.takeBroadcasts().map(\.kind) == [.sessionAlert, .sessionAttentionChanged])
        #expect(bench.replies[call] == nil)
        #expect(bench.core.info.pendingPermissions == 1)
    }

    @Test("the modes: what runs unasked and what asks")
    func modes() {
        let asks: [PermissionMode: [ToolPermission.Sensitivity]] = [
            .standard: [.mutating, .dangerous], .permissive: [.dangerous], .auto: [.mutating, .dangerous],
            .autoPlus: [.mutating, .dangerous], .dangerous: [],
        ]
        for mode in PermissionMode.allCases {
            for sensitivity in [.readOnly, .mutating, .dangerous] as [ToolPermission.Sensitivity] {
                var (bench, _) = running(mode)
                let call = bench.call(permission(sensitivity))
                let asked = asks[mode]?.contains(sensitivity) == true
                #expect((bench.replies[call] == nil) == asked, "\(mode) \(sensitivity)")
                if !asked { #expect(bench.replies[call] == .permission(.allowedByMode)) }
            }
        }
    }

    @Test("a path outside the workspace asks in every mode but dangerous")
    func workspace() {
        for mode in PermissionMode.allCases {
            var (bench, client) = running(mode)
            let call = bench.call(.workspacePermission(path: "/etc/hosts"))
            #expect((bench.replies[call] == nil) == (mode != .dangerous))
            #expect(bench.take(client) == (mode == .dangerous ? [] : [.workspacePermissionRequest]))
            #expect(!bench.takeBroadcasts().contains { $0.kind == .sessionAlert })
        }
    }

    @Test("an answer resumes the agent, dismisses the request everywhere and gets a verdict")
    func answering() throws {
        var (bench, client) = running()
        let other = bench.attach(.stock, kind: .mobile, device: 2, name: "phone")
        let call = bench.call(permission())
        let request = try #require(bench.request(at: client))
        _ = bench.take(other)
        _ = bench.take(client)
        bench.answer(request, .permission(.allowOnce), from: client)
        #expect(bench.replies[call]?.isAllowed(by: "laptop") == true)
        #expect(bench.take(other) == [.requestResolved, .sessionAttentionChanged])
        let frames = bench.takeFrames(client)
        #expect(frames.map(\.message.kind) == [.requestResolved, .answerVerdict])
        #expect(verdict(frames)?.outcome == .settled)
        #expect(bench.takeReceipts().last?.state == .done)
        guard case .requestResolved(let resolved) = try #require(frames.first).message else {
            Issue.record("another frame was expected")
            return
        }
        #expect(resolved.outcome == .answered && resolved.bound == true && resolved.decision == "allow_once")
    }

    @Test("allow for the session is remembered per tool, through clear and crash")
    func allowSession() throws {
        var (bench, client) = running()
        bench.call(permission())
        bench.answer(try #require(bench.request(at: client)), .permission(.allowSession), from: client)
        let again = bench.call(permission())
        #expect(bench.replies[again] == .permission(.allowedByMode))
        let other = bench.call(permission(tool: "edit"))
        #expect(bench.replies[other] == nil)
        bench.endTurn()
        bench.send(.slashCommand(.init(command: "/clear")), from: client)
        bench.handle(.commandEnded(isDone: true))
        bench.crash()
        let new = bench.attach()
        bench.send(.prompt(.init(text: "x")), from: new)
        let later = bench.call(permission())
        #expect(bench.replies[later] == .permission(.allowedByMode))
    }

    @Test("the second of two devices hears who won, and how")
    func race() throws {
        var (bench, laptop) = running()
        let phone = bench.attach(device: 2, name: "phone")
        let call = bench.call(permission())
        let request = try #require(bench.request(at: phone))
        bench.answer(request, .permission(.deny), from: phone)
        _ = bench.take(laptop)
        bench.answer(request, .permission(.allowOnce), from: laptop)
        #expect(bench.replies[call]?.isAllowed(by: nil) == false)
        let said = try #require(verdict(bench.takeFrames(laptop)))
        #expect(said.outcome == .tooLate && said.by?.name == "phone" && said.decision == "deny")
        #expect(bench.takeReceipts().last?.code == .tooLate)
    }

    @Test("an answer for another text, without a digest, of another kind, or to nothing")
    func refusals() throws {
        var (bench, client) = running()
        let call = bench.call(permission())
        let request = try #require(bench.request(at: client))
        bench.answer(request, .permission(.allowOnce), from: client, shown: "something harmless")
        #expect(bench.takeReceipts().last?.code == .notWhatWasShown)
        #expect(verdict(bench.takeFrames(client))?.outcome == .notWhatWasShown)
        bench.send(
            .answer(Answer(requestID: request.id, content: .permission(.allowOnce))), from: client)
        #expect(bench.takeReceipts().last?.code == .digestMissing)
        bench.answer(request, .goal(accepted: true), from: client)
        #expect(bench.takeReceipts().last?.code == .badInput)
        bench.answer(
            Request(id: RequestID(ULID(high: 1, low: 1)), content: request.content), .permission(.deny), from: client)
        #expect(bench.takeReceipts().last?.code == .unknownRequest)
        #expect(bench.replies[call] == nil)
        bench.answer(request, .permission(.allowOnce), from: client)
        #expect(bench.replies[call]?.isAllowed(by: "laptop") == true)
    }

    @Test("a stock answer counts unbound; a late or unknown one only takes the sheet away")
    func stockAnswers() throws {
        var bench = CoreBench()
        let phone = bench.attach(.stock, kind: .mobile, isNew: true)
        bench.send(.prompt(.init(text: "run")), from: phone)
        let call = bench.call(permission())
        let request = try #require(bench.request(at: phone))
        _ = bench.take(phone)
        bench.answer(request, .permission(.allowOnce), from: phone)
        #expect(bench.replies[call]?.isAllowed(by: "laptop") == true)
        #expect(bench.take(phone) == [.requestResolved, .sessionAttentionChanged])
        let head = bench.storedEvents.count
        bench.answer(request, .permission(.deny), from: phone)
        bench.answer(
            Request(id: .text("01K4SJKMRW000000000000REQ1"), content: request.content), .permission(.deny),
            from: phone)
        #expect(
            bench.take(phone) == [
                .requestResolved, .sessionAttentionChanged, .requestResolved, .sessionAttentionChanged,
            ])
        #expect(bench.storedEvents.count == head)
    }

    @Test("questions: answers by position, missing ones are said to be missing, surplus ones are dropped")
    func questions() throws {
        var (bench, client) = running()
        let questions = ["A?", "B?"].map { Question(prompt: $0, options: []) }
        let call = bench.call(.ask(questions, call: "q"))
        #expect(
            bench.takeBroadcasts().contains { message in
                if case .sessionAlert(let alert) = message {
                    alert.kind == .inputNeeded && alert.detail == nil
                } else {
                    false
                }
            })
        let request = try #require(bench.request(at: client))
        #expect(request.callID == "q")
        bench.answer(request, .questions(["yes"]), from: client)
        #expect(bench.replies[call] == .answers(["yes", "(no answer)"]))
        let second = bench.call(.ask(questions, call: "q2"))
        bench.answer(try #require(bench.request(at: client)), .questions(["1", "2", "3"]), from: client)
        #expect(bench.replies[second] == .answers(["1", "2"]))
    }

    @Test("an approved plan hands over to its persona when the turn is over; a rejected one carries feedback")
    func plans() throws {
        let personas = [
            AgentPersona(name: "planner", description: ""), AgentPersona(name: "builder", description: ""),
        ]
        var bench = CoreBench(offer: AgentOffer(models: [], personas: personas))
        let client = bench.attach(isNew: true)
        bench.send(.prompt(.init(text: "run")), from: client)
        let plan = ProposedPlan(path: "p.md", markdown: "# P", persona: "builder")
        let first = bench.call(.plan(plan, call: "p1"))
        bench.answer(
            try #require(bench.request(at: client)), .plan(approved: false, feedback: "smaller"), from: client)
        #expect(bench.replies[first] == .plan(.rejected(feedback: "smaller")))
        let second = bench.call(.plan(plan, call: "p2"))
        bench.answer(try #require(bench.request(at: client)), .plan(approved: true, feedback: nil), from: client)
        #expect(bench.replies[second] == .plan(.approved))
        _ = bench.take(client)
        bench.endTurn()
        #expect(bench.take(client).suffix(2) == [.personaSwitchRequested, .personaSwitched])
        #expect(bench.core.record.persona == "builder")
    }

    @Test("64 requests may be open; the next is not put to people")
    func tooMany() {
        var (bench, _) = running()
        for _ in 0..<RequestDesk.maxOpen { bench.call(permission()) }
        let call = bench.call(permission())
        #expect(bench.replies[call] == .failed(.tooManyRequests))
        #expect(bench.core.desk.open.count == RequestDesk.maxOpen)
    }

    /// A permission whose request is encoded in just so many bytes.
    private func permission(encodedIn bytes: Int) -> AgentCall {
        func call(_ count: Int) -> ToolPermission {
            let command = JSON.string(String(repeating: "x", count: count))
            return ToolPermission(toolName: "bash", input: ["command": command], call: "c", sensitivity: .dangerous)
        }
        func size(_ tool: ToolPermission) -> Int {
            let content = Request.Content.permission(toolName: tool.toolName, input: tool.input)
            let id = RequestID(ULID(high: 1, low: 1))
            return Request(id: id, callID: "", content: content, shown: content.shownText).encoded().count
        }
        // The text stands in it twice.
        var tool = call((bytes - size(call(0))) / 2)
        if size(tool) < bytes {
            tool = ToolPermission(
                toolName: "bash2", input: tool.input, call: "c", sensitivity: .dangerous)
        }
        return .permission(tool)
    }

    @Test("a request has at most 512 KiB, all open ones 1 MiB, so that whoever attaches can be shown them")
    func tooLarge() throws {
        var (bench, _) = running()
        let limit = RequestDesk.maxRequestBytes
        let fits = bench.call(permission(encodedIn: limit - 1))
        #expect(bench.replies[fits] == nil)
        let large = bench.call(permission(encodedIn: limit + 3))
        guard case .failed(.tooLarge(let bytes)) = bench.replies[large] else {
            Issue.record("it must be refused")
            return
        }
        #expect((limit + 1...limit + 4).contains(bytes))
        bench.call(permission(encodedIn: limit - 300))
        #expect(bench.core.desk.open.count == 2)
        let last = bench.call(permission(encodedIn: 400))
        #expect(bench.replies[last] == .failed(.tooManyRequests))
        #expect(bench.core.desk.open.reduce(0) { $0 + $1.request.encoded().count } <= RequestDesk.maxOpenBytes)
    }

    @Test("what is shown is the request without its IDs, and the digest binds it to the request")
    func shown() throws {
        var (bench, client) = running()
        bench.call(permission())
        let request = try #require(bench.request(at: client))
        #expect(request.shown == #"{"type":"permission_request","tool_name":"bash","input":{"command":"ls"}}"#)
    }
}

extension AgentReply {
    /// Whether it is a permission that `name` gave; nil asks for a refusal by anyone.
    fileprivate func isAllowed(by name: String?) -> Bool {
        guard case .permission(.allowed(let by)) = self else { return false }
        return by?.name == name
    }
}
