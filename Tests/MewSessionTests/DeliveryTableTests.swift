import MewBase
import MewTestSupport
import MewWire
import Testing

@testable import MewSession

// The tables of the desk, the queue and the gatherer: every state against every input. A changed line is a changed transition: look
// at it, then change the table.

@Suite("transition tables of desk, queue and gatherer")
struct DeliveryTableTests {
    private static func told(_ body: () -> Void) -> String {
        body()
        return "–"
    }

    // MARK: - The desk

    private static let laptop = By(node: CoreBench.node(1), name: "laptop", clientKind: .cli)
    private static let phone = By(node: CoreBench.node(2), name: "phone", clientKind: .mobile)

    private static let entry: DeskEntry = {
        let content = Request.Content.permission(toolName: "bash", input: ["command": "ls"])
        let request = Request(id: RequestID(ULID(high: 2, low: 1)), content: content, shown: content.shownText)
        return DeskEntry(request: request, turn: TurnID(ULID(high: 1, low: 1)))
    }()

    private static func answer(
        _ desk: inout RequestDesk, _ content: Answer.Content, _ by: By, _ digest: ShownDigest? = nil
    ) -> String {
        let answer = Answer(requestID: entry.request.id, content: content)
        return switch desk.answer(answer, by: by, digest: digest) {
        case .settled: "settled"
        case .repeated: "repeated"
        case .tooLate(let request): "tooLate:\(request.closing.outcome.rawValue)"
        case .notWhatWasShown: "notWhatWasShown"
        case .wrongKind: "wrongKind"
        case .unknown: "unknown"
        }
    }

    private enum DeskState: String, CaseIterable { case none, open, answered, cancelled }

    private static func desk(in state: DeskState) -> RequestDesk {
        var desk = RequestDesk()
        if state != .none { desk.open(entry) }
        switch state {
        case .none, .open: break
        case .answered: _ = answer(&desk, .permission(.deny), laptop)
        case .cancelled: _ = desk.closeAll(.cancelled, by: phone)
        }
        return desk
    }

    private static let deskInputs: [(String, @Sendable (inout RequestDesk) -> String)] = [
        ("laptop denies", { answer(&$0, .permission(.deny), laptop, entry.request.expectedDigest) }),
        ("laptop denies unbound", { answer(&$0, .permission(.deny), laptop) }),
        ("laptop allows", { answer(&$0, .permission(.allowOnce), laptop) }),
        ("phone denies", { answer(&$0, .permission(.deny), phone) }),
        ("of another text", { answer(&$0, .permission(.deny), phone, ShownDigest(of: "", request: entry.request.id)) }),
        ("of another kind", { answer(&$0, .goal(accepted: true), phone) }),
        ("turn ends", { "closed \($0.closeAll(.turnEnded).count)" }),
    ]

    @Test("the desk")
    func deskTable() {
        let lines = DeskState.allCases.flatMap { state in
            Self.deskInputs.map { name, apply in
                var desk = Self.desk(in: state)
                let told = apply(&desk)
                let after = desk.closing(of: Self.entry.request.id)?.outcome.rawValue ?? "\(desk.open.count) open"
                return "\(state.rawValue), \(name): \(told) → \(after)"
            }
        }
        #expect(changes(in: lines, since: Self.deskSnapshot) == [])
    }

    private static let deskSnapshot = """
        none, laptop denies: unknown → 0 open
        none, laptop denies unbound: unknown → 0 open
        none, laptop allows: unknown → 0 open
        none, phone denies: unknown → 0 open
        none, of another text: unknown → 0 open
        none, of another kind: unknown → 0 open
        none, turn ends: closed 0 → 0 open
        open, laptop denies: settled → answered
        open, laptop denies unbound: settled → answered
        open, laptop allows: settled → answered
        open, phone denies: settled → answered
        open, of another text: notWhatWasShown → 1 open
        open, of another kind: wrongKind → 1 open
        open, turn ends: closed 1 → turn_ended
        answered, laptop denies: repeated → answered
        answered, laptop denies unbound: repeated → answered
        answered, laptop allows: tooLate:answered → answered
        answered, phone denies: tooLate:answered → answered
        answered, of another text: tooLate:answered → answered
        answered, of another kind: wrongKind → answered
        answered, turn ends: closed 0 → answered
        cancelled, laptop denies: tooLate:cancelled → cancelled
        cancelled, laptop denies unbound: tooLate:cancelled → cancelled
        cancelled, laptop allows: tooLate:cancelled → cancelled
        cancelled, phone denies: tooLate:cancelled → cancelled
        cancelled, of another text: tooLate:cancelled → cancelled
        cancelled, of another kind: wrongKind → cancelled
        cancelled, turn ends: closed 0 → cancelled
        """

