import MewBase
@testable import MewSession
import MewTestSupport
import MewWire
import Testing

@Suite("prompts become turns, one at a time, and each ends once")
struct TurnTests {
    private func text(_ text: String) -> ClientMessage { .prompt(.init(text: text)) }

    private func streamed(_ words: String, ids: any IDSource) -> [AgentEvent] {
        let message = MessageID(ids.next(milliseconds: 1))
        let part = Part(
            id: PartID(ids.next(milliseconds: 1)), messageID: message, session: ULID(high: 0, low: 0),
            content: .text(.init(text: "")))
        return [
            .provider(.partStart(part)), .provider(.partDelta(.init(partID: part.id, delta: words))),
            .provider(.partEnd(part.id)),
            .provider(.messageEnd(.init(finish: .stop, usage: Tokens(input: 3, output: 4)))),
        ]
    }

    @Test("stored, started and done: the receipts of a prompt, with its event and its turn")
    func receiptsOfAPrompt() {
        var bench = CoreBench()
        let client = bench.attach(isNew: true)
        let operation = bench.send(text("run it"), from: client)
        bench.endTurn()
        let receipts = bench.takeReceipts()
        #expect(receipts.map(\.state) == [.stored, .started, .done])
        #expect(receipts.map(\.result) == [nil, nil, .completed])
        #expect(receipts.allSatisfy { $0.operation == operation && $0.turnID == bench.startedTurns[0].turn })
        #expect(receipts.allSatisfy { $0.sequence == .first && !$0.isRepeat })
    }

