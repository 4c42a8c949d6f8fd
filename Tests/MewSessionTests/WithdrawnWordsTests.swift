import MewBase
import MewTestSupport
import MewWire
import Testing

@testable import MewSession

@Suite("words that waited, and that nothing came of")
struct WithdrawnWordsTests {
    private func text(_ words: String) -> ClientMessage { .prompt(.init(text: words)) }

    /// What the history says, in the order in which it was said.
    private func stored(_ bench: CoreBench) -> [Message] {
        (bench.world.sessions[CoreBench.session]?.messages ?? []).compactMap { Transcript.decode($0.body) }
    }

    private func words(_ messages: [Message]) -> [String] {
        messages.filter { $0.role == .user }.compactMap { $0.parts.first?.content.text?.text }
    }

    /// What whoever reads only the journal has.
    private func told(_ bench: CoreBench) -> [Message] {
        var reducer = TranscriptReducer(session: CoreBench.session.ulid ?? ULID(high: 0, low: 0))
        for frame in bench.storedEvents {
            reducer.apply(frame.message, sequence: frame.sequence, at: WallTime(milliseconds: 0))
        }
        return reducer.messages
    }

    /// A turn that runs and a prompt of the phone that waits.
    private func waiting() -> (CoreBench, laptop: ClientID, phone: ClientID) {
        var bench = CoreBench()
        let laptop = bench.attach(device: 1, isNew: true)
        let phone = bench.attach(device: 2, name: "phone")
        bench.send(text("one"), from: laptop)
        bench.send(text("two"), from: phone)
        return (bench, laptop, phone)
    }

    @Test(
        "a prompt that is cancelled while it waits says so in its own message: told to all, in the history, after a crash"
    )
    func cancelled() throws {
        var (bench, laptop, phone) = waiting()
        let stock = bench.attach(.stock, kind: .mobile, device: 3, name: "old phone")
        let turn = try #require(bench.takeReceipts().last?.turnID)
        for client in [laptop, phone, stock] { _ = bench.take(client) }
        bench.send(.cancel(.init(turnID: turn)), from: laptop)
        let said = "two\n(not run: cancelled by laptop before its turn)"
        #expect(words(stored(bench)) == ["one", said])
        #expect(words(told(bench)) == ["one", said])
        for client in [laptop, phone] { #expect(bench.take(client) == [.partUpdated]) }
        let heard = bench.takeFrames(stock)
        #expect(heard.map(\.message.kind) == [.partUpdated, .errorEvent])
        #expect(
            heard.last?.message
                == .errorEvent(.init(message: "“two”: not run: cancelled by laptop before its turn")))
        bench.crash()
        #expect(words(stored(bench)) == ["one", said])
        #expect(bench.startedTurns.map(\.text) == ["one"])
    }