    // MARK: - The queue

    private enum QueueState: String, CaseIterable { case empty, some, full, silent, silentWithReply }

    private static let one: [UInt8] = [1]
    private static let whole = [UInt8](repeating: 2, count: ClientQueue.maxBytes)

    private static func queue(in state: QueueState) -> ClientQueue {
        var queue = ClientQueue()
        _ = queue.push(one, .stream(upTo: .first))
        _ = queue.pop()
        switch state {
        case .empty: break
        case .some: _ = queue.push(one, .stream(upTo: SequenceNumber(2)))
        case .full: _ = queue.push(whole, .stream(upTo: SequenceNumber(2)))
        case .silent: _ = queue.overflow()
        case .silentWithReply:
            _ = queue.overflow()
            _ = queue.push(one, .reply)
        }
        return queue
    }

    private static func word(_ push: ClientQueue.Push) -> String {
        switch push {
        case .queued: "queued"
        case .overflowed(let after): "GAP after \(after.rawValue)"
        case .silent: "dropped"
        }
    }

    private static let queueInputs: [(String, @Sendable (inout ClientQueue) -> String)] = [
        ("event", { word($0.push(one, .stream(upTo: SequenceNumber(3)))) }),
        ("reply", { word($0.push(one, .reply)) }),
        ("large reply", { word($0.push(whole, .reply)) }),
        ("no room elsewhere", { word($0.overflow()) }),
        ("read", { $0.pop().map { "\($0.count) bytes" } ?? "nothing" }),
        ("resume", { queue in told { queue.resume() } }),
        ("restart", { queue in told { queue.restart(after: .zero) } }),
    ]

    @Test("the queue")
    func queueTable() {
        let lines = QueueState.allCases.flatMap { state in
            Self.queueInputs.map { name, apply in
                var queue = Self.queue(in: state)
                let told = apply(&queue)
                let rest = "\(queue.count) waiting, has \(queue.taken.rawValue)"
                let room = queue.hasRoom ? "" : ", no room"
                return "\(state.rawValue), \(name): \(told) → \(queue.isSilent ? "silent" : "flowing"), \(rest)\(room)"
            }
        }
        #expect(changes(in: lines, since: Self.queueSnapshot) == [])
    }

    private static let queueSnapshot = """
        empty, event: queued → flowing, 1 waiting, has 1
        empty, reply: queued → flowing, 1 waiting, has 1
        empty, large reply: queued → flowing, 1 waiting, has 1, no room
        empty, no room elsewhere: GAP after 1 → silent, 0 waiting, has 1
        empty, read: nothing → flowing, 0 waiting, has 1
        empty, resume: – → flowing, 0 waiting, has 1
        empty, restart: – → flowing, 0 waiting, has 0
        some, event: queued → flowing, 2 waiting, has 1
        some, reply: queued → flowing, 2 waiting, has 1
        some, large reply: queued → flowing, 2 waiting, has 1, no room
        some, no room elsewhere: GAP after 1 → silent, 0 waiting, has 1
        some, read: 1 bytes → flowing, 0 waiting, has 2
        some, resume: – → flowing, 1 waiting, has 1
        some, restart: – → flowing, 1 waiting, has 0
        full, event: GAP after 1 → silent, 0 waiting, has 1
        full, reply: queued → flowing, 2 waiting, has 1, no room
        full, large reply: queued → flowing, 2 waiting, has 1, no room
        full, no room elsewhere: GAP after 1 → silent, 0 waiting, has 1
        full, read: 4194304 bytes → flowing, 0 waiting, has 2
        full, resume: – → flowing, 1 waiting, has 1, no room
        full, restart: – → flowing, 1 waiting, has 0, no room
        silent, event: dropped → silent, 0 waiting, has 1
        silent, reply: queued → silent, 1 waiting, has 1
        silent, large reply: queued → silent, 1 waiting, has 1, no room
        silent, no room elsewhere: dropped → silent, 0 waiting, has 1
        silent, read: nothing → silent, 0 waiting, has 1
        silent, resume: – → flowing, 0 waiting, has 1
        silent, restart: – → flowing, 0 waiting, has 0
        silentWithReply, event: dropped → silent, 1 waiting, has 1
        silentWithReply, reply: queued → silent, 2 waiting, has 1
        silentWithReply, large reply: queued → silent, 2 waiting, has 1, no room
        silentWithReply, no room elsewhere: dropped → silent, 1 waiting, has 1
        silentWithReply, read: 1 bytes → silent, 0 waiting, has 1
        silentWithReply, resume: – → flowing, 1 waiting, has 1
        silentWithReply, restart: – → flowing, 1 waiting, has 0
        """

