import MewBase
import MewClient
import MewWire
import Testing

@testable import MewClient
@testable import mew

private func request(_ number: UInt64, _ content: Request.Content) -> PendingRequest {
    let id = RequestID(ULID(high: 7, low: number))
    guard let request = try? PendingRequest(Request(id: id, content: content, shown: content.shownText)) else {
        preconditionFailure("a request that we made can be displayed")
    }
    return request
}

private let permission = Request.Content.permission(toolName: "shell", input: ["command": "ls -l\necho"])
private let question = Request.Content.askUser(questions: [
    Question(
        prompt: "Which target?",
        options: [
            QuestionOption(label: "iOS", description: ""), QuestionOption(label: "macOS", description: "desktop"),
        ])
])

@Suite("Questions on the screen")
struct QuestionDeskTests {
    private let start = ContinuousClock.now

    /// A desk at which requests 1 and 2 have arrived.
    private func desk(_ permit: QuestionDesk.Permit = .ask, canAsk: Bool = true) -> QuestionDesk {
        var desk = QuestionDesk(permit: permit, canAsk: canAsk, daemon: "desk")
        for number: UInt64 in [1, 2] { desk.arrived(request(number, permission).id) }
        return desk
    }

    @Test("a question does not overtake the events before it")
    func waitsForItsEvent() {
        var desk = QuestionDesk(permit: .ask, canAsk: true, daemon: "desk")
        let open = request(1, permission)
        #expect(desk.update([open], mayDecide: true, now: start) == [])
        desk.arrived(open.id)
        #expect(!lines(desk.update([open], mayDecide: true, now: start)).isEmpty)
    }

    private func lines(_ actions: [QuestionDesk.Action]) -> [String] {
        actions.flatMap { action -> [String] in if case .print(let lines) = action { lines } else { [] } }
    }

    @Test("one question at a time, in order; the visible one stays until it is closed")
    func queue() {
        var desk = desk()
        let (first, second) = (request(1, permission), request(2, question))
        let shown = lines(desk.update([first, second], mayDecide: true, now: start))
        #expect(shown.contains("  $ ls -l"))
        #expect(!shown.contains("Which target?"))
        #expect(desk.update([first, second], mayDecide: true, now: start) == [])
        #expect(lines(desk.update([second], mayDecide: true, now: start)).contains("Which target?"))
    }

    @Test("an answer is taken 300 ms after its question appeared, not earlier")
    func grace() {
        var desk = desk()
        let open = request(1, permission)
        _ = desk.update([open], mayDecide: true, now: start)
        let early = desk.typed("o", now: start + .milliseconds(299))
        #expect(lines(early) == ["(typed before the question: not taken)"])
        #expect(
            desk.typed("o", now: start + .milliseconds(300)) == [.answer(open, .permission(.allowOnce))])
    }

    @Test("what is typed after the answer is not meant for the answered question")
    func answered() {
        var desk = desk()
        let open = request(1, permission)
        _ = desk.update([open], mayDecide: true, now: start)
        #expect(desk.typed("o", now: start + .seconds(1)) == [.answer(open, .permission(.allowOnce))])
        #expect(desk.typed("d", now: start + .seconds(1)) == [])
    }

    @Test("an answer of --permit that was refused is not given again without end: the question waits for a person")
    func refusedPermit() {
        var desk = desk(.once, canAsk: false)
        let open = request(1, permission)
        #expect(desk.update([open], mayDecide: true, now: start) == [.answer(open, .permission(.allowOnce))])
        desk.refused(open.id)
        #expect(
            lines(desk.update([open], mayDecide: true, now: start)).last?.hasPrefix("Answer from any device") == true)
        #expect(desk.update([open], mayDecide: true, now: start) == [])
    }

    @Test("a line without a question is nothing")
    func noQuestion() {
        var desk = desk()
        #expect(desk.typed("o", now: start) == [])
    }

    @Test("--permit decides permissions only, and only once the turn is known to be ours")
    func permits() {
        for (permit, decision) in [
            (QuestionDesk.Permit.once, PermissionDecision.allowOnce), (.session, .allowSession), (.deny, .deny),
        ] {
            var desk = desk(permit, canAsk: false)
            let open = request(1, permission)
            #expect(desk.update([open], mayDecide: false, now: start) == [])
            #expect(desk.update([open], mayDecide: true, now: start) == [.answer(open, .permission(decision))])
            desk.arrived(request(2, question).id)
            #expect(!lines(desk.update([request(2, question)], mayDecide: true, now: start)).isEmpty)
        }
    }

    @Test("without a terminal the question is announced once, with the command that answers it")
    func announces() {
        var desk = desk(canAsk: false)
        let open = request(1, permission)
        let announced = lines(desk.update([open], mayDecide: true, now: start))
        #expect(announced.last == "Answer from any device: mew answer desk \(open.handle) once|session|deny")
        #expect(desk.update([open], mayDecide: true, now: start) == [])
    }

    @Test("everything that is asked is displayed")
    func showsEverything() {
        let many = Request.Content.permission(
            toolName: "edit", input: ["path": "/etc/hosts", "text": "a\n\u{1B}[2Jb", "force": true])
        #expect(
            RequestText(many).lines == [
                "The agent wants to use edit:", "  path: /etc/hosts", "  text:", "    a", "    \u{FFFD}[2Jb",
                "  force: true",
            ])
        #expect(RequestText(question).lines == ["Which target?", "  1) iOS", "  2) macOS (desktop)"])
    }

    @Test("the question says what an answer for the session covers, and does not offer it where it covers nothing")
    func covers() {
        #expect(
            RequestText(permission).choices
                == "[o]nce, for the [s]ession (every later shell in it, from any device), or [d]eny?")
        let workspace = RequestText(.workspacePermission(path: "/etc"))
        #expect(workspace.choices == "[o]nce or [d]eny?")
        #expect(workspace.commandLineChoices == "once|deny")
    }
}

