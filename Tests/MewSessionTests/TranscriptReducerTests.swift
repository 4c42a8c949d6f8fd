import MewBase
import MewSession
import MewTestSupport
import MewWire
import Testing

@Suite("messages are assembled from events")
struct TranscriptReducerTests {
    private let session = ULID(high: 9, low: 9)
    private let at = WallTime(milliseconds: 1_000)

    private func message(_ number: UInt64) -> MessageID { MessageID(ULID(high: 1, low: number)) }
    private func part(_ number: UInt64) -> PartID { PartID(ULID(high: 2, low: number)) }

    private func text(_ number: UInt64, in message: UInt64, _ text: String = "") -> Part {
        Part(
            id: part(number), messageID: self.message(message), session: session,
            content: .text(Part.Text(text: text)))
    }

    private func call(_ number: UInt64, in message: UInt64, _ phase: ToolState.Phase) -> Part {
        Part(
            id: part(number), messageID: self.message(message), session: session,
            content: .toolCall(
                Part.ToolCall(
                    toolName: "bash", callID: CallID("c\(number)"),
                    state: ToolState(input: [:], phase: phase, time: ToolTime(start: at)))))
    }

    private func start(_ part: Part) -> DaemonMessage { .provider(.init(event: .partStart(part))) }
    private func delta(_ number: UInt64, _ text: String, field: String = "text") -> DaemonMessage {
        .provider(.init(event: .partDelta(.init(partID: part(number), field: field, delta: text))))
    }
    private func end(_ number: UInt64) -> DaemonMessage { .provider(.init(event: .partEnd(part(number)))) }
    private let messageEnd = DaemonMessage.provider(
        .init(event: .messageEnd(.init(finish: .stop, usage: Tokens(input: 5, output: 7)))))

    private func reduce(_ events: [DaemonMessage]) -> TranscriptReducer {
        var reducer = TranscriptReducer(session: session, model: ModelName(provider: "p", model: "m"))
        for (index, event) in events.enumerated() {
            reducer.apply(event, sequence: SequenceNumber(UInt64(index + 1)), at: at)
        }
        return reducer
    }

    private func texts(_ reducer: TranscriptReducer) -> [[String]] {
        reducer.messages.map { $0.parts.map { $0.content.text?.text ?? $0.content.toolCall?.toolName ?? "?" } }
    }

    @Test("a prompt and a streamed answer become two messages")
    func promptAndAnswer() {
        let reducer = reduce([
            .userMessage(.init(text: "hi", messageID: message(1))), start(text(1, in: 2, "Hel")), delta(1, "lo"),
            end(1), messageEnd,
        ])
        #expect(texts(reducer) == [["hi"], ["Hello"]])
        #expect(reducer.messages.map(\.role) == [.user, .assistant])
        #expect(reducer.messages[0].id == message(1))
        #expect(reducer.messages[1].assistant?.tokens.output == 7)
        #expect(reducer.messages[1].assistant?.providerID == "p")
        #expect(reducer.messages[1].time.completed == at)
        #expect(reducer.messages.map(\.sequence?.rawValue) == [1, 5])
        #expect(reducer.streamingPart == nil)
    }

    @Test("parts of one answer share a message; another message ID starts another")
    func messageBoundaries() {
        let reducer = reduce([
            start(text(1, in: 1)), end(1), start(call(2, in: 1, .pending)), start(text(3, in: 2)),
        ])
        #expect(reducer.messages.map(\.parts.count) == [2, 1])
        #expect(reducer.messages.map(\.id) == [message(1), message(2)])
    }

    @Test("deltas of a part that is not the streaming one are ignored, tool arguments among them")
    func strayDeltas() {
        let reducer = reduce([
            delta(1, "lost"), start(text(1, in: 1)), end(1), delta(1, "late"), start(call(2, in: 1, .pending)),
            delta(2, "{}", field: "arguments"),
        ])
        #expect(texts(reducer) == [["", "bash"]])
    }

    @Test("part_updated wins over deltas and finds its part in any message")
    func updatesWin() {
        let done = call(1, in: 1, .completed(.init(output: "done")))
        let reducer = reduce([
            start(call(1, in: 1, .pending)), start(text(2, in: 2)), .partUpdated(.init(partID: part(1), part: done)),
            .partUpdated(.init(partID: part(9), part: text(9, in: 9, "nowhere"))),
        ])
        #expect(reducer.messages[0].parts == [done])
        #expect(reducer.messages.count == 2)
    }

    @Test("progress is appended to the output of the running call of that name, and stops at its bound")
    func progress() {
        let limit = TranscriptReducer.maxRunningOutputBytes
        var reducer = reduce([
            start(call(1, in: 1, .running(output: "a"))), .toolProgress(.init(callID: "c1", chunk: "b")),
            .toolProgress(.init(callID: "other", chunk: "x")),
        ])
        #expect(reducer.messages[0].parts[0].content.toolCall?.state.phase.runningOutput == "ab")
        let chunk = String(repeating: "x", count: limit)
        for _ in 0..<3 { reducer.apply(.toolProgress(.init(callID: "c1", chunk: chunk)), at: at) }
        #expect(reducer.messages[0].parts[0].content.toolCall?.state.phase.runningOutput?.utf8.count == limit + 2)
    }

