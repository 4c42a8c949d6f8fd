import MewBase
import MewSession
import MewSim
import MewTestSupport
import MewWire
import Testing

@testable import MewDaemon

// The session part of spec/mew-wire.md §6.2, frame by frame, with a scripted agent that says what the transcript's agent says.
// Declared differences: history in its older form to phones, a title after every `session_ready`, generated IDs and times, `cwd`.

@Suite("the transcript of a stock phone")
struct PhoneTranscriptTests {
    private typealias Frame = StockTranscript.Frame

    @Test("message by message, with the declared differences")
    func replay() throws {
        let agent = ScriptedAgent(
            try Script.turns(), models: [], defaultModel: ModelName(provider: "anthropic", model: "sonnet-x"),
            defaultThinkingVariant: "high",
            personas: [
                AgentPersona(name: "builder", description: "Writes code"),
                AgentPersona(name: "planner", description: "Plans only"),
            ])
        try SessionsBench.with("transcript", agent: agent) { bench in
            var replay = Replay(bench: bench, phone: try bench.client(.stock, kind: .mobile, name: "mew mobile"))
            for (index, frame) in StockTranscript.frames.enumerated() { try replay.play(frame, index) }
            try replay.compare("the end")
        }
    }

    /// Plays the client's side and compares what came before each of its frames.
    private struct Replay {
        let bench: SessionsBench
        var phone: BenchClient
        var session: SessionID?
        var request: RequestID?
        var expected: [String] = []

        mutating func play(_ frame: Frame, _ index: Int) throws {
            switch frame.sender {
            case .daemon:
                if !Self.isConnections(frame.text) { expected += Self.declared(frame.text) }
            case .client:
                if Self.isConnections(frame.text) { return try reconnect(frame.step) }
                try compare(frame.step)
                try send(frame.text)
            }
        }