    @Test("a turn without a tool: the order of what everyone attached hears")
    func orderOfATurn() {
        var bench = CoreBench()
        let client = bench.attach(.stock, kind: .mobile, isNew: true)
        _ = bench.take(client)
        bench.send(text("run it"), from: client)
        for event in streamed("done", ids: bench.ids) { bench.emit(event) }
        bench.endTurn()
        #expect(
            bench.take(client) == [
                .userMessage, .sessionActivityChanged, .provider, .provider, .provider, .provider,
                .sessionActivityChanged, .sessionUsageChanged, .sessionAlert, .sessionTitleChanged,
            ])
        #expect(bench.core.record.title == "run it")
        #expect(bench.core.record.usage?.turns == 1)
        #expect(bench.core.record.contextTokens == 3)
        #expect(!bench.core.record.lastTurnFailed)
    }

    @Test("a second prompt is shown at once and runs afterwards; the order is kept")
    func queue() {
        var bench = CoreBench()
        let client = bench.attach(isNew: true)
        for word in ["one", "two", "three"] { bench.send(text(word), from: client) }
        #expect(bench.startedTurns.map(\.text) == ["one"])
        #expect(bench.storedEvents.filter { $0.message.kind == .userMessage }.count == 3)
        bench.endTurn()
        #expect(bench.startedTurns.map(\.text) == ["one", "two"])
        bench.endTurn()
        bench.endTurn()
        #expect(bench.startedTurns.map(\.text) == ["one", "two", "three"])
        #expect(bench.core.record.turn == nil)
        #expect(bench.world.sessions[CoreBench.session]?.work.isEmpty == true)
        #expect(bench.world.sessions[CoreBench.session]?.row.isBusy == false)
    }

    @Test("32 prompts wait; the next is refused as busy, and is not shown")
    func queueBoundary() {
        var bench = CoreBench()
        let client = bench.attach(isNew: true)
        for number in 0...SessionCore.maxWaiting { bench.send(text("\(number)"), from: client) }
        #expect(!bench.takeReceipts().contains { $0.state == .refused })
        bench.send(text("one too many"), from: client)
        #expect(bench.takeReceipts().map(\.code) == [.busy])
        #expect(bench.storedEvents.filter { $0.message.kind == .userMessage }.count == SessionCore.maxWaiting + 1)
        bench.endTurn()
        bench.send(text("now there is room"), from: client)
        #expect(bench.takeReceipts().last?.state == .stored)
    }

    @Test("a prompt of 1 MiB is taken, one byte more is refused; so is an empty one")
    func sizeOfAPrompt() {
        var bench = CoreBench()
        let client = bench.attach(isNew: true)
        bench.send(text(String(repeating: "x", count: SessionCore.maxPromptBytes)), from: client)
        bench.send(text(String(repeating: "x", count: SessionCore.maxPromptBytes + 1)), from: client)
        bench.send(text(" \n"), from: client)
        #expect(bench.takeReceipts().compactMap(\.code) == [.tooLarge, .badInput])
        #expect(bench.startedTurns.count == 1)
    }

    @Test("attachments become file parts of the message")
    func attachments() throws {
        var bench = CoreBench()
        let client = bench.attach(isNew: true)
        bench.send(
            .prompt(.init(text: "look", attachments: [Attachment(path: "/a/shot.png", mime: "image/png")])),
            from: client)
        let row = try #require(bench.world.sessions[CoreBench.session]?.messages.first)
        let message = try #require(SessionCore.message(in: row))
        #expect(message.parts.count == 2)
        #expect(message.parts[1].content.file == Part.File(mime: "image/png", filename: "shot.png", url: "/a/shot.png"))
        #expect(bench.startedTurns[0].attachments == [Attachment(path: "/a/shot.png", mime: "image/png")])
    }

    @Test(
        "the event of a prompt brings its files, so that whoever is there sees what the history shows; not on stock links"
    )
    func attachmentsLive() throws {
        var bench = CoreBench()
        let (laptop, phone) = (bench.attach(isNew: true), bench.attach(.stock, kind: .mobile, device: 2))
        _ = (bench.takeFrames(laptop), bench.takeFrames(phone))
        let files = [Attachment(path: "/a/shot.png", mime: "image/png"), Attachment(path: "/etc/hosts")]
        bench.send(.prompt(.init(text: "look", attachments: files)), from: laptop)
        let event = try #require(bench.takeFrames(laptop).first { $0.message.kind == .userMessage })
        var live = TranscriptReducer(session: try #require(CoreBench.session.ulid))
        live.apply(event.message, sequence: event.sequence, at: bench.wall)
        let row = try #require(bench.world.sessions[CoreBench.session]?.messages.first)
        #expect(SessionCore.message(in: row) == live.messages[0])
        #expect(live.messages[0].parts.count == 3)
        let shown = try #require(bench.takeFrames(phone).first { $0.message.kind == .userMessage })
        let bytes = try #require(shown.encoded(for: .stock))
        #expect(String(decoding: bytes, as: UTF8.self) == #"{"type":"user_message","text":"look"}"#)
    }

    @Test("no identifier after a message's own is given away twice, however fast they come")
    func identifiers() throws {
        for seed in 0..<50 as Range<UInt64> {
            var bench = CoreBench(seed: seed)
            let client = bench.attach(isNew: true)
            let files = (0..<5).map { Attachment(path: "/\($0)") }
            for _ in 0..<8 {
                bench.send(.prompt(.init(text: "x", attachments: files)), from: client)
                bench.send(.guide(.init(text: "y")), from: client)
            }
            let rows = bench.world.sessions[CoreBench.session]?.messages ?? []
            let messages = try rows.map { try #require(SessionCore.message(in: $0)) }
            let all = messages.flatMap { [$0.id.ulid] + $0.parts.map(\.id.ulid) }
            let turns = bench.storedEvents.compactMap { frame -> ULID? in
                if case .userMessage(let message) = frame.message { message.turnID?.ulid } else { nil }
            }
            #expect(all.count == 8 * 7 + 8 * 2)
            #expect(Set(all + turns).count == all.count + Set(turns).count)
        }
    }

    // MARK: - Cancel

    @Test("cancel ends the turn it names, closes its requests everywhere, and says aborted")
    func cancel() throws {
        var bench = CoreBench()
        let client = bench.attach(isNew: true)
        bench.send(text("run"), from: client)
        let call = bench.call(
            .permission(.init(toolName: "bash", input: [:], call: "c", sensitivity: .dangerous)))
        let turn = bench.startedTurns[0].turn
        _ = bench.take(client)
        _ = bench.takeBroadcasts()
        bench.send(.cancel(.init(turnID: turn)), from: client)
        #expect(bench.cancelledTurns == [turn])
        #expect(bench.replies[call] == .failed(.cancelled))
        let frames = bench.takeFrames(client)
        #expect(frames.map(\.message.kind) == [.requestResolved])
        guard case .requestResolved(let resolved) = try #require(frames.first).message else {
            Issue.record("another frame was expected")
            return
        }
        #expect(resolved.outcome == .cancelled && resolved.by?.name == "laptop")
        #expect(bench.takeBroadcasts().contains { $0.kind == .sessionAttentionChanged })
        bench.endTurn(.cancelled)
        #expect(bench.take(client) == [.errorEvent, .provider, .provider, .sessionActivityChanged])
        #expect(bench.takeReceipts().last?.result == .cancelled)
        // Lists say what went wrong, and nothing did.
        #expect(!bench.core.record.lastTurnFailed)
        #expect(
            bench.takeBroadcasts().contains { message in
                if case .sessionAlert(let alert) = message { alert.kind == .turnFailed } else { false }
            })
    }

    @Test("a cancel for another turn is refused as over, and cancels nothing")
    func cancelOtherTurn() {
        var bench = CoreBench()
        let client = bench.attach(isNew: true)
        bench.send(text("run"), from: client)
        bench.send(.cancel(.init(turnID: TurnID(ULID(high: 5, low: 5)))), from: client)
        #expect(bench.takeReceipts().last?.code == .turnOver)
        #expect(bench.cancelledTurns.isEmpty)
        bench.endTurn()
        bench.send(.cancel(.init(turnID: bench.startedTurns[0].turn)), from: client)
        #expect(bench.takeReceipts().last?.code == .turnOver)
    }

    @Test("cancelling a prompt that waits takes it out of the queue")
    func cancelWaiting() {
        var bench = CoreBench()
        let client = bench.attach(isNew: true)
        bench.send(text("one"), from: client)
        bench.send(text("two"), from: client)
        let second = bench.takeReceipts().last?.turnID
        bench.send(.cancel(.init(turnID: second)), from: client)
        #expect(bench.takeReceipts().map(\.result) == [.cancelled, nil])
        bench.endTurn()
        #expect(bench.startedTurns.map(\.text) == ["one"])
    }

    @Test("cancelling twice cancels once")
    func cancelTwice() {
        var bench = CoreBench()
        let client = bench.attach(isNew: true)
        bench.send(text("run"), from: client)
        let turn = bench.startedTurns[0].turn
        bench.send(.cancel(.init(turnID: turn)), from: client)
        bench.send(.cancel(.init(turnID: turn)), from: client)
        #expect(bench.cancelledTurns == [turn])
        #expect(bench.takeReceipts().filter { $0.state == .done }.count == 2)
    }

    @Test("a stock cancel without a turn does nothing, not even an error")
    func stockCancelIdle() {
        var bench = CoreBench()
        let client = bench.attach(.stock, kind: .mobile, isNew: true)
        _ = bench.take(client)
        bench.send(.cancel(.init()), from: client)
        #expect(bench.take(client).isEmpty)
    }

    // MARK: - Ends

    @Test("a failed turn says why, counts as failed and gets no title")
    func failed() {
        var bench = CoreBench()
        let client = bench.attach(isNew: true)
        bench.send(text("run"), from: client)
        _ = bench.take(client)
        bench.endTurn(.failed("the agent crashed"))
        let frames = bench.takeFrames(client)
        #expect(frames.map(\.message.kind) == [.errorEvent, .provider, .provider, .sessionActivityChanged])
        #expect(frames.first?.message == .errorEvent(.init(message: "the agent crashed")))
        #expect(bench.takeReceipts().last?.result == .failed)
        #expect(bench.core.record.title == nil)
    }

    @Test("an error event makes a completed turn a failed one; a notice does not")
    func errorEvent() {
        var bench = CoreBench()
        let client = bench.attach(isNew: true)
        bench.send(text("run"), from: client)
        bench.emit(.notice("compacted"))
        bench.endTurn()
        #expect(bench.takeReceipts().last?.result == .completed)
        bench.send(text("again"), from: client)
        bench.emit(.error("no such tool"))
        bench.endTurn()
        #expect(bench.takeReceipts().last?.result == .failed)
    }

    @Test("parts that the agent left open are closed when the turn ends")
    func openParts() throws {
        var bench = CoreBench()
        let client = bench.attach(isNew: true)
        bench.send(text("run"), from: client)
        let message = MessageID(ULID(high: 4, low: 1))
        let call = Part(
            id: PartID(ULID(high: 4, low: 2)), messageID: message, session: ULID(high: 0, low: 0),
            content: .toolCall(
                .init(
                    toolName: "bash", callID: "c1",
                    state: ToolState(
                        input: [:], phase: .running(output: "x"), time: ToolTime(start: bench.wall)))))
        let words = Part(
            id: PartID(ULID(high: 4, low: 3)), messageID: message, session: ULID(high: 0, low: 0),
            content: .text(.init(text: "half a sen")))
        bench.emit(.provider(.partStart(call)))
        bench.emit(.provider(.partStart(words)))
        _ = bench.take(client)
        bench.endTurn(.cancelled)
        #expect(
            bench.take(client) == [
                .provider, .partUpdated, .toolEnd, .errorEvent, .sessionActivityChanged,
            ])
        let row = try #require(bench.world.sessions[CoreBench.session]?.messages.last)
        let stored = try #require(SessionCore.message(in: row))
        #expect(stored.parts[0].content.toolCall?.state.phase == .error("aborted\nx"))
    }

    @Test("what an agent says after its turn is over is not taken")
    func afterTheEnd() {
        var bench = CoreBench()
        let client = bench.attach(isNew: true)
        bench.send(text("run"), from: client)
        bench.endTurn()
        let head = bench.storedEvents.count
        let call = bench.call(.emit(.notice("late")))
        #expect(bench.replies[call] == .failed(.gone))
        #expect(bench.storedEvents.count == head)
        bench.endTurn()
        #expect(bench.storedEvents.count == head)
    }

    @Test(
        "an event of 4 MiB as it is encoded is taken, one character more is not, and the turn goes on",
        arguments: [(character: "x", encoded: 1), (character: "\u{1}", encoded: 6)])
    func eventSize(_ text: (character: String, encoded: Int)) {
        var bench = CoreBench()
        let client = bench.attach(isNew: true)
        bench.send(self.text("run"), from: client)
        // With its quotes.
        let most = (AgentEvent.maxBytes - 2) / text.encoded
        let fits = bench.call(.emit(.toolProgress("c", chunk: String(repeating: text.character, count: most))))
        let tooLarge = bench.call(.emit(.notice(String(repeating: text.character, count: most + 1))))
        #expect(bench.replies[fits] == .done)
        #expect(bench.replies[tooLarge] == .failed(.tooLarge(bytes: (most + 1) * text.encoded + 2)))
        #expect(bench.core.record.turn != nil)
    }

    @Test("a request that is larger than 4 MiB with the text that is shown is refused, and nobody is asked")
    func requestSize() {
        var bench = CoreBench()
        let client = bench.attach(isNew: true)
        bench.send(text("run"), from: client)
        let plan = ProposedPlan(
            path: "plan.md", markdown: String(repeating: "x", count: AgentEvent.maxBytes / 2), persona: "main")
        let call = bench.call(.plan(plan, call: "c"))
        guard case .failed(.tooLarge) = bench.replies[call] else {
            Issue.record("\(String(describing: bench.replies[call]))")
            return
        }
        #expect(bench.core.desk.open.isEmpty)
    }

    // MARK: - Guidance

    @Test("guidance is shown at once and handed out once; blank guidance is ignored")
    func guidance() {
        var bench = CoreBench()
        let client = bench.attach(isNew: true)
        bench.send(text("run"), from: client)
        bench.send(.guide(.init(text: "faster")), from: client)
        bench.send(.guide(.init(text: " ")), from: client)
        let first = bench.call(.takeGuidance)
        let second = bench.call(.takeGuidance)
        #expect(bench.replies[first] == .guidance(["faster"]))
        #expect(bench.replies[second] == .guidance([]))
        #expect(bench.storedEvents.filter { $0.message.kind == .userMessage }.count == 2)
        #expect(bench.world.sessions[CoreBench.session]?.work.isEmpty == true)
    }

    @Test("guidance without a turn waits for the next one, also through a crash")
    func guidanceWhileIdle() {
        var bench = CoreBench()
        let client = bench.attach(isNew: true)
        bench.send(.guide(.init(text: "be brief")), from: client)
        bench.crash()
        let again = bench.attach(device: 1)
        bench.send(text("run"), from: again)
        #expect(bench.startedTurns.last?.guidance == ["be brief"])
        #expect(bench.world.sessions[CoreBench.session]?.work.isEmpty == true)
    }

    // MARK: - Crashes

    @Test("a turn that was started when the daemon died is interrupted, told to everyone and not run again")
    func crashInATurn() {
        var bench = CoreBench()
        let client = bench.attach(isNew: true)
        bench.send(text("run"), from: client)
        bench.crash()
        #expect(bench.startedTurns.count == 1)
        #expect(bench.takeReceipts().last?.result == .interrupted)
        #expect(bench.core.record.turn == nil && bench.core.record.lastTurnFailed)
        let ending = bench.storedEvents.suffix(4).map(\.message.kind)
        #expect(ending == [.errorEvent, .provider, .provider, .sessionActivityChanged])
        bench.crash()
        #expect(bench.takeReceipts().isEmpty)
    }

    @Test("a prompt that was stored and not started runs after the crash, once")
    func crashWithWaitingPrompts() {
        var bench = CoreBench()
        let client = bench.attach(isNew: true)
        bench.send(text("one"), from: client)
        bench.send(text("two"), from: client)
        bench.crash()
        #expect(bench.startedTurns.map(\.text) == ["one", "two"])
        #expect(bench.takeReceipts().map(\.state) == [.stored, .started, .stored, .done, .started])
        bench.crash()
        #expect(bench.startedTurns.map(\.text) == ["one", "two"])
    }

    @Test("requests that were open when the daemon died are closed as the turn's end")
    func crashWithOpenRequest() throws {
        var bench = CoreBench()
        let client = bench.attach(isNew: true)
        bench.send(text("one"), from: client)
        bench.call(.permission(.init(toolName: "bash", input: [:], call: "c", sensitivity: .dangerous)))
        let request = try #require(bench.request(at: client))
        bench.crash()
        #expect(bench.core.desk.open.isEmpty)
        let again = bench.attach(device: 1)
        bench.answer(request, .permission(.allowOnce), from: again)
        #expect(bench.takeReceipts().last?.code == .tooLate)
        let verdicts = bench.takeFrames(again).compactMap { frame -> DaemonMessage.AnswerVerdict? in
            if case .answerVerdict(let verdict) = frame.message { verdict } else { nil }
        }
        #expect(verdicts.map(\.how) == [.turnEnded])
    }

    @Test("text that was streaming when the daemon died is in the history, up to the last delta")
    func crashWhileStreaming() throws {
        var bench = CoreBench()
        let client = bench.attach(isNew: true)
        bench.send(text("one"), from: client)
        let part = Part(
            id: PartID(ULID(high: 4, low: 3)), messageID: MessageID(ULID(high: 4, low: 1)),
            session: ULID(high: 0, low: 0), content: .text(.init(text: "")))
        bench.emit(.provider(.partStart(part)))
        for word in ["to ", "be ", "or "] { bench.emit(.provider(.partDelta(.init(partID: part.id, delta: word)))) }
        bench.crash()
        let row = try #require(bench.world.sessions[CoreBench.session]?.messages.last)
        #expect(SessionCore.message(in: row)?.parts[0].content.text?.text == "to be or ")
    }

    @Test("an orderly end interrupts the turn and keeps what waits for the next start")
    func shutDown() {
        var bench = CoreBench()
        let client = bench.attach(isNew: true)
        bench.send(text("one"), from: client)
        bench.send(text("two"), from: client)
        bench.handle(.shutDown)
        #expect(bench.startedTurns.map(\.text) == ["one"])
        #expect(bench.takeReceipts().last?.result == .interrupted)
        bench.crash()
        #expect(bench.startedTurns.map(\.text) == ["one", "two"])
    }

    @Test("what a call has printed stays in the history when its turn is interrupted, the end of it when it is long")
    func interruptedOutput() throws {
        for (size, isCut) in [
            (SessionCore.interruptedOutputBytes, false), (SessionCore.interruptedOutputBytes + 1, true),
        ] {
            var bench = CoreBench()
            let client = bench.attach(isNew: true)
            bench.send(text("one"), from: client)
            let part = Part(
                id: PartID(ULID(high: 4, low: 3)), messageID: MessageID(ULID(high: 4, low: 1)),
                session: ULID(high: 0, low: 0),
                content: .toolCall(
                    .init(
                        toolName: "bash", callID: "c1",
                        state: .init(input: [:], phase: .running(output: ""), time: ToolTime(start: bench.wall)))))
            bench.emit(.provider(.partStart(part)))
            bench.emit(.toolProgress("c1", chunk: String(repeating: "x", count: size - 3)))
            bench.emit(.toolProgress("c1", chunk: "end"))
            bench.handle(.shutDown)
            let row = try #require(bench.world.sessions[CoreBench.session]?.messages.last)
            let stored = try #require(SessionCore.message(in: row)?.parts.first)
            guard case .toolCall(let call) = stored.content, case .error(let error) = call.state.phase else {
                Issue.record("the call is not closed: \(stored)")
                continue
            }
            #expect(error.hasPrefix(SessionCore.stopNote + (isCut ? "\n…x" : "\nx")))
            #expect(error.hasSuffix("xend"))
            #expect(error.utf8.count <= SessionCore.stopNote.utf8.count + 1 + SessionCore.interruptedOutputBytes)
        }
    }

    @Test("a revoked device's waiting prompts end as cancelled, its other work is refused; others run")
    func revoked() {
        var bench = CoreBench()
        let laptop = bench.attach(device: 1, isNew: true)
        let phone = bench.attach(device: 2, name: "phone")
        bench.send(text("one"), from: laptop)
        bench.send(text("two"), from: phone)
        bench.send(.slashCommand(.init(command: "/clear")), from: phone)
        bench.send(text("three"), from: laptop)
        _ = bench.takeReceipts()
        bench.handle(.revoked(CoreBench.node(2)))
        let receipts = bench.takeReceipts()
        #expect(receipts.map(\.state) == [.done, .refused])
        #expect(receipts.map(\.result) == [.cancelled, nil])
        #expect(receipts.map(\.code) == [nil, .revoked])
        #expect(receipts.map(\.message) == ["the device was revoked", "the device was revoked"])
        bench.endTurn()
        bench.endTurn()
        #expect(bench.startedTurns.map(\.text) == ["one", "three"])
    }

    @Test("when a session is erased, what runs is interrupted, what waits is cancelled or refused, and nothing starts")
    func erased() {
        var bench = CoreBench(
            offer: AgentOffer(models: [ModelInfo(id: "p/m", provider: "p", model: "m")], personas: []))
        let client = bench.attach(isNew: true)
        let running = bench.send(text("one"), from: client)
        let waiting = bench.send(text("two"), from: client)
        let model = bench.send(.switchModel(.init(provider: "p", model: "m")), from: client)
        let last = bench.send(text("three"), from: client)
        _ = bench.takeReceipts()
        bench.handle(.erased)
        let receipts = bench.takeReceipts()
        #expect(receipts.map(\.operation) == [running, waiting, model, last])
        #expect(receipts.map(\.state) == [.done, .done, .refused, .done])
        #expect(receipts.map(\.result) == [.interrupted, .cancelled, nil, .cancelled])
        #expect(receipts.map(\.code) == [nil, nil, .unknownSession, nil])
        #expect(bench.startedTurns.map(\.text) == ["one"])
        #expect(bench.world.sessions[CoreBench.session]?.work.isEmpty == true)
    }

    @Test("a command that was under way when the daemon died is carried out again, and then the prompts behind it")
    func crashInACommand() {
        var bench = CoreBench()
        let client = bench.attach(isNew: true)
        bench.send(.slashCommand(.init(command: "/clear")), from: client)
        bench.send(text("after"), from: client)
        bench.crash()
        #expect(bench.commands == [.forget, .forget])
        #expect(bench.startedTurns.isEmpty)
        bench.handle(.commandEnded(isDone: true))
        #expect(bench.startedTurns.map(\.text) == ["after"])
    }

    // MARK: - Processes

    @Test("one process per session: a second one is not recorded while the first may live, also after a crash")
    func processes() {
        var bench = CoreBench()
        let client = bench.attach(isNew: true)
        bench.send(text("one"), from: client)
        let process = AgentProcess(number: 7, startTicks: 1, bootID: "b")
        let other = AgentProcess(number: 8, startTicks: 2, bootID: "b")
        let first = bench.call(.willStart(process))
        #expect(bench.replies[first] == .done)
        #expect(bench.world.sessions[CoreBench.session]?.process?.process == process)
        let second = bench.call(.willStart(other))
        #expect(bench.replies[second] == .failed(.processRunning(process)))
        bench.call(.didEnd(other))
        #expect(bench.world.sessions[CoreBench.session]?.process != nil)
        bench.call(.didEnd(process))
        #expect(bench.world.sessions[CoreBench.session]?.process == nil)
        bench.call(.willStart(other))
        bench.crash()
        #expect(bench.world.sessions[CoreBench.session]?.process == nil)
    }
}
