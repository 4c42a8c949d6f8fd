import MewBase
import MewSession
import MewTestSupport
import MewWire
import Testing

@Suite("a session is read from the store")
struct LoadingTests {
    @Test("what a load wants to save waits for the next step where nothing can be saved, and nothing of it is lost")
    func unsavedLoad() throws {
        var bench = CoreBench()
        let client = bench.attach(isNew: true)
        bench.send(.renameSession(.init(sessionID: CoreBench.session, title: "x")), from: client)
        let stored = try #require(bench.world.load(CoreBench.session))
        let suspect = StoredSession(
            row: stored.row, events: stored.events, headSequence: stored.headSequence, lostEvents: 0, isSuspect: true,
            messages: [], messageCount: 0, requests: [], work: [])
        var core = try SessionCore(
            loading: suspect, offer: AgentOffer(models: [], personas: []), at: bench.moment)
        let by = By(node: CoreBench.node(1), name: "laptop", clientKind: .cli)
        let other = AttachedClient(id: ClientID(9), link: .native, by: by)
        let attach = SessionInput.attach(other, after: nil, epoch: nil, isNew: false)
        let performed = core.handleWithoutSaving(attach, at: bench.moment)
        let step = try #require(performed)
        #expect(step.writes.isEmpty && !step.effects.isEmpty)
        #expect(core.clients == [other])
        let rename = ClientRequest(
            .renameSession(.init(sessionID: CoreBench.session, title: "y")), client: other.id, link: .native, by: by,
            operation: nil)
        let refused = core.handleWithoutSaving(.request(rename), at: bench.moment)
        #expect(refused?.writes == nil)
        let next = core.handle(.detach(other.id), at: bench.moment)
        #expect(next.writes.count == 1)
        guard case .putSession(let row)? = next.writes.first else {
            Issue.record("the load's own row must be saved")
            return
        }
        #expect(SessionRecord(in: row)?.epoch == core.record.epoch)
        let last = core.handle(.detach(other.id), at: bench.moment)
        #expect(last.writes.isEmpty)
    }