        /// The connection's own frames are not the sessions'.
        static func isConnections(_ text: String) -> Bool {
            ["remote_hello", "remote_ready", #""ping""#, #""pong""#].contains { text.contains($0) }
        }

        /// "[the phone sends the prompt "Push it" and is suspended; its connection dies; …]"
        private mutating func reconnect(_ step: String) throws {
            guard step == "reconnect", !phone.isOver else { return }
            try compare(step)
            try phone.send(.prompt(.init(text: "Push it")))
            try phone.leave()
            phone = try bench.client(.stock, kind: .mobile, name: "mew mobile")
        }

        private mutating func send(_ text: String) throws {
            guard case .decoded(let frame) = ClientFrame.decode(Array(text.utf8), from: .stock) else {
                throw Script.Unreadable(text: text)
            }
            switch frame.message {
            case .newSession: try phone.send(.newSession(.init(cwd: "/tmp", clientKind: .mobile)))
            case .attachSession:
                try phone.send(.attachSession(.init(sessionID: try #require(session), clientKind: .mobile)))
            case .answer(var answer):
                answer.requestID = try #require(request)
                try phone.send(.answer(answer))
            default: try phone.send(frame.message)
            }
        }

        mutating func compare(_ step: String) throws {
            let texts = phone.takeTexts()
            for text in texts {
                guard case .decoded(let frame) = DaemonFrame.decode(Array(text.utf8), from: .stock) else { continue }
                if case .sessionReady(let ready) = frame.message { session = ready.sessionID }
                if case .request(let asked) = frame.message { request = asked.id }
            }
            var (ours, theirs) = (Normalizer(), Normalizer())
            let got = try texts.map { try ours.normalize($0) }
            let wanted = try expected.map { try theirs.normalize($0) }
            #expect(got.count == wanted.count, "\(step): \(texts)")
            for (got, wanted) in zip(got, wanted) { #expect(got == wanted, "\(step)") }
            expected = []
        }

        /// What we send in place of a frame of the transcript.
        static func declared(_ text: String) -> [String] {
            if text.contains(#""type":"session_ready""#) {
                return [text, #"{"type":"session_title_changed","session_id":"sess_x","title":"*"}"#]
            }
            guard text.contains(#""type":"session_history_page""#), let json = try? JSON(parsing: text),
                let messages = json["messages"]
            else { return [text] }
            let older: JSON = ["type": "session_history", "messages": messages]
            return [String(decoding: older.encoded(), as: UTF8.self)]
        }
    }
}

/// What the transcript's agent does, read from the daemon's frames.
private enum Script {
    struct Unreadable: Error { let text: String }

    static func turns() throws -> [[ScriptedAgent.Step]] {
        let events = try StockTranscript.frames.filter { $0.sender == .daemon && $0.step != "reconnect" }
            .compactMap { try step(for: $0.text) }
        return [try withResults(events), try push()]
    }

    private static func step(for text: String) throws -> ScriptedAgent.Step? {
        guard case .decoded(let frame) = DaemonFrame.decode(Array(text.utf8), from: .stock) else {
            throw Unreadable(text: text)
        }
        switch frame.message {
        case .provider(let provider): return .emit(.provider(provider.event))
        case .partUpdated(let update): return .emit(.partUpdated(update.part))
        case .toolStart(let tool): return .emit(.toolStarted(tool.callID))
        case .toolProgress(let tool): return .emit(.toolProgress(tool.callID, chunk: tool.chunk))
        case .toolEnd(let tool): return .emit(.toolEnded(tool.callID, success: tool.succeeded))
        case .request(let request):
            return .permission(
                ToolPermission(
                    toolName: request.content.toolName ?? "", input: request.content.input ?? [:], call: "call_1",
                    sensitivity: .dangerous))
        default: return nil
        }
    }

    /// What stock daemons keep and do not tell: the true cost of an answer, and the message with the results.
    private static func withResults(_ steps: [ScriptedAgent.Step]) throws -> [ScriptedAgent.Step] {
        var costs = [0.0063, 0.0058]
        return steps.flatMap { step -> [ScriptedAgent.Step] in
            switch step {
            case .emit(.provider(.messageEnd)):
                return [step, .emit(.usage(SessionUsage(cost: costs.removeFirst()), contextTokens: nil))]
            case .emit(.toolEnded(let call, _)): return [step, .emit(.toolResults([call]))]
            default: return [step]
            }
        }
    }

    /// The turn of "Push it", of which the transcript shows the end.
    private static func push() throws -> [ScriptedAgent.Step] {
        let ending = StockTranscript.frames.filter { $0.step == "reconnect" && $0.sender == .daemon }
        let history = try JSON(parsing: try #require(ending.first { $0.text.contains("session_history_page") }).text)
        let part = try Part.decode(try #require(history["messages"]?.asArray?.last?["parts"]?.asArray?.first))
        let tool = try #require(part.content.toolCall)
        return [
            .emit(.provider(.partStart(part))), .emit(.toolStarted(tool.callID)),
            .permission(
                ToolPermission(
                    toolName: tool.toolName, input: tool.state.input, call: tool.callID, sensitivity: .dangerous),
                otherwise: try ending.suffix(2).compactMap { try step(for: $0.text) } + [.hang]),
        ]
    }
}

/// Takes out of a frame what differs from run to run: times go, identifiers become the order in which they came.
private struct Normalizer {
    private var names: [String: String] = [:]

    private static let times: Set<String> = [
        "created", "completed", "start", "end", "created_at", "last_message_at", "cwd",
    ]
    /// In our lists and not in the transcript's; optional everywhere.
    private static let additions: Set<String> = ["usage", "context_tokens", "workspace_path"]

    mutating func normalize(_ text: String) throws -> JSON {
        let json = try JSON(parsing: text)
        guard json["type"] == "session_title_changed" || json["type"] == "session_usage_changed" else {
            return normalize(json, drops: Self.additions)
        }
        return normalize(json, drops: json["type"] == "session_title_changed" ? ["title"] : [])
    }

    private mutating func normalize(_ json: JSON, drops: Set<String>) -> JSON {
        switch json {
        case .string(let text): return .string(name(text))
        case .array(let elements): return .array(elements.map { normalize($0, drops: drops) })
        case .object(let object):
            var result = JSONObject()
            for entry in object.entries where !drops.contains(entry.key) {
                switch entry.key {
                case "session_id": result[entry.key] = "session"  // the script's parts carry the transcript's
                case _ where Self.times.contains(entry.key): result[entry.key] = "*"
                default: result[entry.key] = normalize(entry.value, drops: drops)
                }
            }
            return .object(result)
        case .null, .bool, .integer, .number: return json
        }
    }

    private mutating func name(_ text: String) -> String {
        if text.hasPrefix("sess_") { return "session" }
        guard ULID(text) != nil else { return text }
        if let known = names[text] { return known }
        names[text] = "#\(names.count)"
        return names[text] ?? ""
    }
}
