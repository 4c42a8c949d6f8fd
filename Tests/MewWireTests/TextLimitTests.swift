import MewBase
import MewIdentity
import MewTestSupport
import MewWire
import Testing

/// One device must not be able to make what the daemon keeps, lists or quotes so large that it fits no frame.
@Suite("Texts of clients have bounds")
struct TextLimitTests {
    struct Field: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let maxBytes: Int
        let message: @Sendable (String) -> ClientMessage
    }

    private static let session = SessionID(ULID(high: 3, low: 4))
    private static let request = RequestID(ULID(high: 5, low: 6))

    static let fields: [Field] = [
        Field(testDescription: "title", maxBytes: TextLimits.nameBytes) {
            .renameSession(.init(sessionID: session, title: $0))
        },
        Field(testDescription: "name", maxBytes: TextLimits.nameBytes) { .createGroup(.init(name: $0)) },
        Field(testDescription: "color", maxBytes: TextLimits.nameBytes) { .createGroup(.init(name: "g", color: $0)) },
        Field(testDescription: "name", maxBytes: TextLimits.nameBytes) { .updateGroup(.init(groupID: "g", name: $0)) },
        Field(testDescription: "color", maxBytes: TextLimits.nameBytes) {
            .updateGroup(.init(groupID: "g", color: $0))
        },
        Field(testDescription: "group_id", maxBytes: 128) { .deleteGroup(.init(groupID: GroupID($0))) },
        Field(testDescription: "path", maxBytes: TextLimits.pathBytes) { .pinProject(.init(path: $0, pinned: true)) },
        Field(testDescription: "provider", maxBytes: TextLimits.nameBytes) {
            .switchModel(.init(provider: $0, model: "m"))
        },
        Field(testDescription: "model", maxBytes: TextLimits.nameBytes) {
            .switchModel(.init(provider: "p", model: $0))
        },
        Field(testDescription: "variant", maxBytes: TextLimits.nameBytes) { .setThinkingVariant(.init(variant: $0)) },
        Field(testDescription: "mode", maxBytes: TextLimits.nameBytes) { .setPermissionMode(.init(mode: $0)) },
        Field(testDescription: "name", maxBytes: TextLimits.nameBytes) { .switchPersona(.init(name: $0)) },
        Field(testDescription: "target", maxBytes: TextLimits.nameBytes) {
            .lease(.init(kind: .input, target: $0, act: .release))
        },
        Field(testDescription: "cwd", maxBytes: TextLimits.pathBytes) { .newSession(.init(cwd: $0)) },
        Field(testDescription: "agent", maxBytes: TextLimits.nameBytes) { .newSession(.init(agent: $0)) },
        Field(testDescription: "cwd", maxBytes: TextLimits.pathBytes) {
            .newSessionInGroup(.init(cwd: $0, groupID: "g"))
        },
        Field(testDescription: "agent", maxBytes: TextLimits.nameBytes) {
            .newSessionInGroup(.init(groupID: "g", agent: $0))
        },
        Field(testDescription: "command", maxBytes: TextLimits.wordsBytes) { .slashCommand(.init(command: $0)) },
        Field(testDescription: "attachments[0].path", maxBytes: TextLimits.pathBytes) {
            .prompt(.init(text: "x", attachments: [Attachment(path: $0)]))
        },
        Field(testDescription: "attachments[0].mime", maxBytes: TextLimits.nameBytes) {
            .prompt(.init(text: "x", attachments: [Attachment(path: "p", mime: $0)]))
        },
        Field(testDescription: "answers", maxBytes: TextLimits.wordsBytes) {
            .answer(Answer(requestID: request, content: .questions([$0])))
        },
        Field(testDescription: "feedback", maxBytes: TextLimits.wordsBytes) {
            .answer(Answer(requestID: request, content: .plan(approved: false, feedback: $0)))
        },
    ]

    private func fail() {
        Issue.record("a text beyond its bound was taken")
    }

    private func decode(_ message: ClientMessage) throws -> Decoded<ClientFrame, ClientFrame.Envelope> {
        ClientFrame.decode(try #require(ClientFrame(message).encoded(for: .native)), from: .native)
    }

    @Test("each is taken up to its last byte, and one byte more is refused by the name of the field", arguments: fields)
    func bound(_ field: Field) throws {
        let longest = field.message(String(repeating: "x", count: field.maxBytes))
        #expect(try decode(longest) == .decoded(ClientFrame(longest)))
        guard
            case .invalid(let sentence, _) = try decode(
                field.message(String(repeating: "x", count: field.maxBytes + 1)))
        else { return fail() }
        #expect(sentence.hasPrefix("\(field.testDescription) must have at most \(field.maxBytes) bytes"))
    }

    @Test(
        "bytes count and not characters: one letter under a megabyte of accents is no name",
        arguments: fields.filter { $0.maxBytes < 8_192 })
    func combiningMarks(_ field: Field) throws {
        guard case .invalid = try decode(field.message("a" + String(repeating: "\u{301}", count: 500_000))) else {
            return fail()
        }
    }

    @Test("64 attachments and answers are taken, the 65th is refused")
    func lists() throws {
        func prompt(_ count: Int) -> ClientMessage {
            .prompt(.init(text: "x", attachments: (0..<count).map { Attachment(path: "\($0)") }))
        }
        func answer(_ count: Int) -> ClientMessage {
            .answer(Answer(requestID: Self.request, content: .questions((0..<count).map { "\($0)" })))
        }
        for message in [prompt(64), answer(64)] { #expect(try decode(message) == .decoded(ClientFrame(message))) }
        for (message, key) in [(prompt(65), "attachments"), (answer(65), "answers")] {
            guard case .invalid(let sentence, _) = try decode(message) else { return fail() }
            #expect(sentence == "\(key) must have at most 64 entries")
        }
    }

    @Test("what a prompt may bring, its event may show: 64 files, not 65")
    func eventOfPrompt() throws {
        for (count, isTaken) in [(64, true), (65, false)] {
            let files = (0..<count).map { Attachment(path: "/\($0)") }
            let message = DaemonMessage.userMessage(.init(text: "x", attachments: files))
            let bytes = try #require(DaemonFrame(message).encoded(for: .native))
            let decoded = DaemonFrame.decode(bytes, from: .native)
            #expect((decoded == .decoded(DaemonFrame(message))) == isTaken)
        }
    }
}
