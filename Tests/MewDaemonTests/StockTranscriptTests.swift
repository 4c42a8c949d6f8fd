import MewBase
import MewIdentity
import MewLoop
import MewSession
import MewTestSupport
import MewWire
import Testing

@testable import MewDaemon

/// The session of spec/mew-wire.md §6.2 between a stock phone and our daemon, message by message. The agent plays what the
/// stock one did, taken from the transcript itself.
///
/// Differences that are meant, each done here in one place:
/// - `session_history` to phones where the stock daemon sends a page (`expected`);
/// - a title after each `session_ready` (`receive`);
/// - identifiers, times and directories (`TranscriptForm`); `pong.version` happens to be equal;
/// - a line of the session list has more optional fields (`withoutExtras`);
/// - the cost of a stored message is that of its `message_end` (`withoutCost`): the stock daemon computes it elsewhere.
@Suite("Stock transcript", .timeLimit(.minutes(1)))
struct StockTranscriptTests {
    private static let frames = StockTranscript.frames

    @Test("the whole session of a stock phone")
    func replay() async throws {
        let scratch = ScratchDirectory()
        scratch.directory("app")
        try await SessionBench.with(TranscriptAgent(), in: scratch) { bench in
            let token = PairingToken(entropy: SystemEntropy())
            let window = try await bench.daemon.openWindow(
                .init(scope: .control, codeDigest: token.digest, expected: nil, canConfirm: false, seconds: 60))
            var run = Run(phone: try await bench.connect(Pairing.phone, .stock), cwd: scratch("app"), token: token)
            for frame in Self.frames {
                if frame.step == "reconnect", !run.hasReconnected { try await run.reconnect(bench) }
                switch frame.sender {
                case .client: try await run.send(frame.text)
                case .daemon: try await run.expect(frame.text, in: frame.step)
                }
            }
            await bench.daemon.closeWindow(window.number)
        }
    }

    // MARK: The phone

    private struct Run {
        var phone: TestChannel
        let cwd: String
        let token: PairingToken
        private(set) var hasReconnected = false
        private var expectedForm = TranscriptForm()
        private var actualForm = TranscriptForm()
        /// The identifiers of this run that the phone has to use.
        private var session: SessionID?
        private var request: RequestID?
        private var lastKind: DaemonMessage.Kind?

        init(phone: TestChannel, cwd: String, token: PairingToken) {
            (self.phone, self.cwd, self.token) = (phone, cwd, token)
        }

        mutating func send(_ text: String) async throws {
            guard case .decoded(let frame) = ClientFrame.decode(Array(text.utf8), from: .stock) else {
                return fail("not a client's message: \(text)")
            }
            try await phone.send(try adapted(frame.message))
        }

        /// The same message with the token, the directory and the identifiers of this run.
        private func adapted(_ message: ClientMessage) throws -> ClientMessage {
            switch message {
            case .remoteHello(var hello):
                if hello.token != nil { hello.token = token.revealed }
                return .remoteHello(hello)
            case .newSession(var new):
                new.cwd = cwd
                return .newSession(new)
            case .attachSession(var attach):
                attach.sessionID = try #require(session)
                return .attachSession(attach)
            case .answer(var answer):
                answer.requestID = try #require(request)
                return .answer(answer)
            default: return message
            }
        }

        mutating func expect(_ text: String, in step: String) async throws {
            let expected = expectedForm.normalize(try Self.expected(text), key: "")
            guard let json = try await receive() else { return fail("\(step): the channel ended before \(text)") }
            let actual = actualForm.normalize(json, key: "")
            guard Self.withoutCost(Self.withoutExtras(actual)) != Self.withoutCost(expected) else { return }
            fail("\(step): wanted \(expected.text), got \(actual.text)")
        }

        /// The next message, without the title that a phone is sent after `session_ready`.
        private mutating func receive() async throws -> JSON? {
            while let bytes = try await phone.channel.receive() {
                guard case .decoded(let frame) = DaemonFrame.decode(bytes, from: .stock) else {
                    fail("not a daemon's message: \(String(decoding: bytes, as: UTF8.self))")
                    return nil
                }
                let former = lastKind
                lastKind = frame.message.kind
                note(frame.message)
                if former == .sessionReady, lastKind == .sessionTitleChanged { continue }
                return try JSON(parsing: bytes)
            }
            return nil
        }

        private mutating func note(_ message: DaemonMessage) {
            switch message {
            case .sessionReady(let ready): session = ready.sessionID
            case .request(let asked): request = asked.id
            default: break
            }
        }

        /// What the transcript does not show: the prompt "Push it", the phone that falls silent while the agent asks, and
        /// the new connection.
        mutating func reconnect(_ bench: SessionBench) async throws {
            hasReconnected = true
            try await phone.send(.prompt(.init(text: "Push it")))
            while let message = try await phone.message() {
                if case .sessionAttentionChanged(let change) = message, change.pendingPermissions == 1 { break }
            }
            await phone.link.close(code: .done, reason: "")
            phone = try await bench.connect(Pairing.phone, .stock)
            lastKind = nil
        }

        private static func expected(_ text: String) throws -> JSON {
            let json = try JSON(parsing: text)
            guard json["type"] == "session_history_page" else { return json }
            return ["type": "session_history", "messages": json["messages"] ?? .null]
        }

        private static func withoutExtras(_ json: JSON) -> JSON {
            guard json["type"] == "session_list", let lines = json["sessions"]?.asArray else { return json }
            return [
                "type": "session_list",
                "sessions": .array(
                    lines.map { line in
                        var object = line.asObject ?? [:]
                        for key in ["workspace_path", "usage", "context_tokens"] { object[key] = nil }
                        return .object(object)
                    }),
            ]
        }

        private static func withoutCost(_ json: JSON) -> JSON {
            switch json {
            case .array(let elements): .array(elements.map(withoutCost))
            case .object(let object):
                .object(
                    JSONObject(
                        object.entries.map {
                            let isStored = $0.key == "assistant"
                            guard isStored, var meta = $0.value.asObject else { return ($0.key, withoutCost($0.value)) }
                            meta["cost"] = nil
                            return ($0.key, .object(meta))
                        }))
            default: json
            }
        }
    }
}
