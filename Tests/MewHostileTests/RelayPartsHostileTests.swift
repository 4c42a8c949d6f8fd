import MewBase
import MewIdentity
import MewTestSupport
import Testing

@testable import MewRelay
@testable import MewWire

/// The readers of the relay protocol one by one, where a run of whole connections would seldom come.
@Suite("Hostile bytes: parts of the relay protocol")
struct RelayPartsHostileTests {
    // MARK: - HTTP

    @Test("requests to a relay")
    func requests() async {
        HostileRun.show(
            await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
                try RelayPartsHostileTests.runRequests()
            })
    }

    static func runRequests() throws {
        try HostileRun(name: "requests to a relay").run(
            corpus: RelayPieces.requests + [RelayPieces.upgrade, RelayPieces.upgrade], seed: 21,
            stages: [
                "needs more", "malformed", "upgrade", "no upgrade", "body", "no body", "body to come", "body refused",
            ]
        ) { random, input in
            let whole = HTTPRequest.parse(input)
            let cut = FramingHostileTests.incremental(input, &random, HTTPRequest.parse, isDone: { $0 != .needMore })
            HostileRun.require(cut == nil || cut == whole, "other cuts, another request: \(input)")
            guard case .head(let request, let byteCount) = whole else {
                return whole == .needMore ? "needs more" : "malformed"
            }
            HostileRun.require(byteCount <= input.count, "more than there was: \(input)")
            HostileRun.require(
                HTTPRequest.parse(request.encoded) == .head(request, byteCount: request.encoded.count),
                "written and read back as another: \(input)")
            _ = request.query("x")
            guard request.path != "/relay" else {
                guard case .accepted = RelayUpgrade.read(request) else { return "no upgrade" }
                return "upgrade"
            }
            return Self.body(request, Array(input[byteCount...]))
        }
    }

    private static func body(_ request: HTTPRequest, _ rest: [UInt8]) -> String {
        var rest = rest
        return rest.withUnsafeMutableBytes { bytes in
            switch HTTPBody.of(request, bytes, maxBytes: SignedRecord.maxBodyBytes) {
            case .needMore: return "body to come"
            case .refused: return "body refused"
            case .body(let body):
                HostileRun.require(body.count <= min(bytes.count, SignedRecord.maxBodyBytes), "too much body")
                return body.isEmpty ? "no body" : "body"
            }
        }
    }

    @Test("a relay's answer to the upgrade")
    func answers() async {
        HostileRun.show(
            await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
                try RelayPartsHostileTests.runAnswers()
            })
    }

    static func runAnswers() throws {
        let upgrade = LegUpgrade(entropy: RelayPieces.ConstantEntropy())
        let url = try RelayURL("http://relay.test/")
        guard case .accepted(let taken) = RelayUpgrade.read(upgrade.request(to: url, token: nil, proof: nil)) else {
            preconditionFailure("our own request")
        }
        let answers = [taken.response, HTTPResponse(404), HTTPResponse(101, ["upgrade": "websocket"])].map(\.encoded)
        try HostileRun(name: "a relay's answer to the upgrade").run(
            corpus: answers + [answers[0] + [0x82, 0]], seed: 22,
            stages: ["needs more", "malformed", "refused", "accepted"]
        ) { _, input in
            switch HTTPResponse.parse(input) {
            case .needMore: return "needs more"
            case .malformed: return "malformed"
            case .head(let response, let byteCount):
                HostileRun.require(byteCount <= input.count, "more than there was: \(input)")
                return (try? upgrade.version(in: response)) == nil ? "refused" : "accepted"
            }
        }
    }

    // MARK: - Frames

    @Test("WebSocket frames to a relay")
    func webSocket() async {
        HostileRun.show(
            await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
                try RelayPartsHostileTests.runWebSocket()
            })
    }

    static func runWebSocket() throws {
        let frames = RelayPieces.clientFrames(to: RelayPieces.witnessKey.node)
        let long = RelayPieces.webSocket(0x82, [UInt8](repeating: 1, count: 300))
        let all = [frames[0] + frames[6] + long, frames.joined() + long] + frames + [long]
        try HostileRun(name: "WebSocket frames to a relay").run(
            corpus: all.map(Array.init), seed: 23,
            stages: ["nothing whole", "messages", "too large", "violation"]
                + ["messages, then too large", "messages, then violation"]
        ) { random, input in
            let whole = Self.read([input])
            HostileRun.require(Self.read(Mutations.pieces(input, &random)) == whole, "other cuts, others: \(input)")
            HostileRun.require(whole.messages.joined().count <= input.count, "more out than in: \(input)")
            guard let end = whole.end else { return whole.messages.isEmpty ? "nothing whole" : "messages" }
            let name = end == .tooLarge ? "too large" : "violation"
            return whole.messages.isEmpty ? name : "messages, then " + name
        }
    }

    private struct Read: Equatable {
        /// Opcode and payload.
        var messages: [[UInt8]] = []
        var end: WebSocketReader.Violation?
    }

    private static func read(_ pieces: [[UInt8]]) -> Read {
        var (reader, result, unread) = (WebSocketReader(maxMessageBytes: 400), Read(), [UInt8]())
        for piece in pieces {
            var memory = unread + piece
            memory.withUnsafeMutableBytes { bytes in
                var input = bytes
                do throws(WebSocketReader.Violation) {
                    try reader.read(&input) { opcode, payload in
                        result.messages.append([opcode.rawValue] + payload)
                        return true
                    }
                } catch {
                    result.end = error
                }
                unread = Array(input)
            }
            if result.end != nil { break }
            HostileRun.require(unread.count <= 400 + 14, "\(unread.count) bytes are kept")
        }
        return result
    }

    @Test("frames of the relay protocol")
    func frames() async {
        HostileRun.show(
            await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
                try RelayPartsHostileTests.runFrames()
            })
    }

    static func runFrames() throws {
        let node = RelayPieces.witnessKey.node
        let packet = [UInt8](repeating: 3, count: 30)
        let auth = RelayClientAuth(answering: RelayPieces.challenge, secret: RelayPieces.attackerKey)
        let frames =
            RelayPieces.relayFrames(from: node) + [
                .clientAuth(auth), .clientAuth(RelayPieces.guestAuth),
                .clientToRelay(RelayDatagrams(peer: node, contents: packet[...])),
                .clientToRelay(RelayDatagrams(peer: node, segmentSize: 7, contents: packet[...])),
            ]
        try HostileRun(name: "relay frames").run(
            corpus: frames.map(\.encoded) + [[0x40, 9] + [UInt8](repeating: 1, count: 8)], seed: 24,
            stages: ["frame", "forwarded", "empty", "unknown type", "malformed"]
        ) { _, input in
            let isForwarded = Self.forward(input)
            do throws(RelayFrameError) {
                let frame = try RelayFrame.decode(input)
                HostileRun.require((try? RelayFrame.decode(frame.encoded)) == frame, "read back as another: \(input)")
                return isForwarded ? "forwarded" : "frame"
            } catch {
                HostileRun.require(!isForwarded, "forwarded what is no frame: \(input)")
                switch error {
                case .empty: return "empty"
                case .unknownType: return "unknown type"
                case .malformed: return "malformed"
                case .tooLarge: return "too large"
                }
            }
        }
    }

    /// The short way through a relay must agree with the long one: what is rewritten where it lies is the frame that decoding
    /// and encoding would have made.
    private static func forward(_ input: [UInt8]) -> Bool {
        guard input.withUnsafeBytes({ DatagramFrame.packets($0) }) != nil else { return false }
        var rewritten = input
        let sender = RelayPieces.attackerKey.node
        let receiver = rewritten.withUnsafeMutableBytes { DatagramFrame.readdress($0, from: sender) }
        guard case .clientToRelay(let datagrams)? = try? RelayFrame.decode(input) else {
            HostileRun.require(false, "forwarded what is no datagram: \(input)")
            return true
        }
        let wanted = RelayFrame.relayToClient(
            RelayDatagrams(
                peer: sender, ecn: datagrams.ecn, segmentSize: datagrams.segmentSize, contents: datagrams.contents))
        HostileRun.require(receiver == datagrams.peer && rewritten == wanted.encoded, "rewritten wrongly: \(input)")
        return true
    }

    // MARK: - Records and probes

    @Test("address records, also rightly signed ones")
    func records() async {
        HostileRun.show(
            await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
                try RelayPartsHostileTests.runRecords()
            })
    }

    static func runRecords() throws {
        let key = RelayPieces.attackerKey
        var shelf = RecordShelf(capacity: 8, lifetime: .seconds(3_600))
        let source = SourceBudget.Source(SocketAddress(ipv4: 0x0a00_0001, port: 1))
        try HostileRun(name: "address records").run(
            corpus: [RelayPieces.record(), RelayPieces.record(timestamp: 5)].map { Array($0.body.dropFirst(64)) },
            seed: 25,
            stages: ["DNS", "bad DNS", "stored", "kept", "wrong size", "bad signature", "signed bad DNS"]
        ) { random, input in
            let dns = Array(input.dropFirst(8))
            let strings = RecordDNS.strings(in: dns, of: key.node)
            HostileRun.require(strings?.joined().utf8.count ?? 0 <= dns.count, "more out than in: \(input)")
            // Signing and verifying take most of the time. What is signed was damaged before, else no damage would get past
            // the signature.
            guard Int.random(in: 0..<8, using: &random) == 0 else { return strings == nil ? "bad DNS" : "DNS" }
            let isSigned = Int.random(in: 0..<8, using: &random) > 0
            let time = input.prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
            let text = "3:seqi\(time)e1:v\(dns.count):"
            let signature = isSigned ? key.sign(raw: Array(text.utf8) + dns).bytes : [UInt8](repeating: 1, count: 64)
            do throws(SignedRecord.Refusal) {
                let record = try SignedRecord(body: signature + input, of: key.node)
                HostileRun.require(record.body == signature + input, "stored as another: \(input)")
                HostileRun.require(record.record.relays.count + record.record.addresses.count < 100, "many: \(input)")
                let outcome = shelf.store(record, from: source, now: .zero)
                HostileRun.require(shelf.count == 1, "one node, \(shelf.count) records")
                return outcome == .stored ? "stored" : "kept"
            } catch {
                switch error {
                case .wrongSize: return "wrong size"
                case .badSignature: return "bad signature"
                case .badDNS: return "signed bad DNS"
                }
            }
        }
    }

    @Test("whoever probes a relay over UDP gets less than it sent")
    func probes() async {
        HostileRun.show(
            await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
                try RelayPartsHostileTests.runProbes()
            })
    }

    static func runProbes() throws {
        let head: [UInt8] =
            [0xc3, 0, 0, 0, 1, 8] + [UInt8](repeating: 2, count: 8) + [8] + [UInt8](repeating: 3, count: 8)
        let probe = head + [UInt8](repeating: 0, count: 1_200 - head.count)
        let long: [UInt8] =
            [0xc3, 0, 0, 0, 1, 20] + [UInt8](repeating: 2, count: 20) + [20] + [UInt8](repeating: 3, count: 20)
        let corpus = [
            probe, probe, long + [UInt8](repeating: 0, count: 1_300), head,
            [0x40] + [UInt8](repeating: 4, count: 1_250), [],
        ]
        try HostileRun(name: "probes to a relay").run(corpus: corpus, seed: 26, stages: ["answered", "silence"]) {
            _, input in
            guard let answer = input.withUnsafeBytes({ VersionNegotiation.answer(to: $0) }) else { return "silence" }
            // DESIGN §7 allows three times as much; this must not even be as much.
            HostileRun.require(answer.count < input.count / 10, "\(answer.count) bytes for \(input.count)")
            // RFC 9000 §17.2.1: the identifiers of the packet, exchanged.
            HostileRun.require(answer[..<5].elementsEqual([0xc0, 0, 0, 0, 0]), "no Version Negotiation: \(input)")
            return "answered"
        }
    }
}
