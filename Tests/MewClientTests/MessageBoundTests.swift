import MewBase
import MewSession
import MewWire
import Testing

@testable import MewClient

@Suite("How many messages a client keeps of a session")
struct MessageBoundTests {
    private static let id = SessionID("sess_1")!  // a literal that is one
    private static let megabyte = String(repeating: "x", count: 1 << 20)

    /// A live session, and the number of its next event.
    private struct Watched {
        var session = AttachedSession(id: MessageBoundTests.id)
        var next: UInt64 = 1

        init() {
            for frame in [Frames.ready(.snapshot), Frames.page(asOf: 0, cursor: 7), Frames.caughtUp(0)] { take(frame) }
        }

        mutating func take(_ frame: DaemonFrame) {
            _ = session.receive(frame, isNative: true, now: WallTime(milliseconds: 1))
        }

        mutating func take(_ message: DaemonMessage) {
            take(DaemonFrame(message, sequence: SequenceNumber(next)))
            next += 1
        }

        mutating func prompts(_ count: Int) {
            for _ in 0..<count { take(Frames.prompt(next, MessageBoundTests.megabyte)); next += 1 }
        }

        var messages: [Message] { session.transcript.messages }
        var texts: Int { messages.flatMap(\.parts).reduce(0) { $0 + ($1.content.text?.text.utf8.count ?? 0) } }
    }

    private static let part = PartID(ULID(high: 8, low: 2))
    private static let answer = MessageID(ULID(high: 8, low: 1))

    private func part(_ content: Part.Content) -> Part {
        Part(id: Self.part, messageID: Self.answer, session: ULID(high: 0, low: 0), content: content)
    }

    @Test("messages of 32 MiB in all are kept, the newest of them, and with the oldest the way to older pages goes")
    func bytes() {
        var watched = Watched()
        watched.prompts(31)
        #expect(watched.messages.count == 31)
        #expect(watched.session.historyCursor == 7)
        watched.prompts(1)
        #expect(watched.texts <= SessionPicture.maxBytes / 8 * 7)
        #expect(watched.session.historyCursor == nil)
        watched.prompts(200)
        #expect(watched.texts <= SessionPicture.maxBytes)
        #expect(watched.texts > SessionPicture.maxBytes / 2)
        #expect(watched.messages.last?.id == MessageID(ULID(high: 2, low: watched.next - 1)))
    }

    @Test("what streamed text adds counts, too")
    func streamed() {
        var watched = Watched()
        for number: UInt64 in 0..<50 {
            let (id, message) = (PartID(ULID(high: 8, low: number * 2 + 1)), MessageID(ULID(high: 8, low: number * 2)))
            let empty = Part(
                id: id, messageID: message, session: ULID(high: 0, low: 0), content: .text(.init(text: "")))
            watched.take(.provider(.init(event: .partStart(empty))))
            for _ in 0..<16 {
                let delta = ProviderEvent.PartDelta(
                    partID: id, field: "text", delta: String(repeating: "y", count: 64 << 10))
                watched.take(.provider(.init(event: .partDelta(delta))))
            }
            watched.take(.provider(.init(event: .partEnd(id))))
        }
        #expect(watched.texts <= SessionPicture.maxBytes)
        #expect(watched.texts > SessionPicture.maxBytes / 2)
    }

    @Test("a message that is still written stays, however much comes after it, until its turn is over")
    func unfinished() {
        var watched = Watched()
        watched.take(Frames.activity(.running))
        watched.take(.provider(.init(event: .partStart(part(.text(.init(text: "begun")))))))
        watched.prompts(50)
        #expect(watched.messages.count == 51)
        watched.take(
            .provider(.init(event: .partDelta(.init(partID: Self.part, field: "text", delta: " and ended")))))
        #expect(watched.messages.first?.parts.first?.content.text?.text == "begun and ended")
        watched.take(.provider(.init(event: .partEnd(Self.part))))
        #expect(watched.messages.first?.id == Self.answer, "its next part may come")
        watched.take(Frames.activity(.idle))
        #expect(watched.texts <= SessionPicture.maxBytes)
    }

    @Test("so does one whose call runs, behind which the agent has answered on")
    func openCall() {
        var watched = Watched()
        watched.take(Frames.activity(.running))
        let state = ToolState(
            input: .object([:]), phase: .running(output: ""), time: ToolTime(start: WallTime(milliseconds: 1)))
        watched.take(
            .provider(.init(event: .partStart(part(.toolCall(.init(toolName: "bash", callID: "c", state: state)))))))
        let later = Part(
            id: PartID(ULID(high: 8, low: 9)), messageID: MessageID(ULID(high: 8, low: 8)),
            session: ULID(high: 0, low: 0), content: .text(.init(text: "meanwhile")))
        watched.take(.provider(.init(event: .partStart(later))))
        watched.prompts(50)
        #expect(watched.messages.count == 52)
        watched.take(.toolProgress(.init(callID: "c", chunk: "output")))
        #expect(watched.messages.first?.id == Self.answer)
    }
}
