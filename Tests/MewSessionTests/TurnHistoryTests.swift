import MewBase
import MewTestSupport
import MewWire
import Testing

@testable import MewSession

@Suite("the history tells what the events told")
struct TurnHistoryTests {
    private let part = Part(
        id: PartID(ULID(high: 4, low: 3)), messageID: MessageID(ULID(high: 4, low: 1)), session: ULID(high: 0, low: 0),
        content: .text(.init(text: "half a sen")))

    private func running() -> (CoreBench, ClientID) {
        var bench = CoreBench()
        let client = bench.attach(isNew: true)
        bench.send(.prompt(.init(text: "run")), from: client)
        return (bench, client)
    }

    private func history(_ bench: CoreBench) -> [Message] {
        (bench.world.sessions[CoreBench.session]?.messages ?? []).compactMap { Transcript.decode($0.body) }
    }

    private func texts(_ messages: [Message]) -> [[String?]] { messages.map { $0.parts.map(\.content.text?.text) } }

    @Test("a turn that ends without a word of the agent says why in the history, also to a phone")
    func reasons() throws {
        let ends: [(String, (inout CoreBench) -> Void)] = [
            (SessionCore.crashNote, { $0.crash() }), (SessionCore.stopNote, { $0.handle(.shutDown) }),
            ("aborted", { $0.endTurn(.cancelled) }), ("no model", { $0.endTurn(.failed("no model")) }),
        ]
        for (note, end) in ends {
            var (bench, _) = running()
            end(&bench)
            let messages = history(bench)
            #expect(texts(messages) == [["run"], [note]])
            #expect(messages.last?.role == .assistant && messages.last?.parts[0].content.text?.isSynthetic == true)
            #expect(messages[0].parts[0].id != messages[1].parts[0].id)
            let phone = bench.attach(.stock, kind: .mobile, device: 2)
            var shown = TranscriptReducer(session: ULID(high: 0, low: 0))
            for frame in bench.takeFrames(phone) { shown.apply(frame.message, at: bench.wall) }
            #expect(texts(shown.messages) == [["run"], [note]])
        }
    }

    @Test("a turn that is completed or has an answer gets no word more; one without a word after it does")
    func noReason() {
        var (bench, client) = running()
        bench.endTurn()
        #expect(history(bench).count == 1)
        bench.send(.prompt(.init(text: "again")), from: client)
        bench.emit(.provider(.partStart(part)))
        bench.endTurn(.cancelled)
        bench.send(.prompt(.init(text: "third")), from: client)
        bench.endTurn(.cancelled)
        #expect(texts(history(bench)) == [["run"], ["again"], ["half a sen"], ["third"], ["aborted"]])
    }

    @Test("what waits behind /clear stays in the history, in its order, with its files and guidance")
    func clear() throws {
        var bench = CoreBench()
        let client = bench.attach(isNew: true)
        bench.send(.prompt(.init(text: "old")), from: client)
        bench.endTurn()
        bench.send(.slashCommand(.init(command: "/clear")), from: client)
        let files = [Attachment(path: "/a/shot.png", mime: "image/png")]
        let operation = bench.send(.prompt(.init(text: "one", attachments: files)), from: client)
        bench.send(.guide(.init(text: "be brief")), from: client)
        bench.send(.prompt(.init(text: "two")), from: client)
        _ = bench.takeFrames(client)
        bench.handle(.commandEnded(isDone: true))
        #expect(texts(history(bench)) == [["one", nil], ["be brief"], ["two"]])
        let told = bench.takeFrames(client).map(\.message)
        let index = try #require(told.firstIndex { $0.kind == .sessionCleared })
        guard case .userMessage(let first) = told[index + 1] else {
            Issue.record("the prompt is not told again")
            return
        }
        #expect(first.operation == operation && first.turnID == bench.startedTurns.last?.turn)
        #expect(first.by?.name == "laptop" && first.attachments == files)
        bench.crash()
        #expect(texts(history(bench)).contains(["be brief"]))
        #expect(bench.startedTurns.map(\.text) == ["old", "one", "two"])
    }

    @Test("who asks with the cursor of another list gets the newest page and the part that is streaming, and goes on")
    func staleCursor() throws {
        var (bench, client) = running()
        bench.emit(.provider(.partStart(part)))
        _ = bench.takeFrames(client)
        let other = HistoryID(ULID(high: 9, low: 9))
        bench.send(
            .loadSessionHistory(.init(sessionID: CoreBench.session, before: 2, historyID: other)), from: client,
            ref: "a")
        bench.emit(.provider(.partDelta(.init(partID: part.id, delta: "tence"))))
        let frames = bench.takeFrames(client)
        #expect(frames.map(\.message.kind) == [.sessionHistoryPage, .provider, .provider])
        #expect(frames.map(\.ref) == ["a", nil, nil])
        var shown = TranscriptReducer(session: ULID(high: 0, low: 0))
        for frame in frames { shown.apply(frame.message, at: bench.wall) }
        #expect(texts(shown.messages) == [["run"], ["half a sentence"]])
    }

    @Test("in a snapshot only caught_up says that the client has the stream; a replay begins at what it has")
    func takenUpTo() {
        var (bench, _) = running()
        bench.emit(.provider(.partStart(part)))
        let epoch = bench.core.record.epoch
        for (after, start) in [(nil, .zero), (SequenceNumber(2), SequenceNumber(2))]
            as [(SequenceNumber?, SequenceNumber)]
        {
            var core = bench.core
            let client = AttachedClient(
                id: ClientID(9), link: .native, by: By(node: CoreBench.node(1), name: "n", clientKind: .cli))
            let step = core.handle(.attach(client, after: after, epoch: epoch, isNew: false), at: bench.moment)
            var known: [DaemonMessage.Kind] = []
            for effect in step.effects {
                if case .send(let message, .client) = effect, message.upTo != nil { known.append(message.message.kind) }
                if case .admit(_, let admitted) = effect { #expect(admitted == start) }
            }
            #expect(known == [.caughtUp])
        }
    }

    @Test("a gap before the client had anything whole is closed with a snapshot, not with events on top of half of one")
    func gapInASnapshot() {
        var (bench, client) = running()
        bench.emit(.provider(.partStart(part)))
        _ = bench.takeFrames(client)
        bench.handle(.resume(client, after: .zero))
        let kinds = bench.take(client)
        #expect(kinds.first == .sessionReady && kinds.contains(.sessionHistoryPage) && kinds.contains(.provider))
        bench.handle(.resume(client, after: .first))
        #expect(!bench.take(client).contains(.sessionHistoryPage))
    }
}