    @Test("a text that is being streamed goes on when a prompt behind it is cancelled")
    func streaming() throws {
        var (bench, laptop, _) = waiting()
        let part = Part(
            id: PartID(ULID(high: 4, low: 2)), messageID: MessageID(ULID(high: 4, low: 1)),
            session: ULID(high: 0, low: 0), content: .text(.init(text: "to ")))
        bench.emit(.provider(.partStart(part)))
        bench.send(.cancel(.init(turnID: try #require(bench.takeReceipts().last?.turnID))), from: laptop)
        bench.emit(.provider(.partDelta(.init(partID: part.id, delta: "be"))))
        bench.endTurn()
        #expect(stored(bench).last?.parts.first?.content.text?.text == "to be")
    }

    @Test("the same when its device is revoked, may no longer prompt, or no agent can work")
    func reasons() {
        let ends: [(SessionInput, String)] = [
            (.revoked(CoreBench.node(2)), "not run: the device was revoked"),
            (.lowered(CoreBench.node(2), .observe), "not run: the device may no longer do this"),
        ]
        for (input, reason) in ends {
            var (bench, _, phone) = waiting()
            bench.send(.guide(.init(text: "hint")), from: phone)
            bench.handle(input)
            let guidance = "hint\n(" + reason.replacing("not run", with: "not heard by the agent") + ")"
            #expect(words(stored(bench)) == ["one", "two\n(\(reason))", guidance])
            bench.endTurn()
            #expect(bench.startedTurns.map(\.text) == ["one"])
            #expect(bench.world.sessions[CoreBench.session]?.work.isEmpty == true)
        }
        var (bench, _, _) = waiting()
        bench.endTurn(.unavailable("Not run: the agent is gone."))
        #expect(words(stored(bench)) == ["one", "two\n(Not run: the agent is gone.)"])
    }

    @Test("a device that may still prompt keeps its prompt, and loses what needs control")
    func lowered() {
        var bench = CoreBench(
            offer: AgentOffer(models: [ModelInfo(id: "p/m", provider: "p", model: "m")], personas: []))
        let phone = bench.attach(device: 2, isNew: true)
        bench.send(text("one"), from: phone)
        bench.send(.switchModel(.init(provider: "p", model: "m")), from: phone)
        bench.send(text("two"), from: phone)
        _ = bench.takeReceipts()
        bench.handle(.lowered(CoreBench.node(2), .collaborate))
        #expect(bench.takeReceipts().map(\.code) == [.scope])
        bench.handle(.lowered(CoreBench.node(2), .observe))
        #expect(bench.takeReceipts().map(\.result) == [.cancelled])
    }

    @Test("what was said again in a cleared conversation is withdrawn there")
    func cleared() throws {
        var bench = CoreBench()
        let client = bench.attach(isNew: true)
        bench.send(.slashCommand(.init(command: "/clear")), from: client)
        bench.send(text("after"), from: client)
        let turn = try #require(bench.takeReceipts().last?.turnID)
        bench.send(text("last"), from: client)
        bench.handle(.commandEnded(isDone: true))
        #expect(bench.startedTurns.map(\.turn) == [turn])
        bench.send(.cancel(.init(turnID: bench.core.work.first?.work.task.prompt?.turn)), from: client)
        #expect(words(stored(bench)) == ["after", "last\n(not run: cancelled by laptop before its turn)"])
    }

    @Test("one /clear waits at a time, because each says again what waits")
    func oneClear() {
        var (bench, laptop, _) = waiting()
        _ = bench.takeReceipts()
        for _ in 0..<2 { bench.send(.slashCommand(.init(command: "/clear")), from: laptop) }
        #expect(bench.takeReceipts().map(\.code) == [nil, .busy])
        bench.endTurn()
        bench.endTurn()
        bench.send(.slashCommand(.init(command: "/clear")), from: laptop)
        #expect(bench.takeReceipts().last?.code == .busy)
        bench.handle(.commandEnded(isDone: true))
        bench.send(.slashCommand(.init(command: "/clear")), from: laptop)
        #expect(bench.takeReceipts().last?.state == .stored)
    }

    // MARK: - The order of a history

    @Test("in a history a prompt that waited stands before its own answer, not inside the turn before it")
    func order() throws {
        var (bench, laptop, _) = waiting()
        func answer(_ words: String, _ number: UInt64) -> AgentEvent {
            .provider(
                .partStart(
                    Part(
                        id: PartID(ULID(high: 4, low: 2 * number + 1)),
                        messageID: MessageID(ULID(high: 4, low: 2 * number)),
                        session: ULID(high: 0, low: 0), content: .text(.init(text: words)))))
        }
        bench.send(text("three"), from: laptop)
        bench.send(.cancel(.init(turnID: bench.takeReceipts().last?.turnID)), from: laptop)
        bench.emit(answer("first", 1))
        bench.endTurn()
        bench.emit(answer("second", 2))
        bench.send(.guide(.init(text: "hint")), from: laptop)
        bench.endTurn()
        bench.send(text("four"), from: laptop)
        let withdrawn = "three\n(not run: cancelled by laptop before its turn)"
        func texts(_ messages: [Message]) -> [String?] { messages.map { $0.parts.first?.content.text?.text } }
        #expect(texts(stored(bench)) == ["one", "two", withdrawn, "first", "second", "hint", "four"])
        #expect(texts(stored(bench).inOrderOfTurns) == ["one", "first", "two", "second", "hint", withdrawn, "four"])
        #expect(texts(told(bench).inOrderOfTurns) == texts(stored(bench).inOrderOfTurns))
    }

    // MARK: - How much may wait

    private func large(_ bytes: Int) -> ClientMessage { text(String(repeating: "x", count: bytes)) }

    @Test("2 MiB of one device's words wait; a byte more is refused as busy and not shown, and others have their own")
    func budget() {
        var (bench, laptop, phone) = waiting()
        let most = SessionCore.maxWaitingBytes
        bench.send(large(most / 2), from: laptop)
        bench.send(.guide(.init(text: String(repeating: "x", count: most / 2 - 1))), from: laptop)
        #expect(bench.core.waitingBytes(of: CoreBench.node(1)) == most - 1)
        let events = bench.storedEvents.count
        _ = bench.takeReceipts()
        bench.send(text("xx"), from: laptop)
        #expect(bench.takeReceipts().map(\.code) == [.busy])
        #expect(bench.storedEvents.count == events)
        bench.send(text("x"), from: laptop)
        bench.send(large(most / 2), from: phone)
        #expect(bench.takeReceipts().map(\.code) == [nil, nil])
    }

    @Test("words in other sessions count; what begins at once does not")
    func elsewhere() throws {
        var bench = CoreBench()
        let client = bench.attach(isNew: true)
        let sender = try #require(bench.clients[client])
        func request(_ words: String, _ number: UInt64) -> SessionInput {
            let key = OperationKey(device: sender.by.node, id: OperationID(ULID(high: 9, low: number)))
            return .request(
                ClientRequest(
                    text(words), client: client, link: .native, by: sender.by, operation: key,
                    wordBytesElsewhere: SessionCore.maxWaitingBytes - 1))
        }
        bench.handle(request("begins", 1))
        bench.handle(request("x", 2))
        bench.handle(request("y", 3))
        #expect(bench.takeReceipts().map(\.code) == [nil, nil, nil, .busy])
        #expect(bench.startedTurns.map(\.text) == ["begins"])
    }

    @Test(
        "prompts that are taken back again and again behind a call that runs are forgotten, and the call is closed first"
    )
    func takenBack() throws {
        var (bench, laptop, _) = waiting()
        let call = Part(
            id: PartID(ULID(high: 4, low: 2)), messageID: MessageID(ULID(high: 4, low: 1)),
            session: ULID(high: 0, low: 0),
            content: .toolCall(
                .init(
                    toolName: "bash", callID: "c1",
                    state: ToolState(input: [:], phase: .running(output: "x"), time: .init(start: bench.wall)))))
        bench.emit(.provider(.partStart(call)))
        for _ in 0..<12 {
            bench.send(large(SessionCore.maxPromptBytes), from: laptop)
            bench.send(.cancel(.init(turnID: bench.takeReceipts().last?.turnID)), from: laptop)
            #expect(bench.core.transcript.keptBytes <= Transcript.heldBytes + 3 << 20)
        }
        let messages = stored(bench)
        let state = messages.first { $0.role == .assistant }?.parts.first?.content.toolCall?.state.phase
        #expect(state == .error(SessionCore.forgottenNote + "\nx"))
        #expect(messages.count == 15)
    }
}