    @Test("a turn that a crash left is not shown as running while the disk does not take its end")
    func unsettled() throws {
        var bench = CoreBench()
        let client = bench.attach(isNew: true)
        bench.send(.prompt(.init(text: "runs")), from: client)
        #expect(bench.core.info.state == .running)
        let stored = try #require(bench.world.load(CoreBench.session))
        var core = try SessionCore(
            loading: stored, offer: AgentOffer(models: [], personas: []), at: bench.moment)
        #expect(core.info.state == .active && core.info.turnID == nil)
        let other = AttachedClient(
            id: ClientID(9), link: .native, by: By(node: CoreBench.node(1), name: "laptop", clientKind: .cli))
        let performed = core.handleWithoutSaving(
            .attach(other, after: nil, epoch: nil, isNew: false), at: bench.moment)
        let told = try #require(performed).effects.compactMap { effect in
            if case .send(let message, _) = effect { message.message.kind } else { nil }
        }
        #expect(told.contains(.caughtUp) && !told.contains(.sessionActivityChanged))
        _ = core.handle(.recovered(isAgentGone: true), at: bench.moment)
        #expect(core.info.state == .active && core.record.turn == nil)
        let prompt = ClientRequest(
            .prompt(.init(text: "next")), client: other.id, link: .stock, by: other.by, operation: nil)
        _ = core.handle(.request(prompt), at: bench.moment)
        #expect(core.info.state == .running)
    }

    @Test("an acknowledged prompt that neither waits nor runs any more ends as interrupted; one that waits runs")
    func orphans() throws {
        var bench = CoreBench()
        let client = bench.attach(isNew: true)
        let running = bench.send(.prompt(.init(text: "runs")), from: client)
        let lost = bench.send(.prompt(.init(text: "is lost")), from: client)
        let waiting = bench.send(.prompt(.init(text: "waits")), from: client)
        let whole = try #require(bench.world.load(CoreBench.session))
        let damaged = StoredSession(
            row: whole.row, events: whole.events, headSequence: whole.headSequence, lostEvents: 0, isSuspect: false,
            messages: whole.messages, messageCount: whole.messageCount, requests: [],
            work: Array(whole.work.dropFirst()), lostWork: [whole.work[0].number])
        #expect(SessionCore.needsReceipts(for: damaged) && !SessionCore.needsReceipts(for: whole))
        var core = try SessionCore(
            loading: damaged, receipts: Array(bench.world.receipts.values),
            offer: AgentOffer(models: [], personas: []), at: bench.moment)
        #expect(core.needsRecovery)
        let step = core.handle(.recovered(isAgentGone: true), at: bench.moment)
        let receipts = step.effects.compactMap { if case .receipt(let receipt, _, _) = $0 { receipt } else { nil } }
        #expect(receipts.map(\.operation) == [running, lost, waiting])
        #expect(receipts.map(\.state) == [.done, .done, .started])
        #expect(receipts.map(\.result) == [.interrupted, .interrupted, nil])
        #expect(step.writes.contains(.removeWork(CoreBench.session, number: whole.work[0].number)))
        #expect(!core.needsRecovery || core.record.turn != nil)
    }

    /// A session with `prompts` finished turns, as it is stored.
    private func stored(prompts: Int) throws -> StoredSession {
        var bench = CoreBench()
        let client = bench.attach(isNew: true)
        for number in 0..<prompts {
            bench.send(.prompt(.init(text: "\(number)")), from: client)
            bench.endTurn()
        }
        return try #require(bench.world.load(CoreBench.session))
    }

    private func load(_ stored: StoredSession) throws -> (core: SessionCore, moment: Moment) {
        let bench = CoreBench()
        let offer = AgentOffer(models: [], personas: [])
        return (try SessionCore(loading: stored, offer: offer, at: bench.moment), bench.moment)
    }

    private func with(_ messages: [MessageRow], in stored: StoredSession) -> StoredSession {
        StoredSession(
            row: stored.row, events: stored.events, headSequence: stored.headSequence, lostEvents: 0,
            isSuspect: false, messages: messages, messageCount: stored.messageCount, requests: [], work: [])
    }

    private let client = AttachedClient(
        id: ClientID(1), link: .native, by: By(node: CoreBench.node(1), name: "laptop", clientKind: .cli))

    private func firstPage(
        of core: inout SessionCore, at moment: Moment
    ) throws -> DaemonMessage.SessionHistoryPage {
        let step = core.handle(.attach(client, after: nil, epoch: nil, isNew: false), at: moment)
        for case .send(let message, _) in step.effects {
            if case .sessionHistoryPage(let page) = message.message { return page }
        }
        throw NoPage()
    }

    private struct NoPage: Error {}

    private func texts(_ page: DaemonMessage.SessionHistoryPage) -> [String?] {
        page.messages.map { $0.parts.first?.content.text?.text }
    }

    @Test(
        "a message that is lost or cannot be read leaves the others at their positions",
        arguments: [(lost: 1, first: 2), (lost: 4, first: 5), (lost: 0, first: 1)], [true, false])
    func lostMessage(_ numbers: (lost: Int, first: Int), isUnreadable: Bool) throws {
        let stored = try stored(prompts: 5)
        var rows = stored.messages
        let row = rows.remove(at: numbers.lost)
        if isUnreadable {
            rows.insert(MessageRow(position: row.position, sequence: row.sequence, body: [1]), at: numbers.lost)
        }
        var (core, moment) = try load(with(rows, in: stored))
        let page = try firstPage(of: &core, at: moment)
        #expect(texts(page) == (numbers.first..<5).map { "\($0)" })
        #expect(page.nextCursor == UInt64(numbers.first))
        let prompt = ClientRequest(
            .prompt(.init(text: "next")), client: client.id, link: .native, by: client.by, operation: nil)
        let writes = core.handle(.request(prompt), at: moment).writes
        let positions = writes.compactMap { if case .putMessage(_, let row) = $0 { row.position } else { nil } }
        #expect(positions == [5])
    }

    @Test("an event that is larger than what is loaded of a journal is not left out of the messages")
    func largeEvent() throws {
        var bench = CoreBench()
        let client = bench.attach(isNew: true)
        bench.send(.prompt(.init(text: "go")), from: client)
        let part = Part(
            id: PartID(ULID(high: 2, low: 1)), messageID: MessageID(ULID(high: 1, low: 1)),
            session: ULID(high: 0, low: 0),
            content: .text(.init(text: "")))
        bench.emit(.provider(.partStart(part)))
        // Large enough to fill the journal that is kept, small enough not to have the messages written.
        let word = String(repeating: "x", count: Journal.maxReplayBytes + 1)
        var stored = try #require(bench.world.load(CoreBench.session))
        let event = DaemonFrame(
            .provider(.init(event: .partDelta(.init(partID: part.id, delta: word)))), sessionID: CoreBench.session,
            sequence: stored.headSequence.next)
        let body = try #require(event.encoded(for: .native))
        stored = StoredSession(
            row: stored.row, events: [], headSequence: stored.headSequence.next, lostEvents: 0, isSuspect: false,
            messages: stored.messages, messageCount: stored.messageCount, requests: [], work: [])
        let after = try #require(try SessionCore.missingEvents(in: stored))
        #expect(after.next == stored.headSequence)
        let row = EventRow(sequence: stored.headSequence, body: body)
        var core = try SessionCore(
            loading: stored, younger: [row], offer: AgentOffer(models: [], personas: []), at: bench.moment)
        let writes = core.handle(.recovered(isAgentGone: true), at: bench.moment).writes
        let last = writes.compactMap { if case .putMessage(_, let row) = $0 { row } else { nil } }.last
        let message = try #require(last.flatMap { SessionCore.message(in: $0) })
        #expect(message.parts.last?.content.text?.text == word)
    }

    @Test("of a message that is too large for a page its end is read")
    func largeMessage() throws {
        let parts = (0..<3).map { number in
            Part(
                id: PartID(ULID(high: 2, low: UInt64(number))), messageID: MessageID(ULID(high: 1, low: 1)),
                session: ULID(high: 0, low: 0),
                content: .text(.init(text: "\(number)" + String(repeating: "x", count: 1 << 20))))
        }
        let message = Message(
            id: parts[0].messageID, session: ULID(high: 0, low: 0), role: .user, parts: parts,
            time: MessageTime(created: WallTime(milliseconds: 1)))
        let row = MessageRow(position: 0, sequence: .first, body: message.encoded())
        let end = try #require(SessionCore.message(in: row))
        #expect(end.encoded().count <= PageRequest.maxBytes)
        #expect(end.parts == [parts[2]])
    }

    @Test("an older page is written first only when it has messages that the store knows in another form")
    func pages() {
        var bench = CoreBench()
        let client = bench.attach(isNew: true)
        bench.send(.prompt(.init(text: "one")), from: client)
        bench.endTurn()
        bench.send(.prompt(.init(text: "two")), from: client)
        let part = Part(
            id: PartID(ULID(high: 2, low: 1)), messageID: MessageID(ULID(high: 1, low: 1)),
            session: ULID(high: 0, low: 0),
            content: .text(.init(text: "")))
        bench.emit(.provider(.partStart(part)))
        bench.emit(.provider(.partDelta(.init(partID: part.id, delta: "three"))))
        for (before, isWritten) in [(2, false), (3, true), (3, false)] as [(UInt64, Bool)] {
            bench.send(.loadSessionHistory(.init(sessionID: CoreBench.session, before: before)), from: client)
            #expect(bench.lastWrites.isEmpty == !isWritten, "before \(before)")
        }
    }
}