    // MARK: - The gatherer

    private static let start = Instant(nanoseconds: 1_000_000_000)

    private enum GatherState: String, CaseIterable { case quiet, pausing, gathering }

    private static func gatherer(in state: GatherState) -> PieceGatherer {
        var gatherer = PieceGatherer()
        if state != .quiet { _ = gatherer.add(.toolProgress("c", chunk: "a"), now: start) }
        if state == .gathering { _ = gatherer.add(.toolProgress("c", chunk: "b"), now: start) }
        return gatherer
    }

    private static func words(_ events: [AgentEvent]) -> String {
        let words = events.map { event in
            if case .toolProgress(let call, let chunk) = event {
                chunk.count > 10 ? "\(call.text):large" : "\(call.text):\(chunk)"
            } else {
                "other"
            }
        }
        return words.isEmpty ? "–" : words.joined(separator: " ")
    }

    private static let gatherInputs: [(String, @Sendable (inout PieceGatherer) -> String)] = [
        ("more", { words($0.add(.toolProgress("c", chunk: "x"), now: start.advanced(by: .milliseconds(15)))) }),
        (
            "more after 16 ms",
            { words($0.add(.toolProgress("c", chunk: "x"), now: start.advanced(by: .milliseconds(16)))) }
        ),
        ("64 KiB more", { words($0.add(.toolProgress("c", chunk: large(0)), now: start)) }),
        ("a byte beyond", { words($0.add(.toolProgress("c", chunk: large(1)), now: start)) }),
        ("another call", { words($0.add(.toolProgress("d", chunk: "x"), now: start)) }),
        ("no piece", { words($0.add(.notice("n"), now: start)) }),
        ("15 ms", { words($0.due(now: start.advanced(by: .milliseconds(15)))) }),
        ("16 ms", { words($0.due(now: start.advanced(by: .milliseconds(16)))) }),
        ("flush", { words($0.flush()) }),
    ]

    private static func large(_ more: Int) -> String { String(repeating: "x", count: PieceGatherer.maxBytes + more) }

    @Test("the gatherer")
    func gatherTable() {
        let lines = GatherState.allCases.flatMap { state in
            Self.gatherInputs.map { name, apply in
                var gatherer = Self.gatherer(in: state)
                let told = apply(&gatherer)
                let due = gatherer.nextDeadline.map { " due at \(Self.start.duration(to: $0) / .milliseconds(1)) ms" }
                var rest = gatherer
                let next = Self.words(gatherer.add(.toolProgress("c", chunk: "z"), now: Self.start))
                return "\(state.rawValue), \(name): \(told) → \(Self.words(rest.flush()))\(due ?? ""); next: \(next)"
            }
        }
        #expect(changes(in: lines, since: Self.gatherSnapshot) == [])
    }

    private static let gatherSnapshot = """
        quiet, more: c:x → –; next: –
        quiet, more after 16 ms: c:x → –; next: –
        quiet, 64 KiB more: c:large → –; next: –
        quiet, a byte beyond: c:large → –; next: c:z
        quiet, another call: d:x → –; next: c:z
        quiet, no piece: other → –; next: c:z
        quiet, 15 ms: – → –; next: c:z
        quiet, 16 ms: – → –; next: c:z
        quiet, flush: – → –; next: c:z
        pausing, more: – → c:x due at 16.0 ms; next: –
        pausing, more after 16 ms: c:x → –; next: –
        pausing, 64 KiB more: – → c:large due at 16.0 ms; next: c:large
        pausing, a byte beyond: c:large → –; next: c:z
        pausing, another call: d:x → –; next: c:z
        pausing, no piece: other → –; next: c:z
        pausing, 15 ms: – → –; next: –
        pausing, 16 ms: – → –; next: –
        pausing, flush: – → –; next: c:z
        gathering, more: – → c:bx due at 16.0 ms; next: –
        gathering, more after 16 ms: – → c:bx due at 16.0 ms; next: –
        gathering, 64 KiB more: c:b → c:large due at 16.0 ms; next: c:large
        gathering, a byte beyond: c:b c:large → –; next: c:z
        gathering, another call: c:b d:x → –; next: c:z
        gathering, no piece: c:b other → –; next: c:z
        gathering, 15 ms: – → c:b due at 16.0 ms; next: –
        gathering, 16 ms: c:b → –; next: –
        gathering, flush: c:b → –; next: c:z
        """
}