    @Test("a part that starts again under its ID replaces the open one and goes on streaming")
    func startAgain() {
        let reducer = reduce([
            start(text(1, in: 1)), delta(1, "abc"), start(text(1, in: 1, "abc")), delta(1, "d"),
        ])
        #expect(texts(reducer) == [["abcd"]])
    }

    @Test("an error of the model belongs to its answer, with a prompt behind it too, and not to a former one")
    func error() {
        let error = DaemonMessage.provider(
            .init(event: .error(ProviderError(kind: .providerOverload, message: "busy"))))
        let waiting = DaemonMessage.userMessage(.init(text: "waits", messageID: message(9)))
        for events in [[error], [waiting, error], [waiting, error, messageEnd], [messageEnd, error]] {
            let reducer = reduce([start(text(1, in: 1, "a"))] + events)
            #expect(reducer.messages[0].assistant?.error?.message == "busy")
        }
        let ended = reduce([start(text(1, in: 1, "a")), waiting, error, messageEnd])
        #expect(ended.messages[0].assistant?.tokens.output == 7)
        let former = reduce([start(text(1, in: 1, "a")), messageEnd, waiting, error])
        #expect(former.messages[0].assistant?.error == nil)
    }

    @Test("reasoning streams text, and its signature is replaced")
    func reasoning() {
        let thought = Part(
            id: part(1), messageID: message(1), session: session, content: .reasoning(.init(text: "")))
        let reducer = reduce([
            start(thought), delta(1, "hm"), delta(1, "one", field: "signature"), delta(1, "two", field: "signature"),
        ])
        #expect(reducer.messages[0].parts[0].content.reasoning == Part.Reasoning(text: "hm", signature: "two"))
    }

    @Test("a history page replaces, an older one goes before, one of another list does not fit")
    func pages() {
        var reducer = reduce([.userMessage(.init(text: "old", messageID: message(1)))])
        let newest = Message(
            id: message(5), session: session, role: .user, parts: [text(5, in: 5, "new")],
            time: MessageTime(created: at))
        let list = HistoryID(ULID(high: 3, low: 3))
        let id = SessionID(session)
        let page = DaemonMessage.SessionHistoryPage(
            sessionID: id, messages: [newest], nextCursor: 4, replaces: true, historyID: list)
        #expect(reducer.apply(.sessionHistoryPage(page), at: at) == .everything)
        #expect(texts(reducer) == [["new"]])
        #expect(reducer.nextCursor == 4)
        let older = Message(
            id: message(4), session: session, role: .user, parts: [text(4, in: 4, "older")],
            time: MessageTime(created: at))
        let stray = DaemonMessage.SessionHistoryPage(
            sessionID: id, messages: [older], replaces: false, historyID: HistoryID(ULID(high: 3, low: 4)))
        #expect(reducer.apply(.sessionHistoryPage(stray), at: at) == .nothing)
        let fitting = DaemonMessage.SessionHistoryPage(
            sessionID: id, messages: [older], replaces: false, historyID: list)
        #expect(reducer.apply(.sessionHistoryPage(fitting), at: at) == .prepended(count: 1))
        #expect(texts(reducer) == [["older"], ["new"]])
        #expect(reducer.nextCursor == nil)
        #expect(reducer.apply(.sessionCleared, at: at) == .everything)
        #expect(reducer.messages.isEmpty)
    }

    @Test("messages of daemons that give no IDs get local ones that never repeat")
    func nameless() {
        let reducer = reduce([
            .userMessage(.init(text: "a")), .slashResult(.init(text: "b")), .userMessage(.init(text: "c")),
        ])
        #expect(Set(reducer.messages.map(\.id)).count == 3)
        #expect(Set(reducer.messages.flatMap { $0.parts.map(\.id) }).count == 3)
        #expect(reducer.messages[1].parts[0].content.text?.isSynthetic == true)
    }

    @Test("files that came with a prompt are parts behind its text, named after the message", arguments: [true, false])
    func files(hasName: Bool) {
        let files = [Attachment(path: "/a/shot.png", mime: "image/png"), Attachment(path: "/etc/hosts")]
        let named = hasName ? MessageID(ULID(high: 5, low: .max - 1)) : nil
        let reducer = reduce([
            .userMessage(.init(text: "look", messageID: named, attachments: files)), .slashResult(.init(text: "b")),
        ])
        let message = reducer.messages[0]
        #expect(
            message.parts.dropFirst().map(\.content.file) == [
                Part.File(mime: "image/png", filename: "shot.png", url: "/a/shot.png"),
                Part.File(mime: "application/octet-stream", filename: "hosts", url: "/etc/hosts"),
            ])
        #expect(message.parts.map(\.id.ulid) == (1...3).map { message.id.ulid.advanced(by: $0) })
        let others = reducer.messages[1]
        #expect(Set(message.parts.map(\.id)).isDisjoint(with: others.parts.map(\.id) + [PartID(others.id.ulid)]))
    }
}