@Suite("Reading an answer")
struct AnswerReaderTests {
    private func step(_ content: Request.Content, _ lines: String...) -> AnswerReader.Step? {
        var reader = AnswerReader(content)
        return lines.map { reader.read($0) }.last
    }

    @Test("permissions take a letter or a word")
    func permissions() {
        for text in ["o", "ONCE", " once ", "y"] { #expect(step(permission, text) == .answer(.permission(.allowOnce))) }
        for text in ["s", "session"] { #expect(step(permission, text) == .answer(.permission(.allowSession))) }
        for text in ["d", "no", "deny"] { #expect(step(permission, text) == .answer(.permission(.deny))) }
        #expect(step(permission, "maybe") == .again("Type once, session or deny."))
        #expect(step(permission, "") == .again("Type once, session or deny."))
    }

    @Test("questions take a number, a label or any text; one line each")
    func questions() {
        #expect(step(question, "2") == .answer(.questions(["macOS"])))
        #expect(step(question, "3") == .answer(.questions(["3"])))
        #expect(step(question, "both") == .answer(.questions(["both"])))
        let two = Request.Content.askUser(questions: [
            Question(prompt: "a", options: []), Question(prompt: "b", options: []),
        ])
        #expect(step(two, "x") == .more)
        #expect(step(two, "x", "y") == .answer(.questions(["x", "y"])))
    }

    @Test("a plan is refused with a reason")
    func plans() {
        let plan = Request.Content.planApproval(planPath: "p", planMarkdown: "m", persona: "b")
        #expect(step(plan, "y") == .answer(.plan(approved: true, feedback: nil)))
        #expect(step(plan, "n keep the API") == .answer(.plan(approved: false, feedback: "keep the API")))
        #expect(step(.goal(objective: "g"), "n") == .answer(.goal(accepted: false)))
    }
}

@Suite("The handle of a request")
struct RequestHandleTests {
    private let open = request(1, permission)

    @Test("what is printed is what can be typed, in any case")
    func roundTrip() {
        for text in [open.handle, open.handle.lowercased()] {
            let handle = RequestHandle(text, digest: nil)
            #expect(handle.names(open) && handle.matches(open))
        }
    }

    @Test("another digest does not match, and five digits are too few")
    func digests() {
        let wrong = RequestHandle("\(open.id.description.suffix(4))-000000", digest: nil)
        #expect(wrong.names(open) && !wrong.matches(open))
        let short = RequestHandle(open.id.description, digest: String(open.digest.hex.prefix(5)))
        #expect(!short.matches(open))
        let enough = RequestHandle(open.id.description, digest: String(open.digest.hex.prefix(6)))
        #expect(enough.names(open) && enough.matches(open))
    }

    @Test("an ID without a digest names, and matches nothing")
    func idOnly() {
        let handle = RequestHandle(open.id.description, digest: nil)
        #expect(handle.names(open) && !handle.matches(open))
    }
}
