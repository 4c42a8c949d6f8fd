import MewBase
import MewIdentity
import MewSim
import MewTestSupport
import MewWire
import Testing

@testable import MewSession

// Three devices answer at random what an agent asks, rightly, wrongly, late and twice; turns end; the desk goes through the store.
// The model is a dictionary: what each request is, and how it ended. Laws: every verdict is the model's; a request has one outcome;
// what is open, and how much of it, is the model's.

@Suite("the desk against a model, at random")
struct DeskModelTests {
    @Test("5,000 runs of 60 steps", arguments: 0..<10)
    func runs(block: UInt64) {
        for seed in (block * 500)..<(block * 500 + 500) {
            var run = DeskRun(seed: seed)
            for _ in 0..<60 { run.step() }
            guard run.broken.isEmpty else {
                Issue.record("seed \(seed): \(run.broken)")
                return
            }
        }
    }

    @Test("the runs reach every verdict")
    func reach() {
        var verdicts: Set<String> = []
        for seed in 0..<200 as Range<UInt64> {
            var run = DeskRun(seed: seed)
            for _ in 0..<60 { run.step() }
            verdicts.formUnion(run.verdicts)
        }
        #expect(verdicts.sorted() == ["repeated", "settled", "tooLate", "unknown", "wrongDigest", "wrongKind"])
    }
}

private struct DeskRun {
    private struct Known {
        let entry: DeskEntry
        /// Who ended it and with what; nil answer for the end of a turn. Nil while it is open.
        var end: (node: NodeID?, content: Answer.Content?)?
    }

    private static let contents: [Answer.Content] = [
        .permission(.allowOnce), .permission(.deny), .questions(["a"]), .questions(["b"]),
        .plan(approved: true, feedback: nil), .goal(accepted: true), .goal(accepted: false),
    ]

    private var random: SeededGenerator
    private var desk = RequestDesk()
    private var known: [Known] = []
    private(set) var verdicts: Set<String> = []
    private(set) var broken: [String] = []

    init(seed: UInt64) {
        random = SeededGenerator(seed: seed)
    }

    mutating func step() {
        switch random.below(20) {
        case 0...5: open()
        case 6...17: answer()
        case 18: closeAll()
        default: store()
        }
        compare()
    }

    private mutating func pick<Element>(_ elements: [Element]) -> Element {
        elements[Int(random.below(UInt64(elements.count)))]
    }

    private mutating func open() {
        let content: Request.Content = pick([
            .permission(toolName: "bash", input: ["n": .integer(Int64(known.count))]),
            .askUser(questions: [Question(prompt: "Which?", options: [])]),
            .planApproval(planPath: "p", planMarkdown: "# P", persona: "builder"), .goal(objective: "green"),
        ])
        guard desk.hasRoom(for: 100) else { return }
        let id = RequestID(ULID(high: 1, low: UInt64(known.count + 1)))
        let request = Request(id: id, content: content, shown: content.shownText)
        let entry = DeskEntry(request: request, turn: TurnID(ULID(high: 1, low: 1)))
        desk.open(entry)
        known.append(Known(entry: entry))
    }

    private mutating func answer() {
        let number = random.below(UInt64(known.count) + 1)
        let id = RequestID(ULID(high: 1, low: number + 1))
        let by = By(node: CoreBench.node(UInt8(1 + random.below(3))), name: "device", clientKind: .cli)
        let content = pick(Self.contents)
        let isWrong = random.below(5) == 0
        let request = number < UInt64(known.count) ? known[Int(number)].entry.request : nil
        let digest: ShownDigest? =
            random.below(4) == 0 ? nil : ShownDigest(of: isWrong ? "other" : request?.shown ?? "", request: id)
        let verdict = desk.answer(Answer(requestID: id, content: content), by: by, digest: digest)
        let expected = expected(Int(number), content, by.node, isWrong: isWrong && digest != nil)
        let word = word(verdict)
        verdicts.insert(word)
        if word != expected { broken.append("\(id): \(word) instead of \(expected)") }
        if expected == "settled" { known[Int(number)].end = (by.node, content) }
    }

    private func expected(_ index: Int, _ content: Answer.Content, _ node: NodeID, isWrong: Bool) -> String {
        guard index < known.count else { return "unknown" }
        guard fits(content, known[index].entry.request.content) else { return "wrongKind" }
        guard let end = known[index].end else { return isWrong ? "wrongDigest" : "settled" }
        return end.node == node && end.content == content ? "repeated" : "tooLate"
    }

    private func fits(_ answer: Answer.Content, _ request: Request.Content) -> Bool {
        switch (answer, request) {
        case (.permission, .permission), (.questions, .askUser), (.plan, .planApproval), (.goal, .goal): true
        default: false
        }
    }

    private func word(_ verdict: RequestDesk.Verdict) -> String {
        switch verdict {
        case .settled: "settled"
        case .repeated: "repeated"
        case .tooLate: "tooLate"
        case .notWhatWasShown: "wrongDigest"
        case .wrongKind: "wrongKind"
        case .unknown: "unknown"
        }
    }

    private mutating func closeAll() {
        let closed = desk.closeAll(.turnEnded).map(\.request.id)
        let open = known.indices.filter { known[$0].end == nil }
        if closed != open.map({ known[$0].entry.request.id }) { broken.append("others were closed") }
        for index in open { known[index].end = (nil, nil) }
    }

    /// As a restart does: open requests whole, settled ones as what is kept of them.
    private mutating func store() {
        do {
            let open = try desk.open.map { try DeskEntry.decode(try JSON(parsing: $0.encoded())) }
            let settled = try desk.settled.map { try SettledRequest.decode(try JSON(parsing: $0.encoded())) }
            desk = RequestDesk(open: open, settled: settled)
        } catch {
            broken.append("\(error)")
        }
    }

    private mutating func compare() {
        let open = known.filter { $0.end == nil }.map(\.entry)
        if desk.open != open { broken.append("other requests are open") }
        let permissions = open.count { $0.request.content.isPermission }
        if desk.pendingPermissions != UInt32(permissions) { broken.append("another number of permissions") }
        if desk.pendingQuestions != UInt32(open.count - permissions) { broken.append("another number of questions") }
    }
}
