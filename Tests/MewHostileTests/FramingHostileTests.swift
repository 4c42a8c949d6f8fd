import MewBase
import MewIdentity
import MewTestSupport
import MewWire
import Testing

/// Framings and the upgrade under damaged bytes. Beside not crashing, each must give the same whatever the cuts, and no more
/// bytes than came in.
@Suite("Hostile bytes: framings")
struct FramingHostileTests {
    /// What a framing made of an input: its messages, and how it ended.
    struct Outcome: Equatable {
        var messages: [[UInt8]] = []
        var end = "between messages"
    }

    static func feed(_ framing: inout some MessageFraming, _ pieces: [[UInt8]]) -> Outcome {
        var outcome = Outcome()
        do {
            for piece in pieces {
                framing.receive(piece)
                reading: while true {
                    switch try framing.next() {
                    case .needMore: break reading
                    case .message(let message): outcome.messages.append(message)
                    case .ended:
                        outcome.end = "closed"
                        return outcome
                    }
                }
            }
            try framing.receiveEnd()
        } catch {
            switch error {
            case .tooLarge: outcome.end = "too large"
            case .protocolViolation(let text):
                outcome.end = text.hasPrefix("the stream ended") ? "truncated" : "violation"
            case .reset, .linkClosed, .finished, .cancelled: outcome.end = "unexpected \(error)"
            }
        }
        return outcome
    }

    static func check<Framing: MessageFraming>(
        _ input: [UInt8], _ random: inout SplitMix64, make: () -> Framing
    ) -> String {
        var (whole, cut) = (make(), make())
        let outcome = feed(&whole, [input])
        HostileRun.require(
            feed(&cut, Mutations.pieces(input, &random)) == outcome, "other cuts, other messages: \(input)")
        HostileRun.require(outcome.messages.joined().count <= input.count, "more out than in: \(input)")
        HostileRun.require(whole.takeReplies().count <= 3 * input.count + 16, "too much to answer: \(input)")
        return outcome.messages.isEmpty ? outcome.end : "messages, then " + outcome.end
    }

    static let ends = ["between messages", "truncated", "violation", "too large", "closed"]

