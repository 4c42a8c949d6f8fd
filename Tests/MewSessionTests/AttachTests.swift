import MewBase
import MewTestSupport
import MewWire
import Testing

@testable import MewSession

@Suite("what a client is told when it attaches")
struct AttachTests {
    /// A bench whose session has `prompts` finished turns and hears nobody.
    private func bench(prompts: Int, text: String = "hello") -> CoreBench {
        var bench = CoreBench()
        let client = bench.attach(isNew: true)
        for number in 0..<prompts {
            bench.send(.prompt(.init(text: "\(text) \(number)")), from: client)
            bench.endTurn()
        }
        bench.detach(client)
        return bench
    }

    private func ready(_ frames: [DaemonFrame]) throws -> DaemonMessage.SessionReady {
        guard case .sessionReady(let ready) = try #require(frames.first).message else {
            throw WrongFrame()
        }
        return ready
    }

    private func page(_ frames: [DaemonFrame]) throws -> DaemonMessage.SessionHistoryPage {
        for case .sessionHistoryPage(let page) in frames.map(\.message) { return page }
        throw WrongFrame()
    }

    private struct WrongFrame: Error {}

    @Test("a new session: ready, the thinking variant, caught up; a stock client gets no history")
    func newSession() throws {
        var bench = CoreBench()
        let native = bench.attach(isNew: true)
        let frames = bench.takeFrames(native)
        #expect(frames.map(\.message.kind) == [.sessionReady, .thinkingVariantChanged, .caughtUp])
        #expect(try ready(frames).resume == .new)
        var other = CoreBench()
        let phone = other.attach(.stock, kind: .mobile, isNew: true)
        #expect(other.take(phone) == [.sessionReady, .sessionTitleChanged, .thinkingVariantChanged])
        var third = CoreBench()
        let web = third.attach(.stock, kind: .web, isNew: true)
        #expect(third.take(web) == [.sessionReady, .thinkingVariantChanged])
    }

    @Test("without a number: a snapshot with its place in the journal, then caught up there")
    func snapshot() throws {
        var bench = bench(prompts: 2)
        let client = bench.attach()
        let frames = bench.takeFrames(client)
        #expect(
            frames.map(\.message.kind) == [
                .sessionReady, .thinkingVariantChanged, .sessionHistoryPage, .sessionTitleChanged, .caughtUp,
            ])
        let head = SequenceNumber(UInt64(bench.storedEvents.count))
        #expect(try ready(frames).resume == .snapshot)
        #expect(try ready(frames).headSequence == head)
        #expect(try page(frames).asOfSequence == head)
        #expect(try page(frames).messages.count == 2)
        #expect(try page(frames).messages.allSatisfy { $0.sequence != nil })
        #expect(frames.last?.message == .caughtUp(.init(sessionID: CoreBench.session, sequence: head)))
        #expect(frames.allSatisfy { $0.sequence == nil })
    }

    @Test("with the number and epoch it has: exactly the events it missed, numbered")
    func replay() throws {
        var bench = bench(prompts: 3)
        let epoch = bench.core.record.epoch
        let head = UInt64(bench.storedEvents.count)
        let client = bench.attach(after: SequenceNumber(head - 4), epoch: epoch)
        let frames = bench.takeFrames(client)
        #expect(try ready(frames).resume == .replay)
        #expect(frames.compactMap(\.sequence).map(\.rawValue) == Array((head - 3)...head))
        #expect(frames.last?.message.kind == .caughtUp)
        let current = bench.attach(after: SequenceNumber(head), epoch: epoch)
        #expect(
            bench.take(current).prefix(3) == [.sessionReady, .thinkingVariantChanged, .caughtUp])
    }

    @Test("a number beyond the head, or of another epoch, is a snapshot; what was lost is said")
    func beyondTheHead() throws {
        var bench = bench(prompts: 1)
        let head = UInt64(bench.storedEvents.count)
        let ahead = bench.attach(after: SequenceNumber(head + 7), epoch: bench.core.record.epoch)
        let frames = bench.takeFrames(ahead)
        #expect(try ready(frames).resume == .snapshot)
        #expect(try ready(frames).lost == 7)
        let other = bench.attach(after: SequenceNumber(1), epoch: Epoch(ULID(high: 1, low: 1)))
        #expect(try ready(bench.takeFrames(other)).resume == .snapshot)
    }

    @Test("replay at 2,000 missed events, snapshot at 2,001")
    func replayBoundary() throws {
        var bench = CoreBench()
        let client = bench.attach(isNew: true)
        bench.send(.prompt(.init(text: "x")), from: client)
        for _ in 0..<2_100 { bench.emit(.toolStarted("c")) }
        let head = UInt64(bench.world.sessions[CoreBench.session]?.events.count ?? 0)
        let epoch = bench.core.record.epoch
        let fits = bench.attach(after: SequenceNumber(head - 2_000), epoch: epoch)
        #expect(try ready(bench.takeFrames(fits)).resume == .replay)
        let tooOld = bench.attach(after: SequenceNumber(head - 2_001), epoch: epoch)
        #expect(try ready(bench.takeFrames(tooOld)).resume == .snapshot)
    }

    @Test("the journal goes on with the same numbers and epoch after a crash, and can be replayed across it")
    func acrossACrash() throws {
        var bench = bench(prompts: 2)
        let epoch = bench.core.record.epoch
        bench.crash()
        #expect(bench.core.record.epoch == epoch)
        let client = bench.attach(after: SequenceNumber(2), epoch: epoch)
        let frames = bench.takeFrames(client)
        #expect(try ready(frames).resume == .replay)
        #expect(frames.compactMap(\.sequence).first == SequenceNumber(3))
    }

    @Test("the first page has the newest whole messages within 64 KiB, and its cursor leads to the one before")
    func firstPage() throws {
        var bench = bench(prompts: 20, text: String(repeating: "x", count: 8_000))
        let client = bench.attach()
        let first = try page(bench.takeFrames(client))
        #expect(first.messages.count == 7)
        #expect(first.nextCursor == 13)
        #expect(first.messages.last?.parts[0].content.text?.text.hasSuffix(" 19") == true)
        #expect(first.historyID == bench.core.record.history)
    }

    @Test("a message larger than the page comes as its end")
    func largeMessage() throws {
        var bench = bench(prompts: 1, text: String(repeating: "x", count: 200_000))
        let client = bench.attach()
        let first = try page(bench.takeFrames(client))
        let text = try #require(first.messages.first?.parts[0].content.text?.text)
        #expect(first.messages[0].encoded().count <= 64 << 10)
        #expect(text.hasPrefix("…x") && text.hasSuffix(" 0"))
    }

    @Test("a message of 20,000 parts comes as its last ones, as many as fit")
    func manyParts() throws {
        let id = MessageID(ULID(high: 4, low: 1))
        let parts = (0..<20_000).map { number in
            Part(
                id: PartID(ULID(high: 5, low: UInt64(number))), messageID: id, session: ULID(high: 0, low: 0),
                content: .text(.init(text: "\(number) " + String(repeating: "x", count: 100))))
        }
        let message = Message(
            id: id, session: ULID(high: 0, low: 0), role: .user, parts: parts,
            time: MessageTime(created: WallTime(milliseconds: 1)), sequence: .first)
        let end = message.end(within: 64 << 10)
        #expect(end.parts == Array(parts.suffix(end.parts.count)))
        #expect(end.encoded().count <= 64 << 10)
        var more = end
        more.parts = Array(parts.suffix(end.parts.count + 1))
        #expect(more.encoded().count > 64 << 10)
        #expect(message.end(within: end.encoded().count) == end)
        #expect(message.end(within: end.encoded().count - 1).parts.count == end.parts.count - 1)
    }

    @Test("whatever a session holds, a client gets at most 64 KiB before it is caught up, and a phone 256 KiB")
    func firstScreen() throws {
        var bench = CoreBench()
        let first = bench.attach(isNew: true)
        let large = String(repeating: "xxxxxxxxx\\", count: 4_000)
        for number in 0..<30 {
            bench.send(.prompt(.init(text: "\(number) \(large)")), from: first)
            if number < 29 { bench.endTurn() }
        }
        bench.send(
            .renameSession(.init(sessionID: CoreBench.session, title: String(repeating: "é", count: 200))), from: first)
        let todo = Todo(id: 1, content: String(repeating: "t", count: 90), status: "pending")
        bench.emit(.todos(Array(repeating: todo, count: 1_000)))
        let file = FlaggedFile(path: String(repeating: "f", count: 60))
        bench.emit(.flaggedFiles(Array(repeating: file, count: 1_000)))
        let part = Part(
            id: PartID(ULID(high: 4, low: 3)), messageID: MessageID(ULID(high: 4, low: 1)),
            session: ULID(high: 0, low: 0), content: .text(.init(text: String(repeating: "y", count: 900_000))))
        bench.emit(.provider(.partStart(part)))
        for (link, kind, most) in [
            (.native, .cli, 64 << 10), (.stock, .web, 64 << 10), (.stock, .mobile, 256 << 10),
        ] as [(ApplicationProtocol, ClientKind, Int)] {
            let frames = bench.takeFrames(bench.attach(link, kind: kind))
            let screen = frames.filter { $0.message.kind != .clientAttached }
            let bytes = screen.reduce(0) { $0 + ($1.encoded(for: link)?.count ?? 0) }
            #expect(bytes <= most && bytes > most / 2, "\(kind): \(bytes) bytes")
            let open = try #require(screen.lazy.compactMap(\.openPart).first)
            let text = try #require(open.content.text?.text)
            #expect(text.hasPrefix("…y") && text.hasSuffix("y"))
        }
        #expect(bench.core.record.todos.count == FirstScreen.maxTodos)
        #expect(bench.core.record.flaggedFiles.count == FirstScreen.maxFlaggedFiles)
    }

    @Test("an open part that fits comes whole, and the page has what is left")
    func smallOpenPart() throws {
        var bench = bench(prompts: 20, text: String(repeating: "x", count: 8_000))
        bench.send(.prompt(.init(text: "x")), from: bench.attach())
        let part = Part(
            id: PartID(ULID(high: 4, low: 3)), messageID: MessageID(ULID(high: 4, low: 1)),
            session: ULID(high: 0, low: 0), content: .text(.init(text: String(repeating: "y", count: 20_000))))
        bench.emit(.provider(.partStart(part)))
        let frames = bench.takeFrames(bench.attach())
        #expect(frames.lazy.compactMap(\.openPart).first?.content.text?.text.count == 20_000)
        #expect(try page(frames).messages.count == 5)
    }

    @Test("older pages are asked of the store, at most 24 messages; another list's cursor gets the newest page")
    func olderPages() throws {
        var bench = bench(prompts: 3)
        let client = bench.attach()
        _ = bench.take(client)
        bench.send(
            .loadSessionHistory(.init(sessionID: CoreBench.session, before: 2, limit: 500)), from: client, ref: "a")
        let request = try #require(bench.pages.last)
        #expect((request.before, request.limit, request.ref) == (2, 24, "a"))
        bench.send(
            .loadSessionHistory(
                .init(sessionID: CoreBench.session, before: 2, historyID: HistoryID(ULID(high: 9, low: 9)))),
            from: client, ref: "b")
        let frames = bench.takeFrames(client)
        #expect(try page(frames).replaces)
        #expect(frames.first?.ref == "b")
        #expect(bench.pages.count == 1)
    }

    @Test("open requests are repeated with their IDs, permissions first, without a number")
    func openRequests() throws {
        var bench = CoreBench()
        let first = bench.attach(isNew: true)
        bench.send(.prompt(.init(text: "x")), from: first)
        bench.call(.ask([Question(prompt: "Which?", options: [])], call: "q"))
        bench.call(.permission(.init(toolName: "bash", input: [:], call: "c", sensitivity: .dangerous)))
        let client = bench.attach()
        let requests = bench.takeFrames(client).filter { $0.message.kind.isJournalled && $0.sequence == nil }
            .map(\.message.kind).filter { $0 != .thinkingVariantChanged && $0 != .sessionActivityChanged }
        #expect(requests == [.permissionRequest, .askUserRequest])
        let late = bench.attach(after: .first, epoch: bench.core.record.epoch)
        let kinds = bench.take(late).filter { $0 != .clientAttached }
        #expect(kinds.suffix(3) == [.permissionRequest, .askUserRequest, .caughtUp])
    }

    @Test("a part that is open is left out of the history and started again with its text so far")
    func openPart() throws {
        var bench = CoreBench()
        let first = bench.attach(isNew: true)
        bench.send(.prompt(.init(text: "x")), from: first)
        let part = Part(
            id: PartID(ULID(high: 4, low: 3)), messageID: MessageID(ULID(high: 4, low: 1)),
            session: ULID(high: 0, low: 0), content: .text(.init(text: "to ")))
        bench.emit(.provider(.partStart(part)))
        bench.emit(.provider(.partDelta(.init(partID: part.id, delta: "be"))))
        for (link, kind) in [(.native, .cli), (.stock, .mobile)] as [(ApplicationProtocol, ClientKind)] {
            let client = bench.attach(link, kind: kind)
            let frames = bench.takeFrames(client)
            var reducer = TranscriptReducer(session: ULID(high: 0, low: 0))
            for frame in frames { reducer.apply(frame.message, at: bench.wall) }
            bench.emit(.provider(.partDelta(.init(partID: part.id, delta: "!"))))
            for frame in bench.takeFrames(client) { reducer.apply(frame.message, at: bench.wall) }
            let text = try #require(reducer.messages.last?.parts.first?.content.text?.text)
            #expect(reducer.messages.map(\.parts.count) == [1, 1])
            #expect(text.hasPrefix("to be") && text.hasSuffix("!"))
        }
    }

    @Test("a phone gets the older form of history, 24 messages, and a title right after ready")
    func phone() throws {
        var bench = bench(prompts: 40)
        let client = bench.attach(.stock, kind: .mobile)
        let frames = bench.takeFrames(client)
        #expect(
            frames.map(\.message.kind) == [
                .sessionReady, .sessionTitleChanged, .thinkingVariantChanged, .sessionHistory,
            ])
        guard case .sessionHistory(let history) = frames[3].message else {
            Issue.record("another frame was expected")
            return
        }
        #expect(history.messages.count == 24)
    }

    @Test("presence: the newcomer hears of those who are there and of itself, they hear of it, and of its leaving")
    func presence() {
        var bench = CoreBench()
        let first = bench.attach(isNew: true)
        _ = bench.take(first)
        let second = bench.attach(kind: .tui, device: 2)
        #expect(bench.take(first) == [.clientAttached])
        #expect(bench.take(second).suffix(2) == [.clientAttached, .clientAttached])
        bench.handle(.detach(second))
        #expect(bench.take(first) == [.clientDetached])
        #expect(bench.core.info.clientCount == 1)
    }

    @Test("after a gap the client gets what it missed and is caught up; too far behind, a snapshot")
    func resume() throws {
        var bench = bench(prompts: 3)
        let client = bench.attach()
        _ = bench.take(client)
        let head = SequenceNumber(UInt64(bench.storedEvents.count))
        bench.send(.prompt(.init(text: "more")), from: client)
        _ = bench.take(client)
        bench.handle(.resume(client, after: head))
        let frames = bench.takeFrames(client)
        #expect(frames.compactMap(\.sequence).first == head.next)
        #expect(frames.last?.message.kind == .caughtUp)
        bench.handle(.resume(client, after: SequenceNumber(99_999)))
        #expect(try ready(bench.takeFrames(client)).resume == .snapshot)
    }

    @Test("a stock client that was too slow gets history and open requests again")
    func stockGap() {
        var bench = bench(prompts: 2)
        let client = bench.attach(.stock, kind: .mobile)
        bench.send(.prompt(.init(text: "x")), from: client)
        bench.call(.permission(.init(toolName: "bash", input: [:], call: "c", sensitivity: .dangerous)))
        _ = bench.take(client)
        bench.handle(.drained(client))
        #expect(bench.take(client) == [.sessionHistory, .permissionRequest])
    }

    @Test("clear empties the transcript, starts a new list and keeps the journal's numbers")
    func clear() throws {
        var bench = bench(prompts: 2)
        let client = bench.attach()
        let before = bench.core.record.history
        _ = bench.take(client)
        bench.send(.slashCommand(.init(command: "/clear")), from: client)
        #expect(bench.commands == [.forget])
        bench.send(.prompt(.init(text: "waits")), from: client)
        #expect(bench.core.record.turn == nil)
        bench.handle(.commandEnded(isDone: true))
        #expect(bench.core.record.history != before)
        #expect(bench.startedTurns.last?.text == "waits")
        let kinds = bench.take(client)
        #expect(kinds.contains(.sessionCleared) && kinds.contains(.slashResult))
        #expect(bench.storedEvents.map(\.sequence?.rawValue) == (1...UInt64(bench.storedEvents.count)).map { $0 })
    }

    @Test("an unknown slash command is named in the answer; a client's own is met with silence")
    func slash() {
        var bench = CoreBench()
        let client = bench.attach(.stock, kind: .web, isNew: true)
        _ = bench.take(client)
        bench.send(.slashCommand(.init(command: "/frobnicate now")), from: client)
        bench.send(.slashCommand(.init(command: "/model x")), from: client)
        let frames = bench.takeFrames(client)
        #expect(frames.map(\.message) == [.slashResult(.init(text: "unknown command /frobnicate"))])
    }
}

