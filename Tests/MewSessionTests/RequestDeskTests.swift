import MewBase
import MewIdentity
import MewTestSupport
import MewWire
import Testing

@testable import MewSession

@Suite("a request has exactly one outcome")
struct RequestDeskTests {
    private let laptop = By(node: CoreBench.node(1), name: "laptop", clientKind: .cli)
    private let phone = By(node: CoreBench.node(2), name: "phone", clientKind: .mobile)
    private let turn = TurnID(ULID(high: 1, low: 1))

    private func entry(_ number: UInt64, _ content: Request.Content? = nil) -> DeskEntry {
        let content = content ?? .permission(toolName: "bash", input: ["command": "ls"])
        return DeskEntry(
            request: Request(id: RequestID(ULID(high: 2, low: number)), content: content, shown: content.shownText),
            turn: turn)
    }

    private func answer(_ entry: DeskEntry, _ content: Answer.Content) -> Answer {
        Answer(requestID: entry.request.id, content: content)
    }

    private func isOpen(_ desk: RequestDesk, _ entry: DeskEntry) -> Bool {
        desk.open.contains { $0.request.id == entry.request.id }
    }

    @Test("the first answer settles; the same again from the same device repeats; any other is too late")
    func firstWins() {
        var desk = RequestDesk()
        let one = entry(1)
        desk.open(one)
        let allow = answer(one, .permission(.allowOnce))
        guard case .settled(let settled) = desk.answer(allow, by: laptop, digest: one.request.expectedDigest) else {
            Issue.record("the first answer must settle")
            return
        }
        #expect(settled.closing?.by == laptop && settled.closing?.isBound == true)
        #expect(!isOpen(desk, one))
        let known = SettledRequest(settled)
        #expect(known?.closing.decision == "allow_once")
        #expect(desk.answer(allow, by: laptop, digest: nil) == known.map { .repeated($0) })
        #expect(desk.answer(allow, by: phone, digest: nil) == known.map { .tooLate($0) })
        #expect(desk.answer(answer(one, .permission(.deny)), by: laptop, digest: nil) == known.map { .tooLate($0) })
    }

    @Test("an answer for another text settles nothing, and the right one still can")
    func otherText() {
        var desk = RequestDesk()
        let one = entry(1)
        desk.open(one)
        let wrong = ShownDigest(of: "something else", request: one.request.id)
        #expect(
            desk.answer(answer(one, .permission(.allowOnce)), by: laptop, digest: wrong) == .notWhatWasShown)
        #expect(isOpen(desk, one))
        let right = desk.answer(
            answer(one, .permission(.allowOnce)), by: laptop, digest: one.request.expectedDigest)
        guard case .settled = right else {
            Issue.record("the right digest must settle")
            return
        }
    }

    @Test("the digest of one request does not fit another with the same text")
    func boundToTheRequest() {
        var desk = RequestDesk()
        let (one, two) = (entry(1), entry(2))
        desk.open(one)
        desk.open(two)
        #expect(
            desk.answer(answer(two, .permission(.allowOnce)), by: laptop, digest: one.request.expectedDigest)
                == .notWhatWasShown)
    }

    @Test("an answer without a digest counts, and is known to be unbound")
    func unbound() {
        var desk = RequestDesk()
        let one = entry(1)
        desk.open(one)
        guard case .settled(let settled) = desk.answer(answer(one, .permission(.deny)), by: phone, digest: nil) else {
            Issue.record("stock answers count")
            return
        }
        #expect(settled.closing?.isBound == false)
    }

    @Test("a goal cannot be answered like a permission, and unknown requests are unknown")
    func kinds() {
        var desk = RequestDesk()
        let goal = entry(1, .goal(objective: "all tests pass"))
        desk.open(goal)
        #expect(desk.answer(answer(goal, .permission(.allowOnce)), by: laptop, digest: nil) == .wrongKind)
        #expect(desk.answer(answer(goal, .questions(["x"])), by: laptop, digest: nil) == .wrongKind)
        #expect(desk.answer(answer(entry(9), .goal(accepted: true)), by: laptop, digest: nil) == .unknown)
        #expect((desk.pendingPermissions, desk.pendingQuestions) == (0, 1))
    }

    @Test("closing ends every open request; answers are then too late and say why")
    func closeAll() {
        var desk = RequestDesk()
        for number in 1...3 as ClosedRange<UInt64> { desk.open(entry(number)) }
        #expect(desk.pendingPermissions == 3)
        let closed = desk.closeAll(.cancelled, by: laptop)
        #expect(closed.map(\.request.id) == (1...3).map { entry($0).request.id })
        #expect(desk.open.isEmpty)
        guard
            case .tooLate(let request) = desk.answer(answer(entry(2), .permission(.allowOnce)), by: phone, digest: nil)
        else {
            Issue.record("an answer after the end is too late")
            return
        }
        #expect(request.closing.outcome == .cancelled)
    }

    @Test("256 settled requests are remembered; the one before is unknown")
    func memory() {
        var desk = RequestDesk()
        for number in 0...UInt64(RequestDesk.rememberedSettled) {
            desk.open(entry(number))
            _ = desk.answer(answer(entry(number), .permission(.deny)), by: laptop, digest: nil)
        }
        #expect(desk.answer(answer(entry(0), .permission(.deny)), by: laptop, digest: nil) == .unknown)
        guard case .repeated = desk.answer(answer(entry(1), .permission(.deny)), by: laptop, digest: nil) else {
            Issue.record("the 256th is remembered")
            return
        }
    }

    @Test("an entry survives its journey through the store, open and settled")
    func stored() throws {
        var desk = RequestDesk()
        let question = entry(
            1, .askUser(questions: [Question(prompt: "Which?", options: [QuestionOption(label: "a")])]))
        desk.open(question)
        guard
            case .settled(let settled) = desk.answer(
                answer(question, .questions(["a"])), by: laptop, digest: question.request.expectedDigest)
        else {
            Issue.record("must settle")
            return
        }
        for entry in [question, settled] {
            let json = try JSON(parsing: entry.encoded())
            #expect(try DeskEntry.decode(json) == entry)
        }
        let kept = try #require(SettledRequest(settled))
        #expect(try SettledRequest.decode(try JSON(parsing: kept.encoded())) == kept)
        #expect(SettledRequest(question) == nil)
    }

    @Test("a request that was kept whole by a former version is judged as it was: who, what and whether it is the same")
    func formerForm() throws {
        let former = """
            {"outcome":"answered","by":{"node_id":"\(CoreBench.node(1).hex)","name":"laptop","client_kind":"cli"},\
            "bound":true,"answer":{"type":"permission_response","request_id":"\(entry(1).request.id)","decision":"deny"}}
            """
        let closing = try DeskEntry.Closing.decode(try JSON(parsing: Array(former.utf8)))
        let deny = answer(entry(1), .permission(.deny))
        #expect(closing == DeskEntry.Closing(outcome: .answered, by: closing.by, answer: deny, isBound: true))
        #expect(closing.decision == "deny")
    }

    @Test("what is kept of a settled request is small, however large request and answer were")
    func small() throws {
        var desk = RequestDesk()
        let text = String(repeating: "x", count: 60_000)
        let question = entry(1, .askUser(questions: [Question(prompt: text, options: [])]))
        desk.open(question)
        let verdict = desk.answer(answer(question, .questions([text])), by: laptop, digest: nil)
        guard case .settled(let settled) = verdict else {
            Issue.record("must settle")
            return
        }
        #expect(try #require(SettledRequest(settled)).encoded().count < 500)
    }
}