    @Test("native frames")
    func native() async {
        HostileRun.show(
            await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
                try FramingHostileTests.runNative()
            })
    }

    static func runNative() throws {
        var encoder = NativeFraming()
        let messages = [[0x7b, 0x7d], [UInt8](repeating: 0x61, count: 300), [0x5b]] as [[UInt8]]
        let frames = try messages.map { try encoder.encode($0) }
        try HostileRun(name: "native frames").run(
            corpus: [frames.flatMap { $0 }, frames[0] + frames[2], frames[1]], seed: 1,
            stages: ["between messages", "truncated", "violation", "too large"].flatMap {
                [$0, "messages, then " + $0]
            }
        ) { random, input in
            Self.check(input, &random) { NativeFraming(maxMessageBytes: 400) }
        }
    }

    @Test("WebSocket frames from a client")
    func webSocketServer() async {
        HostileRun.show(
            await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
                try FramingHostileTests.runWebSocket(.server)
            }
        )
    }

    @Test("WebSocket frames from a server")
    func webSocketClient() async {
        HostileRun.show(
            await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
                try FramingHostileTests.runWebSocket(.client)
            }
        )
    }

    static func runWebSocket(_ role: WebSocketFraming.Role) throws {
        let peer: WebSocketFraming.Role = role == .server ? .client : .server
        try HostileRun(name: "WebSocket frames to a \(role)").run(
            corpus: try Self.webSocketCorpus(from: peer), seed: 2,
            stages: Self.ends.flatMap { [$0, "messages, then " + $0] }
        ) { random, input in
            Self.check(input, &random) {
                WebSocketFraming(role: role, maxMessageBytes: 400, entropy: SystemEntropy())
            }
        }
    }

    /// Messages of each length form, fragments, pings, pongs and closes, as `peer` would write them.
    static func webSocketCorpus(from peer: WebSocketFraming.Role) throws -> [[UInt8]] {
        func frame(_ first: UInt8, _ payload: [UInt8]) -> [UInt8] {
            let isMasked = peer == .client
            let length: [UInt8] =
                payload.count < 126
                ? [UInt8(payload.count)] : [126, UInt8(payload.count >> 8), UInt8(payload.count & 255)]
            let mask: [UInt8] = isMasked ? [9, 8, 7, 6] : []
            let body = isMasked ? payload.enumerated().map { $1 ^ mask[$0 % 4] } : payload
            return [first, length[0] | (isMasked ? 0x80 : 0)] + length.dropFirst() + mask + body
        }
        let text = Array("{\"type\":\"ping\",\"t\":\"é\"}".utf8)
        let long = [UInt8](repeating: 0x61, count: 300)
        let fragments = frame(0x01, [0x61]) + frame(0x89, [1, 2]) + frame(0x00, [0x62]) + frame(0x80, [0x63])
        let close = frame(0x88, [0x03, 0xe8] + Array("bye".utf8))
        return [
            frame(0x81, text), frame(0x82, [0xff, 0]) + frame(0x81, long), fragments + frame(0x81, text),
            frame(0x89, Array("ping".utf8)) + frame(0x8a, []) + frame(0x81, text), frame(0x81, text) + close, close,
        ]
    }

    @Test("the upgrade request")
    func upgradeRequest() async {
        HostileRun.show(
            await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
                try FramingHostileTests.runUpgradeRequest()
            })
    }

    static func runUpgradeRequest() throws {
        let request = WebSocketUpgradeClient(entropy: SystemEntropy()).request
        let corpus = [request, request + [0x81, 0x80, 1, 2, 3, 4], Array("GET /x HTTP/1.1\nA: b\n\n".utf8)]
        try HostileRun(name: "upgrade requests").run(
            corpus: corpus, seed: 3, stages: ["needs more", "accepted", "refused"]
        ) { random, input in
            let whole = WebSocketUpgradeServer.step(input)
            let cut = Self.incremental(input, &random, WebSocketUpgradeServer.step, isDone: { $0 != .needMore })
            HostileRun.require(cut == nil || cut == whole, "other cuts, other answer: \(input)")
            switch whole {
            case .needMore: return "needs more"
            case .refused: return "refused"
            case .accepted(_, let consumed):
                HostileRun.require(consumed <= input.count, "consumed more than there was: \(input)")
                return "accepted"
            }
        }
    }

    @Test("the answer to an upgrade")
    func upgradeAnswer() async {
        HostileRun.show(
            await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
                try FramingHostileTests.runUpgradeAnswer()
            })
    }

    static func runUpgradeAnswer() throws {
        let client = WebSocketUpgradeClient(entropy: SystemEntropy())
        guard case .accepted(let answer, _) = WebSocketUpgradeServer.step(client.request),
            case .refused(let refusal, _) = WebSocketUpgradeServer.step(Array("POST / HTTP/1.1\r\n\r\n".utf8))
        else {
            Issue.record("no answers to begin with")
            return
        }
        try HostileRun(name: "upgrade answers").run(
            corpus: [answer, answer + [0x81, 0], refusal], seed: 4, stages: ["needs more", "accepted", "refused"]
        ) { random, input in
            let whole = client.step(input)
            let cut = Self.incremental(input, &random, client.step, isDone: { $0 != .needMore })
            HostileRun.require(cut == nil || cut == whole, "other cuts, other answer: \(input)")
            switch whole {
            case .needMore: return "needs more"
            case .refused: return "refused"
            case .accepted: return "accepted"
            }
        }
    }

    /// What a reader that gets the bytes piece by piece decides. Nil for the inputs left out: parsing all bytes again for
    /// each piece takes most of the time, so one input in ten has to do.
    static func incremental<Step>(
        _ input: [UInt8], _ random: inout SplitMix64, _ step: ([UInt8]) -> Step, isDone: (Step) -> Bool
    ) -> Step? {
        guard Int.random(in: 0..<10, using: &random) == 0 else { return nil }
        var received: [UInt8] = []
        for piece in Mutations.pieces(input, &random) {
            received += piece
            let result = step(received)
            if isDone(result) { return result }
        }
        return step(received)
    }
}