@Suite("a journal that lost its end")
struct SuspectTests {
    @Test("starts a new epoch, says what was lost, and gives nobody a replay of the old numbers")
    func newEpoch() throws {
        var bench = CoreBench()
        let client = bench.attach(isNew: true)
        bench.send(.prompt(.init(text: "x")), from: client)
        bench.endTurn()
        let old = bench.core.record.epoch
        let whole = try #require(bench.world.load(CoreBench.session))
        let damaged = StoredSession(
            row: whole.row, events: [], headSequence: whole.headSequence, lostEvents: 3, isSuspect: true,
            messages: whole.messages, messageCount: whole.messageCount, requests: whole.requests, work: whole.work)
        var core = try SessionCore(
            loading: damaged, offer: AgentOffer(models: [], personas: []), at: bench.moment)
        #expect(core.record.epoch != old)
        let laptop = AttachedClient(
            id: ClientID(9), link: .native, by: By(node: CoreBench.node(1), name: "n", clientKind: .cli))
        let step = core.handle(.attach(laptop, after: .first, epoch: old, isNew: false), at: bench.moment)
        let ready = step.effects.compactMap { effect -> DaemonMessage.SessionReady? in
            if case .send(let message, _) = effect, case .sessionReady(let ready) = message.message {
                ready
            } else {
                nil
            }
        }
        #expect(ready.map(\.resume) == [.snapshot] && ready.map(\.lost) == [3])
        #expect(ready.map(\.headSequence) == [whole.headSequence])
        // The new epoch is stored, so that the next load finds the same one.
        #expect(step.writes.contains { if case .putSession = $0 { true } else { false } })
        // And it finds no hole any more.
        #expect(step.writes.contains(.dropEvents(CoreBench.session, upTo: whole.headSequence)))
    }
}

extension DaemonFrame {
    fileprivate var openPart: Part? {
        guard case .provider(let provider) = message, case .partStart(let part) = provider.event else { return nil }
        return part
    }
}
